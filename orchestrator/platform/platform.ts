// Puts the parts of a running platform together, in the order in which they need each other, and takes them apart in reverse.
import { join } from "node:path";
import { ENVIRONMENTS, type Environment } from "../../runtime-image/contract/instance-manifest.ts";
import { STOP_GRACE_MS } from "../../runtime-image/contract/limits.ts";
import { createJournal } from "../api/journal.ts";
import { type Management, startManagement } from "../api/management.ts";
import type { AppSource } from "../apps/app-source.ts";
import { type AppPlan, planApp } from "../builds/build-plan.ts";
import { type BuildShop, createBuildShop } from "../builds/build-tools.ts";
import { systemClock } from "../clock.ts";
import { type PlatformSettings, environmentSettings } from "../config.ts";
import { createDiskMeasure } from "../doctor/disk-use.ts";
import { parseDockerAddress } from "../docker/address.ts";
import { chooseEngine } from "../engines/choose-engine.ts";
import type { Engine } from "../engines/engine.ts";
import { type Home, openHome } from "../home.ts";
import { type Collector, createCollector } from "../hosting/collector.ts";
import type { HostedApp } from "../hosting/hosted-app.ts";
import type { Hosting } from "../hosting/hosting.ts";
import type { Output } from "../log.ts";
import { createLogStore } from "../logs/log-store.ts";
import { createBrokerSigner } from "../nats/accounts.ts";
import { type ControlBus, createControlBus } from "../nats/control-bus.ts";
import { loadBrokerKeys } from "../nats/keys.ts";
import { createFleet } from "../pools/fleet.ts";
import { INSTANCE_COUNTS, NO_INSTANCES } from "../pools/pool-plan.ts";
import { type UsedBuilds, createUsedBuilds } from "../releases/used-builds.ts";
import type { DeployOutcome } from "../releases/deployer.ts";
import { type MadeRelease, makeRelease } from "../releases/make-release.ts";
import { createExpiryKeeper, type ExpiryKeeper } from "../stores/expiry-keeper.ts";
import { createRestorer } from "../stores/restorer.ts";
import { createStores } from "../stores/stores.ts";
import { openHosted } from "./hosted.ts";
import { controlState, fleetBroker, snapshotStore, startOwnBroker, watchDisk } from "./own-broker.ts";
import { assertPorts, sitesFolderOf, startGateways } from "./own-gateways.ts";

export interface Platform {
  readonly engineLine: string;
  readonly newToken: string | null; // Of the management API, where this start made it.
  /** The app of the folder that it was started for. */
  readonly folderApp: FolderApp | null;
  /** Ends the wait of deploys for their instances, before a stop. */
  giveUp(): void;
  /** Does what could wait until an app answers. */
  settle(): Promise<void>;
  /** Finishes requests in flight and leaves nothing running, where the settings do not say otherwise. */
  stop(): Promise<void>;
}

export interface FolderApp {
  /** The plan with the packages that functions use, which may have to be installed first. */
  plan(app: AppSource): Promise<AppPlan>;
  /** Builds what changed and puts it live on staging; changed variables reach production as well. */
  publish(planned: AppPlan): Promise<Publication>;
  promote(): Promise<DeployOutcome>;
  isPromoted(): boolean;
}

export type Publication = DeployOutcome & Pick<MadeRelease, "builtNames">;

/** `app`: null for a platform that only hosts what is deployed to it. */
export async function startPlatform(settings: PlatformSettings, app: AppSource | null, output: Output): Promise<Platform> {
  const parts = new AsyncDisposableStack();
  try {
    return await assemble(settings, app, output, parts);
  } catch (cause) {
    // What went wrong first is what the owner must hear of.
    await parts.disposeAsync().catch((error: unknown) => output.warn(`not everything could be taken back: ${String(error)}`));
    throw cause;
  }
}

async function assemble(settings: PlatformSettings, app: AppSource | null, output: Output, parts: AsyncDisposableStack): Promise<Platform> {
  const home = await openHome(settings.home);
  parts.defer(async () => home.release());
  await assertPorts(settings, home);
  const engine = await prepareEngine(settings, home, output, parts);
  const keys = await loadBrokerKeys(home.path);
  const signer = createBrokerSigner(keys);
  const broker = await startOwnBroker(settings, home, engine, signer, output, parts);
  const bus = await createControlBus({ url: broker.url, signer, onError: (error) => output.warn(String(error)) });
  parts.defer(async () => bus.close());
  if (broker.kind === "managed") watchDisk({ home, bus, output, parts });

  let hosting: Hosting | null = null; // What is adopted before it is there is told of without a name.
  const folderName = app?.appName;
  const logs = createLogStore(join(home.path, "logs"), (appId) => hosting?.byId(appId)?.name ?? null);
  parts.defer(() => logs.flush());
  logs.follow({}, (entry) => output.printed(entry, { namesApp: entry.app !== folderName }));
  const journal = createJournal(systemClock);
  const sessionSecret = ({ appId, environment }: { readonly appId: string; readonly environment: Environment }): string =>
    keys.sessionSecret(appId, environment);
  const fleet = createFleet({
    engine,
    clock: systemClock,
    broker: fleetBroker(bus, signer, broker.url),
    sessionSecret,
    logs,
    report({ appId, ...line }) {
      const app = hosting?.byId(appId)?.name;
      const place = app === undefined || app === folderName ? line.environment : `${app}: ${line.environment}`;
      output.warn(line.functionName === "" ? `${place}: ${line.text}` : `${place}: ${line.functionName}: ${line.text}`);
      journal.add({ ...line, ...(app === undefined ? {} : { app }) });
    },
  });
  parts.defer(async () => (settings.leavesRunning ? fleet.release() : fleet.stopAll({ graceMsMax: STOP_GRACE_MS })));
  const stores = createStores({ url: broker.url, signer });
  parts.defer(async () => stores.close());
  const shop = createShop(home, engine);
  const used = createUsedBuilds(systemClock);
  const hosted = await openHosted({
    home: home.path,
    engine,
    shop,
    used,
    clock: systemClock,
    app,
    bus,
    keys,
    state: controlState(bus),
    fleet,
    instanceCounts: settings.isDry ? NO_INSTANCES : INSTANCE_COUNTS,
    stores,
    snapshots: snapshotStore(bus, signer, broker.url),
    sessionSecret,
    searchPath: environmentSettings().searchPath,
    ports: { staging: settings.stagingPort, production: settings.productionPort },
    scheme: settings.tls === null ? "http" : "https",
    warn: (text) => output.warn(text),
    onTrouble: (error) => output.error(error),
    announce: (news) => journal.add(news),
  });
  const apps = hosted.hosting;
  hosting = apps;
  parts.defer(async () => apps.close());
  const expiry = createExpiryKeeper({
    places: () => apps.list().flatMap(({ appId }) => ENVIRONMENTS.map((environment) => ({ appId, environment }))),
    stores: async (place) => stores.of(place.appId, place.environment),
    writtenRevision: async (place) => bus.writtenRevision(place.appId, place.environment),
    clock: systemClock,
    report: (text) => output.warn(text),
  });
  parts.defer(async () => expiry.close());
  const collector = createCollector({
    hosting: apps,
    engine,
    sitesFolder: sitesFolderOf(home.path),
    shop,
    used,
    clock: systemClock,
    report: (text) => output.warn(text),
  });
  parts.defer(async () => collector.close());
  const restored = fleet.adopt().then(async () => apps.restore());
  const [, gateways] = await Promise.all([restored, startGateways(settings, home, { bus, signer, broker, output, parts })]);
  const management = await startManagement({
    home: home.path,
    clock: systemClock,
    control: bus,
    routes: {
      port: settings.apiPort,
      ...hosted,
      app: (name) => apps.app(name),
      defaultApp: () => apps.defaultApp(),
      gateways,
      logs,
      journal,
      clock: systemClock,
      restorer: await createRestorer({
        folder: join(home.path, "restores"),
        stores: async ({ appId, environment }) => stores.of(appId, environment),
        control: bus,
        clock: systemClock,
      }),
      disk: createDiskMeasure({ home: home.path, engine }),
      collector,
      facts: () => ({ engine: engine.kind, broker: broker.url, home: home.path, pid: process.pid }),
    },
    openGit: hosted.openGit,
    onTrouble: (error) => output.error(error),
  });
  parts.defer(async () => management.close());
  // Before anything else goes: what is being delivered is left for the next orchestrator, and installs end with it.
  parts.defer(async () => void (await Promise.all([hosted.deliveries.close(), shop.close()])));
  await hosted.deliveries.resume();
  const own = app === null ? null : folderApp(apps.app(app.appName), { home, engine, shop, used, output });
  return {
    engineLine: `${engine.kind}: ${engine.description}`,
    newToken: management.newToken,
    folderApp: own,
    giveUp: () => apps.giveUp(),
    settle: async () => settle({ bus, expiry, collector, management }),
    stop: async () => parts.disposeAsync(),
  };
}

async function settle({
  bus,
  expiry,
  collector,
  management,
}: {
  readonly bus: ControlBus;
  readonly expiry: ExpiryKeeper;
  readonly collector: Collector;
  readonly management: Management;
}): Promise<void> {
  collector.start();
  await Promise.all([management.warm(), bus.tendStores().finally(() => expiry.start())]);
}

interface FolderAppNeeds {
  readonly home: Home;
  readonly engine: Engine;
  readonly shop: BuildShop;
  readonly used: UsedBuilds;
  readonly output: Output;
}

function folderApp({ appId, deployer }: HostedApp, { home, engine, shop, used, output }: FolderAppNeeds): FolderApp {
  const tools = shop.tools("folder", (line) => output.step(line));
  const sitesFolder = sitesFolderOf(home.path);
  return {
    plan: async (app) => planApp(app, tools),
    async publish(planned) {
      const { outcome, builtNames } = await used.during(async (onUse) => {
        const made = await makeRelease(planned, { appId, engine, onUse, clock: systemClock, sitesFolder });
        const order = {
          folder: planned.variables,
          origin: { by: "up", commit: null, message: null, deliveryId: null },
          isWanted: () => true,
          onRecorded: () => undefined,
        };
        return { outcome: await deployer.deploy(made.release, order), builtNames: made.builtNames };
      });
      // Production keeps its release and gets its variables; where they break it, the old ones stay and staging is as it should be.
      await deployer.useVariables("production", planned.variables.production).catch((error: unknown) => output.error(error));
      return { ...outcome, builtNames };
    },
    promote: async () => deployer.promote(null),
    isPromoted: () => deployer.live("production") !== null,
  };
}

function createShop(home: Home, engine: Engine): BuildShop {
  const { searchPath, extraCaCerts } = environmentSettings();
  return createBuildShop({ home: home.path, engine, nodePath: process.execPath, searchPath, extraCaCerts });
}

async function prepareEngine(settings: PlatformSettings, home: Home, output: Output, parts: AsyncDisposableStack): Promise<Engine> {
  const { engine, reason } = await chooseEngine({
    choice: settings.engine,
    home: home.path,
    platformId: home.platformId,
    docker: parseDockerAddress(environmentSettings().dockerHost ?? undefined),
    progress: (line) => output.step(line),
  });
  if (reason !== null) output.warn(reason);
  output.step(`engine: ${engine.kind}`);
  if (!settings.leavesRunning) parts.defer(async () => engine.dispose());
  await engine.prepare();
  return engine;
}
