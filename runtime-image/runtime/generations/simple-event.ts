// Builds the request object of the older simple API.
import type { RequestHeader } from "../../contract/envelope.ts";
import { joinHeaders } from "./request-headers.ts";
import { lastValues, ownParams, parseQuery } from "./request-parts.ts";
import { parseBody } from "./simple-body.ts";

export interface SimpleRequest {
  method: string; // "post"
  httpMethod: string; // "POST": deployed apps of that time found both.
  path: string;
  params: Record<string, string>;
  query: Record<string, string>;
  queryStringParameters: Record<string, string>;
  headers: Record<string, string>;
  body: unknown;
}

/** Throws a fault of the caller's for a body that is not the JSON that it says it is. */
export function toSimpleRequest(header: RequestHeader, body: Uint8Array): SimpleRequest {
  const query = lastValues(parseQuery(header.query));
  const headers = joinHeaders(header.headers, null);
  return {
    method: header.method.toLowerCase(),
    httpMethod: header.method,
    path: header.path,
    params: ownParams(header.params) ?? {},
    query,
    queryStringParameters: query,
    headers,
    body: body.length === 0 ? {} : parseBody(body, Object.hasOwn(headers, "content-type") ? (headers["content-type"] ?? "") : ""),
  };
}
