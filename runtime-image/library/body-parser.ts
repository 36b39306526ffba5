// Parses the body of a request by its content type: JSON, forms, multipart, text. What it cannot parse is the caller's fault.
import { parse as parseForm } from "node:querystring";
import { callerFault } from "./caller-fault.ts";
import { headerOf } from "./event.ts";
import { isFields, type Fields } from "./fields.ts";
import { decodeText, readMediaType, type MediaType } from "./media-type.ts";
import { parseMultipart } from "./multipart.ts";

const JSON_TYPES = new Set(["application/json", "application/vnd.api+json"]);

/** A body without a type, of a type that is not listed here, or that is no text any more (parsed before) is returned as it is. */
export function bodyParser(event: unknown): unknown {
  if (!isFields(event)) throw new TypeError("bodyParser takes the request object");
  const body = event["body"];
  const contentType = headerOf(event, "content-type");
  if (typeof body !== "string" || body === "" || contentType === undefined) return body;
  const type = readMediaType(contentType);
  if (type.name === "application/octet-stream") return { base64: base64Of(event, body) };
  if (type.name === "multipart/form-data")
    return parseMultipart({ bytes: bytesOf(event, body), boundary: type.boundary, base64: base64Of(event, body) });
  if (JSON_TYPES.has(type.name)) return parseJson(textOf(event, body, type));
  if (type.name === "application/x-www-form-urlencoded") return parseFields(textOf(event, body, type));
  if (type.name.startsWith("text/") || type.name === "application/xml") return textOf(event, body, type);
  return body;
}

const isBase64 = (event: Fields): boolean => event["isBase64Encoded"] === true;

const bytesOf = (event: Fields, body: string): Buffer => Buffer.from(body, isBase64(event) ? "base64" : "utf8");

const base64Of = (event: Fields, body: string): string => (isBase64(event) ? body : Buffer.from(body).toString("base64"));

const textOf = (event: Fields, body: string, type: MediaType): string =>
  isBase64(event) ? decodeText(bytesOf(event, body), type.charset) : body;

const SUSPICIOUS = /__proto__|\\u005[fF]/; // The name that changes what an object is, written out or escaped.

function parseJson(text: string): unknown {
  try {
    const value: unknown = SUSPICIOUS.test(text) ? JSON.parse(text, withoutPrototype) : JSON.parse(text);
    return value;
  } catch {
    // The parser's own message quotes the body; this one says what the originals said.
    throw callerFault("Invalid request body encoding or invalid JSON");
  }
}

/** Merging such a body into another object would give that one a prototype of the sender's choice. */
const withoutPrototype = (key: string, value: unknown): unknown => (key === "__proto__" ? undefined : value);

/** Repeated names give arrays. The object has no prototype, so that a field may have any name. */
function parseFields(text: string): Fields {
  const fields = parseForm(text, "&", "=", { maxKeys: 0 });
  delete fields["__proto__"];
  return fields;
}
