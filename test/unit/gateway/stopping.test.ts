// How a gateway goes: told to stop, replaced, both at once; and when its patience is over.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Serving } from "../../../gateway/http-job.ts";
import { createLeaving } from "../../../gateway/leaving.ts";
import { createStopping, type Patience } from "../../../gateway/stopping.ts";
import { PlatformError } from "../../../runtime-image/contract/errors.ts";
import { GATEWAY_IDLE_GRACE_MS, STOP_GRACE_MS } from "../../../runtime-image/contract/limits.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function stoppingRig() {
  const done: string[] = [];
  const note = (what: string): void => {
    if (!done.includes(what)) done.push(what);
  };
  const serving: Serving = {
    environment: "staging",
    heldBodies: { bytes: 0, bytesMax: 0 },
    unflushed: new Map(),
    openCount: 0,
    announceEnd: null,
    endsTunnels: false,
  };
  const idle: number[] = [];
  const stopping = createStopping({
    clock: { nowMs: () => Date.now(), epochMs: () => Date.now() },
    serving,
    endIdle: (_nowMs, idleMs) => void idle.push(idleMs),
    endTunnels: () => note("tunnels"),
    endRequests: () => note("requests"),
  });
  return { stopping, serving, done, idle };
}

describe("the patience of a gateway that goes", () => {
  it("is over for silent WebSockets first, then for all of them, then for requests", () => {
    const { stopping, serving, done, idle } = stoppingRig();
    stopping.within({ idleMs: 500, tunnelMs: 1_000, requestMs: 2_000 });
    expect([serving.endsTunnels, done, idle]).toEqual([false, [], [500]]);
    vi.advanceTimersByTime(500);
    expect([serving.endsTunnels, done]).toEqual([true, []]);
    vi.advanceTimersByTime(500);
    expect(done).toEqual(["tunnels"]);
    vi.advanceTimersByTime(900);
    expect(done).toEqual(["tunnels"]);
    vi.advanceTimersByTime(100);
    expect(done).toEqual(["tunnels", "requests"]);
  });

  it("gets shorter where it is told to hurry, and never longer", () => {
    const { stopping, serving, done, idle } = stoppingRig();
    stopping.within({ idleMs: 5_000, tunnelMs: 10_000, requestMs: 900_000 });
    vi.advanceTimersByTime(1_000);
    stopping.within({ idleMs: 500, tunnelMs: 2_000, requestMs: 2_000 });
    expect(idle.at(-1)).toBe(500);
    vi.advanceTimersByTime(1_000);
    stopping.within({ idleMs: 60_000, tunnelMs: 60_000, requestMs: 60_000 });
    expect([serving.endsTunnels, done]).toEqual([true, []]);
    vi.advanceTimersByTime(1_000);
    expect([idle.at(-1), done]).toEqual([500, ["tunnels", "requests"]]);
  });

  it("is not asked for any more once everything is closed", () => {
    const { stopping, done } = stoppingRig();
    stopping.within({ idleMs: 500, tunnelMs: 1_000, requestMs: 1_000 });
    stopping.over();
    vi.advanceTimersByTime(5_000);
    expect(done).toEqual([]);
  });
});

function leavingRig() {
  const said: string[] = [];
  const drained: Patience[] = [];
  const successor = Promise.withResolvers<number>();
  let startCount = 0;
  const leaving = createLeaving({
    requestCount: () => 0,
    startSuccessor: (signal) => {
      startCount += 1;
      signal.addEventListener("abort", () => successor.reject(new Error("told to stop")));
      return startCount === 1 ? successor.promise : Promise.resolve(2);
    },
    drain: async (patience) => void drained.push(patience),
    end: async () => void said.push("ended"),
    log: { info: () => undefined, error: (message, { reason } = {}) => void said.push(`${message}: ${String(reason)}`) },
  });
  return { leaving, said, drained, successor, startCount: () => startCount };
}

describe("a gateway that goes", () => {
  it("starts one successor, however often it is asked, and ends once that one serves", async () => {
    const { leaving, said, drained, successor, startCount } = leavingRig();
    leaving.replace();
    leaving.replace();
    expect([leaving.isLeaving, startCount()]).toEqual([false, 1]);
    successor.resolve(1);
    await vi.waitUntil(() => said.length > 0);
    leaving.replace();
    expect([leaving.isLeaving, startCount(), said, drained.length]).toEqual([true, 1, ["ended"], 1]);
    expect(drained[0]).toMatchObject({ idleMs: GATEWAY_IDLE_GRACE_MS, tunnelMs: STOP_GRACE_MS });
  });

  it("stays where no successor serves, counts it, says why, and may be asked again", async () => {
    const { leaving, said, successor, startCount } = leavingRig();
    leaving.replace();
    successor.reject(new PlatformError("GATEWAY_NOT_REPLACED", { detail: "It ended." }));
    await vi.waitUntil(() => said.length > 0);
    expect(said).toEqual(["no successor took over; this gateway serves on: It ended."]);
    expect([leaving.isLeaving, leaving.handOver]).toEqual([false, { failureCount: 1, lastFailure: "It ended." }]);
    leaving.replace();
    await vi.waitUntil(() => said.includes("ended"));
    expect(startCount()).toBe(2);
  });

  it("that is told to stop while its successor starts ends without one, and once", async () => {
    const { leaving, said, drained } = leavingRig();
    leaving.replace();
    leaving.stop("SIGTERM");
    await vi.waitUntil(() => said.length > 0);
    expect([said, drained.length, leaving.handOver.failureCount]).toEqual([["ended"], 1, 0]);
  });

  it("that is told to stop while it finishes what it had hurries, and ends once", async () => {
    const { leaving, said, drained, successor } = leavingRig();
    leaving.replace();
    successor.resolve(1);
    await vi.waitUntil(() => said.length > 0);
    leaving.stop("SIGTERM");
    await vi.waitUntil(() => drained.length === 2);
    expect(said).toEqual(["ended"]);
    expect(drained[1]?.idleMs).toBeLessThan(GATEWAY_IDLE_GRACE_MS);
  });
});
