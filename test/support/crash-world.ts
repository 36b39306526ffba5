// A platform under traffic that can be hit: kills and freezes its processes, waits until everything answers again, compares.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Identity, isAlive, processIdentity } from "../../orchestrator/processes/identity.ts";
import { ENVIRONMENTS } from "../../runtime-image/contract/instance-manifest.ts";
import { COUNTER_TABLE, CRASH_APP, DOCUMENT_PATHS, SESSION_PATH } from "./crash-app.ts";
import { callApp, readEverything, type Call } from "./crash-calls.ts";
import { CrashModel, type Loss } from "./crash-model.ts";
import { chanceOf, type Chance } from "./crash-random.ts";
import { createTraffic, type Traffic } from "./crash-traffic.ts";
import type { PowerDisk } from "./crash-power.ts";
import { brokerOf, gatewayOf, instancesOf, signal } from "./crash-victims.ts";
import { type EngineName, type RunningPlatform, freePort, makeApp, startPlatform } from "./platform.ts";
import { until } from "./until.ts";

/** "broker twice": again as soon as the next one is there, while it reads its files. */
export const KILL_KINDS = ["broker", "broker twice", "instance", "gateway", "orchestrator", "everything"] as const;
export type KillKind = (typeof KILL_KINDS)[number];

export interface CrashOptions {
  readonly engine: EngineName;
  readonly seed: number;
  readonly clientCount: number;
  /** Called with the home before anything is in it. */
  readonly prepareHome?: (home: string) => Promise<void>;
}

const RECOVERY_TIMEOUT_MS = 60_000;
const WRITES_BEFORE_KILL_MAX = 60;
const PRINTED_COUNT_MAX = 12;
const PRINTED_LENGTH_MAX = 500;

export class CrashWorld {
  readonly home: string;
  readonly chance: Chance;
  readonly model = new CrashModel();
  readonly traffic: Traffic;
  readonly #app: string;
  readonly #engine: EngineName;
  readonly #ports: RunningPlatform["ports"];
  #platform: RunningPlatform | null = null;

  static async start(options: CrashOptions): Promise<CrashWorld> {
    const home = await mkdtemp(join(tmpdir(), "orchestrator-crash-"));
    await options.prepareHome?.(home);
    const ports = { staging: await freePort(), production: await freePort(), api: await freePort() };
    const world = new CrashWorld(options, { home, app: await makeApp(CRASH_APP), ports });
    try {
      await world.#startPlatform();
      await world.answersAgain();
    } catch (error) {
      await world.close();
      throw error;
    }
    return world;
  }

  private constructor(options: CrashOptions, places: { home: string; app: string; ports: RunningPlatform["ports"] }) {
    this.home = places.home;
    this.#app = places.app;
    this.#ports = places.ports;
    this.#engine = options.engine;
    this.chance = chanceOf(options.seed);
    const { model, chance } = this;
    this.traffic = createTraffic({ port: () => places.ports.staging, model, chance, clientCount: options.clientCount });
  }

  /** In the midst of writing; resolves with the milliseconds until everything answered again. Traffic goes on afterwards. */
  async kill(kind: KillKind): Promise<number> {
    await this.writeFor(this.chance.below(WRITES_BEFORE_KILL_MAX));
    const bystanders = kind === "orchestrator" ? await this.#others() : [];
    const startMs = performance.now();
    await this.strike(kind);
    if (kind === "broker twice") {
      const isBack = async (): Promise<boolean> => (await this.#victims("broker")).length > 0;
      await until(isBack, { timeoutMs: RECOVERY_TIMEOUT_MS, what: "the next broker is there" });
      await this.strike("broker");
    }
    if (kind === "orchestrator" || kind === "everything") await this.#startPlatform();
    await this.answersAgain();
    const recoveryMs = performance.now() - startMs;
    const gone = await lost(bystanders);
    if (gone.length > 0) throw new Error(`the next orchestrator did not adopt ${gone.length} of ${bystanders.length} processes`);
    return recoveryMs;
  }

  /** SIGKILL, and nothing else. */
  async strike(kind: KillKind): Promise<void> {
    const victims = await this.#victims(kind);
    if (victims.length === 0) throw new Error(`no process to kill: ${kind}`);
    await signal(victims, "SIGKILL");
    const isDown = async (): Promise<boolean> => (await lost(victims)).length === victims.length;
    await until(isDown, { timeoutMs: RECOVERY_TIMEOUT_MS, what: `${kind} is gone` });
  }

  /** Holds processes for so long; resolves with the milliseconds until everything answered again. */
  async freeze(kind: "broker" | "instance", frozenMs: number): Promise<number> {
    await this.writeFor(this.chance.below(WRITES_BEFORE_KILL_MAX));
    const victims = await this.#victims(kind);
    const endMs = performance.now() + frozenMs;
    try {
      await signal(victims, "SIGSTOP");
      await until(() => performance.now() >= endMs, { timeoutMs: frozenMs + 1_000 });
    } finally {
      await signal(victims, "SIGCONT");
    }
    const startMs = performance.now();
    await this.answersAgain();
    return performance.now() - startMs;
  }

  /** Takes the power in the midst of writing, and gives it again; resolves with the milliseconds until everything answered again. */
  async cutPower(disk: PowerDisk): Promise<number> {
    await this.writeFor(this.chance.below(WRITES_BEFORE_KILL_MAX));
    const victims = await this.#victims("everything");
    await signal(victims, "SIGSTOP");
    await disk.keep();
    await signal(victims, "SIGKILL");
    const isDown = async (): Promise<boolean> => (await lost(victims)).length === victims.length;
    await until(isDown, { timeoutMs: RECOVERY_TIMEOUT_MS, what: "everything is gone" });
    await disk.comeBack();
    const startMs = performance.now();
    await this.#startPlatform();
    await this.answersAgain();
    return performance.now() - startMs;
  }

  /** Until so many more writes were acknowledged. */
  async writeFor(count: number): Promise<void> {
    const enough = this.traffic.acknowledgedCount + count;
    await until(() => this.traffic.acknowledgedCount >= enough, { timeoutMs: RECOVERY_TIMEOUT_MS, what: `${count} more writes` });
  }

  /** Every function writes and reads. */
  async answersAgain(): Promise<void> {
    const failures = new Set<string>();
    await until(
      async () => {
        const outcomes = await Promise.all(PROBES.map((probe) => callApp(this.port, probe)));
        for (const outcome of outcomes) if (outcome.kind === "uncertain") failures.add(outcome.reason);
        return outcomes.every((outcome) => outcome.kind === "acknowledged");
      },
      { timeoutMs: RECOVERY_TIMEOUT_MS, what: "everything answers again" },
    ).catch((error: unknown) => {
      throw new Error(`${String(error)}; ${[...failures].join(", ")}\n${this.printed()}`);
    });
  }

  /** While nothing is written: everything that is not as it should be. */
  async compare(): Promise<Loss[]> {
    await this.traffic.pause();
    return this.model.check(await readEverything(this.port, this.traffic.cookies));
  }

  counts(): { readonly acknowledged: number; readonly open: number; readonly places: number } {
    return { ...this.model.counts(), acknowledged: this.traffic.acknowledgedCount };
  }

  get port(): number {
    return this.#ports.staging;
  }

  /** The last lines that the orchestrator printed. */
  printed(): string {
    const lines = (this.#platform?.events ?? []).map((event) => JSON.stringify(event).slice(0, PRINTED_LENGTH_MAX));
    return lines.slice(-PRINTED_COUNT_MAX).join("\n");
  }

  async close(): Promise<void> {
    await this.traffic.pause().catch(() => undefined); // What it would say was said, or nobody asks any more.
    await this.#platform?.stop();
    await rm(this.#app, { recursive: true, force: true });
  }

  async #startPlatform(): Promise<void> {
    this.#platform = await startPlatform({
      app: this.#app,
      engine: this.#engine,
      home: this.home,
      ports: this.#ports,
      flags: ["--no-watch"],
    });
  }

  async #victims(kind: KillKind): Promise<Identity[]> {
    const place = { home: this.home, engine: this.#engine };
    switch (kind) {
      case "broker":
      case "broker twice":
        return present([await brokerOf(place)]);
      case "instance":
        return [this.chance.pick(await instancesOf(place))];
      case "gateway":
        return present([await gatewayOf(place, "staging")]);
      case "orchestrator":
        return present([await this.#orchestrator()]);
      case "everything":
        return this.chance.shuffled([...present([await this.#orchestrator()]), ...(await this.#others())]);
    }
  }

  async #others(): Promise<Identity[]> {
    const place = { home: this.home, engine: this.#engine };
    const gateways = await Promise.all(ENVIRONMENTS.map((environment) => gatewayOf(place, environment)));
    return [...present([await brokerOf(place), ...gateways]), ...(await instancesOf(place))];
  }

  async #orchestrator(): Promise<Identity | null> {
    const pid = this.#platform?.process.pid;
    return pid === undefined ? null : processIdentity(pid);
  }
}

const PROBE = { table: "probes", key: "probe" };
const PROBES: readonly Call[] = [
  ...DOCUMENT_PATHS.flatMap((path) => [
    { path, body: { act: "set", documents: { ...PROBE, key: path } } },
    { path, body: { act: "destroy", documents: { ...PROBE, key: path } } },
    { path, body: { act: "increment", ...PROBE } },
    { path, body: { act: "count", table: COUNTER_TABLE } },
  ]),
  { path: SESSION_PATH, body: { act: "read" } },
  { path: SESSION_PATH, body: { act: "write", session: { probe: 1 } } },
];

const present = (identities: readonly (Identity | null)[]): Identity[] => identities.filter((identity) => identity !== null);

async function lost(identities: readonly Identity[]): Promise<Identity[]> {
  const there = await Promise.all(identities.map(isAlive));
  return identities.filter((_, index) => there[index] !== true);
}
