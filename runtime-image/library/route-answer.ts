// Checks and completes what a JSON or HTML route answers: one key, seven error statuses, a session, or an Error.
import { jsonText } from "./answer-body.ts";
import { dueCookies, sendable, withCookies, type Response } from "./answer.ts";
import { isCallerFault } from "./caller-fault.ts";
import { ANTI_CACHE, cacheControlFor, type Shorthand } from "./content-types.ts";
import { asError } from "./error-page.ts";
import { logError } from "./log.ts";
import { describe, isFields, isPlain, ownFields, type Fields } from "./fields.ts";
import { errorBody } from "./route-error.ts";
import type { RouteRequest } from "./route-request.ts";
import { requestState } from "./request-state.ts";
import { writeSession } from "./session.ts";

export type RouteKind = Shorthand;

export const ROUTE_STATUSES: readonly number[] = [400, 403, 404, 406, 409, 415, 500];
const STATUS_NAMES = ["status", "code", "statusCode"] as const;

const TYPES: Readonly<Record<RouteKind, string>> = {
  json: "application/json; charset=utf-8",
  html: "text/html; charset=utf-8",
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  text: "text/plain; charset=utf-8",
  xml: "application/xml; charset=utf-8",
};

interface Route {
  readonly kind: RouteKind;
  readonly event: Fields;
  readonly request: RouteRequest | null; // Null where the request could not be read.
}

export async function toRouteResponse(value: unknown, route: Route): Promise<Response> {
  if (value instanceof Error) return failed(value, route);
  try {
    const response = fieldsOf(value, route.kind);
    const cookies = await keepSession(isFields(value) ? value["session"] : undefined, route);
    return withSession(response, { event: route.event, cookies });
  } catch (thrown) {
    return failed(asError(thrown), route);
  }
}

function fieldsOf(answer: unknown, kind: RouteKind): Response {
  if (!isPlain(answer)) throw wrong(kind, "`res` was not invoked with a plain object");
  const allowed = ["location", "session", kind, ...STATUS_NAMES];
  const unknown = Object.keys(answer).filter((name) => !allowed.includes(name));
  if (unknown.length > 0)
    throw wrong(kind, `\`res\` invoked with invalid keys\ngot: ${unknown.join(", ")}\nallowed: ${allowed.join(", ")}`);
  const hasOwnKey = answer[kind] !== undefined;
  const location = answer["location"];
  if (hasOwnKey && location !== undefined) throw wrong(kind, `\`res\` invoked with \`location\` and \`${kind}\` keys: only one is allowed`);
  if (!hasOwnKey && location === undefined) throw wrong(kind, `\`res\` must be invoked with either \`location\` or \`${kind}\``);
  const status = statusIn(answer, kind);
  const headers = headersOf(kind);
  if (location === undefined) return { statusCode: status ?? 200, headers, body: bodyOf(answer[kind], kind) };
  if (typeof location !== "string" || location === "")
    throw wrong(kind, `invalid location value: ${describe(location)} is not a valid URL`);
  return { statusCode: status ?? 302, headers: { ...headers, location: sendable(location) }, body: "" };
}

function headersOf(kind: RouteKind): Record<string, string> {
  return { "content-type": TYPES[kind], "cache-control": cacheControlFor(TYPES[kind]) };
}

/** Null where none is given. What says the same as no status, 200 with a body or 302 with a location, is fine as well. */
function statusIn(answer: Fields, kind: RouteKind): number | null {
  const name = STATUS_NAMES.find((one) => answer[one] !== undefined);
  if (name === undefined) return null;
  const value = answer[name];
  const status = typeof value === "string" && value !== "" ? Number(value) : value;
  const implied = answer["location"] === undefined ? 200 : 302;
  if (typeof status === "number" && (status === implied || ROUTE_STATUSES.includes(status))) return status;
  const printed = typeof value === "string" || typeof value === "number" ? String(value) : describe(value);
  throw wrong(kind, `invalid status value: ${printed}\n\nMust be one of: ${ROUTE_STATUSES.join(", ")}`);
}

function bodyOf(value: unknown, kind: RouteKind): string {
  if (typeof value === "string") return value; // JSON text, too, goes as it is.
  if (kind === "json") return jsonText(value);
  throw wrong(kind, `\`${kind}\` should be a text, got ${describe(value)}`);
}

/** What `res` was given wins; else a handler that changed req.session meant it to be kept. The visitor learns of a new id either way. */
async function keepSession(given: unknown, { request }: Route): Promise<readonly string[]> {
  const session = given ?? request?.fields["session"];
  const isChanged = given !== undefined || (request !== null && JSON.stringify(session) !== request.sessionBefore);
  if (!isChanged) return dueCookies();
  const cookie = await writeSession(session ?? {});
  requestState().isCookieDue = false;
  return [cookie];
}

async function failed(error: Error, route: Route): Promise<Response> {
  const statusCode = isCallerFault(error) ? 400 : statusOf(error);
  if (statusCode === 500) logError(error);
  const response: Response = { statusCode, headers: headersOf(route.kind), body: errorBody(error, statusCode, route.kind) };
  return withSession(response, { event: route.event, cookies: dueCookies() });
}

/** No cache may keep what names one visitor, and an error should not outlive its reason in one. */
function withSession(response: Response, options: { event: Fields; cookies: readonly string[] }): Response {
  if (options.cookies.length > 0 || response.statusCode >= 400) response.headers["cache-control"] = ANTI_CACHE;
  return withCookies(response, options);
}

/** The first of status, code and statusCode that is one of the seven. */
function statusOf(error: Error): number {
  const fields = ownFields(error);
  return STATUS_NAMES.map((name) => Number(fields[name])).find((status) => ROUTE_STATUSES.includes(status)) ?? 500;
}

/** "InvalidJsonResponseError", as the originals called it. */
function wrong(kind: RouteKind, message: string): Error {
  const error = new Error(message);
  error.name = `Invalid${kind.slice(0, 1).toUpperCase()}${kind.slice(1)}ResponseError`;
  return error;
}
