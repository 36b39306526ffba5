// Bodies too large for one message: kept here and pulled in chunks, as fast as whoever asked for them reads.
import { encodeEnvelope, ENVELOPE_VERSION, type PullHeader } from "../contract/envelope.ts";
import { ANSWER_CHUNK_BYTES, ANSWER_CHUNKS_IN_FLIGHT_MAX, ANSWER_STALL_TIMEOUT_MS } from "../contract/limits.ts";

export interface HeldAnswers {
  /** Takes a body over and names it: nobody else may read its bytes from now on. */
  hold(body: Uint8Array): string;
  /** Publishes the chunks that were asked for, or "gone". A count of 0 lets the body go. */
  pull(header: PullHeader, replyTo: string): void;
  /** Lets go of bodies that nobody pulled for too long. */
  sweep(): void;
  count(): number;
}

interface Options {
  readonly publish: (subject: string, bytes: Uint8Array) => void;
  readonly bytesMax: number; // Beyond this the body that was pulled longest ago makes room.
  readonly nowMs: () => number;
}

interface HeldBody {
  readonly bytes: Uint8Array;
  lastPullMs: number;
}

export function createHeldAnswers(options: Options): HeldAnswers {
  const bodies = new Map<string, HeldBody>(); // The one that was pulled longest ago comes first.
  let heldBytes = 0;
  let lastNumber = 0;

  const release = (streamId: string, body: HeldBody) => {
    bodies.delete(streamId);
    heldBytes -= body.bytes.length;
    freeNow(body.bytes);
  };
  const touch = (streamId: string, body: HeldBody) => {
    body.lastPullMs = options.nowMs();
    bodies.delete(streamId);
    bodies.set(streamId, body);
  };
  const makeRoom = () => {
    for (const [streamId, body] of bodies) {
      if (heldBytes <= options.bytesMax || bodies.size === 1) return;
      release(streamId, body);
    }
  };
  const sendChunks = (body: HeldBody, header: PullHeader, replyTo: string) => {
    const chunkCount = Math.min(header.chunkCount, ANSWER_CHUNKS_IN_FLIGHT_MAX);
    for (let index = 0; index < chunkCount; index += 1) {
      const offset = header.offset + index * ANSWER_CHUNK_BYTES;
      if (offset >= body.bytes.length) return;
      const chunk = body.bytes.subarray(offset, offset + ANSWER_CHUNK_BYTES);
      options.publish(replyTo, encodeEnvelope({ v: ENVELOPE_VERSION, kind: "chunk", offset }, chunk));
    }
  };

  return {
    hold(bytes) {
      lastNumber += 1;
      const streamId = String(lastNumber);
      bodies.set(streamId, { bytes, lastPullMs: options.nowMs() });
      heldBytes += bytes.length;
      makeRoom();
      return streamId;
    },
    pull(header, replyTo) {
      const body = bodies.get(header.streamId);
      if (header.chunkCount === 0 && body !== undefined) release(header.streamId, body);
      if (header.chunkCount === 0) return;
      if (body === undefined || !isPlace(header, body.bytes.length)) {
        options.publish(replyTo, encodeEnvelope({ v: ENVELOPE_VERSION, kind: "gone" }));
        return;
      }
      touch(header.streamId, body);
      sendChunks(body, header, replyTo);
    },
    sweep() {
      const stalledBeforeMs = options.nowMs() - ANSWER_STALL_TIMEOUT_MS;
      for (const [streamId, body] of bodies) {
        if (body.lastPullMs > stalledBeforeMs) return;
        release(streamId, body);
      }
    },
    count: () => bodies.size,
  };
}

/**
 * Nobody reads them any more: every chunk was a copy. Left to the garbage collector, megabytes of large answers that were sent already
 * count towards the instance's memory limit (measured: 32 at once, again and again, ended an instance of 512 MB).
 */
function freeNow({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}

const isPlace = (header: PullHeader, bodyBytes: number): boolean =>
  Number.isSafeInteger(header.offset) &&
  header.offset >= 0 &&
  header.offset <= bodyBytes &&
  Number.isSafeInteger(header.chunkCount) &&
  header.chunkCount > 0;
