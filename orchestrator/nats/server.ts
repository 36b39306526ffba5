// Runs the platform's own nats-server: starts or adopts it, starts it again when it dies, stops it.
import { createHash } from "node:crypto";
import { rm } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import {
  BACKOFF_FIRST_MS,
  BACKOFF_MAX_MS,
  BROKER_READY_TIMEOUT_MS,
  BROKER_STOP_GRACE_MS,
  BROKER_WATCH_INTERVAL_MS,
} from "../../runtime-image/contract/limits.ts";
import type { Clock } from "../clock.ts";
import { writeFileAtomic } from "../processes/atomic-file.ts";
import { readState, startDetached, stopProcess, waitForEnd } from "../processes/detached.ts";
import { isAlive, processesWithArgument, type Identity } from "../processes/identity.ts";
import { claimsOf, type BrokerSigner, type BrokerTrust } from "./accounts.ts";
import type { NatsBinary } from "./binary.ts";
import { brokerHome, lastLogLines, makeBrokerHome, readPort, writePort, type BrokerHome } from "./broker-home.ts";
import { managedServerConfig } from "./config.ts";
import { isPortFree, pickFreePort } from "./ports.ts";
import { probeBroker } from "./probe.ts";

export interface Broker {
  readonly kind: "managed" | "external";
  readonly url: string; // Stays the same for as long as this object is in use.
  readonly version: string;
  readonly adopted: boolean; // Whether it ran before.
  /** Ends it and waits until it is gone. An external one is left alone. */
  stop(): Promise<void>;
  /** Stops watching it and lets it run on, for an orchestrator that goes while traffic flows. */
  release(): Promise<void>;
}

export interface BrokerOptions {
  readonly home: string;
  readonly host: string; // One address: the one that instances reach.
  readonly port: number | null; // Null: the remembered one, or any that is free.
  readonly binary: NatsBinary;
  readonly signer: BrokerSigner;
  readonly clock: Clock;
  readonly onEvent: (event: BrokerEvent) => void;
}

export type BrokerEvent =
  | { readonly kind: "died"; readonly pid: number; readonly restartDelayMs: number }
  | { readonly kind: "restarted"; readonly pid: number }
  | { readonly kind: "restart-failed"; readonly error: unknown; readonly restartDelayMs: number };

const PORT_ATTEMPT_COUNT_MAX = 3; // Between looking at a port and the broker's taking it, another program may be quicker.
const READY_POLL_MS = 25;

export async function startBroker(options: BrokerOptions): Promise<Broker> {
  const place = brokerHome(options.home);
  await makeBrokerHome(place);
  const trust = await options.signer.trust();
  const adopted = await adopt(options, place, trust);
  await stopStrays(place, adopted);
  const running = adopted ?? (await startOnSomePort({ ...options, place, trust }));
  const port = running.port;
  const url = urlOf(options.host, port);
  const watching = new AbortController();
  const watch = supervise(running, { ...options, place, trust, url, port, signal: watching.signal });
  const release = async (): Promise<Running> => {
    watching.abort();
    return watch;
  };
  return {
    kind: "managed",
    url,
    version: options.binary.version,
    adopted: adopted !== null,
    stop: async () => {
      const last = await release();
      await stopProcess(last.identity, { graceMs: BROKER_STOP_GRACE_MS });
      await rm(place.stateFile, { force: true });
    },
    release: async () => {
      await release();
    },
  };
}

interface Running {
  readonly identity: Identity;
  readonly startedEpochMs: number;
  readonly port: number;
}

interface Launch extends BrokerOptions {
  readonly place: BrokerHome;
  readonly trust: BrokerTrust;
}

const urlOf = (host: string, port: number): string => `nats://${host.includes(":") ? `[${host}]` : host}:${port}`;

const configText = (place: BrokerHome, at: { host: string; port: number }, trust: BrokerTrust): string =>
  managedServerConfig({ ...at, ...place, serverName: "orchestrator" }, trust);

/** Changes with everything that a running broker would have to be restarted for, and not with the moment of signing. */
function fingerprint(options: BrokerOptions, place: BrokerHome, port: number, trust: BrokerTrust): string {
  const timeless: BrokerTrust = {
    operatorJwt: claimsOf(trust.operatorJwt) ?? "",
    system: trust.system,
    preloaded: trust.preloaded.map((account) => ({ ...account, jwt: claimsOf(account.jwt) ?? "" })),
  };
  return createHash("sha256")
    .update(`${options.binary.path} ${options.binary.version}\n`)
    .update(configText(place, { host: options.host, port }, timeless))
    .digest("hex");
}

/** The broker of an earlier orchestrator, where it is the very one that would be started now and answers. Any other is stopped. */
async function adopt(options: BrokerOptions, place: BrokerHome, trust: BrokerTrust): Promise<Running | null> {
  const state = await readState(place.stateFile);
  if (state === null || !(await isAlive(state.identity))) return null;
  const extra = parseExtra(state.extra);
  const fits =
    extra !== null &&
    (options.port === null || options.port === extra.port) &&
    extra.fingerprint === fingerprint(options, place, extra.port, trust) &&
    (await answers(urlOf(options.host, extra.port), options.signer));
  if (fits) return { identity: state.identity, startedEpochMs: state.startedEpochMs, port: extra.port };
  await stopProcess(state.identity, { graceMs: BROKER_STOP_GRACE_MS });
  return null;
}

async function answers(url: string, signer: BrokerSigner): Promise<boolean> {
  try {
    await probeBroker(url, signer);
    return true;
  } catch {
    return false; // Whatever is wrong with it, a new one is the answer.
  }
}

/** An orchestrator that was killed between starting a broker and writing it down leaves one that nobody knows. */
async function stopStrays(place: BrokerHome, adopted: Running | null): Promise<void> {
  for (const identity of await processesWithArgument(place.configFile))
    if (identity.pid !== adopted?.identity.pid) await stopProcess(identity, { graceMs: BROKER_STOP_GRACE_MS });
}

async function startOnSomePort(launch: Launch): Promise<Running> {
  for (let attempt = 1; ; attempt += 1) {
    const port = await choosePort(launch);
    try {
      const running = await start(launch, port, new AbortController().signal);
      await writePort(launch.place, port);
      return running;
    } catch (error) {
      const wasTaken = launch.port === null && attempt < PORT_ATTEMPT_COUNT_MAX && !(await isPortFree(launch.host, port));
      if (!wasTaken) throw error;
    }
  }
}

async function choosePort(launch: Launch): Promise<number> {
  if (launch.port !== null) {
    if (await isPortFree(launch.host, launch.port)) return launch.port;
    throw new PlatformError("PORT_IN_USE", {
      detail: `The broker should listen on ${launch.host}:${launch.port}, which another program holds.`,
      remedy: "Choose another port for the broker, or none.",
    });
  }
  const remembered = await readPort(launch.place);
  return remembered !== null && (await isPortFree(launch.host, remembered)) ? remembered : pickFreePort(launch.host);
}

/** One process, from its configuration to its first answer. What does not answer in time is ended. */
async function start(launch: Launch, port: number, signal: AbortSignal): Promise<Running> {
  const { place, trust, host, binary } = launch;
  await writeFileAtomic(place.configFile, configText(place, { host, port }, trust), 0o600);
  await rm(place.startLogFile, { force: true }); // An old failure in it would be shown as the new one's reason.
  const started = await startDetached({
    command: binary.path,
    args: ["--config", place.configFile],
    env: {},
    cwd: place.folder,
    logFile: place.startLogFile,
    stateFile: place.stateFile,
    extra: { port, fingerprint: fingerprint(launch, place, port, trust) } satisfies StateExtra,
  });
  const identity: Identity = { pid: started.pid, startedAt: started.startedAt };
  const ready = new AbortController();
  try {
    const ended = started.exited.then(({ exitCode }) => Promise.reject(new Error(`it exited with ${exitCode}`)));
    const deadline = AbortSignal.any([signal, ready.signal, AbortSignal.timeout(BROKER_READY_TIMEOUT_MS)]);
    await Promise.race([untilReady(urlOf(host, port), launch.signer, deadline), ended]);
    return { identity, startedEpochMs: started.startedEpochMs, port };
  } catch (cause) {
    await stopProcess(identity, { graceMs: 0 });
    if (cause instanceof PlatformError && !isPassing(cause)) throw cause;
    const detail = `${binary.path} (${binary.version}) does not answer on ${host}:${port}.`;
    throw new PlatformError("NATS_FAILED", { detail, remedy: `Its log is ${place.logFile}.`, problems: await lastLogLines(place, identity.pid) }, { cause });
  } finally {
    ready.abort();
  }
}

/** One that does not answer yet, or whose JetStream does not, is waited for; one that answers wrongly will not get better. */
async function untilReady(url: string, signer: BrokerSigner, signal: AbortSignal): Promise<void> {
  for (;;) {
    try {
      await probeBroker(url, signer);
      return;
    } catch (error) {
      if (!isPassing(error) || signal.aborted) throw error;
    }
    await delay(READY_POLL_MS, undefined, { signal });
  }
}

const isPassing = (error: unknown): boolean => error instanceof PlatformError && (error.code === "BROKER_UNAVAILABLE" || error.code === "NATS_FAILED");

interface Supervision extends Launch {
  readonly url: string;
  readonly port: number;
  readonly signal: AbortSignal;
}

/** Starts it again whenever it is gone, on the same port so that clients find it. Resolves with the last one when it is told to end. */
async function supervise(first: Running, supervision: Supervision): Promise<Running> {
  const { signal, clock, onEvent } = supervision;
  let running = first;
  let restartDelayMs = 0;
  while (await hasEnded(running.identity, signal)) {
    restartDelayMs = nextRestartDelayMs({ ranMs: clock.nowEpochMs() - running.startedEpochMs, previousDelayMs: restartDelayMs });
    onEvent({ kind: "died", pid: running.identity.pid, restartDelayMs });
    for (let isUp = false; !isUp; ) {
      if (!(await isWaitOver(restartDelayMs, signal))) return running;
      try {
        running = await start(supervision, supervision.port, signal);
        isUp = true;
        onEvent({ kind: "restarted", pid: running.identity.pid });
      } catch (error) {
        if (signal.aborted) return running; // What was being started has been stopped.
        restartDelayMs = nextRestartDelayMs({ ranMs: 0, previousDelayMs: restartDelayMs });
        onEvent({ kind: "restart-failed", error, restartDelayMs });
      }
    }
  }
  return running;
}

/** One that ran for long is started again at once; one that keeps dying is waited for longer each time. */
export function nextRestartDelayMs(state: { readonly ranMs: number; readonly previousDelayMs: number }): number {
  if (state.ranMs >= BACKOFF_MAX_MS) return 0;
  return Math.min(Math.max(state.previousDelayMs * 2, BACKOFF_FIRST_MS), BACKOFF_MAX_MS);
}

async function hasEnded(identity: Identity, signal: AbortSignal): Promise<boolean> {
  try {
    await waitForEnd(identity, { signal, pollIntervalMs: BROKER_WATCH_INTERVAL_MS });
    return !signal.aborted;
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  }
}

async function isWaitOver(waitMs: number, signal: AbortSignal): Promise<boolean> {
  try {
    await delay(waitMs, undefined, { signal });
    return true;
  } catch {
    return false; // Told to end.
  }
}

interface StateExtra {
  readonly port: number;
  readonly fingerprint: string;
}

function parseExtra(value: unknown): StateExtra | null {
  if (typeof value !== "object" || value === null) return null;
  const extra: Partial<Record<keyof StateExtra, unknown>> = value;
  return typeof extra.port === "number" && typeof extra.fingerprint === "string" ? { port: extra.port, fingerprint: extra.fingerprint } : null;
}
