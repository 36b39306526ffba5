// Writes answers to clients: what a function answered, what went wrong, and large bodies at the client's own pace.
import type { ServerResponse } from "node:http";
import type { FlatHeaders } from "../runtime-image/contract/envelope.ts";
import { ANSWER_BODY_BYTES_MAX } from "../runtime-image/contract/limits.ts";
import type { BodySink, HeldAnswer, WholeAnswer } from "./dispatch/job.ts";
import type { ErrorAnswer } from "./error-page.ts";
import type { ErrorCode } from "../runtime-image/contract/errors.ts";

/** Null where the function's answer cannot be sent as HTTP: then nothing was sent. */
export type Written = "written" | null;

export function writeWhole(
  response: ServerResponse,
  { header, body, requestId }: { header: WholeAnswer; body: Uint8Array; requestId: string },
): Written {
  const { status, bodyBytes } = header;
  const sendsBody = response.req.method !== "HEAD" && status !== 204 && status !== 304;
  if (!isStatus(status) || !isLength(bodyBytes) || (sendsBody && body.length !== bodyBytes)) return null;
  const headers = ownHeaders(header.headers, requestId);
  // RFC 9110 8.6: never with 204; with 304 it would have to be the length of another answer.
  if (status !== 204 && status !== 304) headers.push("content-length", String(bodyBytes));
  if (!writeHead(response, status, headers)) return null;
  if (sendsBody && body.length > 0) response.end(body);
  else response.end();
  return "written";
}

export function writeError(response: ServerResponse, { status, headers, body }: ErrorAnswer): void {
  response.writeHead(status, [...headers]);
  response.end(body);
}

const LINGER_MS = 1_000;

/**
 * For a client in the middle of its body. Closing while bytes are unread resets the connection, and the answer may be lost with it:
 * so the answer goes out whole, what still comes is dropped for a moment, and only then the connection closes (RFC 9112 9.6).
 */
export function writeErrorAndLinger(response: ServerResponse, { status, headers, body }: ErrorAnswer): void {
  const request = response.req;
  response.shouldKeepAlive = false;
  response.writeHead(status, [...headers]);
  response.write(body);
  const close = (): void => {
    clearTimeout(timer);
    if (!response.writableEnded) response.end();
  };
  const timer = setTimeout(close, LINGER_MS);
  request.once("close", close);
  request.once("end", close);
  request.resume();
}

export interface SinkParts {
  readonly header: HeldAnswer;
  readonly requestId: string;
  readonly fail: (code: ErrorCode, detail?: string) => void;
  readonly onOver: () => void; // Ended, cut or gone; called once.
}

/** Null where the head is none that could be sent. */
export function createSink(response: ServerResponse, parts: SinkParts): BodySink | null {
  const { status, bodyBytes } = parts.header;
  const isSendable = isStatus(status) && status !== 204 && status !== 304 && isLength(bodyBytes) && bodyBytes > 0;
  if (!isSendable || response.req.method === "HEAD") return null;
  const headers = [...ownHeaders(parts.header.headers, parts.requestId), "content-length", String(bodyBytes)];
  let state: "unsent" | "open" | "over" = "unsent";
  const finish = (): void => {
    state = "over";
    parts.onOver();
  };
  const begin = (): boolean => {
    if (writeHead(response, status, headers)) {
      state = "open";
      return true;
    }
    state = "over";
    parts.fail("HANDLER_ANSWER_INVALID", "A header of the answer cannot be sent.");
    return false;
  };
  return {
    write(bytes) {
      if (state === "unsent" && !begin()) return true;
      return state === "open" ? response.write(bytes) : true;
    },
    end() {
      if (state === "over") return;
      response.end();
      finish();
    },
    abort(code) {
      if (state === "over") return;
      if (state === "unsent") {
        state = "over";
        return parts.fail(code);
      }
      response.destroy();
      finish();
    },
    onDrain: (callback) => void response.on("drain", callback),
    onGone: (callback) =>
      void response.on("close", () => {
        if (state !== "over") finish();
        callback();
      }),
  };
}

// The runtime has checked them; a function that speaks for its runtime has not.
function writeHead(response: ServerResponse, status: number, headers: string[]): boolean {
  try {
    response.writeHead(status, headers);
    return true;
  } catch {
    return false;
  }
}

const isStatus = (status: unknown): boolean => Number.isInteger(status) && Number(status) >= 200 && Number(status) <= 599;
const isLength = (bytes: unknown): boolean => Number.isSafeInteger(bytes) && Number(bytes) >= 0 && Number(bytes) <= ANSWER_BODY_BYTES_MAX;

/** What a function may say, and the request's id. What frames the message is ours to say. */
function ownHeaders(headers: FlatHeaders, requestId: string): string[] {
  const own: string[] = [];
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index] ?? "";
    if (!isOurs(name)) own.push(name, headers[index + 1] ?? "");
  }
  own.push("x-request-id", requestId);
  return own;
}

const OURS: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "date",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "x-request-id",
]);

const isOurs = (name: string): boolean => OURS.has(name.toLowerCase());
