// Reads the response object of payload version 2.0, or any other value as JSON, and says what is wrong with a wrong one.
import type { FlatHeaders } from "../../contract/envelope.ts";
import { addCookies, addDefaultType, addHeaders, bodyBytes, checkHeaderBytes, jsonBytes, readFlag, readStatus } from "./answer-parts.ts";
import type { Answer } from "./generation.ts";

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
  addDefaultType(headers, status, TEXT_TYPE);
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
