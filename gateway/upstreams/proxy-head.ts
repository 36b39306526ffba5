// What crosses to an upstream and back: address and headers of the request, headers of the answer. Pure.
import { PROXY_HOP_COUNT_MAX } from "../../runtime-image/contract/limits.ts";
import type { RequestHead } from "../request-head.ts";

export interface UpstreamAddress {
  readonly protocol: "http:" | "https:";
  readonly hostname: string; // As a socket takes it: no brackets around an IPv6 address.
  readonly host: string; // As the Host header says it.
  readonly port: string;
  readonly origin: string; // Safe to show: credentials of the URL are not in it.
  readonly auth: string | null; // "user:password", where the URL holds them.
}

export type HeaderObject = Record<string, string | string[]>;

export type UpstreamPlan =
  | { readonly kind: "ask"; readonly address: UpstreamAddress; readonly path: string; readonly headers: HeaderObject }
  | { readonly kind: "invalid" } // The URL is none that can be asked.
  | { readonly kind: "looped"; readonly hopCount: number };

export interface Asked {
  readonly url: string; // Of the upstream.
  readonly head: RequestHead;
  readonly connection: string; // The value of the Connection header, or "".
  readonly bodyBytes: number;
  readonly purpose: "request" | "upgrade";
}

const HOPS = "x-orchestrator-hops"; // Not Via: servers leave out compression for requests that carry one.

export function planUpstream({ url, head, connection, bodyBytes, purpose }: Asked): UpstreamPlan {
  const address = readAddress(url);
  if (address === null) return { kind: "invalid" };
  const hopCount = hopCountOf(head.headers);
  if (hopCount >= PROXY_HOP_COUNT_MAX) return { kind: "looped", hopCount };
  const headers = requestHeaders(head.headers, namesIn(connection));
  headers["host"] = address.host;
  headers["x-request-id"] = head.id;
  headers[HOPS] = String(hopCount + 1);
  if (bodyBytes > 0) headers["content-length"] = String(bodyBytes);
  if (purpose === "upgrade") Object.assign(headers, { connection: "Upgrade", upgrade: "websocket" });
  return { kind: "ask", address, path: joinPath(new URL(url).pathname, head), headers };
}

export function readAddress(url: string): UpstreamAddress | null {
  if (!URL.canParse(url)) return null;
  const { protocol, hostname, host, port, origin, username, password } = new URL(url);
  if (protocol !== "http:" && protocol !== "https:") return null;
  return {
    protocol,
    hostname: hostname.startsWith("[") ? hostname.slice(1, -1) : hostname,
    host,
    port: port === "" ? (protocol === "https:" ? "443" : "80") : port,
    origin,
    auth: username === "" && password === "" ? null : `${decode(username)}:${decode(password)}`,
  };
}

// URL takes percent signs that encode nothing; then they stand for themselves.
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

// As it was sent, below the URL's own path: neither slashes nor dots are touched, as nowhere else in the gateway.
function joinPath(base: string, { path, query }: Pick<RequestHead, "path" | "query">): string {
  const below = base.endsWith("/") ? base.slice(0, -1) : base;
  return query === "" ? below + path : `${below}${path}?${query}`;
}

/** The names that a Connection header lists belong to that connection only (RFC 9110 7.6.1). */
function namesIn(connection: string): ReadonlySet<string> {
  if (connection === "") return NO_NAMES;
  return new Set(connection.split(",").map((name) => name.trim().toLowerCase()));
}

const NO_NAMES: ReadonlySet<string> = new Set();

// Connection-bound ones were dropped when the head was read; these are ours to say. "__proto__" cannot be a key of what Node takes.
const SAID_BY_US: ReadonlySet<string> = new Set(["host", "content-length", "expect", "x-request-id", HOPS, "__proto__"]);
// What we say of the visitor is not for the visitor to take away by naming it in Connection.
const isForwarded = (lowerName: string): boolean => lowerName.startsWith("x-forwarded-");

function requestHeaders(flat: readonly string[], connectionBound: ReadonlySet<string>): HeaderObject {
  return grouped(flat, (name) => SAID_BY_US.has(name) || (connectionBound.has(name) && !isForwarded(name)));
}

/** Repeats become lists; a name keeps the case in which it came first. */
function grouped(flat: readonly string[], isDropped: (lowerName: string) => boolean): HeaderObject {
  const headers: HeaderObject = {};
  const spellings = new Map<string, string>();
  for (let index = 0; index + 1 < flat.length; index += 2) {
    const name = flat[index] ?? "";
    const value = flat[index + 1] ?? "";
    const lowerName = name.toLowerCase();
    if (isDropped(lowerName)) continue;
    const spelling = spellings.get(lowerName);
    const before = spelling === undefined ? undefined : headers[spelling];
    if (spelling === undefined || before === undefined) {
      spellings.set(lowerName, name);
      headers[name] = value;
    } else headers[spelling] = Array.isArray(before) ? [...before, value] : [before, value];
  }
  return headers;
}

function hopCountOf(flat: readonly string[]): number {
  let hopCount = 0;
  for (let index = 0; index + 1 < flat.length; index += 2) {
    if (flat[index]?.toLowerCase() !== HOPS) continue;
    const value = flat[index + 1] ?? "";
    if (/^\d{1,3}$/.test(value)) hopCount = Math.max(hopCount, Number(value));
  }
  return hopCount;
}

const CONNECTION_BOUND: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

export interface AnswerFacts {
  readonly requestId: string;
  readonly status: number;
}

/** Names and values in turn, as the upstream sent them, without what belongs to its connection, and with our request id. */
export function answerHeaders(raw: readonly string[], facts: AnswerFacts): string[] {
  const isDropped = droppedFromAnswer(raw, facts.status);
  const headers: string[] = [];
  for (let index = 0; index + 1 < raw.length; index += 2)
    if (!isDropped(raw[index]?.toLowerCase() ?? "")) headers.push(raw[index] ?? "", raw[index + 1] ?? "");
  headers.push("x-request-id", facts.requestId);
  return headers;
}

/** The same for the answer to an upgrade, which http-proxy writes onto the bare socket. */
export function upgradeAnswerHeaders(raw: readonly string[], facts: AnswerFacts): HeaderObject {
  const headers = grouped(raw, droppedFromAnswer(raw, facts.status));
  headers["x-request-id"] = facts.requestId;
  if (facts.status === 101) Object.assign(headers, { connection: "Upgrade", upgrade: "websocket" });
  else headers["connection"] = "close"; // What is no upgrade is the last answer of this connection; its end frames it.
  return headers;
}

function droppedFromAnswer(raw: readonly string[], status: number): (lowerName: string) => boolean {
  const bound = namesIn(valuesOf(raw, "connection").join(","));
  return (lowerName) => {
    if (CONNECTION_BOUND.has(lowerName) || lowerName === "x-request-id" || lowerName === "__proto__") return true;
    if (lowerName === "content-length") return status === 204 || status === 101; // RFC 9110 8.6. Elsewhere it was checked by the parser.
    return bound.has(lowerName);
  };
}

function valuesOf(raw: readonly string[], lowerName: string): string[] {
  const values: string[] = [];
  for (let index = 0; index + 1 < raw.length; index += 2) if (raw[index]?.toLowerCase() === lowerName) values.push(raw[index + 1] ?? "");
  return values;
}
