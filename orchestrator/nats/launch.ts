// Starts one nats-server process: from its configuration to its first answer.
import { createHash } from "node:crypto";
import { rm } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { BROKER_READY_TIMEOUT_MS } from "../../runtime-image/contract/limits.ts";
import { writeFileAtomic } from "../processes/atomic-file.ts";
import { startDetached, stopProcess } from "../processes/detached.ts";
import type { Identity } from "../processes/identity.ts";
import { claimsOf, type BrokerSigner, type BrokerTrust } from "./accounts.ts";
import type { NatsBinary } from "./binary.ts";
import { lastLogLines, type BrokerHome } from "./broker-home.ts";
import { managedServerConfig } from "./config.ts";
import { probeBroker } from "./probe.ts";

export interface Launch {
  readonly place: BrokerHome;
  readonly trust: BrokerTrust;
  readonly host: string;
  readonly binary: NatsBinary;
  readonly signer: BrokerSigner;
}

export interface Running {
  readonly identity: Identity;
  readonly startedEpochMs: number;
  readonly port: number;
}

/** What a later orchestrator finds beside the process. */
export interface StateExtra {
  readonly port: number;
  readonly fingerprint: string;
}

export function parseExtra(value: unknown): StateExtra | null {
  if (typeof value !== "object" || value === null) return null;
  const extra: Partial<Record<keyof StateExtra, unknown>> = value;
  return typeof extra.port === "number" && typeof extra.fingerprint === "string"
    ? { port: extra.port, fingerprint: extra.fingerprint }
    : null;
}

const READY_POLL_MS = 25; // A broker without data is up after some 50 ms.

/** One process, from its configuration to its first answer. What does not answer in time is ended. */
export async function startServer(launch: Launch, port: number, signal: AbortSignal): Promise<Running> {
  const { place, host, binary } = launch;
  await writeFileAtomic(place.configFile, configText(launch, port), 0o600);
  await rm(place.startLogFile, { force: true }); // An old failure in it would be shown as the new one's reason.
  const started = await startDetached({
    command: binary.path,
    args: ["--config", place.configFile],
    env: goSettings(availableParallelism()),
    cwd: place.folder,
    logFile: place.startLogFile,
    stateFile: place.stateFile,
    extra: { port, fingerprint: fingerprint(launch, port) } satisfies StateExtra,
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
    throw new PlatformError(
      "NATS_FAILED",
      { detail, remedy: `Its log is ${place.logFile}.`, problems: await lastLogLines(place, identity.pid) },
      { cause },
    );
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

const isPassing = (error: unknown): boolean =>
  error instanceof PlatformError && (error.code === "BROKER_UNAVAILABLE" || error.code === "NATS_FAILED");

/** Changes with everything that a running broker would have to be restarted for, and not with the moment of signing. */
export function fingerprint(launch: Launch, port: number): string {
  const { trust, binary } = launch;
  const timeless: BrokerTrust = {
    operatorJwt: claimsOf(trust.operatorJwt) ?? "",
    system: trust.system,
    preloaded: trust.preloaded.map((account) => ({ ...account, jwt: claimsOf(account.jwt) ?? "" })),
  };
  return createHash("sha256")
    .update(`${binary.path} ${binary.version}\n`)
    .update(configText({ ...launch, trust: timeless }, port))
    .digest("hex");
}

export const urlOf = (host: string, port: number): string => `nats://${host.includes(":") ? `[${host}]` : host}:${port}`;

const configText = ({ place, host, trust }: Launch, port: number): string =>
  managedServerConfig({ ...place, host, port, serverName: "orchestrator" }, trust);

/**
 * Measured on two cores: with half of them and rarer garbage collection the broker spends 9 instead of 15 µs on a small request and its
 * answer, and a gateway carries a tenth more. On all cores its goroutines hand each other work that one of them does sooner alone.
 */
export const goSettings = (coreCount: number): Record<string, string> => ({
  GOGC: "400",
  GOMAXPROCS: String(Math.max(1, Math.floor(coreCount / 2))),
});
