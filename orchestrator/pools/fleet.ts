// Keeps every wanted pool at its size: carries out what the pool plan says, hears what becomes of the instances, tells who is ready.
import { randomBytes } from "node:crypto";
import { availableParallelism } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import type { BrokerAccess, Environment } from "../../runtime-image/contract/instance-manifest.ts";
import type { InstanceEvent, Pong } from "../../runtime-image/contract/instance-events.ts";
import { STOP_GRACE_MS } from "../../runtime-image/contract/limits.ts";
import type { Clock } from "../clock.ts";
import type { Engine, InstanceExit, LogLine, ObservedInstance } from "../engines/engine.ts";
import { type FleetTarget, type HeardBroker, type Hearing, createHearing, keyOf } from "./hearing.ts";
import { instanceSpec } from "./instance-spec.ts";
import {
  type PoolFailure,
  type PoolInstance,
  type PoolSpec,
  SETTLED_AFTER_MS,
  type StopReason,
  graceOf,
  planPools,
  poolKeyOf,
} from "./pool-plan.ts";

export interface Fleet {
  /** Takes over what an earlier orchestrator left running. Call once, before the first want(). */
  adopt(): Promise<void>;
  /** Which pools one app should have in one environment from now on; instances of spared ones are left as they are. */
  want(target: FleetTarget, pools: readonly PoolSpec[], sparedKeys?: readonly string[]): void;
  /** Of every state, those that are ending too. */
  instanceCount(target: FleetTarget): number;
  /** The pools of which there are instances that are ready. */
  readyPoolKeys(target: FleetTarget): readonly string[];
  readyInstanceIds(poolKey: string): readonly string[];
  failureOf(poolKey: string): PoolFailure | null;
  /** Resolves when every pool has its instances, or with the first failure of each that has none. */
  settled(poolKeys: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, PoolFailure>>;
  onChange(listener: (target: FleetTarget) => void): void;
  /** Stops looking after instances; they keep running. */
  release(): void;
  /** Stops every instance, each with its own grace, at most so long. */
  stopAll(options: { readonly graceMsMax: number }): Promise<void>;
}

export interface FleetParts {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly broker: FleetBroker;
  readonly sessionSecret: (target: FleetTarget) => string;
  readonly logs: { append(instance: PoolInstance, line: LogLine): void; lastEpochMs(instanceId: string): number | null };
  readonly report: (line: FleetReport) => void;
}

/** What the fleet needs of the broker. */
export interface FleetBroker extends HeardBroker {
  credentials(target: FleetTarget & { readonly instanceId: string }): Promise<BrokerAccess>;
  ping(target: FleetTarget & { readonly instanceId: string }): Promise<Pong | null>;
}

export interface FleetReport {
  readonly kind: "failure" | "replaced" | "trouble";
  readonly appId: string;
  readonly environment: Environment;
  readonly functionName: string;
  readonly text: string;
}

const BUSY_START_COUNT_MAX = Math.max(1, availableParallelism() - 1);
const PING_INTERVAL_MS = 500;
const ADOPT_PING_COUNT_MAX = 6; // Three seconds: clients look for a lost broker several times a second.

export function createFleet(parts: FleetParts): Fleet {
  return new RunningFleet(parts);
}

class RunningFleet implements Fleet {
  readonly #parts: FleetParts;
  readonly #pools = new Map<string, PoolSpec>();
  readonly #poolKeys = new Map<string, readonly string[]>(); // By target.
  readonly #instances = new Map<string, PoolInstance>();
  readonly #failures = new Map<string, PoolFailure>();
  readonly #listeners: ((target: FleetTarget) => void)[] = [];
  readonly #hearing: Hearing;
  readonly #spared = new Map<string, readonly string[]>(); // Pool keys, by target.
  readonly #wanted = new Set<string>(); // Targets of which it is known what they should have: others are left as they are found.
  readonly #stops = new Map<string, Promise<void>>();
  readonly #over = new AbortController();
  #timer: NodeJS.Timeout | null = null;

  constructor(parts: FleetParts) {
    this.#parts = parts;
    this.#hearing = createHearing(parts.broker, (event) => this.#happened(event));
    parts.engine.watchExits((exit) => this.#exited(exit), this.#over.signal);
  }

  async adopt(): Promise<void> {
    const observed = await this.#parts.engine.list();
    await Promise.all(observed.map(async (instance) => this.#adoptOne(instance)));
  }

  async #adoptOne(observed: ObservedInstance): Promise<void> {
    const { instanceId, appId, environment, functionName } = observed;
    const pong = observed.state === "running" ? await this.#firstPong(observed) : null;
    if (pong === null || pong.state === "retiring") {
      await this.#parts.engine.stop(instanceId, { graceMs: pong === null ? 0 : STOP_GRACE_MS });
      return;
    }
    const instance: PoolInstance = {
      instanceId,
      poolKey: poolKeyOf(observed),
      appId,
      environment,
      functionName,
      state: pong.state === "ready" ? "ready" : "starting",
      sinceEpochMs: this.#parts.clock.nowEpochMs(),
      graceMs: STOP_GRACE_MS,
    };
    this.#instances.set(instanceId, instance);
    await this.#hearing.hear(observed);
    this.#follow(instance);
  }

  /** An instance may need a moment to find a broker that was started anew. */
  async #firstPong(observed: ObservedInstance): Promise<Pong | null> {
    for (let attempt = 1; attempt <= ADOPT_PING_COUNT_MAX; attempt += 1) {
      const pong = await this.#parts.broker.ping(observed).catch(() => null);
      if (pong !== null) return pong;
      await delay(PING_INTERVAL_MS);
    }
    return null;
  }

  want(target: FleetTarget, pools: readonly PoolSpec[], sparedKeys: readonly string[] = []): void {
    this.#wanted.add(keyOf(target));
    this.#spared.set(keyOf(target), sparedKeys);
    for (const key of this.#poolKeys.get(keyOf(target)) ?? []) this.#pools.delete(key);
    for (const pool of pools) this.#pools.set(pool.poolKey, pool);
    this.#poolKeys.set(
      keyOf(target),
      pools.map(({ poolKey }) => poolKey),
    );
    for (const key of this.#failures.keys()) if (!this.#pools.has(key)) this.#failures.delete(key);
    if (pools.every(({ instanceCount }) => instanceCount === 0)) {
      if (this.instanceCount(target) > 0) this.#reconcile();
      return this.#hushUnused(target);
    }
    this.#hearing.hear(target).then(
      () => this.#reconcile(),
      (cause: unknown) => this.#trouble(target, "its events cannot be heard", cause),
    );
  }

  readyInstanceIds(poolKey: string): readonly string[] {
    return [...this.#instances.values()].filter((one) => one.poolKey === poolKey && one.state === "ready").map((one) => one.instanceId);
  }

  instanceCount(target: FleetTarget): number {
    return [...this.#instances.values()].filter((one) => keyOf(one) === keyOf(target)).length;
  }

  readyPoolKeys(target: FleetTarget): readonly string[] {
    const own = [...this.#instances.values()].filter((one) => one.state === "ready" && keyOf(one) === keyOf(target));
    return [...new Set(own.map((one) => one.poolKey))];
  }

  failureOf(poolKey: string): PoolFailure | null {
    return this.#failures.get(poolKey) ?? null;
  }

  async settled(poolKeys: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, PoolFailure>> {
    const failed = new Map<string, PoolFailure>();
    const isSettled = (): boolean => {
      for (const key of poolKeys) {
        const failure = this.#failures.get(key);
        if (failure !== undefined && this.readyInstanceIds(key).length === 0) failed.set(key, failure);
      }
      return poolKeys.every((key) => failed.has(key) || this.readyInstanceIds(key).length >= (this.#pools.get(key)?.instanceCount ?? 0));
    };
    await new Promise<void>((done, fail) => {
      const look = (): void => {
        if (signal.aborted) fail(signal.reason);
        else if (isSettled()) done();
        else return;
        signal.removeEventListener("abort", look);
        const index = this.#listeners.indexOf(look);
        if (index >= 0) this.#listeners.splice(index, 1);
      };
      this.#listeners.push(look);
      signal.addEventListener("abort", look, { once: true });
      look();
    });
    return failed;
  }

  onChange(listener: (target: FleetTarget) => void): void {
    this.#listeners.push(listener);
  }

  release(): void {
    this.#over.abort();
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  async stopAll(options: { readonly graceMsMax: number }): Promise<void> {
    this.#pools.clear();
    this.#poolKeys.clear();
    this.#spared.clear();
    for (const instance of this.#instances.values()) {
      const graceMs = instance.state === "starting" ? 0 : Math.min(instance.graceMs, options.graceMsMax); // No request reached that one yet.
      if (instance.state !== "stopping") this.#stop(instance, graceMs);
    }
    await Promise.all(this.#stops.values());
    this.release();
  }

  /** An app without instances needs no connection of ours. */
  #hushUnused(target: FleetTarget): void {
    const poolKeys = this.#poolKeys.get(keyOf(target)) ?? [];
    const isWanted = poolKeys.some((key) => (this.#pools.get(key)?.instanceCount ?? 0) > 0);
    if (!isWanted && this.instanceCount(target) === 0) this.#hearing.hush(target);
  }

  #reconcile(): void {
    if (this.#over.signal.aborted) return;
    const nowEpochMs = this.#parts.clock.nowEpochMs();
    const pools = [...this.#pools.values()];
    const instances = [...this.#instances.values()].filter((instance) => this.#wanted.has(keyOf(instance)));
    const spared = new Set([...this.#spared.values()].flat());
    const { actions, lookAgainEpochMs } = planPools({
      pools,
      spared,
      instances,
      failures: this.#failures,
      nowEpochMs,
      busyStartCountMax: BUSY_START_COUNT_MAX,
    });
    for (const action of actions) {
      if (action.kind === "start") this.#start(action.pool);
      else this.#stopPlanned(action);
    }
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = lookAgainEpochMs === null ? null : setTimeout(() => this.#reconcile(), Math.max(1, lookAgainEpochMs - nowEpochMs));
  }

  #stopPlanned(action: { readonly instanceId: string; readonly graceMs: number; readonly reason: StopReason }): void {
    const instance = this.#instances.get(action.instanceId);
    if (instance === undefined) return;
    if (action.reason === "not ready in time") this.#failed(instance, "HANDLER_LOAD_FAILED", "it was not ready in time");
    this.#stop(instance, action.graceMs);
  }

  #start(pool: PoolSpec): void {
    const instanceId = randomBytes(8).toString("hex");
    const { appId, environment, fn } = pool;
    const sinceEpochMs = this.#parts.clock.nowEpochMs();
    const instance: PoolInstance = {
      instanceId,
      poolKey: pool.poolKey,
      appId,
      environment,
      functionName: fn.name,
      state: "starting",
      sinceEpochMs,
      graceMs: graceOf(fn),
    };
    this.#instances.set(instanceId, instance);
    const begin = async (): Promise<void> => {
      await this.#hearing.hear(pool);
      const broker = await this.#parts.broker.credentials({ appId, environment, instanceId });
      const sessionSecret = this.#parts.sessionSecret({ appId, environment });
      await this.#parts.engine.start(instanceSpec(pool, { instanceId, broker, sessionSecret }));
      this.#follow(instance);
      await this.#watchStart(instance);
    };
    begin().catch((cause: unknown) => {
      this.#failed(instance, "ENGINE_FAILED", cause instanceof Error ? cause.message : String(cause));
      this.#stop(instance, 0);
    });
  }

  /** An event that was sent while the broker was away never arrives, so who is said to be starting is asked now and then. */
  async #watchStart({ instanceId, appId, environment }: PoolInstance): Promise<void> {
    const isStarting = (): boolean => this.#instances.get(instanceId)?.state === "starting" && !this.#over.signal.aborted;
    while (isStarting()) {
      await delay(PING_INTERVAL_MS);
      const pong = isStarting() ? await this.#parts.broker.ping({ appId, environment, instanceId }).catch(() => null) : null;
      if (pong?.state === "ready") this.#happened({ kind: "ready", instanceId, loadMs: 0 });
    }
  }

  #stop(instance: PoolInstance, graceMs: number): void {
    this.#move(instance, "stopping");
    const stopped = this.#parts.engine
      .stop(instance.instanceId, { graceMs })
      .catch((cause: unknown) => this.#trouble(instance, `${instance.functionName}: an instance could not be stopped`, cause))
      .then(() => {
        this.#stops.delete(instance.instanceId);
        this.#instances.delete(instance.instanceId);
        this.#hushUnused(instance);
        this.#changed(instance);
      });
    this.#stops.set(instance.instanceId, stopped);
  }

  #happened(event: InstanceEvent): void {
    const instance = this.#instances.get(event.instanceId);
    if (instance === undefined || instance.state === "stopping") return;
    switch (event.kind) {
      case "ready":
        if (instance.state === "starting") this.#move(instance, "ready");
        break;
      case "failed":
        this.#failed(instance, event.code, event.message);
        this.#move(instance, "retiring");
        break;
      case "retiring":
        this.#endedEarly(instance, `ended after ${event.reason}`);
        this.#move(instance, "retiring");
        break;
    }
    this.#changed(instance);
  }

  #exited(exit: InstanceExit): void {
    const instance = this.#instances.get(exit.instanceId);
    if (instance === undefined || instance.state === "stopping") return;
    const how = exit.outOfMemory ? "took more memory than it may" : `ended with code ${exit.exitCode ?? "unknown"}`;
    if (instance.state === "starting") this.#failed(instance, "HANDLER_LOAD_FAILED", `it ${how} before it was ready`);
    if (instance.state === "ready") this.#endedEarly(instance, how);
    this.#stop(instance, 0); // Removes what is left of it.
    this.#changed(instance);
  }

  /** The end of an instance that was ready: only a short life counts as a failure of its pool. */
  #endedEarly(instance: PoolInstance, how: string): void {
    const livedMs = this.#parts.clock.nowEpochMs() - instance.sinceEpochMs;
    if (livedMs < SETTLED_AFTER_MS) this.#failed(instance, "INSTANCE_LOST", `it ${how}`);
    else this.#failures.delete(instance.poolKey);
    this.#parts.report({
      kind: "replaced",
      appId: instance.appId,
      environment: instance.environment,
      functionName: instance.functionName,
      text: `an instance ${how}; another one takes its place`,
    });
  }

  #failed(instance: PoolInstance, code: string, message: string): void {
    if (!this.#pools.has(instance.poolKey)) return;
    const count = (this.#failures.get(instance.poolKey)?.count ?? 0) + 1;
    this.#failures.set(instance.poolKey, { count, lastEpochMs: this.#parts.clock.nowEpochMs(), code, message });
    this.#parts.report({
      kind: "failure",
      appId: instance.appId,
      environment: instance.environment,
      functionName: instance.functionName,
      text: `${code}: ${message}`,
    });
  }

  #move(instance: PoolInstance, state: PoolInstance["state"]): void {
    this.#instances.set(instance.instanceId, { ...instance, state, sinceEpochMs: this.#parts.clock.nowEpochMs() });
  }

  #changed(target: FleetTarget): void {
    for (const listener of this.#listeners.slice()) listener(target);
    this.#reconcile();
  }

  #follow(instance: PoolInstance): void {
    const sinceEpochMs = this.#parts.logs.lastEpochMs(instance.instanceId) ?? instance.sinceEpochMs - 1_000;
    this.#parts.engine
      .followLogs(instance.instanceId, { sinceEpochMs, signal: this.#over.signal }, (line) => this.#parts.logs.append(instance, line))
      .catch((cause: unknown) => this.#trouble(instance, `${instance.functionName}: its log lines cannot be read`, cause));
  }

  #trouble({ appId, environment }: FleetTarget, text: string, cause: unknown): void {
    const reason = cause instanceof Error ? cause.message : String(cause);
    this.#parts.report({ kind: "trouble", appId, environment, functionName: "", text: `${text}: ${reason}` });
  }
}
