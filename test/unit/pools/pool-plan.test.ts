// The pool plan: what is started and stopped, decided from plain values.
import { describe, expect, it } from "vitest";
import {
  BACKOFF_MAX_MS,
  INSTANCE_READY_TIMEOUT_MS,
  INSTANCE_START_BUSY_MS,
  INSTANCE_START_COUNT_AT_ONCE,
} from "../../../runtime-image/contract/limits.ts";
import {
  type PoolInstance,
  type PoolSpec,
  backoffMs,
  differInConfig,
  planPools,
  poolKeyOf,
} from "../../../orchestrator/pools/pool-plan.ts";
import { poolSpec as pool } from "../../support/pool-specs.ts";

const NOW = 1_000_000;

function instance(of: PoolSpec, state: PoolInstance["state"], sinceEpochMs = NOW): PoolInstance {
  return {
    instanceId: `${of.fn.name}-${state}`,
    poolKey: of.poolKey,
    appId: "a",
    environment: "staging",
    functionName: of.fn.name,
    state,
    sinceEpochMs,
    graceMs: 7,
  };
}

const plan = (
  pools: PoolSpec[],
  instances: PoolInstance[],
  failures: [string, { count: number; lastEpochMs: number }][] = [],
  busyStartCountMax = INSTANCE_START_COUNT_AT_ONCE,
) =>
  planPools({
    busyStartCountMax,
    pools,
    instances,
    failures: new Map(failures.map(([key, failure]) => [key, { ...failure, code: "X", message: "x" }])),
    nowEpochMs: NOW,
  });

describe("planPools", () => {
  it("starts what is missing", () => {
    expect(plan([pool("one", 2)], []).actions.map((action) => action.kind)).toEqual(["start", "start"]);
  });

  it("counts an instance that is starting as there", () => {
    const one = pool("one");
    expect(plan([one], [instance(one, "starting")]).actions).toEqual([]);
  });

  it("replaces one that retires before it is gone", () => {
    const one = pool("one");
    expect(plan([one], [instance(one, "retiring")]).actions).toEqual([{ kind: "start", pool: one }]);
  });

  it("stops what nobody wants, with its own grace", () => {
    const one = pool("one");
    expect(plan([], [instance(one, "ready")]).actions).toEqual([{ kind: "stop", instanceId: "one-ready", graceMs: 7, reason: "unwanted" }]);
  });

  it("does not stop twice what is stopping", () => {
    const one = pool("one");
    expect(plan([], [instance(one, "stopping"), instance(one, "retiring")]).actions).toEqual([]);
  });

  it("gives up on an instance that is not ready in time, and looks again just then", () => {
    const one = pool("one");
    expect(plan([one], [instance(one, "starting", NOW - INSTANCE_READY_TIMEOUT_MS)]).actions[0]).toMatchObject({
      kind: "stop",
      reason: "not ready in time",
    });
    expect(plan([one], [instance(one, "starting", NOW - 5)]).lookAgainEpochMs).toBe(NOW - 5 + INSTANCE_READY_TIMEOUT_MS);
  });

  it("mends the first failure at once and waits after the second", () => {
    const one = pool("one");
    expect(plan([one], [], [[one.poolKey, { count: 1, lastEpochMs: NOW }]]).actions).toHaveLength(1);
    const second = plan([one], [], [[one.poolKey, { count: 2, lastEpochMs: NOW }]]);
    expect(second.actions).toEqual([]);
    expect(second.lookAgainEpochMs).toBe(NOW + backoffMs(2));
  });

  it("tries a pool that fails with one instance only, and leaves other pools alone", () => {
    const [bad, good] = [pool("bad", 2), pool("good", 2)];
    const { actions } = plan([bad, good], [], [[bad.poolKey, { count: 1, lastEpochMs: NOW }]]);
    const startsOf = (spec: PoolSpec) => actions.filter((action) => action.kind === "start" && action.pool === spec).length;
    expect([startsOf(bad), startsOf(good)]).toEqual([1, 2]);
  });
});

describe("planPools with more to start than a machine can at a time", () => {
  const many = Array.from({ length: 3 * INSTANCE_START_COUNT_AT_ONCE }, (_, index) => pool(`many-${index}`));

  it("starts so many, and no more before one of them is ready", () => {
    const { actions } = plan(many, []);
    expect(actions).toHaveLength(INSTANCE_START_COUNT_AT_ONCE);
    const first = many.slice(0, INSTANCE_START_COUNT_AT_ONCE);
    const starting = first.map((one) => instance(one, "starting"));
    expect(plan(many, starting).actions).toEqual([]);
    const [one, ...others] = first;
    if (one === undefined) throw new Error("there are none");
    const next = plan(many, [instance(one, "ready"), ...others.map((other) => instance(other, "starting"))]).actions;
    expect(next).toEqual([{ kind: "start", pool: many[INSTANCE_START_COUNT_AT_ONCE] }]);
  });

  it("leaves room for others where many pools fail", () => {
    const failing = many.map((one): [string, { count: number; lastEpochMs: number }] => [one.poolKey, { count: 9, lastEpochMs: 0 }]);
    const good = pool("good");
    const { actions } = plan([...many, good], [], failing);
    expect(actions).toContainEqual({ kind: "start", pool: good });
    expect(actions.length).toBeLessThanOrEqual(INSTANCE_START_COUNT_AT_ONCE / 2 + 1);
    const hanging = many.slice(0, INSTANCE_START_COUNT_AT_ONCE / 2).map((one) => instance(one, "starting"));
    expect(plan([...many, good], hanging, failing).actions).toEqual([{ kind: "start", pool: good }]);
  });
});

describe("planPools on a machine with few processors", () => {
  const three = [pool("first"), pool("second"), pool("third")];
  const [first, second, third] = three as [PoolSpec, PoolSpec, PoolSpec]; // It has three.

  it("starts as many as keep its processors busy, and looks again when one has had its time", () => {
    const { actions, lookAgainEpochMs } = plan(three, [], [], 2);
    expect(actions).toEqual([
      { kind: "start", pool: first },
      { kind: "start", pool: second },
    ]);
    expect(lookAgainEpochMs).toBe(NOW + INSTANCE_START_BUSY_MS);
    const soon = NOW - INSTANCE_START_BUSY_MS + 40;
    expect(plan(three, [instance(first, "starting", soon), instance(second, "starting")], [], 2)).toEqual({
      actions: [],
      lookAgainEpochMs: NOW + 40,
    });
  });

  it("starts the next one as soon as one is ready, and one that takes longer keeps none back", () => {
    const next = [{ kind: "start", pool: second }];
    expect(plan(three, [instance(first, "ready")], [], 1).actions).toEqual(next);
    expect(plan(three, [instance(first, "starting", NOW - INSTANCE_START_BUSY_MS)], [], 1).actions).toEqual(next);
  });

  it("does not look again for room that nobody needs", () => {
    expect(plan([first], [], [], 1).lookAgainEpochMs).toBeNull();
    expect(plan(three, [instance(first, "ready"), instance(second, "ready")], [], 1).actions).toEqual([{ kind: "start", pool: third }]);
  });

  it("tries one that fails where there is room for one only", () => {
    const failures: [string, { count: number; lastEpochMs: number }][] = [[first.poolKey, { count: 9, lastEpochMs: 0 }]];
    expect(plan([first, second], [], failures, 1).actions).toEqual([{ kind: "start", pool: first }]);
  });
});

describe("planPools with spared pools", () => {
  const old = poolKeyOf({ appId: "a", environment: "staging", functionName: "one", buildId: "b1", configId: "c0" });
  const spared = (one: PoolSpec, state: PoolInstance["state"]) =>
    planPools({
      pools: [one],
      spared: new Set([old]),
      instances: [{ ...instance(one, state, 0), instanceId: "old", poolKey: old }],
      failures: new Map(),
      nowEpochMs: NOW,
      busyStartCountMax: INSTANCE_START_COUNT_AT_ONCE,
    });

  it("starts what is wanted beside them and stops nothing", () => {
    const one = pool("one");
    expect(spared(one, "ready").actions).toEqual([{ kind: "start", pool: one }]);
  });

  it("never starts one of them, not even in the place of one that retires", () => {
    expect(spared(pool("other"), "retiring").actions.map((action) => action.kind)).toEqual(["start"]);
  });

  it("knows them by the build, told other things", () => {
    expect(differInConfig(old, pool("one").poolKey)).toBe(true);
    expect(differInConfig(old, pool("two").poolKey)).toBe(false);
    expect(differInConfig(old, old)).toBe(false);
  });
});

describe("backoffMs", () => {
  it("doubles up to its bound", () => {
    expect([0, 1, 2, 3, 4].map(backoffMs)).toEqual([0, 0, 250, 500, 1_000]);
    expect(backoffMs(1_000)).toBe(BACKOFF_MAX_MS);
  });
});
