// What every generation's answers have in common: header lists, bodies, and explanations of what is wrong with them.
import type { FlatHeaders } from "../../contract/envelope.ts";
import { PlatformError } from "../../contract/errors.ts";
import { ANSWER_BODY_BYTES_MAX, HEADER_BYTES_MAX } from "../../contract/limits.ts";
import { hasHeader } from "./flat-headers.ts";

const EXCERPT_LENGTH_MAX = 60;
const STATUS_MIN = 200;
const STATUS_MAX = 599;
const NO_BYTES = new Uint8Array(0);

// RFC 9110 7.6.1: these belong to one connection; content-length and date are the gateway's to compute.
const DROPPED = new Set([
  "connection",
  "proxy-connection",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "content-length",
  "date",
]);
const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/; // RFC 9110 5.6.2: a token.
// What an HTTP/1 header cannot carry: control characters, line ends among them, and anything beyond Latin-1.
// eslint-disable-next-line no-control-regex -- Control characters are what is looked for.
const UNSENDABLE = /[^\t\x20-\x7e\x80-\xff]/;

/** Adds one name and value per header. An array repeats its header; undefined and null leave it out. */
export function addHeaders(target: string[], headers: unknown, field = "headers"): void {
  if (headers === undefined || headers === null) return;
  if (typeof headers !== "object" || Symbol.iterator in headers)
    throw invalid(field, "a plain object of names and values", describe(headers), "Object.fromEntries() makes one from Headers or a Map");
  for (const [name, value] of Object.entries(headers)) {
    if (!NAME.test(name)) throw invalid(field, "an object whose names are HTTP tokens", `the name ${excerpt(name)}`);
    if (DROPPED.has(name.toLowerCase())) continue;
    if (Array.isArray(value)) for (const item of value as readonly unknown[]) addHeader(target, name, item, field);
    else addHeader(target, name, value, field);
  }
}

function addHeader(target: string[], name: string, value: unknown, field: string): void {
  if (value === undefined || value === null) return;
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean")
    throw invalid(`${field}["${name}"]`, "a string, a number, a boolean or an array of them", describe(value));
  const text = String(value);
  if (UNSENDABLE.test(text))
    throw invalid(`${field}["${name}"]`, "free of line ends, control characters and characters beyond Latin-1", excerpt(text));
  target.push(name, text);
}

export function checkHeaderBytes(headers: FlatHeaders): void {
  let bytes = 0;
  for (const text of headers) bytes += text.length; // Latin-1: one byte each.
  if (bytes > HEADER_BYTES_MAX) throw invalid("headers", `at most ${HEADER_BYTES_MAX} bytes, cookies included`, `${bytes} bytes`);
}

export function readStatus(status: unknown, field = "statusCode"): number {
  if (status === undefined) return 200;
  if (typeof status === "number" && Number.isInteger(status) && status >= STATUS_MIN && status <= STATUS_MAX) return status;
  throw invalid(field, `an integer from ${STATUS_MIN} to ${STATUS_MAX}`, describe(status));
}

export function readFlag(flag: unknown, field = "isBase64Encoded"): boolean {
  if (flag === undefined || flag === null) return false;
  if (typeof flag === "boolean") return flag;
  throw invalid(field, "true or false", describe(flag));
}

/** One Set-Cookie for each. */
export function addCookies(headers: string[], cookies: unknown, field = "cookies"): void {
  if (cookies === undefined || cookies === null) return;
  if (!Array.isArray(cookies)) throw invalid(field, "an array of strings", describe(cookies));
  const list: readonly unknown[] = cookies;
  for (const [index, cookie] of list.entries()) {
    if (typeof cookie !== "string") throw invalid(`${field}[${index}]`, "a string", describe(cookie));
    addHeaders(headers, { "set-cookie": cookie }, `${field}[${index}]`);
  }
}

/** RFC 9110 8.3: a type says what the content is, and 204 and 304 have none. */
export function addDefaultType(headers: string[], status: number, type: string): void {
  if (status !== 204 && status !== 304 && !hasHeader(headers, "content-type")) headers.push("content-type", type);
}

export function bodyBytes(body: unknown, isBase64: boolean): Uint8Array {
  if (body === undefined || body === null || body === "") return NO_BYTES;
  if (typeof body !== "string") throw invalid("body", "a string", describe(body), hintFor(body));
  return isBase64 ? base64Bytes(body) : textBytes(body);
}

/** Any value as JSON; a string goes as it is, and what JSON knows nothing of is null. */
export function jsonBytes(value: unknown): Uint8Array {
  if (typeof value === "string") return textBytes(value);
  let json: string | undefined;
  try {
    // JSON.stringify gives undefined for functions, symbols and undefined, whatever its type says.
    json = JSON.stringify(value) as string | undefined;
  } catch (cause) {
    throw new PlatformError("HANDLER_ANSWER_INVALID", { detail: `It cannot be written as JSON: ${reasonOf(cause)}` }, { cause });
  }
  return textBytes(json ?? "null");
}

function reasonOf(cause: unknown): string {
  return cause instanceof Error ? (cause.message.split("\n", 1)[0] ?? "") : String(cause);
}

function textBytes(text: string): Uint8Array {
  if (text.length > ANSWER_BODY_BYTES_MAX) throw tooLarge(Buffer.byteLength(text));
  const bytes = Buffer.from(text);
  if (bytes.length > ANSWER_BODY_BYTES_MAX) throw tooLarge(bytes.length);
  return bytes;
}

/** Node's decoder skips what is no base64 and stops at padding: only whole base64 gives as many bytes as its length promises. */
function base64Bytes(text: string): Uint8Array {
  const paddingLength = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  const promisedBytes = (text.length / 4) * 3 - paddingLength;
  if (promisedBytes > ANSWER_BODY_BYTES_MAX) throw tooLarge(Math.floor(promisedBytes));
  const bytes = Buffer.from(text, "base64");
  const isWhole = text.length % 4 === 0 && bytes.length === promisedBytes && !text.includes("-") && !text.includes("_");
  if (!isWhole) throw invalid("body", "base64 because isBase64Encoded is true", excerpt(text));
  return bytes;
}

export function invalid(field: string, expected: string, got: string, hint?: string): PlatformError {
  const detail = `${field} should be ${expected}, got ${got}${hint === undefined ? "" : ` (${hint})`}`;
  return new PlatformError("HANDLER_ANSWER_INVALID", { detail });
}

const tooLarge = (bytes: number): PlatformError =>
  new PlatformError("ANSWER_TOO_LARGE", { detail: `body has ${bytes} bytes, at most ${ANSWER_BODY_BYTES_MAX} may be sent` });

/** What a value is, for an explanation: never the whole of it. */
export function describe(value: unknown): string {
  if (value === null) return "null";
  if (typeof value === "string") return `the string ${excerpt(value)}`;
  if (typeof value === "number" || typeof value === "boolean") return `the ${typeof value} ${value}`;
  if (Array.isArray(value)) return "an array";
  if (typeof value !== "object") return `a ${typeof value}`;
  const name: unknown = value.constructor?.name;
  return typeof name === "string" && name !== "Object" && name !== "" ? `an object of ${name}` : "an object";
}

function hintFor(body: unknown): string {
  if (body instanceof Uint8Array) return 'body.toString("base64") with isBase64Encoded: true sends bytes';
  return "JSON.stringify() makes a string of it";
}

const excerpt = (text: string): string =>
  JSON.stringify(text.length <= EXCERPT_LENGTH_MAX ? text : `${text.slice(0, EXCERPT_LENGTH_MAX)}…`);
