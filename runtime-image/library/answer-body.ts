// The body of an answer: taken from "body" or a shorthand, as text or base64, compressed where the handler asks for it.
import { isBinaryType, SHORTHANDS, type Shorthand } from "./content-types.ts";
import { describe, isThenable, type Fields } from "./fields.ts";

export interface AnswerBody {
  readonly text: string;
  readonly isBase64: boolean;
}

/** The shorthand that counts: the first that has a value, else the first that is there at all. */
export function shorthandOf(fields: Fields): Shorthand | null {
  const present = SHORTHANDS.filter((name) => Object.hasOwn(fields, name));
  return present.find((name) => fields[name] !== undefined) ?? present[0] ?? null;
}

export function readBody(fields: Fields, contentType: string): AnswerBody {
  const shorthand = shorthandOf(fields);
  if (shorthand === "json") return { text: jsonText(fields["json"]), isBase64: false };
  const name = shorthand ?? "body";
  const value = fields[name];
  if (value instanceof Uint8Array)
    return { text: Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64"), isBase64: true };
  const text = textOf(name, value);
  if (typeof fields["isBase64Encoded"] === "boolean") return { text, isBase64: fields["isBase64Encoded"] };
  return { text, isBase64: text !== "" && isBinaryType(contentType) && isBase64(text) };
}

/** What JSON knows nothing of, undefined above all, is an empty body. */
export function jsonText(value: unknown): string {
  const text = JSON.stringify(value) as string | undefined; // Its type leaves out what it gives for undefined and functions.
  return text ?? "";
}

function textOf(name: string, value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "string") return value;
  if (typeof value === "number" && name !== "body") return String(value);
  const hint = typeof value === "object" && !isThenable(value) ? "; an object is sent with { json: … }" : "";
  throw new TypeError(`"${name}" should be a text or a Buffer, got ${describe(value)}${hint}`);
}

const isBase64 = (text: string): boolean => text.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(text);

const COMPRESSED_BYTES_MIN = 1_024; // Below this, a compressed body is hardly smaller.
const QUALITY = 4; // Brotli's default, 11, takes a hundred times as long for a few percent.

/** "br" and "gzip" name an encoding, true takes the best that the client accepts. Null where the body stays as it is. */
export function compress(body: AnswerBody, options: { wanted: unknown; accepted: string }): { body: AnswerBody; encoding: string } | null {
  const encodings = options.wanted === true ? ["br", "gzip"] : ["br", "gzip"].filter((name) => name === options.wanted);
  const encoding = encodings.find((name) => new RegExp(`\\b${name}\\b`).test(options.accepted));
  if (encoding === undefined || body.isBase64 || body.text.length < COMPRESSED_BYTES_MIN) return null;
  const zlib = process.getBuiltinModule("node:zlib"); // Loaded once someone asks for it.
  const bytes =
    encoding === "br"
      ? zlib.brotliCompressSync(body.text, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: QUALITY } })
      : zlib.gzipSync(body.text);
  return { body: { text: bytes.toString("base64"), isBase64: true }, encoding };
}
