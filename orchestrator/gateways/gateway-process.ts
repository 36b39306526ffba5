// Keeps one environment's gateway running: starts it, adopts the one an earlier orchestrator left, has one of another config replaced.
import { mkdir } from "node:fs/promises";
import type { GatewayConfig, GatewayStatus } from "../../runtime-image/contract/gateway-config.ts";
import type { BrokerAccess, Environment } from "../../runtime-image/contract/instance-manifest.ts";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { writeFileAtomic } from "../processes/atomic-file.ts";
import { stopProcess } from "../processes/detached.ts";
import type { Identity } from "../processes/identity.ts";
import { type ConfigText, configText, gatewayFilesOf, gatewayProcesses, writtenConfig } from "./gateway-files.ts";
import { isOnOtherBroker, planGateway } from "./gateway-plan.ts";
import { gatewayProgram } from "./gateway-program.ts";
import { type GatewayWatch, watchGateway, type WatchParts } from "./gateway-watch.ts";
import { launchGateway, type Listening, type Place, stopGateways, succeedGateway, untilListening, untilReady } from "./running-gateway.ts";

export interface GatewayProcess extends GatewayWatch {
  readonly environment: Environment;
}

export interface GatewayParts {
  readonly folder: string; // Of the gateways in the home: config, log and state files.
  readonly mainFile: string;
  readonly config: GatewayConfig;
  readonly status: () => Promise<GatewayStatus | null>;
  readonly report: (text: string) => void;
}

/** Resolves once the gateway listens and answers over the broker. */
export async function startGateway({ folder, mainFile, config, status, report }: GatewayParts): Promise<GatewayProcess> {
  const { environment } = config;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const place: Place = { environment, files: gatewayFilesOf(folder, environment), folder, status };
  const wanted = { ...config, program: await gatewayProgram({ mainFile, logFile: place.files.log }) };
  const parts: WatchParts = { place, wanted, report };
  return { environment, ...(await watchGateway(await settle(parts), parts)) };
}

/** Makes the wanted gateway the one that listens, with as little as possible in between. */
async function settle(parts: WatchParts): Promise<Identity> {
  const { place, wanted, report } = parts;
  const [written, processes] = await Promise.all([writtenConfig(place.files), gatewayProcesses(place.files)]);
  const { text, hash } = configText(wanted);
  const facts = { written, wanted: { hash, config: wanted }, isAnyAlive: processes.length > 0 };
  const listening = facts.isAnyAlive && !isOnOtherBroker(facts) ? await untilListening(place) : null;
  const plan = planGateway({ ...facts, listening });
  // Whatever runs: what is written is what it is started with where it dies.
  if (written?.hash !== hash) await writeFileAtomic(place.files.config, text, 0o600);
  switch (plan.kind) {
    case "adopt":
      return plan.listening.identity;
    case "hand over":
      return (await handOver(parts, { before: plan.listening, written, hash })) ?? launch(place);
    case "replace":
      report(`the gateway of ${place.environment} is stopped, and another one started: ${plan.why}`);
      await stopGateways(place);
      return launch(place);
    case "launch":
      return launch(place);
  }
}

interface Change {
  readonly before: Listening;
  readonly written: ConfigText | null; // Before the wanted one was.
  readonly hash: string; // Of the wanted one.
}

/** Null where nobody listens afterwards. */
async function handOver({ place, report }: WatchParts, { before, written, hash }: Change): Promise<Identity | null> {
  try {
    const first = await succeedGateway(place, before);
    if (first.status.configHash === hash) return first.identity;
    // An earlier orchestrator had it replaced in this moment, by one of that orchestrator's config.
    return (await succeedGateway(place, first)).identity;
  } catch (cause) {
    const kept = await untilListening(place);
    if (kept === null) {
      await stopGateways(place); // Those that finish what they had.
      return null;
    }
    if (written?.hash === kept.status.configHash) await writeFileAtomic(place.files.config, written.text, 0o600);
    report(`the gateway of ${place.environment} serves on with its earlier settings. ${textOf(cause)}`);
    return kept.identity;
  }
}

async function launch(place: Place): Promise<Identity> {
  const launched = await launchGateway(place);
  try {
    await untilReady(place, launched);
    return launched.identity;
  } catch (cause) {
    await stopProcess(launched.identity, { graceMs: 0 });
    throw cause;
  }
}

const textOf = (cause: unknown): string =>
  cause instanceof PlatformError ? [cause.message, cause.detail.remedy ?? ""].join(" ").trim() : String(cause);

/** Whether an earlier orchestrator's gateway of this home runs: its ports are not taken by another program. */
export async function runningGateway(folder: string, environment: Environment): Promise<Identity | null> {
  const [first = null] = await gatewayProcesses(gatewayFilesOf(folder, environment));
  return first;
}

/** The broker credentials that the last config of an environment's gateway held. */
export async function configuredAccess(folder: string, environment: Environment): Promise<BrokerAccess | null> {
  return (await writtenConfig(gatewayFilesOf(folder, environment)))?.config.broker ?? null;
}
