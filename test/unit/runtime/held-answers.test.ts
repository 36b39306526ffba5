// Held bodies: windows, letting go, stalls, and room.
import { beforeEach, describe, expect, it } from "vitest";
import { decodeEnvelope, type AnswerHeader } from "../../../runtime-image/contract/envelope.ts";
import { ANSWER_CHUNK_BYTES, ANSWER_CHUNKS_IN_FLIGHT_MAX, ANSWER_STALL_TIMEOUT_MS } from "../../../runtime-image/contract/limits.ts";
import { createHeldAnswers, type HeldAnswers } from "../../../runtime-image/runtime/held-answers.ts";

const BODY = Buffer.alloc(ANSWER_CHUNK_BYTES * 10 + 5, "0123456789");

let held: HeldAnswers;
let sent: { subject: string; header: AnswerHeader; body: Uint8Array }[];
let nowMs: number;
beforeEach(() => {
  sent = [];
  nowMs = 0;
  held = createHeldAnswers({
    publish: (subject, bytes) => sent.push({ subject, ...decodeEnvelope<AnswerHeader>(bytes) }),
    bytesMax: BODY.length * 2,
    nowMs: () => nowMs,
  });
});

const hold = (): string => held.hold(Buffer.from(BODY)); // Of its own: a body that is let go is gone at once.
const pull = (streamId: string, offset: number, chunkCount: number) => held.pull({ v: 1, streamId, offset, chunkCount }, "o.i.r.1");

describe("held answers", () => {
  it("come in the chunks that were asked for, at their offsets", () => {
    const streamId = hold();
    pull(streamId, ANSWER_CHUNK_BYTES, 2);
    expect(sent.map(({ subject, header }) => [subject, header])).toEqual([
      ["o.i.r.1", { v: 1, kind: "chunk", offset: ANSWER_CHUNK_BYTES }],
      ["o.i.r.1", { v: 1, kind: "chunk", offset: ANSWER_CHUNK_BYTES * 2 }],
    ]);
    expect(Buffer.concat(sent.map(({ body }) => body)).equals(BODY.subarray(ANSWER_CHUNK_BYTES, ANSWER_CHUNK_BYTES * 3))).toBe(true);
  });

  it("end with a shorter chunk and send nothing beyond it", () => {
    const streamId = hold();
    pull(streamId, ANSWER_CHUNK_BYTES * 9, 5);
    expect(sent.map(({ body }) => body.length)).toEqual([ANSWER_CHUNK_BYTES, 5]);
  });

  it("never come in more chunks than one window has", () => {
    pull(hold(), 0, 1_000);
    expect(sent).toHaveLength(ANSWER_CHUNKS_IN_FLIGHT_MAX);
  });

  it.each([
    ["an unknown stream", "nothing", 0, 1],
    ["a negative offset", "1", -1, 1],
    ["an offset beyond the end", "1", BODY.length + 1, 1],
    ["an offset that is no integer", "1", 0.5, 1],
    ["a negative count", "1", 0, -1],
  ])("are gone for %s", (_name, streamId, offset, chunkCount) => {
    hold();
    pull(streamId, offset, chunkCount);
    expect(sent.map(({ header }) => header)).toEqual([{ v: 1, kind: "gone" }]);
  });

  it("are let go with a count of 0, without a word", () => {
    const streamId = hold();
    pull(streamId, 0, 0);
    expect([held.count(), sent.length]).toEqual([0, 0]);
    pull(streamId, 0, 1);
    expect(sent.map(({ header }) => header.kind)).toEqual(["gone"]);
  });

  it("give their memory back as soon as they are let go", () => {
    const body = Buffer.from(BODY);
    const streamId = held.hold(body);
    pull(streamId, 0, 1);
    pull(streamId, 0, 0);
    expect(body.buffer.byteLength).toBe(0);
    expect(sent.map(({ body: chunk }) => chunk.length)).toEqual([ANSWER_CHUNK_BYTES]);
  });

  it("are let go when nobody pulled them for too long, and stay as long as someone does", () => {
    const idle = hold();
    const pulled = hold();
    nowMs = ANSWER_STALL_TIMEOUT_MS - 1;
    pull(pulled, 0, 1);
    held.sweep();
    expect(held.count()).toBe(2);
    nowMs = ANSWER_STALL_TIMEOUT_MS;
    held.sweep();
    expect(held.count()).toBe(1);
    sent = [];
    pull(pulled, 0, 1);
    pull(idle, 0, 1);
    expect(sent.map(({ header }) => header.kind)).toEqual(["chunk", "gone"]);
  });

  it("make room by letting go of the one that was pulled longest ago", () => {
    const first = hold();
    const second = hold();
    pull(first, 0, 1);
    hold();
    sent = [];
    pull(first, 0, 1);
    pull(second, 0, 1);
    expect(sent.map(({ header }) => header.kind)).toEqual(["chunk", "gone"]);
  });
});
