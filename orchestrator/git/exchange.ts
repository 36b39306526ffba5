// One request to the door and its answer: bytes passed from git to the client, bytes passed to git, and refusals in words that git shows.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Readable, Writable } from "node:stream";
import { ERRORS, PlatformError } from "../../runtime-image/contract/errors.ts";
import { NO_CACHE } from "./git-request.ts";
import type { RequestBody } from "./request-body.ts";

export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly appId: string;
  readonly by: string;
  readonly signal: AbortSignal; // The client went away, or the platform stops.
}

/** Git shows a text of this type, where it asked for refs. */
export function refuse(
  response: ServerResponse,
  status: number,
  lines: readonly string[],
  headers: Readonly<Record<string, string>> = {},
): void {
  if (response.headersSent) return void response.destroy(); // A part of an answer: cut off, it is seen to be no whole one.
  response.writeHead(status, { ...NO_CACHE, "content-type": "text/plain; charset=utf-8", ...headers });
  response.end(`${lines.join("\n")}\n`);
}

/** For people; what is not theirs to see is left out. */
export function linesOfError(cause: unknown): string[] {
  if (!(cause instanceof PlatformError)) return [`INTERNAL: ${ERRORS.INTERNAL.message}`];
  const { problems = [], remedy } = cause.detail;
  return [`${cause.code}: ${cause.message}`, ...problems.map((problem) => `  - ${problem}`), ...(remedy === undefined ? [] : [remedy])];
}

export const statusOf = (cause: unknown): number => (cause instanceof PlatformError ? ERRORS[cause.code].status : ERRORS.INTERNAL.status);

/** Resolves when git has said everything, whether somebody still listens or not. Writes no head before the first byte. */
export async function relay(
  output: Readable,
  response: ServerResponse,
  head: Readonly<Record<string, string>>,
  first?: Buffer,
): Promise<void> {
  for await (const chunk of output as AsyncIterable<Buffer>) {
    if (response.destroyed) continue;
    if (!response.headersSent) {
      response.writeHead(200, { ...NO_CACHE, ...head });
      if (first !== undefined) response.write(first);
    }
    if (!response.write(chunk)) await writableAgain(response);
  }
}

export type Fed = "whole" | "too large" | "unwanted";

/** Passes the body on; "unwanted": git ended, or reads no further. */
export async function feed(
  body: RequestBody,
  input: Writable,
  limits: { readonly first?: Buffer; readonly bytesMax: number },
): Promise<Fed> {
  let piece: Buffer | null = limits.first ?? (await body.reader.takeSome(PIECE_BYTES_MAX));
  while (piece !== null) {
    if (body.bytesRead() > limits.bytesMax) return "too large";
    if (!input.writable) return "unwanted";
    if (!input.write(piece)) await writableAgain(input);
    piece = await body.reader.takeSome(PIECE_BYTES_MAX);
  }
  input.end();
  return "whole";
}

const PIECE_BYTES_MAX = 262_144;

async function writableAgain(stream: Writable): Promise<void> {
  if (stream.destroyed || !stream.writableNeedDrain) return;
  await new Promise<void>((done) => {
    const end = (): void => {
      stream.off("drain", end).off("close", end);
      done();
    };
    stream.on("drain", end).on("close", end);
  });
}
