// Keeps one environment's gateway process running: starts it, adopts the one an earlier orchestrator left, replaces it when it dies.
import { createHash } from "node:crypto";
import { mkdir, readFile } from "node:fs/promises";
import { createConnection } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { GatewayConfig, GatewayStatus } from "../../runtime-image/contract/gateway-config.ts";
import type { BrokerAccess, Environment } from "../../runtime-image/contract/instance-manifest.ts";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { BACKOFF_FIRST_MS, BACKOFF_MAX_MS, GATEWAY_READY_TIMEOUT_MS, STOP_GRACE_MS } from "../../runtime-image/contract/limits.ts";
import { writeFileAtomic } from "../processes/atomic-file.ts";
import { type DetachedState, readState, startDetached, stopProcess, waitForEnd } from "../processes/detached.ts";
import { type Identity, isAlive } from "../processes/identity.ts";

export interface GatewayProcess {
  readonly environment: Environment;
  stop(): Promise<void>;
  /** Stops looking after it; it keeps running. */
  release(): void;
}

export interface GatewayParts {
  readonly folder: string; // Of the gateways in the home: config, log and state files.
  readonly mainFile: string;
  readonly config: GatewayConfig;
  readonly status: () => Promise<GatewayStatus | null>;
  readonly report: (text: string) => void;
}

const COMPILE_CACHE = join(import.meta.dirname, "../../node_modules/.cache/orchestrator"); // The same as the command line's: it halves a start.
// glibc gives every large body back to the kernel and asks for it anew; kept, an upload of 100 KB costs a quarter less processor time.
const ALLOCATOR = { MALLOC_MMAP_THRESHOLD_: "33554432", MALLOC_TRIM_THRESHOLD_: "134217728" };
const READY_POLL_MS = 30;
const LOG_LINES_SHOWN = 5;

/** Resolves once the gateway listens and answers over the broker. */
export async function startGateway(parts: GatewayParts): Promise<GatewayProcess> {
  await mkdir(parts.folder, { recursive: true, mode: 0o700 });
  const files = filesOf(parts);
  const text = JSON.stringify(parts.config);
  const configHash = createHash("sha256").update(text).digest("hex");
  const adopted = await adoptable(files.state, configHash);
  if (adopted === null) await writeFileAtomic(files.config, text, 0o600);
  const first = adopted ?? (await launch(parts, configHash));
  const over = new AbortController();
  await ready(parts, first).catch(async (cause: unknown) => {
    await stopProcess(first, { graceMs: 0 });
    throw cause;
  });
  let current = first;
  const supervise = async (): Promise<void> => {
    for (let failureCount = 0; ;) {
      const startedEpochMs = Date.now();
      await waitForEnd(current, { signal: over.signal, pollIntervalMs: 250 });
      failureCount = Date.now() - startedEpochMs > BACKOFF_MAX_MS ? 1 : failureCount + 1;
      parts.report(`the gateway of ${parts.config.environment} ended; it is started again`);
      if (failureCount > 1)
        await delay(Math.min(BACKOFF_MAX_MS, BACKOFF_FIRST_MS * 2 ** (failureCount - 2)), undefined, { signal: over.signal });
      current = await launch(parts, configHash);
      await ready(parts, current).catch((cause: unknown) => parts.report(String(cause)));
    }
  };
  const supervised = supervise().catch((cause: unknown) => {
    if (!over.signal.aborted) parts.report(`the gateway of ${parts.config.environment} is no longer looked after: ${String(cause)}`);
  });
  return {
    environment: parts.config.environment,
    async stop() {
      over.abort();
      await supervised;
      await stopProcess(current, { graceMs: STOP_GRACE_MS });
    },
    release: () => over.abort(),
  };
}

/** Both loopback ports free, or a clear error; asked before anything is started. */
export async function assertPortFree(port: number, what: { readonly name: string; readonly flag: string }): Promise<void> {
  for (const host of ["127.0.0.1", "::1"])
    if (await answers(host, port))
      throw new PlatformError("PORT_IN_USE", {
        detail: `Port ${port} (${what.name}) on ${host}.`,
        remedy: `Stop the program that listens there, or choose another port with ${what.flag}.`,
      });
}

async function answers(host: string, port: number): Promise<boolean> {
  return new Promise((done) => {
    const socket = createConnection({ host, port, timeout: 1_000 });
    const finish = (isTaken: boolean): void => {
      socket.destroy();
      done(isTaken);
    };
    socket
      .once("connect", () => finish(true))
      .once("error", () => finish(false))
      .once("timeout", () => finish(true));
  });
}

/** Whether an earlier orchestrator's gateway of this home runs: its ports are not taken by another program. */
export async function runningGateway(folder: string, environment: Environment): Promise<Identity | null> {
  const state = await readState(join(folder, `${environment}.state.json`));
  return state !== null && (await isAlive(state.identity)) ? state.identity : null;
}

/** The broker credentials that the last config of an environment's gateway held. */
export async function configuredAccess(folder: string, environment: Environment): Promise<BrokerAccess | null> {
  const text = await readFile(join(folder, `${environment}.json`), "utf8").catch(() => null);
  if (text === null) return null;
  // This file is the only one that writes it, atomically.
  return (JSON.parse(text) as GatewayConfig).broker;
}

function filesOf(parts: GatewayParts): { config: string; state: string; log: string } {
  const base = join(parts.folder, parts.config.environment);
  return { config: `${base}.json`, state: `${base}.state.json`, log: `${base}.log` };
}

async function adoptable(stateFile: string, configHash: string): Promise<Identity | null> {
  const state = await readState(stateFile);
  if (state === null || !(await isAlive(state.identity))) return null;
  if (hashIn(state) === configHash) return state.identity;
  await stopProcess(state.identity, { graceMs: STOP_GRACE_MS });
  return null;
}

const hashIn = (state: DetachedState): unknown =>
  typeof state.extra === "object" && state.extra !== null && "configHash" in state.extra ? state.extra.configHash : null;

async function launch(parts: GatewayParts, configHash: string): Promise<Identity> {
  const files = filesOf(parts);
  return startDetached({
    command: process.execPath,
    // Without its debugger: on the engine "process" a function may run as the same user, and could switch it on by a signal.
    // http-proxy calls a deprecated function of Node's (DEP0060); its warning would be the one line of the log that is no JSON.
    args: ["--disable-sigusr1", "--disable-warning=ExperimentalWarning", "--disable-warning=DEP0060", parts.mainFile, files.config],
    env: { NODE_ENV: "production", NODE_COMPILE_CACHE: COMPILE_CACHE, ...ALLOCATOR },
    cwd: parts.folder,
    logFile: files.log,
    stateFile: files.state,
    extra: { configHash },
  });
}

async function ready(parts: GatewayParts, identity: Identity): Promise<void> {
  const deadlineEpochMs = Date.now() + GATEWAY_READY_TIMEOUT_MS;
  while (Date.now() < deadlineEpochMs) {
    if (!(await isAlive(identity))) break;
    const status = await parts.status();
    if (status?.listening === true && status.pid === identity.pid) return;
    await delay(READY_POLL_MS);
  }
  const lines = (await readFile(filesOf(parts).log, "utf8").catch(() => "")).trimEnd().split("\n").slice(-LOG_LINES_SHOWN);
  throw new PlatformError("GATEWAY_FAILED", {
    detail: `The gateway of ${parts.config.environment} is not ready.`,
    problems: lines,
    remedy: `Its log: ${filesOf(parts).log}`,
  });
}
