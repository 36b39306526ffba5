// The management API over real parts that need no gateway: a broker, apps that are hosted and run nothing, their variables, stores and logs.
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { FindApp } from "../../orchestrator/api/app-query.ts";
import { type AppRouteParts, appRoutes } from "../../orchestrator/api/app-routes.ts";
import { backupRoutes } from "../../orchestrator/api/backup-routes.ts";
import { type ApiClient, connectApi } from "../../orchestrator/api/client.ts";
import { dataRoutes } from "../../orchestrator/api/data-routes.ts";
import { createJournal } from "../../orchestrator/api/journal.ts";
import { stateRoutes } from "../../orchestrator/api/state-routes.ts";
import { variablesRoutes } from "../../orchestrator/api/variables-routes.ts";
import { systemClock } from "../../orchestrator/clock.ts";
import { createProcessEngine } from "../../orchestrator/engines/process-engine.ts";
import { openAppBook } from "../../orchestrator/hosting/app-book.ts";
import { createHosting, type Hosting } from "../../orchestrator/hosting/hosting.ts";
import { buildRuntimeBundle } from "../../orchestrator/images/runtime-bundle.ts";
import { createLogStore, type LogStore } from "../../orchestrator/logs/log-store.ts";
import { createControlBus } from "../../orchestrator/nats/control-bus.ts";
import { loadBrokerKeys } from "../../orchestrator/nats/keys.ts";
import { controlState, fleetBroker, snapshotStore } from "../../orchestrator/platform/own-broker.ts";
import { createFleet } from "../../orchestrator/pools/fleet.ts";
import { INSTANCE_COUNTS } from "../../orchestrator/pools/pool-plan.ts";
import { createRestorer } from "../../orchestrator/stores/restorer.ts";
import { createStores } from "../../orchestrator/stores/stores.ts";
import { createFolderVariableStore } from "../../orchestrator/variables/folder-variables.ts";
import { createVariableStore } from "../../orchestrator/variables/variable-store.ts";
import { type ApiRig, startApiRig } from "./api-rig.ts";
import { type Finished, runCommand } from "./platform.ts";
import { startTestBroker } from "./test-broker.ts";

export interface HostedWorld {
  readonly rig: ApiRig;
  readonly hosting: Hosting;
  readonly logs: LogStore;
  readonly brokerHome: string;
  readonly api: ApiClient; // As the owner.
  /** A command of the owner's. */
  run(args: readonly string[]): Promise<Finished>;
  close(): Promise<void>;
}

/** Apps by these names; the first one is the default. */
export async function startHostedWorld(names: readonly string[]): Promise<HostedWorld> {
  const parts = new AsyncDisposableStack();
  const test = await startTestBroker();
  parts.defer(async () => test.close());
  const { home, signer } = test;
  const { url } = test.broker;
  const keys = await loadBrokerKeys(home);
  const bus = await createControlBus({ url, signer, onError: () => undefined });
  parts.defer(async () => bus.close());
  const engine = createProcessEngine({ home, platformId: "hosted", nodePath: process.execPath, runtimeBundle: buildRuntimeBundle });
  await engine.prepare();
  parts.defer(async () => engine.dispose());
  const apps: { hosting: Hosting | null } = { hosting: null };
  const logs = createLogStore(join(home, "logs"), (appId) => apps.hosting?.byId(appId)?.name ?? null);
  const sessionSecret = (): string => "00".repeat(32);
  const broker = fleetBroker(bus, signer, url);
  const fleet = createFleet({ engine, clock: systemClock, broker, sessionSecret, logs, report: () => undefined });
  parts.defer(() => fleet.release());
  const stores = createStores({ url, signer });
  parts.defer(async () => stores.close());
  const state = controlState(bus);
  const hosting = await createHosting({
    bus,
    state,
    book: await openAppBook({ state, clock: systemClock }),
    folderApp: null,
    fleet,
    instanceCounts: INSTANCE_COUNTS,
    stores,
    snapshots: snapshotStore(bus, signer, url),
    sessionSecret,
    variableStore: createVariableStore(bus, keys),
    folderVariables: createFolderVariableStore(bus, keys),
    clock: systemClock,
    report: () => undefined,
    announce: () => undefined,
    onRemove: async () => undefined,
  });
  apps.hosting = hosting;
  parts.defer(async () => hosting.close());
  for (const name of names) await hosting.create(name, "test");
  const restorer = await createRestorer({
    folder: join(home, "restores"),
    stores: async ({ appId, environment }) => stores.of(appId, environment),
    control: bus,
    clock: systemClock,
  });
  const app: FindApp = (name) => hosting.app(name);
  const stays = { restart: async () => Promise.reject(new Error("there is no gateway")) };
  const rig = await startApiRig([
    ...stateRoutes({
      app,
      defaultApp: () => hosting.defaultApp(),
      gateways: { staging: stays, production: stays },
      logs,
      journal: createJournal(systemClock),
      facts: () => ({ engine: "process", broker: url, home, pid: process.pid }),
    }),
    ...appRoutes({ hosting, port: 0, receiver: {} as AppRouteParts["receiver"] }), // Nothing is delivered to these apps.
    ...variablesRoutes({ app }),
    ...dataRoutes({ app }),
    ...backupRoutes({ app, restorer, clock: systemClock }),
  ]);
  parts.defer(async () => rig.stop());
  const api = await connectApi({ port: rig.port, home: rig.home });
  return {
    rig,
    hosting,
    logs,
    brokerHome: home,
    api,
    run: async (args) => runCommand([...args, "--api-port", `${rig.port}`, "--home", rig.home]),
    close: async () => {
      await parts.disposeAsync();
      await rm(home, { recursive: true, force: true });
    },
  };
}
