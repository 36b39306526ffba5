// Runs the platform's own nats-server: starts or adopts it, has it started again when it dies, stops it.
import { rm } from "node:fs/promises";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { BROKER_STOP_GRACE_MS } from "../../runtime-image/contract/limits.ts";
import type { Clock } from "../clock.ts";
import { readState, stopProcess } from "../processes/detached.ts";
import { isAlive, processesWithArgument } from "../processes/identity.ts";
import type { BrokerSigner } from "./accounts.ts";
import type { NatsBinary } from "./binary.ts";
import { brokerHome, makeBrokerHome, readPort, writePort, type BrokerHome } from "./broker-home.ts";
import { fingerprint, parseExtra, startServer, urlOf, type Launch, type Running } from "./launch.ts";
import { isPortFree, pickFreePort } from "./ports.ts";
import { probeBroker } from "./probe.ts";
import { supervise, type BrokerEvent } from "./supervise.ts";

export type { BrokerEvent };

export interface BrokerOptions {
  readonly home: string;
  readonly host: string; // One address: the one that instances reach.
  readonly port: number | null; // Null: the remembered one, or any that is free.
  readonly binary: NatsBinary;
  readonly signer: BrokerSigner;
  readonly clock: Clock;
  readonly onEvent: (event: BrokerEvent) => void; // What happened to it later on.
}

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

const PORT_ATTEMPT_COUNT_MAX = 3; // Between looking at a port and the broker's taking it, another program may be quicker.

export async function startBroker(options: BrokerOptions): Promise<Broker> {
  const place = brokerHome(options.home);
  await makeBrokerHome(place);
  const launch: Launch = { ...options, place, trust: await options.signer.trust() };
  const adopted = await adopt(launch, options.port);
  await stopStrays(place, adopted);
  const running = adopted ?? (await startOnSomePort(launch, options.port));
  const watching = new AbortController();
  const watch = supervise(running, { ...launch, clock: options.clock, onEvent: options.onEvent, signal: watching.signal });
  const endWatch = (): Promise<Running> => {
    watching.abort();
    return watch;
  };
  return {
    kind: "managed",
    url: urlOf(options.host, running.port),
    version: options.binary.version,
    adopted: adopted !== null,
    stop: async () => {
      const { identity } = await endWatch();
      await stopProcess(identity, { graceMs: BROKER_STOP_GRACE_MS });
      await rm(place.stateFile, { force: true });
    },
    release: async () => {
      await endWatch();
    },
  };
}

/** The broker of an earlier orchestrator, where it is the very one that would be started now and answers. Any other is stopped. */
async function adopt(launch: Launch, wantedPort: number | null): Promise<Running | null> {
  const state = await readState(launch.place.stateFile);
  if (state === null || !(await isAlive(state.identity))) return null;
  const extra = parseExtra(state.extra);
  const fits =
    extra !== null &&
    (wantedPort === null || wantedPort === extra.port) &&
    extra.fingerprint === fingerprint(launch, extra.port) &&
    (await answers(urlOf(launch.host, extra.port), launch.signer));
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

async function startOnSomePort(launch: Launch, wantedPort: number | null): Promise<Running> {
  for (let attempt = 1; ; attempt += 1) {
    const port = await choosePort(launch, wantedPort);
    try {
      const running = await startServer(launch, port, new AbortController().signal);
      await writePort(launch.place, port);
      return running;
    } catch (error) {
      const wasTaken = wantedPort === null && attempt < PORT_ATTEMPT_COUNT_MAX && !(await isPortFree(launch.host, port));
      if (!wasTaken) throw error;
    }
  }
}

async function choosePort(launch: Launch, wantedPort: number | null): Promise<number> {
  if (wantedPort === null) {
    const remembered = await readPort(launch.place);
    return remembered !== null && (await isPortFree(launch.host, remembered)) ? remembered : pickFreePort(launch.host);
  }
  if (await isPortFree(launch.host, wantedPort)) return wantedPort;
  throw new PlatformError("PORT_IN_USE", {
    detail: `The broker should listen on ${launch.host}:${wantedPort}, which another program holds.`,
    remedy: "Choose another port for the broker, or none.",
  });
}
