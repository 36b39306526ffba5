// Reads the head of a request within the limits: who asks whom for what, and which headers the function will see.
import { randomUUID } from "node:crypto";
import type { ErrorCode } from "../runtime-image/contract/errors.ts";
import type { GatewayLimits } from "../runtime-image/contract/gateway-config.ts";
import { originOf, type ForwardedValues, type Peer, type Trust } from "./forwarded.ts";
import { readTarget, type Target } from "./target.ts";

export interface IncomingHead {
  readonly method: string;
  readonly target: string;
  readonly httpVersion: string;
  readonly rawHeaders: readonly string[];
}

export interface RequestHead {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly host: string; // Lower case, without port; "" where an HTTP/1.0 client names none.
  readonly headers: readonly string[];
  readonly sourceIp: string;
  readonly scheme: "http" | "https";
  readonly httpVersion: string;
  readonly accept: string;
  readonly bodyBytes: number; // As announced; 0 for none.
  readonly isChunked: boolean;
}

/** Either the head, or why there is none; a refusal still knows the id and how the client likes its errors. */
export type HeadReading =
  | { readonly kind: "head"; readonly head: RequestHead }
  | { readonly kind: "refused"; readonly code: ErrorCode; readonly id: string; readonly accept: string };

export interface HeadRules {
  readonly limits: GatewayLimits;
  readonly trust: Trust;
}

const METHODS: ReadonlySet<string> = new Set(["GET", "POST", "PATCH", "PUT", "DELETE", "HEAD", "OPTIONS"]);

export function readHead(incoming: IncomingHead, peer: Peer, rules: HeadRules): HeadReading {
  const scan = scanHeaders(incoming.rawHeaders, peer.isTrusted);
  const id = peer.isTrusted && isSaneId(scan.requestId) ? scan.requestId : randomUUID();
  const target = readTarget(incoming.target);
  const code = refusalOf(incoming, { scan, target, limits: rules.limits });
  if (code !== null || target.kind === "malformed") return { kind: "refused", code: code ?? "TARGET_MALFORMED", id, accept: scan.accept };

  const origin = originOf(peer, scan.forwarded, rules.trust);
  const namedHost = target.host ?? scan.host ?? "";
  const host = hostName(origin.host ?? namedHost);
  if (host === null) return { kind: "refused", code: "REQUEST_MALFORMED", id, accept: scan.accept };
  if (target.host !== null) replaceHost(scan.headers, target.host);
  scan.headers.push("x-forwarded-for", origin.sourceIp, "x-forwarded-proto", origin.scheme, "x-forwarded-port", origin.port);
  scan.headers.push("x-forwarded-host", origin.host ?? namedHost);
  const head = {
    id,
    method: incoming.method,
    path: target.path,
    query: target.query,
    host,
    headers: scan.headers,
    sourceIp: origin.sourceIp,
    scheme: origin.scheme,
    httpVersion: incoming.httpVersion,
    accept: scan.accept,
    bodyBytes: scan.bodyBytes,
    isChunked: scan.isChunked,
  };
  return { kind: "head", head };
}

function refusalOf(
  incoming: IncomingHead,
  { scan, target, limits }: { scan: HeaderScan; target: Target; limits: GatewayLimits },
): ErrorCode | null {
  if (incoming.target.length > limits.targetBytesMax) return "TARGET_TOO_LONG";
  if (scan.headerBytes > limits.headerBytesMax) return "HEADERS_TOO_LARGE";
  if (!METHODS.has(incoming.method)) return "METHOD_NOT_SUPPORTED";
  if (target.kind === "malformed") return "TARGET_MALFORMED";
  // Node reads a request line without a version as HTTP/0.9, and takes HTTP/2.0 in the form of 1.1.
  if (incoming.httpVersion !== "1.1" && incoming.httpVersion !== "1.0") return "REQUEST_MALFORMED";
  // RFC 9112 3.2: an HTTP/1.1 request names its host exactly once.
  if (scan.hostCount > 1 || (scan.hostCount === 0 && incoming.httpVersion === "1.1")) return "REQUEST_MALFORMED";
  return scan.bodyBytes > limits.requestBodyBytesMax ? "BODY_TOO_LARGE" : null;
}

interface HeaderScan {
  readonly headers: string[]; // What travels on.
  headerBytes: number;
  host: string | null;
  hostCount: number;
  accept: string;
  requestId: string;
  bodyBytes: number;
  isChunked: boolean;
  readonly forwarded: ForwardedValues;
}

// One pass over the raw list: Node's own header object would join, drop and lower what a function may want to see.
function scanHeaders(raw: readonly string[], isTrusted: boolean): HeaderScan {
  const scan: HeaderScan = {
    headers: [],
    headerBytes: 0,
    host: null,
    hostCount: 0,
    accept: "",
    requestId: "",
    bodyBytes: 0,
    isChunked: false,
    forwarded: { for: null, proto: null, host: null, port: null },
  };
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = raw[index] ?? "";
    const value = raw[index + 1] ?? "";
    scan.headerBytes += name.length + value.length;
    if (keepsHeader(scan, name.toLowerCase(), value, isTrusted)) scan.headers.push(name, value);
  }
  return scan;
}

/** Notes what we need of a header, and says whether the function sees it as it is. */
function keepsHeader(scan: HeaderScan, lowerName: string, value: string, isTrusted: boolean): boolean {
  switch (lowerName) {
    case "host":
      scan.host = value;
      scan.hostCount++;
      return true;
    case "accept":
      scan.accept = scan.accept === "" ? value : `${scan.accept},${value}`;
      return true;
    case "content-length":
      scan.bodyBytes = Number(value);
      return true;
    case "x-request-id":
      scan.requestId = value;
      return true;
    case "transfer-encoding":
      scan.isChunked = true;
      return false;
    case "connection":
    case "keep-alive":
    case "te":
    case "trailer":
    case "upgrade":
    case "proxy-connection":
    case "proxy-authorization":
    case "proxy-authenticate":
      return false; // They speak of this connection only.
    case "forwarded":
      return isTrusted;
    default:
      return lowerName.startsWith("x-forwarded-") ? keepsForwarded(scan.forwarded, lowerName, value, isTrusted) : true;
  }
}

// The four that we write ourselves never pass; others only from a proxy that we trust.
function keepsForwarded(values: ForwardedValues, lowerName: string, value: string, isTrusted: boolean): boolean {
  const joined = (before: string | null): string => (before === null ? value : `${before},${value}`);
  switch (lowerName) {
    case "x-forwarded-for":
      values.for = joined(values.for);
      return false;
    case "x-forwarded-proto":
      values.proto = joined(values.proto);
      return false;
    case "x-forwarded-host":
      values.host = joined(values.host);
      return false;
    case "x-forwarded-port":
      values.port = joined(values.port);
      return false;
    default:
      return isTrusted;
  }
}

function replaceHost(headers: string[], host: string): void {
  for (let index = 0; index + 1 < headers.length; index += 2) if (headers[index]?.toLowerCase() === "host") headers[index + 1] = host;
}

/** Lower case, without the port. Null where it could be no host of a URL (RFC 3986). */
export function hostName(host: string): string | null {
  const end = host.startsWith("[") ? host.indexOf("]") + 1 : host.includes(":") ? host.indexOf(":") : host.length;
  if (host.startsWith("[") && end === 0) return null;
  for (let index = end + 1; index < host.length; index++) if (!isDigit(host.charCodeAt(index))) return null;
  if (end < host.length && host[end] !== ":") return null;
  for (let index = 0; index < end; index++) if (!isHostCharacter(host.charCodeAt(index))) return null;
  return host.slice(0, end).toLowerCase();
}

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;

function isHostCharacter(code: number): boolean {
  const isLetter = (code >= 0x41 && code <= 0x5a) || (code >= 0x61 && code <= 0x7a);
  return isLetter || isDigit(code) || code === 0x2d || code === 0x2e || code === 0x5f || code === 0x3a || code === 0x5b || code === 0x5d;
}

const REQUEST_ID_BYTES_MAX = 128;

function isSaneId(text: string): boolean {
  if (text.length === 0 || text.length > REQUEST_ID_BYTES_MAX) return false;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code <= 0x20 || code >= 0x7f || code === 0x22 || code === 0x3c || code === 0x5c) return false;
  }
  return true;
}
