// Parses multipart/form-data, at once: the only file that knows busboy, of which it drives the lowest part, Dicer.
import { Dicer } from "@fastify/busboy";
import { callerFault, isCallerFault } from "./caller-fault.ts";
import type { Fields } from "./fields.ts";
import { decodeText, readMediaType } from "./media-type.ts";

const PART_COUNT_MAX = 10_000; // A part costs streams and listeners; 6 MB of the smallest ones would be 100,000.
const BOUNDARY_LENGTH_MAX = 70; // RFC 2046 5.1.1.
const FIELD = /^form-data\s*(?:;|$)/i;
const EPILOGUE = Buffer.from("\r\n "); // No boundary begins like this: whatever came before it is told of at once.

export interface UploadedFile {
  readonly filename: string;
  readonly contentType: string;
  readonly encoding?: string;
  readonly base64: string;
}

interface Part {
  readonly stream: Dicer.PartStream;
  headers: PartHeaders | null;
}

type PartHeaders = Readonly<Record<string, readonly string[] | undefined>>;

/** Fields and files by name, arrays where a name repeats; "base64" is the whole body, for handlers that parse it themselves. */
export function parseMultipart(body: { bytes: Buffer; boundary: string | null; base64: string }): Fields {
  if (body.boundary === null || body.boundary === "") throw callerFault("The multipart body's content type names no boundary");
  if (body.boundary.length > BOUNDARY_LENGTH_MAX)
    throw callerFault(`The multipart body's boundary has more than ${BOUNDARY_LENGTH_MAX} characters`);
  const fields: Fields = Object.create(null) as Fields; // It has no fields yet; without a prototype a field may have any name.
  for (const part of split(body.bytes, body.boundary)) addPart(fields, part);
  fields["base64"] = body.base64;
  return fields;
}

/**
 * Dicer writes synchronously into its parts; a high-water mark above the body's size keeps them from asking it to pause,
 * so that all of each part lies ready in it once the last byte is written. Busboy itself tells of the last field a turn later.
 */
function split(bytes: Buffer, boundary: string): Part[] {
  const parts: Part[] = [];
  let isComplete = false;
  const config = { boundary, partHwm: bytes.length + 1, highWaterMark: bytes.length + EPILOGUE.length + 1 }; // Its types know less.
  const dicer = new Dicer(config);
  dicer.on("error", ignore); // It tells of a missing end a turn later; isComplete has said so by then.
  dicer.on("part", (stream) => {
    if (parts.length === PART_COUNT_MAX) throw callerFault(`The multipart body has more than ${PART_COUNT_MAX} parts`);
    const part: Part = { stream, headers: null };
    parts.push(part);
    stream.on("error", ignore);
    stream.on("header", (headers) => (part.headers = headers as PartHeaders)); // Lists of texts by lower-case name.
  });
  dicer.on("trailer", () => (isComplete = true)); // What follows the last boundary: at least what is added here.
  try {
    dicer.end(Buffer.concat([bytes, EPILOGUE]));
  } catch (thrown) {
    throw isCallerFault(thrown) ? thrown : callerFault("The multipart body is broken");
  }
  if (!isComplete) throw callerFault("The multipart body is broken: it does not end with its boundary");
  return parts;
}

const ignore = (): void => undefined;

function addPart(fields: Fields, { stream, headers }: Part): void {
  const content: unknown = stream.read();
  const bytes = content instanceof Uint8Array ? Buffer.from(content.buffer, content.byteOffset, content.byteLength) : Buffer.alloc(0);
  if (headers === null) throw callerFault("The multipart body is broken: a part has no complete headers");
  const disposition = decodeHeader(headers["content-disposition"]?.[0] ?? "");
  const name = FIELD.test(disposition) ? parameterOf(disposition, "name") : null;
  if (name === null || name === "__proto__") return;
  const filename = parameterOf(disposition, "filename");
  const contentType = headers["content-type"]?.[0];
  if (filename === null && contentType !== "application/octet-stream") {
    add(fields, name, decodeText(bytes, contentType === undefined ? null : readMediaType(contentType).charset));
    return;
  }
  const encoding = headers["content-transfer-encoding"]?.[0];
  const file: UploadedFile = {
    filename: filename ?? "",
    contentType: contentType ?? "application/octet-stream",
    ...(encoding === undefined ? {} : { encoding }),
    base64: bytes.toString("base64"),
  };
  add(fields, name, file);
}

function add(fields: Fields, name: string, value: string | UploadedFile): void {
  const known = fields[name];
  if (known === undefined) fields[name] = value;
  else if (Array.isArray(known)) known.push(value);
  else fields[name] = [known, value];
}

/** Browsers write names as UTF-8; the parser hands headers over byte by byte. */
const decodeHeader = (header: string): string => Buffer.from(header, "latin1").toString("utf8");

/** RFC 7578 4.2: browsers escape a quote as %22 and line ends as %0D and %0A; others as \". */
function parameterOf(disposition: string, name: string): string | null {
  const match = new RegExp(`;\\s*${name}\\s*=\\s*(?:"((?:[^"\\\\]|\\\\.)*)"|([^;\\s]+))`, "i").exec(disposition);
  if (match === null) return null;
  const text = match[1] ?? match[2] ?? "";
  return text
    .replaceAll(/\\(["\\])/g, "$1")
    .replaceAll(/%22/g, '"')
    .replaceAll(/%0D/gi, "\r")
    .replaceAll(/%0A/gi, "\n");
}
