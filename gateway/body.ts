// Collects the body of a request within the limits: of one request, and of all that this process holds at once.
import type { IncomingMessage } from "node:http";
import type { ErrorCode } from "../runtime-image/contract/errors.ts";

export interface ByteCount {
  readonly bytesMax: number;
  bytes: number;
}

export interface BodyRules {
  readonly bytesMax: number;
  readonly held: ByteCount;
}

export type BodyReading = { readonly kind: "body"; readonly body: Uint8Array } | { readonly kind: "refused"; readonly code: ErrorCode };

export const NO_BODY = new Uint8Array(0);

/** Calls back once, unless the client goes away first. The bytes count as held until the caller gives them back. */
export function collectBody(request: IncomingMessage, rules: BodyRules, onRead: (reading: BodyReading) => void): void {
  const { held } = rules;
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  let isOver = false;
  const refuse = (code: ErrorCode): void => {
    isOver = true;
    giveBack(held, bytes);
    request.pause(); // What is left of it is not read; the connection closes after the answer.
    onRead({ kind: "refused", code });
  };
  request.on("data", (chunk: Uint8Array) => {
    if (isOver) return;
    bytes += chunk.length;
    held.bytes += chunk.length;
    if (bytes > rules.bytesMax) return refuse("BODY_TOO_LARGE");
    if (held.bytes > held.bytesMax) return refuse("NO_CAPACITY");
    chunks.push(chunk);
  });
  request.on("end", () => {
    if (isOver) return;
    isOver = true;
    onRead({ kind: "body", body: chunks.length === 1 ? (chunks[0] ?? NO_BODY) : Buffer.concat(chunks, bytes) });
  });
  request.on("close", () => {
    if (isOver) return;
    isOver = true;
    giveBack(held, bytes);
  });
  request.on("error", () => undefined); // "close" follows.
}

export function giveBack(held: ByteCount, bytes: number): void {
  held.bytes -= bytes;
}
