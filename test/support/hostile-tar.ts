// Writes tars by hand, byte for byte, so that they can say what no honest program would.

export interface RawEntry {
  readonly name: string | Buffer;
  readonly type?: string; // The one character of the header; a plain file without it.
  readonly linkName?: string;
  readonly mode?: number;
  readonly content?: string | Buffer;
  readonly size?: number | Buffer; // Another than that of the content; or the twelve bytes as they are.
  readonly pax?: Readonly<Record<string, string>>;
}

const BLOCK_BYTES = 512;
const END_MARK = Buffer.alloc(2 * BLOCK_BYTES);

export const file = (name: string, content: string | Buffer = "x"): RawEntry => ({ name, content });
export const link = (name: string, linkName: string): RawEntry => ({ name, type: "2", linkName });
export const folder = (name: string): RawEntry => ({ name, type: "5", mode: 0o755 });

export const tarOf = (...entries: readonly RawEntry[]): Buffer => Buffer.concat([...entries.map(entryBytes), END_MARK]);

export function entryBytes(entry: RawEntry): Buffer {
  const content = Buffer.from(entry.content ?? "");
  const own = Buffer.concat([header(entry, entry.size ?? content.length), padded(content)]);
  if (entry.pax === undefined) return own;
  const records = Object.entries(entry.pax).map(([key, value]) => paxRecord(key, value));
  return Buffer.concat([entryBytes({ name: "PaxHeader", type: "x", content: records.join("") }), own]);
}

function header({ name, type = "0", linkName = "", mode = 0o644 }: RawEntry, size: number | Buffer): Buffer {
  const block = Buffer.alloc(BLOCK_BYTES);
  const put = (bytes: string | Buffer, at: number, lengthMax: number): void => void Buffer.from(bytes).copy(block, at, 0, lengthMax);
  put(name, 0, 100);
  put(`${octal(mode, 6)} \0`, 100, 8);
  put("000000 \0".repeat(2), 108, 16);
  put(typeof size === "number" ? `${octal(size, 11)} ` : size, 124, 12);
  put("00000000000 ", 136, 12);
  put(type, 156, 1);
  put(linkName, 157, 100);
  put("ustar\u000000", 257, 8);
  block.fill(" ", 148, 156);
  put(
    `${octal(
      block.reduce((sum, byte) => sum + byte, 0),
      6,
    )}\0 `,
    148,
    8,
  );
  return block;
}

const octal = (value: number, digitCount: number): string => value.toString(8).padStart(digitCount, "0");
const padded = (content: Buffer): Buffer =>
  Buffer.concat([content, Buffer.alloc((BLOCK_BYTES - (content.length % BLOCK_BYTES)) % BLOCK_BYTES)]);

/** Its length counts its own digits. */
function paxRecord(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  let length = Buffer.byteLength(rest);
  while (length !== Buffer.byteLength(`${length}${rest}`)) length = Buffer.byteLength(`${length}${rest}`);
  return `${length}${rest}`;
}
