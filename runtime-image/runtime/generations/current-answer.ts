// Reads the response object of payload version 2.0, or any other value as JSON, and says what is wrong with a wrong one.
import type { FlatHeaders } from "../../contract/envelope.ts";
import { addHeaders, bodyBytes, checkHeaderBytes, describe, hasHeader, invalid, jsonBytes } from "./answer-parts.ts";
import type { Answer } from "./generation.ts";

const STATUS_MIN = 200;
const STATUS_MAX = 599;
const JSON_HEADERS: FlatHeaders = ["content-type", "application/json"];
const TEXT_TYPE = "text/plain; charset=utf-8";

interface ResponseFields {
  readonly statusCode?: unknown;
  readonly headers?: unknown;
  readonly body?: unknown;
  readonly isBase64Encoded?: unknown;
  readonly cookies?: unknown;
}

export function toCurrentAnswer(value: unknown): Answer {
  if (!isResponse(value)) return { status: 200, headers: JSON_HEADERS, body: jsonBytes(value) };
  const status = readStatus(value.statusCode);
  const headers: string[] = [];
  addHeaders(headers, value.headers);
  addCookies(headers, value.cookies);
  // RFC 9110 8.3: a type says what the content is, and 204 and 304 have none.
  if (status !== 204 && status !== 304 && !hasHeader(headers, "content-type")) headers.push("content-type", TEXT_TYPE);
  checkHeaderBytes(headers);
  return { status, headers, body: bodyBytes(value.body, readFlag(value.isBase64Encoded)) };
}

/** The value is a response when it has at least one of the standard fields; a field that is undefined is not there. */
function isResponse(value: unknown): value is ResponseFields {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const fields: ResponseFields = value;
  return (
    fields.statusCode !== undefined ||
    fields.body !== undefined ||
    fields.headers !== undefined ||
    fields.isBase64Encoded !== undefined ||
    fields.cookies !== undefined
  );
}

function readStatus(status: unknown): number {
  if (status === undefined) return 200;
  if (typeof status === "number" && Number.isInteger(status) && status >= STATUS_MIN && status <= STATUS_MAX) return status;
  throw invalid("statusCode", `an integer from ${STATUS_MIN} to ${STATUS_MAX}`, describe(status));
}

function readFlag(flag: unknown): boolean {
  if (flag === undefined || flag === null) return false;
  if (typeof flag === "boolean") return flag;
  throw invalid("isBase64Encoded", "true or false", describe(flag));
}

function addCookies(headers: string[], cookies: unknown): void {
  if (cookies === undefined || cookies === null) return;
  if (!Array.isArray(cookies)) throw invalid("cookies", "an array of strings", describe(cookies));
  const list: readonly unknown[] = cookies;
  for (const [index, cookie] of list.entries()) {
    if (typeof cookie !== "string") throw invalid(`cookies[${index}]`, "a string", describe(cookie));
    addHeaders(headers, { "set-cookie": cookie }, `cookies[${index}]`);
  }
}
