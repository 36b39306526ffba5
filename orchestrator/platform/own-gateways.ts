// The gateways of a platform, one process per environment, and the ports that they and the management API take.
import assert from "node:assert/strict";
import { join } from "node:path";
import type { GatewayConfig } from "../../runtime-image/contract/gateway-config.ts";
import { type BrokerAccess, ENVIRONMENTS, type Environment } from "../../runtime-image/contract/instance-manifest.ts";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { HEADER_BYTES_MAX, REQUEST_BODY_BYTES_MAX, TARGET_BYTES_MAX } from "../../runtime-image/contract/limits.ts";
import { LOOPBACK, type PlatformSettings } from "../config.ts";
import { type GatewayProcess, configuredAccess, runningGateway, startGateway } from "../gateways/gateway-process.ts";
import { assertPortFree, missingAddresses } from "../gateways/listen-check.ts";
import type { Home } from "../home.ts";
import type { Output } from "../log.ts";
import type { BrokerSigner } from "../nats/accounts.ts";
import type { ControlBus } from "../nats/control-bus.ts";
import type { Broker } from "../nats/server.ts";

const GATEWAY_MAIN = join(import.meta.dirname, "../../gateway/main.ts");
const STATUS_TIMEOUT_MS = 500;

/** Every address that is missing and every port that is taken is named, before anything is started. A gateway of this home may hold its own. */
export async function assertPorts(settings: PlatformSettings, home: Home): Promise<void> {
  await assertAddresses(settings.listen);
  const isRunning = async (environment: Environment): Promise<boolean> =>
    (await runningGateway(join(home.path, "gateways"), environment)) !== null;
  const { listen: hosts } = settings;
  const places = [
    { port: settings.apiPort, hosts: LOOPBACK, name: "management API", flag: "--api-port", isOurs: false },
    { port: settings.stagingPort, hosts, name: "staging", flag: "--staging-port", isOurs: await isRunning("staging") },
    { port: settings.productionPort, hosts, name: "production", flag: "--production-port", isOurs: await isRunning("production") },
  ];
  const outcomes = await Promise.allSettled(places.filter((place) => !place.isOurs).map(assertPortFree));
  const failures = outcomes.filter((outcome) => outcome.status === "rejected");
  const told = failures.map(({ reason }) => reason as unknown).filter((reason) => reason instanceof PlatformError); // Whatever was thrown.
  const [first] = told;
  if (failures.length === 0) return;
  if (failures.length === 1 || first === undefined) throw failures[0]?.reason;
  throw new PlatformError(first.code, {
    detail: `${failures.length} ports cannot be listened on.`,
    problems: told.map(({ detail }) => `${detail.detail} ${detail.remedy}`),
  });
}

/** A machine without IPv6 may lack one that nobody named; what was named has to be there. */
async function assertAddresses(listen: readonly string[]): Promise<void> {
  const missing = listen === LOOPBACK ? [] : await missingAddresses(listen);
  if (missing.length === 0) return;
  throw new PlatformError("SETTING_INVALID", {
    problems: missing.map((address) => `--listen: this machine has no address ${address}`),
    remedy: "Name addresses that this machine has, or 0.0.0.0 and :: for all of them.",
  });
}

/** The same credentials as before where there are some: a gateway that runs is adopted when its config has not changed. */
async function gatewayAccess(home: Home, environment: Environment, { broker, signer }: GatewayNeeds): Promise<BrokerAccess> {
  const known = await configuredAccess(join(home.path, "gateways"), environment);
  return known?.url === broker.url ? known : { url: broker.url, ...(await signer.gatewayPlatformCredentials(environment)) };
}

interface GatewayNeeds {
  readonly bus: ControlBus;
  readonly signer: BrokerSigner;
  readonly broker: Broker;
  readonly output: Output;
  readonly parts: AsyncDisposableStack;
}

/** Resolves when each of them answers. */
export async function startGateways(
  settings: PlatformSettings,
  home: Home,
  needs: GatewayNeeds,
): Promise<Record<Environment, GatewayProcess>> {
  const ports: Record<Environment, number> = { staging: settings.stagingPort, production: settings.productionPort };
  const starts = ENVIRONMENTS.map(async (environment) => {
    const config: GatewayConfig = {
      v: 1,
      gatewayId: `${home.platformId}${environment}`,
      environment,
      listen: settings.listen.map((host) => ({ host, port: ports[environment], ...(settings.tls === null ? {} : { tls: settings.tls }) })),
      trustedProxies: settings.trustedProxies,
      broker: await gatewayAccess(home, environment, needs),
      sitesFolder: sitesFolderOf(home.path),
      limits: { requestBodyBytesMax: REQUEST_BODY_BYTES_MAX, headerBytesMax: HEADER_BYTES_MAX, targetBytesMax: TARGET_BYTES_MAX },
    };
    const gateway = await startGateway({
      folder: join(home.path, "gateways"),
      mainFile: GATEWAY_MAIN,
      config,
      status: async () => needs.bus.gatewayStatus(environment, { timeoutMs: STATUS_TIMEOUT_MS, gatewayId: config.gatewayId }),
      report: (text) => needs.output.warn(text),
    });
    needs.parts.defer(async () => (settings.leavesRunning ? gateway.release() : gateway.stop()));
    return [environment, gateway] as const;
  });
  const outcomes = await Promise.allSettled(starts);
  const started = new Map(
    outcomes.map((outcome) => {
      if (outcome.status === "rejected") throw outcome.reason;
      return outcome.value;
    }),
  );
  const gatewayOf = (environment: Environment): GatewayProcess => {
    const gateway = started.get(environment);
    assert(gateway !== undefined, "every environment has a gateway");
    return gateway;
  };
  return { staging: gatewayOf("staging"), production: gatewayOf("production") };
}

export const sitesFolderOf = (home: string): string => join(home, "sites");
