// Git's own framing, pkt-line: four hexadecimal digits of length, then so many bytes; "0000" ends a part. Pure.
import type { ByteReader } from "./byte-reader.ts";

export const FLUSH = Buffer.from("0000");
const HEAD_BYTES = 4;
const PAYLOAD_BYTES_MAX = 65_516; // The protocol's own limit, 65,520 with the head.
const MESSAGES = 2; // Sideband: what the person who pushes reads.
const DATA = 1; // Sideband: what their git reads.

export function pkt(payload: string | Uint8Array): Buffer {
  const bytes = Buffer.from(payload);
  if (bytes.length > PAYLOAD_BYTES_MAX) throw new RangeError(`a pkt-line of ${bytes.length} bytes`);
  return Buffer.concat([Buffer.from((bytes.length + HEAD_BYTES).toString(16).padStart(HEAD_BYTES, "0")), bytes]);
}

export type ReadPkt =
  | { readonly kind: "data"; readonly payload: Buffer; readonly raw: Buffer }
  | { readonly kind: "flush" }
  | { readonly kind: "malformed" };

export async function readPkt(reader: ByteReader): Promise<ReadPkt> {
  const head = await reader.take(HEAD_BYTES);
  const text = head.toString("latin1");
  if (text === "0000") return { kind: "flush" };
  const length = /^[0-9a-fA-F]{4}$/.test(text) ? Number.parseInt(text, 16) : 0;
  if (length <= HEAD_BYTES || length > PAYLOAD_BYTES_MAX + HEAD_BYTES) return { kind: "malformed" };
  const payload = await reader.take(length - HEAD_BYTES);
  return { kind: "data", payload, raw: Buffer.concat([head, payload]) };
}

/** What stands before a list of refs, so that a client knows that it speaks with git and not with a file server. */
export const serviceHead = (service: string): Buffer => Buffer.concat([pkt(`# service=${service}\n`), FLUSH]);

/** An answer to a fetch that fails it with this text. */
export const refusedFetch = (lines: readonly string[]): Buffer => pkt(`ERR ${lines.join(" ")}\n`);

export interface RefusedPush {
  readonly refs: readonly string[];
  readonly capabilities: ReadonlySet<string>;
  readonly lines: readonly string[]; // For the person,
  readonly reason: string; // and in a few words, behind each ref.
}

/** An answer to a push that fails it as git itself would: what a client shows of a status other than 200 is its number only. */
export function refusedPush({ refs, capabilities, lines, reason }: RefusedPush): Buffer {
  const report = [pkt(`unpack ${reason}\n`), ...refs.map((ref) => pkt(`ng ${ref} ${reason}\n`)), FLUSH];
  if (!capabilities.has("side-band-64k")) return Buffer.concat(report);
  return Buffer.concat([
    ...lines.map((line) => pkt(Buffer.concat([Buffer.from([MESSAGES]), Buffer.from(`${line}\n`)]))),
    ...piecesOf(Buffer.concat(report)).map((piece) => pkt(Buffer.concat([Buffer.from([DATA]), piece]))),
    FLUSH,
  ]);
}

function piecesOf(bytes: Buffer): Buffer[] {
  const pieceBytes = PAYLOAD_BYTES_MAX - 1;
  return Array.from({ length: Math.ceil(bytes.length / pieceBytes) }, (_, index) =>
    bytes.subarray(index * pieceBytes, (index + 1) * pieceBytes),
  );
}
