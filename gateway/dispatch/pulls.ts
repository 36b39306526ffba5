// Large answers: pulled out of their instance in windows, each only when the client has read the one before.
import { encodeEnvelope, ENVELOPE_VERSION, type AnswerHeader } from "../../runtime-image/contract/envelope.ts";
import {
  ANSWER_BYTES_IN_FLIGHT_MAX,
  ANSWER_CHUNK_BYTES,
  ANSWER_CHUNKS_IN_FLIGHT_MAX,
  ANSWER_STALL_TIMEOUT_MS,
  PROBE_AFTER_MS,
} from "../../runtime-image/contract/limits.ts";
import { pullSubject } from "../../runtime-image/contract/subjects.ts";
import type { ErrorCode } from "../../runtime-image/contract/errors.ts";
import type { Clock } from "../clock.ts";
import { createByteBudget } from "./byte-budget.ts";
import type { Instance } from "./instance.ts";
import type { BodySink, HeldAnswer } from "./job.ts";

export interface PullBus {
  readonly isUp: boolean;
  /** Makes sure that the link is coming up. */
  open(): void;
  send(instance: Instance, message: { readonly subject: string; readonly sequence: number; readonly bytes: Uint8Array }): void;
  nextSequence(): number;
}

export interface Pulls {
  start(instance: Instance, header: HeldAnswer, sink: BodySink): void;
  /** Tells an instance that nobody wants what it holds. */
  letGo(instance: Instance, streamId: string): void;
  /** Whether the message belonged to a pull. */
  onMessage(
    sequence: number,
    message: { readonly subject: string; readonly answer: AnswerHeader | null; readonly body: Uint8Array },
  ): boolean;
  onUp(): void;
  lose(instance: Instance): void;
  /** Nobody reads any of them to its end. */
  letGoAll(): void;
  /** Ends those that stand still; tells which instances owe bytes for too long. */
  sweep(nowMs: number, due: Set<Instance>): void;
  readonly count: number;
}

interface Stream {
  readonly instance: Instance;
  readonly streamId: string;
  readonly bodyBytes: number;
  readonly sink: BodySink;
  sequence: number;
  received: number; // Bytes that arrived.
  windowEnd: number; // Where the window ends that was asked for.
  windowBytes: number; // What it holds of the budget.
  windowChunks: number; // How large the next window will be.
  windowStartMs: number;
  readonly unwritten: Uint8Array[]; // At most one window.
  isClientFull: boolean;
  state: "waiting" | "pulling" | "over"; // "waiting": for the budget or for the client.
  movedMs: number; // When bytes last came in or went out.
  askedMs: number;
}

// An instance forgets an answer of which nothing was asked for as long as a client may stall: whoever reads slowly asks for little at a time.
const FIRST_WINDOW_CHUNKS = 2;
const SLOW_WINDOW_MS = 2_000;
const ASK_AGAIN_AFTER_MS = 3_000; // A window of which nothing came although the instance is alive: the question was lost.

interface Parts {
  readonly clock: Clock;
  readonly bus: PullBus;
}

export function createPulls({ clock, bus }: Parts): Pulls {
  const streams = new Set<Stream>();
  const bySequence = new Map<number, Stream>();
  const budget = createByteBudget(ANSWER_BYTES_IN_FLIGHT_MAX);

  const ask = (stream: Stream): void => {
    bySequence.delete(stream.sequence);
    stream.sequence = bus.nextSequence();
    bySequence.set(stream.sequence, stream);
    stream.askedMs = clock.nowMs();
    if (!bus.isUp) return bus.open(); // It is asked once the link is up.
    const chunkCount = Math.ceil((stream.windowEnd - stream.received) / ANSWER_CHUNK_BYTES);
    sendPull(bus, stream, chunkCount);
  };

  const wantWindow = (stream: Stream): void => {
    const bytes = Math.min(stream.bodyBytes - stream.received, stream.windowChunks * ANSWER_CHUNK_BYTES);
    budget.take(bytes, () => {
      if (stream.state === "over") return budget.give(bytes);
      stream.state = "pulling";
      stream.windowBytes = bytes;
      stream.windowEnd = stream.received + bytes;
      stream.movedMs = clock.nowMs();
      stream.windowStartMs = stream.movedMs;
      ask(stream);
    });
  };

  const end = (stream: Stream): void => {
    if (stream.state === "over") return;
    stream.state = "over";
    streams.delete(stream);
    bySequence.delete(stream.sequence);
    stream.instance.streamCount--;
    giveBack(stream);
  };

  const giveBack = (stream: Stream): void => {
    const bytes = stream.windowBytes;
    stream.windowBytes = 0;
    if (bytes > 0) budget.give(bytes);
  };

  const cut = (stream: Stream, code: ErrorCode): void => {
    end(stream);
    stream.sink.abort(code);
  };

  const letGo = (instance: Instance, streamId: string): void => {
    if (bus.isUp) sendPull(bus, { instance, streamId, received: 0, sequence: bus.nextSequence() }, 0);
  };

  const writeWhatFits = (stream: Stream): void => {
    while (!stream.isClientFull && stream.unwritten.length > 0) {
      const bytes = stream.unwritten.shift();
      if (bytes === undefined || stream.state === "over") return;
      stream.movedMs = clock.nowMs();
      stream.isClientFull = !stream.sink.write(bytes);
    }
    if (stream.unwritten.length > 0 || stream.state === "over") return;
    if (stream.received === stream.bodyBytes) {
      end(stream);
      stream.sink.end();
    } else if (stream.state === "waiting" && !stream.isClientFull && stream.windowBytes === 0 && stream.windowEnd === stream.received) {
      const isSlow = clock.nowMs() - stream.windowStartMs > SLOW_WINDOW_MS;
      stream.windowChunks = isSlow ? 1 : Math.min(stream.windowChunks * 2, ANSWER_CHUNKS_IN_FLIGHT_MAX);
      stream.windowEnd = -1; // One wish at a time.
      wantWindow(stream);
    }
  };

  const onChunk = (stream: Stream, offset: number, body: Uint8Array): void => {
    const isExpected = offset === stream.received && body.length > 0 && stream.received + body.length <= stream.windowEnd;
    if (!isExpected) return cut(stream, "INSTANCE_LOST");
    stream.received += body.length;
    stream.unwritten.push(body);
    stream.movedMs = clock.nowMs();
    if (stream.received === stream.windowEnd) {
      stream.state = "waiting";
      bySequence.delete(stream.sequence);
      giveBack(stream);
    }
    if (stream.received === stream.bodyBytes) letGo(stream.instance, stream.streamId);
    writeWhatFits(stream);
  };

  return {
    get count() {
      return streams.size;
    },
    letGo,
    start(instance, header, sink) {
      const nowMs = clock.nowMs();
      const { streamId, bodyBytes } = header;
      const progress = {
        sequence: -1,
        received: 0,
        windowEnd: -1,
        windowBytes: 0,
        windowChunks: FIRST_WINDOW_CHUNKS,
        windowStartMs: nowMs,
        movedMs: nowMs,
        askedMs: nowMs,
      };
      const stream: Stream = { instance, streamId, bodyBytes, sink, ...progress, unwritten: [], isClientFull: false, state: "waiting" };
      streams.add(stream);
      instance.streamCount++;
      sink.onDrain(() => {
        stream.isClientFull = false;
        stream.movedMs = clock.nowMs();
        if (stream.state !== "over") writeWhatFits(stream);
      });
      sink.onGone(() => {
        if (stream.state === "over") return;
        end(stream);
        letGo(instance, streamId);
      });
      wantWindow(stream);
    },
    onMessage(sequence, { subject, answer, body }) {
      const stream = bySequence.get(sequence);
      if (stream === undefined) return false;
      if (!subject.startsWith(stream.instance.branch)) return true;
      // Null: nobody listens there any more.
      if (answer?.kind === "chunk") onChunk(stream, answer.offset, body);
      else cut(stream, "INSTANCE_LOST");
      return true;
    },
    onUp() {
      for (const stream of streams) if (stream.state === "pulling") ask(stream);
    },
    lose(instance) {
      for (const stream of streams) if (stream.instance === instance && stream.received < stream.bodyBytes) cut(stream, "INSTANCE_LOST");
    },
    letGoAll() {
      for (const stream of streams) {
        end(stream);
        letGo(stream.instance, stream.streamId);
      }
    },
    sweep(nowMs, due) {
      for (const stream of streams) {
        if (nowMs - stream.movedMs >= ANSWER_STALL_TIMEOUT_MS && stream.windowEnd !== -1) {
          letGo(stream.instance, stream.streamId);
          cut(stream, "INSTANCE_LOST");
        } else if (stream.state === "pulling" && bus.isUp) {
          if (nowMs - Math.max(stream.movedMs, stream.askedMs) >= ASK_AGAIN_AFTER_MS) ask(stream);
          if (nowMs - Math.max(stream.movedMs, stream.askedMs) >= PROBE_AFTER_MS) due.add(stream.instance);
        }
      }
    },
  };
}

function sendPull(bus: PullBus, stream: Pick<Stream, "instance" | "streamId" | "received" | "sequence">, chunkCount: number): void {
  const header = { v: ENVELOPE_VERSION, streamId: stream.streamId, offset: stream.received, chunkCount };
  bus.send(stream.instance, { subject: pullSubject(stream.instance.id), sequence: stream.sequence, bytes: encodeEnvelope(header) });
}
