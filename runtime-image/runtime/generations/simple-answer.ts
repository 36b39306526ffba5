// Reads the response object of the older simple API: a few words that stand for headers, and headers that win over them.
import type { RequestHeader } from "../../contract/envelope.ts";
import { cacheControlFor } from "../../library/content-types.ts";
import {
  addCookies,
  addDefaultType,
  addHeaders,
  bodyBytes,
  checkHeaderBytes,
  describe,
  invalid,
  readFlag,
  readStatus,
} from "./answer-parts.ts";
import { hasHeader, headerOf } from "./flat-headers.ts";
import type { Answer } from "./generation.ts";
import { addMultiValueHeaders, JSON_TYPE, readFields, type Fields } from "./older-answer.ts";

const FIELDS = [
  "status",
  "code",
  "statusCode",
  "type",
  "body",
  "isBase64Encoded",
  "location",
  "cookie",
  "cors",
  "cacheControl",
  "headers",
  "multiValueHeaders", // Apps of that time mix this API's answers with those of its successors.
  "cookies",
] as const;
type SimpleFields = Fields<(typeof FIELDS)[number]>;

const CORS_HEADERS = "content-type, authorization, x-requested-with";
const EVERY_METHOD = "GET, POST, PATCH, PUT, DELETE, HEAD, OPTIONS";

/** A handler that returns nothing answers with every default. */
export function toSimpleAnswer(value: unknown, { route }: Pick<RequestHeader, "route">): Answer {
  const fields: SimpleFields = readFields(value ?? {}, FIELDS);
  const status = statusOf(fields);
  const headers: string[] = [];
  addHeaders(headers, fields.headers);
  addMultiValueHeaders(headers, fields.multiValueHeaders);
  addUnlessThere(headers, "content-type", textOf(fields.type, "type"));
  addUnlessThere(headers, "location", textOf(fields.location, "location"));
  addUnlessThere(headers, "cache-control", textOf(fields.cacheControl, "cacheControl") ?? cacheControlOf(headers));
  if (readFlag(fields.cors, "cors")) addCors(headers, route);
  addCookies(headers, typeof fields.cookie === "string" ? [fields.cookie] : fields.cookie, "cookie");
  addCookies(headers, fields.cookies);
  addDefaultType(headers, status, JSON_TYPE);
  checkHeaderBytes(headers);
  return { status, headers, body: bodyBytes(fields.body, readFlag(fields.isBase64Encoded)) };
}

function statusOf(fields: SimpleFields): number {
  for (const name of ["status", "code", "statusCode"] as const) {
    const status = fields[name];
    if (status !== undefined && status !== null) return readStatus(status, name);
  }
  return 200;
}

function textOf(value: unknown, field: string): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value !== "string") throw invalid(field, "a string", describe(value));
  return value;
}

function addUnlessThere(headers: string[], name: string, value: string | null): void {
  if (value !== null && !hasHeader(headers, name)) addHeaders(headers, { [name]: value });
}

const cacheControlOf = (headers: readonly string[]): string =>
  cacheControlFor(hasHeader(headers, "content-type") ? headerOf(headers, "content-type") : JSON_TYPE);

function addCors(headers: string[], route: string): void {
  addUnlessThere(headers, "access-control-allow-origin", "*");
  addUnlessThere(headers, "access-control-allow-headers", CORS_HEADERS);
  addUnlessThere(headers, "access-control-allow-methods", methodsOf(route));
}

/**
 * An instance knows its own route and no other of its path. Preflight requests are answered by an OPTIONS or ANY route, or by
 * the function behind $default: those allow every method, because they answer for all of them.
 */
function methodsOf(route: string): string {
  const [method = ""] = route.split(" ", 1);
  switch (method) {
    case "GET":
      return "GET, HEAD, OPTIONS";
    case "POST":
    case "PATCH":
    case "PUT":
    case "DELETE":
    case "HEAD":
      return `${method}, OPTIONS`;
    default:
      return EVERY_METHOD;
  }
}
