// Builds the request object of payload version 2.0.
import type { FlatHeaders, RequestHeader } from "../../contract/envelope.ts";
import { parseQuery, setOwn } from "./request-parts.ts";

const ACCOUNT_ID = "000000000000"; // Handlers written for AWS expect twelve digits; no account stands behind them here.
const ROUTE_KEYS_KEPT_MAX = 64; // A function has one route; this bounds what a confused sender could make us keep.
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

export interface CurrentEvent {
  version: "2.0";
  routeKey: string;
  rawPath: string;
  rawQueryString: string;
  cookies?: string[];
  headers: Record<string, string>;
  queryStringParameters?: Record<string, string>;
  requestContext: RequestContext;
  pathParameters?: Record<string, string>;
  body?: string;
  isBase64Encoded: boolean;
}

interface RequestContext {
  accountId: string;
  apiId: string;
  domainName: string;
  domainPrefix: string;
  http: { method: string; path: string; protocol: string; sourceIp: string; userAgent: string };
  requestId: string;
  routeKey: string;
  stage: "$default";
  time: string;
  timeEpoch: number;
}

export function createCurrentEvents(options: { readonly apiId: string }): (header: RequestHeader, body: Uint8Array) => CurrentEvent {
  const routeKeys = new Map<string, string>();
  const time = createTimeFormat();

  const routeKeyOf = (route: string): string => {
    const known = routeKeys.get(route);
    if (known !== undefined) return known;
    const routeKey = toRouteKey(route);
    if (routeKeys.size < ROUTE_KEYS_KEPT_MAX) routeKeys.set(route, routeKey);
    return routeKey;
  };

  return (header, body) => {
    const routeKey = routeKeyOf(header.route);
    const cookies: string[] = [];
    const headers = readHeaders(header.headers, cookies);
    const domainName = withoutPort(ownText(headers, "host"));
    const event: CurrentEvent = {
      version: "2.0",
      routeKey,
      rawPath: header.path,
      rawQueryString: header.query === "" ? "" : `?${header.query}`,
      headers,
      requestContext: {
        accountId: ACCOUNT_ID,
        apiId: options.apiId,
        domainName,
        domainPrefix: firstLabel(domainName),
        http: {
          method: header.method,
          path: header.path,
          protocol: `HTTP/${header.httpVersion}`,
          sourceIp: header.sourceIp,
          userAgent: ownText(headers, "user-agent"),
        },
        requestId: header.id,
        routeKey,
        stage: "$default",
        time: time(header.startEpochMs),
        timeEpoch: header.startEpochMs,
      },
      isBase64Encoded: body.length > 0,
    };
    if (cookies.length > 0) event.cookies = cookies;
    if (header.query !== "") addQuery(event, header.query);
    if (header.params !== null) addParams(event, header.params);
    if (body.length > 0) addBody(event, body);
    return event;
  };
}

/** "GET /shop/:item" reads "GET /shop/{item}", and a catch-all "{proxy+}". */
export function toRouteKey(route: string): string {
  const pathStart = route.indexOf("/");
  if (pathStart === -1) return route;
  const segments = route.slice(pathStart).split("/");
  const braced = segments.map((segment) => (segment === "*" ? "{proxy+}" : segment.startsWith(":") ? `{${segment.slice(1)}}` : segment));
  return route.slice(0, pathStart) + braced.join("/");
}

/** Lower-case names, repeats joined with ", " and those of cookie with "; ", as AWS does. */
function readHeaders(flat: FlatHeaders, cookies: string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (let index = 0; index + 1 < flat.length; index += 2) {
    // The loop stays within the list.
    const name = flat[index]!.toLowerCase();
    const value = flat[index + 1]!;
    if (name === "cookie") readCookies(value, cookies);
    if (!Object.hasOwn(headers, name)) setOwn(headers, name, value);
    else headers[name] = `${headers[name]}${name === "cookie" ? "; " : ", "}${value}`;
  }
  return headers;
}

function readCookies(header: string, cookies: string[]): void {
  for (const part of header.split(";")) {
    const cookie = part.trim();
    if (cookie !== "") cookies.push(cookie);
  }
}

function addQuery(event: CurrentEvent, query: string): void {
  const pairs = parseQuery(query);
  if (pairs.length === 0) return;
  const values: Record<string, string> = {};
  for (const [name, value] of pairs) setOwn(values, name, Object.hasOwn(values, name) ? `${values[name]},${value}` : value);
  event.queryStringParameters = values;
}

function addParams(event: CurrentEvent, params: Readonly<Record<string, string>>): void {
  const names = Object.keys(params);
  if (names.length === 0) return;
  const values: Record<string, string> = {};
  for (const name of names) setOwn(values, name, params[name] ?? "");
  event.pathParameters = values;
}

/**
 * The contract wants bodies as base64, and its GraphQL example assigns `event.body = JSON.stringify(…)` and passes the event on:
 * both hold because assigning clears the flag. The base64 is made when it is first asked for.
 */
function addBody(event: CurrentEvent, bytes: Uint8Array): void {
  let value: string | null = null;
  Object.defineProperty(event, "body", {
    enumerable: true,
    configurable: true,
    get: () => (value ??= Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64")),
    set: (next: string) => {
      value = next;
      event.isBase64Encoded = false;
    },
  });
}

/** "12/Mar/2020:19:03:58 +0000". Most requests share their second with the one before. */
function createTimeFormat(): (epochMs: number) => string {
  let lastSecond = -1;
  let lastText = "";
  return (epochMs) => {
    const second = Math.floor(epochMs / 1000);
    if (second !== lastSecond) {
      lastSecond = second;
      lastText = formatTime(new Date(second * 1000));
    }
    return lastText;
  };
}

function formatTime(date: Date): string {
  const two = (value: number) => String(value).padStart(2, "0");
  const day = `${two(date.getUTCDate())}/${MONTHS[date.getUTCMonth()] ?? ""}/${date.getUTCFullYear()}`;
  return `${day}:${two(date.getUTCHours())}:${two(date.getUTCMinutes())}:${two(date.getUTCSeconds())} +0000`;
}

const ownText = (values: Record<string, string>, name: string): string => (Object.hasOwn(values, name) ? (values[name] ?? "") : "");

function withoutPort(host: string): string {
  const colon = host.lastIndexOf(":");
  const isPort = colon > host.lastIndexOf("]") && colon !== -1; // "[::1]:3000" has colons inside its brackets.
  return isPort ? host.slice(0, colon) : host;
}

function firstLabel(domainName: string): string {
  const dot = domainName.indexOf(".");
  return dot === -1 || domainName.startsWith("[") ? domainName : domainName.slice(0, dot);
}
