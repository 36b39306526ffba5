// The broker of a platform: its own process, or a server that its owner runs; and what the rest of the platform asks of it.
import { setTimeout as delay } from "node:timers/promises";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { systemClock } from "../clock.ts";
import { type PlatformSettings, environmentSettings } from "../config.ts";
import type { Engine } from "../engines/engine.ts";
import type { Home } from "../home.ts";
import type { Output } from "../log.ts";
import type { BrokerSigner } from "../nats/accounts.ts";
import { findNatsServer } from "../nats/binary.ts";
import { brokerHome } from "../nats/broker-home.ts";
import type { ControlBus } from "../nats/control-bus.ts";
import { guardDisk } from "../nats/disk-guard.ts";
import { connectExternal } from "../nats/external.ts";
import { type Broker, type BrokerEvent, startBroker } from "../nats/server.ts";
import type { FleetBroker } from "../pools/fleet.ts";
import type { SnapshotStore } from "../releases/app-environments.ts";
import type { ControlState } from "../releases/release-book.ts";

const INSTANCE_PING_TIMEOUT_MS = 1_000;
const STATUS_TIMEOUT_MS = 500;
const APPLIED_TIMEOUT_MS = 3_000; // An old instance that still gets a request refuses it safely, so this need not be certain.
const APPLIED_POLL_MS = 5;

export async function startOwnBroker(
  settings: PlatformSettings,
  home: Home,
  engine: Engine,
  signer: BrokerSigner,
  output: Output,
  parts: AsyncDisposableStack,
): Promise<Broker> {
  const broker =
    settings.natsUrl === null ? await managedBroker(home, engine, signer, output) : await externalBroker(settings.natsUrl, engine, signer);
  parts.defer(async () => (settings.leavesRunning ? broker.release() : broker.stop()));
  const { hostname, port } = new URL(broker.url);
  await engine.allowBroker?.({ host: hostname, port: Number(port === "" ? "4222" : port) });
  output.step(`broker: nats-server ${broker.version} at ${broker.url}`);
  return broker;
}

async function managedBroker(home: Home, engine: Engine, signer: BrokerSigner, output: Output): Promise<Broker> {
  const binary = await findNatsServer({ explicitPath: environmentSettings().natsServer, searchPath: environmentSettings().searchPath });
  const onEvent = (event: BrokerEvent): void => output.warn(brokerText(event));
  return startBroker({ home: home.path, host: engine.brokerHost(), port: null, binary, signer, clock: systemClock, onEvent });
}

/** Of a broker that its owner runs, the disk is the owner's. */
export function watchDisk({
  home,
  bus,
  output,
  parts,
}: {
  home: Home;
  bus: ControlBus;
  output: Output;
  parts: AsyncDisposableStack;
}): void {
  const { folder, reserveFile } = brokerHome(home.path);
  const guard = guardDisk({
    reserveFile,
    hold: async (isHeld) => bus.holdStores(isHeld),
    onChange: (isHeld) =>
      output.warn(
        isHeld
          ? `the disk of ${folder} is nearly full: functions can read and destroy, and save nothing until there is room again`
          : `the disk of ${folder} has room again: functions can save`,
      ),
    onError: (error) => output.warn(`the disk of ${folder} could not be looked after: ${String(error)}`),
  });
  parts.defer(async () => guard.close());
}

async function externalBroker(url: string, engine: Engine, signer: BrokerSigner): Promise<Broker> {
  const isLoopback = ["localhost", "127.0.0.1", "[::1]"].includes(new URL(url).hostname);
  if (engine.kind === "docker" && isLoopback)
    throw new PlatformError("SETTING_INVALID", {
      problems: [`--nats: containers cannot reach ${url}; name an address of this host that they can reach`],
      remedy: "Let that server listen on an address of the network, or use --engine process.",
    });
  return connectExternal({ url, signer });
}

function brokerText(event: BrokerEvent): string {
  switch (event.kind) {
    case "died":
      return `the broker (process ${event.pid}) ended; it is started again in ${event.restartDelayMs} ms`;
    case "restarted":
      return `the broker is back (process ${event.pid})`;
    case "restart-failed":
      return `the broker does not start: ${String(event.error)}; next try in ${event.restartDelayMs} ms`;
  }
}

export function fleetBroker(bus: ControlBus, signer: BrokerSigner, url: string): FleetBroker {
  return {
    credentials: async ({ appId, environment, instanceId }) => ({
      url,
      ...(await signer.instanceCredentials(appId, environment, instanceId)),
    }),
    ping: async ({ appId, environment, instanceId }) =>
      bus.pingInstance(appId, environment, instanceId, { timeoutMs: INSTANCE_PING_TIMEOUT_MS }),
    onEvent: async ({ appId, environment }, listener) => bus.onInstanceEvent(appId, environment, listener),
  };
}

export function snapshotStore(bus: ControlBus, signer: BrokerSigner, url: string): SnapshotStore {
  return {
    read: async (environment, appId) => bus.readSnapshot(environment, appId),
    publish: async (environment, content) => bus.publishSnapshot(environment, content),
    remove: async (environment, appId) => bus.removeSnapshot(environment, appId),
    gatewayAccess: async ({ appId, environment }, known) =>
      known?.url === url ? known : { url, ...(await signer.gatewayCredentials(appId, environment)) },
    async applied(environment, appId, sequence) {
      const deadlineEpochMs = systemClock.nowEpochMs() + APPLIED_TIMEOUT_MS;
      while (systemClock.nowEpochMs() < deadlineEpochMs) {
        const status = await bus.gatewayStatus(environment, { timeoutMs: STATUS_TIMEOUT_MS });
        if ((status?.sequences[appId] ?? 0) >= sequence) return;
        await delay(APPLIED_POLL_MS);
      }
    },
  };
}

export const controlState = (bus: ControlBus): ControlState => ({
  read: async (key) => bus.readControl(key),
  write: async (key, value, options) => bus.writeControl(key, value, options),
  remove: async (key) => bus.removeControl(key),
  list: async (prefix) => bus.listControl(prefix),
});
