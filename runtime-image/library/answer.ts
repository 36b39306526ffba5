// Makes the answer that the runtime understands of what middleware answers: shorthands, status, location, session, cookie, cors, cache.
import { compress, jsonText, readBody, shorthandOf } from "./answer-body.ts";
import { ANTI_CACHE, cacheControlFor, SHORTHAND_TYPES, SHORTHANDS } from "./content-types.ts";
import { errorPage } from "./error-page.ts";
import { headerOf, isVersion2 } from "./event.ts";
import { describe, isFields, type Fields } from "./fields.ts";
import { requestState } from "./request-state.ts";
import { sessionCookieOf } from "./session-id.ts";
import { writeSession } from "./session.ts";

/** An object with at least one of these is an answer; any other value is the JSON to send. */
const ANSWER_FIELDS: ReadonlySet<string> = new Set([
  "statusCode",
  "body",
  "headers",
  "isBase64Encoded",
  "cookies",
  "multiValueHeaders",
  "code",
  "cookie",
  "cors",
  "location",
  "session",
  "status",
  ...SHORTHANDS,
]);
const JSON_TYPE = "application/json; charset=utf8";

export interface Response {
  statusCode: number;
  headers: Record<string, unknown>;
  body: string;
  isBase64Encoded?: boolean;
  cookies?: string[];
  multiValueHeaders?: unknown;
}

/** Throws where the answer has a wrong shape; nothing was stored then. */
export async function toResponse(value: unknown, event: Fields): Promise<Response> {
  if (value instanceof Error) return withCookies(errorPage(value), { event, cookies: dueCookies() });
  if (!isAnswer(value)) return withCookies(jsonResponse(value), { event, cookies: dueCookies() });
  const response = fieldsOf(value, event);
  const cookies = ownCookies(value, response.headers);
  const sessionCookies = value["session"] === undefined ? dueCookies() : [await writeSession(value["session"])];
  cookies.push(...sessionCookies);
  requestState().isCookieDue = false;
  // No cache may keep what names one visitor.
  if (sessionCookies.length > 0 && !isCacheControlGiven(value)) response.headers["cache-control"] = ANTI_CACHE;
  return withCookies(response, { event, cookies });
}

const isAnswer = (value: unknown): value is Fields => isFields(value) && Object.keys(value).some((name) => ANSWER_FIELDS.has(name));

function jsonResponse(value: unknown): Response {
  const body = value === undefined || value === null || value === "" ? "" : jsonText(value);
  return { statusCode: 200, headers: { "content-type": JSON_TYPE, "cache-control": ANTI_CACHE }, body };
}

function fieldsOf(answer: Fields, event: Fields): Response {
  const headers = lowerCaseHeaders(answer["headers"]);
  const shorthand = shorthandOf(answer);
  const typeOfShorthand = shorthand === null ? JSON_TYPE : SHORTHAND_TYPES[shorthand];
  const contentType = textField(answer, "type") ?? textOf(headers["content-type"]) ?? typeOfShorthand;
  headers["content-type"] = contentType;
  const location = textField(answer, "location");
  if (location !== undefined) headers["location"] = sendable(location);
  if (answer["cors"] !== undefined && answer["cors"] !== false) headers["access-control-allow-origin"] = "*";
  const statusCode = readStatus(answer, location === undefined ? 200 : 302);
  // Neither a redirect nor an error should outlive its reason in a cache.
  const byType = location === undefined && statusCode < 400 ? cacheControlFor(contentType) : ANTI_CACHE;
  headers["cache-control"] = textField(answer, "cacheControl") ?? textOf(headers["cache-control"]) ?? byType;
  const response: Response = { statusCode, headers, body: "" };
  addBody(response, answer, { contentType, accepted: headerOf(event, "accept-encoding") ?? "" });
  if (answer["multiValueHeaders"] !== undefined) response.multiValueHeaders = answer["multiValueHeaders"];
  return response;
}

const isCacheControlGiven = (answer: Fields): boolean =>
  textField(answer, "cacheControl") !== undefined || textOf(lowerCaseHeaders(answer["headers"])["cache-control"]) !== undefined;

function addBody(response: Response, answer: Fields, options: { contentType: string; accepted: string }): void {
  const plain = readBody(answer, options.contentType);
  const packed = compress(plain, { wanted: answer["compression"], accepted: options.accepted });
  const body = packed?.body ?? plain;
  response.body = body.text;
  if (body.isBase64) response.isBase64Encoded = true;
  if (packed === null) return;
  response.headers["content-encoding"] = packed.encoding;
  response.headers["vary"] ??= "accept-encoding";
}

/** The first of them that says anything; a status that arrives as text is a number all the same. */
function readStatus(answer: Fields, otherwise: number): number {
  const name = ["status", "code", "statusCode"].find((one) => isGiven(answer[one]));
  if (name === undefined) return otherwise;
  const value = answer[name];
  const status = typeof value === "string" ? Number(value) : value;
  if (typeof status === "number" && Number.isInteger(status) && status >= 200 && status <= 599) return status;
  throw new TypeError(`"${name}" should be an HTTP status from 200 to 599, got ${describe(value)}`);
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== null && value !== 0 && value !== "" && value !== false;

function lowerCaseHeaders(headers: unknown): Record<string, unknown> {
  if (headers === undefined || headers === null) return {};
  if (!isFields(headers)) throw new TypeError(`"headers" should be an object, got ${describe(headers)}`);
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

function textField(answer: Fields, name: string): string | undefined {
  const value = answer[name];
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value !== "string") throw new TypeError(`"${name}" should be a text, got ${describe(value)}`);
  return value;
}

const textOf = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);

/** A header carries visible ASCII: letters of other scripts and spaces are percent-encoded, line ends are refused. */
export function sendable(location: string): string {
  // eslint-disable-next-line no-control-regex -- Control characters are what is looked for.
  if (/[\x00-\x1f\x7f]/.test(location)) throw new TypeError(`"location" should be free of control characters, got ${describe(location)}`);
  return location.toWellFormed().replaceAll(/[^\x21-\x7e]+/g, encodeURIComponent);
}

/** What the handler itself sets, each once. */
function ownCookies(answer: Fields, headers: Record<string, unknown>): string[] {
  const own = [headers["set-cookie"], answer["cookie"], answer["cookies"]].flat();
  delete headers["set-cookie"];
  return own.flatMap((value) => {
    if (value === undefined || value === null || value === "") return [];
    if (typeof value === "string") return [value];
    throw new TypeError(`a cookie should be a text, got ${describe(value)}`);
  });
}

/** A visitor who was given a token must also be given the id that it is bound to. */
export function dueCookies(): string[] {
  const state = requestState();
  if (!state.isCookieDue || state.sessionId === null) return [];
  state.isCookieDue = false;
  return [sessionCookieOf(state.sessionId)];
}

/** One cookie is a header, as the originals had it; several need a list, which is called differently in each generation. */
export function withCookies(response: Response, { event, cookies }: { event: Fields; cookies: readonly string[] }): Response {
  const [first] = cookies;
  if (first === undefined) return response;
  if (cookies.length === 1) return { ...response, headers: { ...response.headers, "set-cookie": first } };
  if (isVersion2(event)) return { ...response, cookies: [...cookies] };
  return { ...response, headers: { ...response.headers, "set-cookie": [...cookies] } };
}
