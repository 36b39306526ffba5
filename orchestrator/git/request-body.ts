// The body of a request to git: unpacked where it is compressed, counted, given piece by piece, and read past where nobody wants the rest.
import type { IncomingMessage } from "node:http";
import { createGunzip } from "node:zlib";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { type ByteReader, createByteReader } from "./byte-reader.ts";

export interface RequestBody {
  readonly reader: ByteReader;
  /** So many bytes were given, unpacked. */
  readonly bytesRead: () => number;
  /**
   * Reads on and forgets, up to so many bytes as sent; then the connection is cut. A client that is cut off while it sends does not
   * see its answer.
   */
  skip(bytesMax: number): Promise<void>;
}

export function requestBody(request: IncomingMessage, isZipped: boolean): RequestBody {
  const source = isZipped ? request.pipe(createGunzip()) : request;
  let isMalformed = false;
  if (source !== request) {
    source.on("error", () => (isMalformed = true)); // Also where nobody reads yet.
    request.once("close", () => (request.complete ? undefined : source.destroy())); // A pipe does not pass on that its source broke off.
  }
  const iterator: AsyncIterator<Buffer> = source.iterator({ destroyOnReturn: false });
  let bytes = 0;
  const counted: AsyncIterator<Uint8Array> = {
    async next() {
      const next = await iterator.next().catch((cause: unknown) => {
        throw isMalformed ? new PlatformError("BODY_MALFORMED", { detail: "It is no valid gzip." }, { cause }) : cause;
      });
      if (next.done === true) return { done: true, value: undefined };
      bytes += next.value.length;
      return { done: false, value: next.value };
    },
  };
  return {
    reader: createByteReader(counted),
    bytesRead: () => bytes,
    async skip(bytesMax) {
      await iterator.return?.();
      request.unpipe();
      let left = bytesMax;
      await new Promise<void>((done) => {
        request.once("close", () => done()).once("end", () => done());
        request.on("data", (chunk: Buffer) => {
          left -= chunk.length;
          if (left < 0) request.destroy();
        });
        if (request.readableEnded || request.destroyed) done();
      });
    },
  };
}
