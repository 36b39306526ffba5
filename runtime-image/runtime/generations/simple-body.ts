// A body as handlers of the older simple API get it: parsed where its type says how, and otherwise whole as { base64 }.
import { isUtf8 } from "node:buffer";
import { FORM_FIELD_COUNT_MAX } from "../../contract/limits.ts";
import { callerFault } from "../../library/caller-fault.ts";
import { decodeText, readMediaType } from "../../library/media-type.ts";
import { isFormType, isJsonType, isTextType } from "./content-type.ts";
import { everyValue, parseQuery } from "./request-parts.ts";

/** The bytes are not empty. */
export function parseBody(bytes: Uint8Array, contentType: string): unknown {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (isJsonType(contentType)) return parseJson(buffer);
  if (isFormType(contentType)) return parseForm(buffer.toString());
  return (isTextType(contentType) ? readText(buffer, contentType) : null) ?? { base64: buffer.toString("base64") };
}

/** Handlers read fields of what they get, and null has none: it stands for nothing, as an empty object does. */
function parseJson(buffer: Buffer): unknown {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(buffer); // It skips a byte order mark, which JSON.parse does not.
    const value: unknown = MAY_NAME_PROTOTYPE.test(text) ? JSON.parse(text, withoutPrototype) : JSON.parse(text);
    return value ?? {};
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw callerFault(`The body is not the JSON that its content type promises: ${reason}`);
  }
}

const MAY_NAME_PROTOTYPE = /__proto__|\\u005[fF]/; // Written out or escaped.

/** Handlers merge what they are sent into objects of their own: this name would give those a prototype of the sender's choice. */
const withoutPrototype = (name: string, value: unknown): unknown => (name === "__proto__" ? undefined : value);

/** A name that comes once has its value, one that comes again has all of them. */
function parseForm(text: string): Record<string, string | string[]> {
  if (countOf(text, "&") >= FORM_FIELD_COUNT_MAX) throw callerFault(`The form has more than ${FORM_FIELD_COUNT_MAX} fields.`);
  const form: Record<string, string | string[]> = {};
  for (const [name, values] of Object.entries(everyValue(parseQuery(text))))
    if (name !== "__proto__") form[name] = values.length === 1 ? (values[0] ?? "") : values;
  return form;
}

function countOf(text: string, mark: string): number {
  let count = 0;
  for (let index = text.indexOf(mark); index !== -1; index = text.indexOf(mark, index + 1)) count++;
  return count;
}

/** Null for bytes that cannot be put back together from a string. */
function readText(buffer: Buffer, contentType: string): string | null {
  const { charset } = readMediaType(contentType);
  return charset === null && !isUtf8(buffer) ? null : decodeText(buffer, charset);
}
