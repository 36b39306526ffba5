// How bytes that take their time travel in the management API: no faster than they are read, and not for ever where nothing moves.
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { API_DISCARD_MS, API_KEEP_ALIVE_INTERVAL_MS, API_STALL_TIMEOUT_MS } from "../../runtime-image/contract/limits.ts";
import type { ServerEvent } from "./route.ts";

/** A body of JSON: all of it, within a time. Undefined for an empty one. */
export async function readJson(body: Readable, limits: { readonly bytesMax: number; readonly timeoutMs: number }): Promise<unknown> {
  const parts: Buffer[] = [];
  let bytes = 0;
  const timer = setTimeout(() => body.destroy(), limits.timeoutMs);
  try {
    for await (const chunk of chunksOf(body)) {
      bytes += chunk.length;
      if (bytes > limits.bytesMax)
        throw new PlatformError("BODY_TOO_LARGE", { detail: `The management API takes up to ${limits.bytesMax} bytes of JSON.` });
      parts.push(chunk);
    }
  } finally {
    clearTimeout(timer);
  }
  if (bytes === 0) return undefined;
  try {
    return JSON.parse(Buffer.concat(parts).toString("utf8"));
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new PlatformError("API_INPUT_INVALID", { problems: [`body: should be JSON: ${reason}`] }, { cause });
  }
}

/** Streams of bytes give Buffers, which Node's types do not say. */
const chunksOf = (body: AsyncIterable<unknown>): AsyncIterable<Buffer> => body as AsyncIterable<Buffer>;

/** A body of any size, as its reader takes it. */
export function uploadOf(request: IncomingMessage, bytesMax: number): Readable {
  return Readable.from(moving(request, bytesMax), { objectMode: false });
}

/** What is still on its way is read for a moment: a sender that is cut off may never see why. */
export async function discardRest(request: IncomingMessage): Promise<void> {
  if (request.complete || request.destroyed) return;
  request.resume();
  const late = AbortSignal.timeout(API_DISCARD_MS);
  await once(request, "end", { signal: late }).catch(() => undefined); // It is sent more than anyone waits for, or broken off.
}

async function* moving(request: IncomingMessage, bytesMax: number): AsyncGenerator<Buffer> {
  let bytes = 0;
  const stalled = (): void => void request.destroy();
  let timer = setTimeout(stalled, API_STALL_TIMEOUT_MS);
  try {
    // Left open, so that whoever stops reading can still answer.
    for await (const chunk of chunksOf(request.iterator({ destroyOnReturn: false }))) {
      clearTimeout(timer); // While the reader is busy, the sender is not to blame.
      bytes += chunk.length;
      if (bytes > bytesMax) throw new PlatformError("BODY_TOO_LARGE", { detail: `At most ${bytesMax} bytes are taken here.` });
      yield chunk;
      timer = setTimeout(stalled, API_STALL_TIMEOUT_MS);
    }
  } catch (cause) {
    if (cause instanceof PlatformError) throw cause;
    throw new PlatformError("REQUEST_TIMED_OUT", { detail: "The upload broke off." }, { cause });
  } finally {
    clearTimeout(timer);
  }
}

/** Sends a stream to its end. Where the stream fails the connection is broken off; so it is where the reader goes away, which is no error. */
export async function sendStream(response: ServerResponse, contentType: string, stream: Readable): Promise<void> {
  response.writeHead(200, { "content-type": contentType, "cache-control": "no-store", "x-content-type-options": "nosniff" });
  response.flushHeaders(); // The first line may take a while.
  response.setTimeout(API_STALL_TIMEOUT_MS, () => {
    if (response.writableNeedDrain) response.destroy(); // Nobody reads.
  });
  let failure: unknown = null;
  stream.once("error", (cause) => (failure = cause));
  try {
    await pipeline(stream, response);
  } catch (cause) {
    if (failure === cause && !isGone(cause)) throw cause;
  }
}

/** The reader went away: its own business. */
const isGone = (cause: unknown): boolean =>
  cause instanceof Error && "code" in cause && (cause.code === "ERR_STREAM_PREMATURE_CLOSE" || cause.code === "ABORT_ERR");

export const linesOf = (values: AsyncIterable<unknown>): Readable => Readable.from(asLines(values), { objectMode: false });

async function* asLines(values: AsyncIterable<unknown>): AsyncGenerator<string> {
  for await (const value of values) yield `${JSON.stringify(value)}\n`;
}

/** Lines for readers that know server-sent events only; the last one says that there are no more, or they would come again. */
export async function* asEvents(values: AsyncIterable<unknown>): AsyncGenerator<ServerEvent> {
  for await (const data of values) yield { event: "line", data };
  yield { event: "end", data: null };
}

/** Server-sent events, with a comment now and then while there are none. */
export async function sendEvents(response: ServerResponse, events: AsyncIterable<ServerEvent>): Promise<void> {
  // Whole events are written at once, so that a comment never falls into one.
  const timer = setInterval(() => {
    if (response.headersSent && !response.writableNeedDrain) response.write(":\n\n");
  }, API_KEEP_ALIVE_INTERVAL_MS);
  try {
    await sendStream(response, "text/event-stream", Readable.from(asText(events), { objectMode: false }));
  } finally {
    clearInterval(timer);
  }
}

async function* asText(events: AsyncIterable<ServerEvent>): AsyncGenerator<string> {
  yield ":\n\n"; // Some readers call a stream open with its first byte only.
  for await (const { id, event, data } of events)
    yield `${id === undefined ? "" : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`; // JSON has no line breaks of its own.
}
