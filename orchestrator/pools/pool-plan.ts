// Decides which instances to start and which to stop, from what is wanted, what is there and what went wrong. Pure.
import type { Environment } from "../../runtime-image/contract/instance-manifest.ts";
import {
  BACKOFF_FIRST_MS,
  BACKOFF_MAX_MS,
  INSTANCE_READY_TIMEOUT_MS,
  INSTANCE_START_BUSY_MS,
  INSTANCE_START_COUNT_AT_ONCE,
  STOP_GRACE_MS,
} from "../../runtime-image/contract/limits.ts";
import type { ReleaseFunction } from "../releases/release.ts";

export interface PoolSpec {
  readonly poolKey: string;
  readonly appId: string;
  readonly appName: string;
  readonly environment: Environment;
  readonly fn: ReleaseFunction;
  readonly configId: string;
  readonly variables: Readonly<Record<string, string>>; // Secrets: they go to instances and nowhere else.
  readonly instanceCount: number;
}

export interface PoolInstance {
  readonly instanceId: string;
  readonly poolKey: string;
  readonly appId: string;
  readonly environment: Environment;
  readonly functionName: string;
  readonly state: InstanceState;
  readonly sinceEpochMs: number; // When it came into this state.
  readonly graceMs: number; // How long it may finish its requests once it is told to stop.
}

export type InstanceState = "starting" | "ready" | "retiring" | "stopping";

/** What went wrong in a pool, until an instance of it has lived long enough. */
export interface PoolFailure {
  readonly count: number; // In a row.
  readonly lastEpochMs: number;
  readonly code: string;
  readonly message: string;
}

export type PoolAction =
  | { readonly kind: "start"; readonly pool: PoolSpec }
  | { readonly kind: "stop"; readonly instanceId: string; readonly graceMs: number; readonly reason: StopReason };

export type StopReason = "unwanted" | "too many" | "not ready in time";

/** Longer than this, and an instance's end does not count as one of a row. */
export const SETTLED_AFTER_MS = 5_000;

/** One instance answers at once to most; production has a second one, so that a crash there costs no request its wait. */
export const INSTANCE_COUNTS: InstanceCounts = { staging: 1, production: 2 };

/** Of a platform that is started with --dry: everything is deployed, and nothing runs. */
export const NO_INSTANCES: InstanceCounts = { staging: 0, production: 0 };

export type InstanceCounts = Readonly<Record<Environment, number>>;

export const poolKeyOf = (pool: {
  appId: string;
  environment: Environment;
  functionName: string;
  buildId: string;
  configId: string;
}): string => `${pool.environment}/${pool.appId}/${pool.functionName}/${pool.buildId}/${pool.configId}`;

/** Whether instances of both run the same build, told different things. */
export const differInConfig = (a: string, b: string): boolean => a !== b && buildPart(a) === buildPart(b);

const buildPart = (poolKey: string): string => poolKey.slice(0, poolKey.lastIndexOf("/"));

/** A running request may take its function's whole time; the instance is given that, and a moment to leave. */
export const graceOf = (fn: { timeoutMs: number }): number => Math.max(STOP_GRACE_MS, fn.timeoutMs + 1_000);

interface PoolsNow {
  readonly pools: readonly PoolSpec[];
  readonly spared?: ReadonlySet<string>; // Keys of pools whose instances are left as they are: neither stopped nor replaced.
  readonly instances: readonly PoolInstance[];
  readonly failures: ReadonlyMap<string, PoolFailure>;
  readonly nowEpochMs: number;
  readonly busyStartCountMax: number; // Of starts that keep a processor busy.
}

export function planPools(input: PoolsNow): { readonly actions: readonly PoolAction[]; readonly lookAgainEpochMs: number | null } {
  const { pools, instances, failures, nowEpochMs } = input;
  const wanted = new Set(pools.map((pool) => pool.poolKey));
  const actions: PoolAction[] = [];
  const looks: number[] = [];
  for (const instance of instances) {
    if (instance.state !== "starting" && instance.state !== "ready") continue;
    const readyByEpochMs = instance.sinceEpochMs + INSTANCE_READY_TIMEOUT_MS;
    if (input.spared?.has(instance.poolKey) === true && !wanted.has(instance.poolKey)) continue;
    if (!wanted.has(instance.poolKey)) actions.push(stop(instance, "unwanted"));
    else if (instance.state === "starting" && nowEpochMs >= readyByEpochMs)
      actions.push({ ...stop(instance, "not ready in time"), graceMs: 0 });
    else if (instance.state === "starting") looks.push(readyByEpochMs);
  }
  const room = roomToStart(input);
  const aliveIn = Map.groupBy(
    instances.filter(({ state }) => state === "starting" || state === "ready"),
    ({ poolKey }) => poolKey,
  );
  for (const pool of pools) {
    const alive = aliveIn.get(pool.poolKey) ?? [];
    for (const extra of alive.slice(pool.instanceCount)) actions.push(stop(extra, "too many"));
    const missing = pool.instanceCount - alive.length;
    if (missing <= 0) continue;
    const failure = failures.get(pool.poolKey);
    const startEpochMs = failure === undefined ? nowEpochMs : failure.lastEpochMs + backoffMs(failure.count);
    if (startEpochMs > nowEpochMs) looks.push(startEpochMs);
    // A pool that fails is tried with one instance, so that it costs the machine as little as it can.
    else
      for (let count = room.take(failure === undefined ? missing : 1, pool); count > 0; count -= 1) actions.push({ kind: "start", pool });
  }
  const roomEpochMs = room.moreFromEpochMs();
  if (roomEpochMs !== null) looks.push(roomEpochMs);
  return { actions, lookAgainEpochMs: looks.length === 0 ? null : Math.min(...looks) };
}

interface Room {
  take(this: void, count: number, pool: PoolSpec): number;
  /** When there is more of it at the latest; null where there was enough. */
  moreFromEpochMs(this: void): number | null;
}

/**
 * How many may still be started now. What finds no room is looked at again as soon as one that starts is ready, or is given up, or has
 * had the time in which a start keeps a processor busy: one that goes on waiting after that, or hangs, keeps no other back.
 */
function roomToStart({ instances, failures, nowEpochMs, busyStartCountMax }: PoolsNow): Room {
  const starting = instances.filter((one) => one.state === "starting");
  const busy = starting.filter((one) => nowEpochMs - one.sinceEpochMs < INSTANCE_START_BUSY_MS);
  const failingOf = (some: readonly PoolInstance[]): number => some.filter((one) => failures.has(one.poolKey)).length;
  let left = Math.min(INSTANCE_START_COUNT_AT_ONCE - starting.length, busyStartCountMax - busy.length);
  let leftForFailing = Math.min(
    INSTANCE_START_COUNT_AT_ONCE / 2 - failingOf(starting),
    Math.max(1, Math.floor(busyStartCountMax / 2)) - failingOf(busy),
  );
  let isShort = false;
  return {
    take(count, pool) {
      const isFailing = failures.has(pool.poolKey);
      const taken = Math.max(0, Math.min(count, left, isFailing ? leftForFailing : left));
      left -= taken;
      if (isFailing) leftForFailing -= taken;
      isShort ||= taken < count;
      return taken;
    },
    moreFromEpochMs: () => (isShort ? Math.min(nowEpochMs, ...busy.map((one) => one.sinceEpochMs)) + INSTANCE_START_BUSY_MS : null),
  };
}

const stop = (instance: PoolInstance, reason: StopReason): PoolAction & { kind: "stop" } => ({
  kind: "stop",
  instanceId: instance.instanceId,
  graceMs: instance.graceMs,
  reason,
});

/** The first failure is mended at once; from then on each wait is twice the one before. */
export function backoffMs(failureCount: number): number {
  return failureCount <= 1 ? 0 : Math.min(BACKOFF_MAX_MS, BACKOFF_FIRST_MS * 2 ** (failureCount - 2));
}
