// Takes the control plane's place for a moment: tells the gateways of a running platform of other functions than its own.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type BrokerSigner, createBrokerSigner } from "../orchestrator/nats/accounts.ts";
import { type ControlBus, createControlBus } from "../orchestrator/nats/control-bus.ts";
import { loadBrokerKeys } from "../orchestrator/nats/keys.ts";
import type { GatewayConfig } from "../runtime-image/contract/gateway-config.ts";
import type { AppSnapshot, Deployment, FunctionSnapshot } from "../runtime-image/contract/snapshot.ts";
import { say } from "./log.ts";
import { BenchError } from "./processes.ts";
import type { RunningPlatform } from "./rows/platform.ts";
import { waitFor } from "./wait.ts";

export interface Control {
  readonly bus: ControlBus;
  readonly signer: BrokerSigner;
  readonly gateway: GatewayConfig; // Of staging.
}

export interface ServedApp {
  readonly snapshot: AppSnapshot;
  readonly deployment: Deployment & { readonly kind: "live" };
  readonly index: FunctionSnapshot; // GET /
}

const APPLIED_TIMEOUT_MS = 10_000;

/** Made from the keys in the platform's home. */
export async function openControl(platform: Pick<RunningPlatform, "home">, stack: AsyncDisposableStack): Promise<Control> {
  // Written by the orchestrator for its gateway.
  const gateway = JSON.parse(await readFile(join(platform.home, "gateways/staging.json"), "utf8")) as GatewayConfig;
  const signer = createBrokerSigner(await loadBrokerKeys(platform.home));
  const bus = await createControlBus({ url: gateway.broker.url, signer, onError: (error) => say(String(error)) });
  stack.defer(() => bus.close());
  return { bus, signer, gateway };
}

/** What staging serves now. */
export async function servedApp(bus: ControlBus): Promise<ServedApp> {
  const status = await bus.gatewayStatus("staging", { timeoutMs: 1_000 });
  const [appId] = Object.keys(status?.sequences ?? {});
  const snapshot = appId === undefined ? null : await bus.readSnapshot("staging", appId);
  const deployment = snapshot?.deployment;
  if (snapshot === null || deployment?.kind !== "live") throw new BenchError("the gateway serves no app");
  const index = deployment.functions.find((one) => one.path === "/");
  if (index === undefined) throw new BenchError("the app has no GET /");
  return { snapshot, deployment, index };
}

/** Resolves once the gateway, where one is named that one, serves them. */
export async function publishFunctions(
  bus: ControlBus,
  served: ServedApp,
  functions: readonly FunctionSnapshot[],
  signal: AbortSignal,
  gatewayId?: string,
): Promise<void> {
  const { sequence: _, v: __, ...content } = { ...served.snapshot, deployment: { ...served.deployment, functions } };
  const sequence = await bus.publishSnapshot("staging", content);
  const isApplied = async (): Promise<boolean> => {
    const status = await bus.gatewayStatus("staging", { timeoutMs: 500, ...(gatewayId !== undefined && { gatewayId }) });
    return (status?.sequences[served.snapshot.appId] ?? 0) >= sequence;
  };
  await waitFor(isApplied, { timeoutMs: APPLIED_TIMEOUT_MS, what: `the gateway serves ${functions.length} functions`, signal });
}
