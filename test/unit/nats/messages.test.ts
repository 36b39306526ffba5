// What is made of messages and entries that may be anything, and the small decisions around the broker.
import { describe, expect, it } from "vitest";
import { refusalIn } from "../../../orchestrator/nats/account-directory.ts";
import { instanceEventIn, pongIn } from "../../../orchestrator/nats/app-line.ts";
import { refuseUnfit } from "../../../orchestrator/nats/probe.ts";
import { nextSequence, snapshotIn } from "../../../orchestrator/nats/snapshots.ts";
import { nextRestartDelayMs } from "../../../orchestrator/nats/supervise.ts";
import { isVersionAtLeast } from "../../../orchestrator/nats/version.ts";

const message = (subject: string, value: unknown) => ({
  subject,
  bytes: Buffer.from(typeof value === "string" ? value : JSON.stringify(value)),
});

describe("a message of an instance", () => {
  it.each([
    { kind: "ready", instanceId: "i1", loadMs: 3 },
    { kind: "retiring", instanceId: "i1", reason: "uncaught error" },
    { kind: "failed", instanceId: "i1", code: "HANDLER_MISSING", message: "m", stack: "s" },
  ])("is the event $kind that it says", (event) => {
    expect(instanceEventIn(message("o.i1.up", { ...event, more: "ignored" }))).toEqual(event);
  });

  it.each([
    ["o.i2.up", { kind: "ready", instanceId: "i1", loadMs: 3 }],
    ["o.i1.up", { kind: "ready", instanceId: "i1" }],
    ["o.i1.up", { kind: "failed", instanceId: "i1", code: "OTHER", message: "m", stack: "s" }],
    ["o.i1.up", { kind: "ready", instanceId: "i1", loadMs: "3" }],
    ["o.i1.up", "{"],
    ["o.i1.up", "null"],
    ["o.i1.up", "[]"],
    ["o.i1.up", ""],
  ])("on %s that is no event of its sender is none: %j", (subject, value) => {
    expect(instanceEventIn(message(subject, value))).toBeNull();
  });

  it("is a pong only from the one that was asked, in a known state", () => {
    const pong = { instanceId: "i1", state: "ready", requestCount: 0 };
    expect(pongIn(message("o.i1.c.1", pong))).toEqual(pong);
    expect(pongIn(message("o.i2.c.1", pong))).toBeNull();
    expect(pongIn(message("o.i1.c.1", { ...pong, state: "glorious" }))).toBeNull();
  });
});

describe("a snapshot's sequence", () => {
  const entry = (sequence: number, revision: number) => ({ revision, bytes: Buffer.from(JSON.stringify({ v: 1, sequence })) });

  it("begins at 1 and moves past both what was written and its revision", () => {
    expect(nextSequence(null)).toBe(1);
    expect(nextSequence(entry(4, 9))).toBe(10);
    expect(nextSequence(entry(12, 9))).toBe(13);
  });

  it("moves forward after a removal, and over bytes that are no snapshot", () => {
    expect(nextSequence({ revision: 9, bytes: null })).toBe(10);
    expect(nextSequence({ revision: 9, bytes: Buffer.from("{") })).toBe(10);
  });

  it("is what makes bytes a snapshot, together with the version", () => {
    expect(snapshotIn(entry(1, 1))).toEqual({ v: 1, sequence: 1 });
    for (const text of ["{", "1", "null", '{"v":2,"sequence":1}', '{"v":1}'])
      expect(snapshotIn({ revision: 1, bytes: Buffer.from(text) })).toBeNull();
  });
});

describe("a broker", () => {
  it("that ran for long is started again at once; one that keeps dying waits longer each time, up to a bound", () => {
    expect(nextRestartDelayMs({ ranMs: 60_000, previousDelayMs: 8_000 })).toBe(0);
    const delays = [0, 1, 2, 3, 4, 5, 6, 7, 8].reduce<number[]>(
      (list) => [...list, nextRestartDelayMs({ ranMs: 100, previousDelayMs: list.at(-1) ?? 0 })],
      [],
    );
    expect(delays).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
  });

  it.each([
    ["2.10.27", true],
    ["2.10.28", true],
    ["2.11.0", true],
    ["3.0.0", true],
    ["v2.10.27-RC.1", true],
    ["2.10.26", false],
    ["2.9.99", false],
    ["1.99.99", false],
    ["", false],
    ["dev", false],
  ])("of version %s is new enough: %s", (version, expected) => {
    expect(isVersionAtLeast(version, "2.10.27")).toBe(expected);
  });

  it("is refused for its version or its largest message, with what to do", () => {
    expect(() => refuseUnfit("nats://x", { version: "2.10.27", payloadBytesMax: 8_000_000 })).not.toThrow();
    expect(() => refuseUnfit("nats://x", { version: "2.10.26", payloadBytesMax: 8_000_000 })).toThrow(
      expect.objectContaining({ code: "NATS_TOO_OLD" }),
    );
    expect(() => refuseUnfit("nats://x", { version: "2.11.1", payloadBytesMax: 1_048_576 })).toThrow(
      expect.objectContaining({ code: "NATS_REFUSED" }),
    );
  });

  it("has taken an account only where it says so", () => {
    expect(refusalIn('{"data":{"code":200}}')).toBeNull();
    expect(refusalIn('{"error":{"code":500,"description":"no store"}}')).toBe("no store");
    for (const answer of [null, "{", "null", "{}", '{"data":{"code":500}}']) expect(refusalIn(answer)).not.toBeNull();
  });
});
