// What is live of an app in each environment: boots the pools of a release, flips the snapshot in one write, lets the old instances go.
import { type BrokerAccess, ENVIRONMENTS, type Environment } from "../../runtime-image/contract/instance-manifest.ts";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { INSTANCE_READY_TIMEOUT_MS, INSTANCE_START_COUNT_AT_ONCE } from "../../runtime-image/contract/limits.ts";
import type { AppSnapshot, Deployment, FunctionSnapshot } from "../../runtime-image/contract/snapshot.ts";
import type { SnapshotContent } from "../nats/snapshots.ts";
import type { Fleet } from "../pools/fleet.ts";
import { configIdOf } from "../pools/pool-config.ts";
import { type InstanceCounts, type PoolFailure, type PoolSpec, differInConfig, poolKeyOf } from "../pools/pool-plan.ts";
import type { VariableValues } from "../variables/change.ts";
import type { Release } from "./release.ts";

/** A release, and what its functions see in process.env. */
export interface Live {
  readonly release: Release;
  readonly variables: VariableValues;
}

export interface FunctionFailure {
  readonly functionName: string;
  readonly code: string;
  readonly message: string;
}

export interface EnvironmentsParts {
  readonly app: { readonly appId: string; readonly appName: string };
  readonly surface: () => AppSurface;
  readonly sessionSecret: (target: { readonly appId: string; readonly environment: Environment }) => string;
  readonly fleet: Fleet;
  readonly instanceCounts: InstanceCounts;
  readonly snapshots: SnapshotStore;
  readonly report: (text: string) => void;
}

/** Where an app is found. */
export interface AppSurface {
  readonly hosts: Readonly<Record<Environment, readonly string[]>>;
  readonly isDefault: boolean;
}

export interface SnapshotStore {
  read(environment: Environment, appId: string): Promise<AppSnapshot | null>;
  /** Returns the sequence under which the gateways will report it. */
  publish(environment: Environment, content: SnapshotContent): Promise<number>;
  remove(environment: Environment, appId: string): Promise<void>;
  /** The known one, where it is of this broker. */
  gatewayAccess(target: { readonly appId: string; readonly environment: Environment }, known: BrokerAccess | null): Promise<BrokerAccess>;
  /** Resolves when the environment's gateway serves from this sequence, or when it takes too long to wait for. */
  applied(environment: Environment, appId: string, sequence: number): Promise<void>;
}

/** Its callers see to it that one thing happens at a time. */
export class AppEnvironments {
  readonly #parts: EnvironmentsParts;
  readonly #live = new Map<Environment, Live>();
  readonly #spared = new Map<Environment, readonly string[]>(); // Pools of an earlier orchestrator, until those that replace them are ready.
  readonly #sequences = new Map<Environment, number>();
  readonly #access = new Map<Environment, BrokerAccess>();
  readonly #publishing = new Map<Environment, Promise<void>>();
  readonly #closing = new AbortController();

  constructor(parts: EnvironmentsParts) {
    this.#parts = parts;
    parts.fleet.onChange((target) => {
      if (this.isClosing || target.appId !== parts.app.appId || !this.#live.has(target.environment)) return;
      this.#publish(target.environment).catch((cause: unknown) =>
        parts.report(`the gateway of ${target.environment} could not be told of its instances: ${String(cause)}`),
      );
    });
  }

  get isClosing(): boolean {
    return this.#closing.signal.aborted;
  }

  live(environment: Environment): Live | null {
    return this.#live.get(environment) ?? null;
  }

  /** Puts back what was live when the last orchestrator ended, and tells the gateways. */
  async restore(environment: Environment, live: Live | null): Promise<void> {
    const { appId } = this.#parts.app;
    const published = await this.#parts.snapshots.read(environment, appId);
    const known = published?.deployment.kind === "live" ? published.deployment.broker : null;
    if (live !== null) {
      await this.#ensureAccess(environment, known);
      this.#live.set(environment, live);
    }
    const pools = live === null ? [] : this.#pools(environment, live);
    // The variables changed while no orchestrator was there: what runs with the old ones serves until the new ones do.
    const running = this.#parts.fleet.readyPoolKeys({ appId, environment });
    this.#spared.set(
      environment,
      running.filter((key) => pools.some((pool) => differInConfig(pool.poolKey, key))),
    );
    this.#parts.fleet.want({ appId, environment }, pools, this.#spared.get(environment));
    // With hundreds of apps, writing down again what is written there already is most of a start.
    if (published === null || !this.#isSaid(environment, published)) await this.#publish(environment);
    else if (!this.#sequences.has(environment)) this.#sequences.set(environment, published.sequence);
  }

  #isSaid(environment: Environment, published: AppSnapshot): boolean {
    const { v: _, sequence: __, ...said } = published;
    return JSON.stringify(said) === JSON.stringify(this.#snapshot(environment));
  }

  async #ensureAccess(environment: Environment, known: BrokerAccess | null): Promise<void> {
    if (this.#access.has(environment)) return;
    const { appId } = this.#parts.app;
    this.#access.set(environment, await this.#parts.snapshots.gatewayAccess({ appId, environment }, known));
  }

  /** Tells the gateways of hosts that have changed. */
  async tell(): Promise<void> {
    for (const environment of ENVIRONMENTS) await this.#publish(environment);
  }

  /** Takes the app off its gateways, then lets its instances go. */
  async remove(): Promise<void> {
    const { appId } = this.#parts.app;
    for (const environment of ENVIRONMENTS) await this.#parts.snapshots.remove(environment, appId);
    this.#live.clear();
    for (const environment of ENVIRONMENTS) this.#parts.fleet.want({ appId, environment }, []);
  }

  /** What waits for instances fails at once, and gateways are told nothing any more. */
  giveUp(): void {
    this.#closing.abort();
  }

  /** Resolves when nothing is being published any more. */
  async settled(): Promise<void> {
    await Promise.all(this.#publishing.values());
  }

  /** Whether this is what is live, with the very things that its instances were told. */
  isRunning(environment: Environment, next: Live): boolean {
    const live = this.#live.get(environment);
    if (live === undefined || (this.#spared.get(environment) ?? []).length > 0) return false;
    const keys = new Set(this.#pools(environment, live).map((pool) => pool.poolKey));
    return this.#pools(environment, next).every((pool) => keys.has(pool.poolKey));
  }

  /** Boots what is new, makes it live once it is ready, then lets go what it replaces. Tells which functions do not start. */
  async roll(environment: Environment, next: Live, record?: () => Promise<void>): Promise<FunctionFailure[]> {
    const target = { appId: this.#parts.app.appId, environment };
    const before = this.#live.get(environment);
    const pools = this.#pools(environment, next);
    const beforePools = before === undefined ? [] : this.#pools(environment, before);
    const kept = beforePools.filter((pool) => !pools.some((one) => one.poolKey === pool.poolKey));
    const failing = kept.filter((pool) => this.#isFailing(environment, pool.poolKey));
    this.#parts.fleet.want(target, [...pools, ...kept], this.#spared.get(environment));
    const failed = await this.#poolsSettled(pools);
    const isFirst = before === undefined || (before.release.releaseId === next.release.releaseId && kept.length === 0);
    // What failed in what was live already is no reason to keep other functions from being deployed.
    const isOld = (pool: PoolSpec): boolean =>
      beforePools.some((one) => one.poolKey === pool.poolKey) || failing.some((one) => differInConfig(one.poolKey, pool.poolKey));
    const found = failures(isFirst ? pools : pools.filter((pool) => !isOld(pool)), failed);
    const goBack = (): void => this.#parts.fleet.want(target, beforePools, this.#spared.get(environment));
    if (isFirst ? found.some((failure) => failure.code === "HANDLER_MISSING") : found.length > 0) {
      goBack();
      throw deployFailed(environment, found);
    }
    await record?.().catch((cause: unknown) => {
      goBack();
      throw cause;
    });
    await this.#ensureAccess(environment, null);
    this.#live.set(environment, next);
    await this.#publish(environment);
    await this.#parts.snapshots.applied(environment, target.appId, this.#sequences.get(environment) ?? 0);
    this.#spared.set(environment, this.#stillNeeded(environment, pools));
    this.#parts.fleet.want(target, pools, this.#spared.get(environment));
    return failures(pools, failed);
  }

  #isFailing(environment: Environment, poolKey: string): boolean {
    return this.#parts.fleet.failureOf(poolKey) !== null && this.#servingIds(environment, poolKey).length === 0;
  }

  /** Spared pools whose successor does not start. */
  #stillNeeded(environment: Environment, pools: readonly PoolSpec[]): string[] {
    const failing = pools.filter((pool) => this.#parts.fleet.readyInstanceIds(pool.poolKey).length === 0);
    return (this.#spared.get(environment) ?? []).filter((key) => failing.some((pool) => differInConfig(pool.poolKey, key)));
  }

  async #poolsSettled(pools: readonly PoolSpec[]): Promise<ReadonlyMap<string, PoolFailure>> {
    // The fleet itself gives up on an instance that is not ready in time; this only bounds the wait for the engine.
    const instanceCount = pools.reduce((sum, pool) => sum + pool.instanceCount, 0);
    const timeout = AbortSignal.timeout(Math.ceil((3 + instanceCount / INSTANCE_START_COUNT_AT_ONCE) * INSTANCE_READY_TIMEOUT_MS));
    const signal = AbortSignal.any([timeout, this.#closing.signal]);
    try {
      return await this.#parts.fleet.settled(
        pools.map((pool) => pool.poolKey),
        signal,
      );
    } catch (cause) {
      // Instances end with the platform: that none of them has failed means nothing then.
      if (this.isClosing) throw new PlatformError("DEPLOY_FAILED", { detail: "The platform is being stopped." });
      throw new PlatformError("ENGINE_FAILED", { detail: "The instances of this release did not start in time." }, { cause });
    }
  }

  #pools(environment: Environment, { release, variables }: Live): PoolSpec[] {
    const { appId, appName } = this.#parts.app;
    const secret = this.#parts.sessionSecret({ appId, environment });
    return release.functions.map((fn) => {
      const seen = fn.seesVariables === false ? {} : variables;
      const configId = configIdOf({ appName, fn, variables: seen }, secret);
      return {
        poolKey: poolKeyOf({ appId, environment, functionName: fn.name, buildId: fn.buildId, configId }),
        appId,
        appName,
        environment,
        fn,
        configId,
        variables: seen,
        instanceCount: this.#parts.instanceCounts[environment],
      };
    });
  }

  /** Writes of one environment follow each other, and each says what is true when its turn comes. */
  async #publish(environment: Environment): Promise<void> {
    const turn = (this.#publishing.get(environment) ?? Promise.resolve()).then(async () => {
      this.#sequences.set(environment, await this.#parts.snapshots.publish(environment, this.#snapshot(environment)));
    });
    this.#publishing.set(
      environment,
      turn.catch(() => undefined),
    ); // Its caller hears of it; the next in line need not.
    return turn;
  }

  #snapshot(environment: Environment): SnapshotContent {
    const { hosts, isDefault } = this.#parts.surface();
    return { ...this.#parts.app, hosts: hosts[environment], isDefault, deployment: this.#deployment(environment) };
  }

  #deployment(environment: Environment): Deployment {
    const live = this.#live.get(environment);
    const broker = this.#access.get(environment);
    if (live === undefined || broker === undefined) return { kind: "none" };
    const { release } = live;
    const functions = this.#pools(environment, live).map((pool): FunctionSnapshot => {
      const { name, method, path, generation, concurrency, timeoutMs } = pool.fn;
      const instanceIds = this.#servingIds(environment, pool.poolKey);
      const failure = instanceIds.length === 0 ? this.#parts.fleet.failureOf(pool.poolKey) : null;
      // After a first failure another instance is on its way already: requests wait for it rather than hear of it.
      const shown = failure === null || failure.count < 2 ? {} : { failure: { code: failure.code, message: failure.message } };
      return { name, method, path, generation, concurrency, timeoutMs, instanceIds, ...shown };
    });
    const site = release.site === null ? {} : { site: release.site };
    const proxyUrl = release.proxyUrls[environment];
    return { kind: "live", releaseId: release.releaseId, broker, functions, ...site, ...(proxyUrl === undefined ? {} : { proxyUrl }) };
  }

  #servingIds(environment: Environment, poolKey: string): readonly string[] {
    const ready = this.#parts.fleet.readyInstanceIds(poolKey);
    if (ready.length > 0) return ready;
    const spared = (this.#spared.get(environment) ?? []).filter((key) => differInConfig(key, poolKey));
    return spared.flatMap((key) => this.#parts.fleet.readyInstanceIds(key));
  }
}

function failures(pools: readonly PoolSpec[], failed: ReadonlyMap<string, PoolFailure>): FunctionFailure[] {
  const distinct = new Map(pools.map((pool) => [pool.poolKey, pool])); // Several routes may share a pool.
  return [...distinct.values()].flatMap((pool) => {
    const failure = failed.get(pool.poolKey);
    return failure === undefined ? [] : [{ functionName: pool.fn.name, code: failure.code, message: failure.message }];
  });
}

const deployFailed = (environment: Environment, found: readonly FunctionFailure[]): PlatformError =>
  new PlatformError("DEPLOY_FAILED", {
    detail: `${found.length === 1 ? "One function does" : `${found.length} functions do`} not start on ${environment}.`,
    problems: found.map((failure) => `${failure.functionName}: ${failure.code}: ${failure.message}`),
    remedy: "Mend what is named; orchestrator logs shows what the functions printed.",
  });
