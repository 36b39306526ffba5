// Puts the parts of a running platform together, in the order in which they need each other, and takes them apart in reverse.
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { GatewayConfig } from "../runtime-image/contract/gateway-config.ts";
import { type BrokerAccess, ENVIRONMENTS, type Environment } from "../runtime-image/contract/instance-manifest.ts";
import { PlatformError } from "../runtime-image/contract/errors.ts";
import { HEADER_BYTES_MAX, REQUEST_BODY_BYTES_MAX, STOP_GRACE_MS, TARGET_BYTES_MAX } from "../runtime-image/contract/limits.ts";
import { createJournal } from "./api/journal.ts";
import type { BackupRouteParts } from "./api/backup-routes.ts";
import type { DataRouteParts } from "./api/data-routes.ts";
import { type Management, startManagement } from "./api/management.ts";
import type { AppSource } from "./apps/app-source.ts";
import { type AppPlan, planApp } from "./builds/build-plan.ts";
import { createBuildTools } from "./builds/build-tools.ts";
import { systemClock } from "./clock.ts";
import { type UpSettings, environmentSettings } from "./config.ts";
import { chooseEngine } from "./engines/choose-engine.ts";
import { parseDockerAddress } from "./docker/address.ts";
import type { Engine } from "./engines/engine.ts";
import { assertPortFree, configuredAccess, runningGateway, startGateway } from "./gateways/gateway-process.ts";
import { type Home, openHome } from "./home.ts";
import type { Output } from "./log.ts";
import { createLogStore } from "./logs/log-store.ts";
import { type BrokerSigner, createBrokerSigner } from "./nats/accounts.ts";
import { findNatsServer } from "./nats/binary.ts";
import { brokerHome } from "./nats/broker-home.ts";
import { type ControlBus, createControlBus } from "./nats/control-bus.ts";
import { guardDisk } from "./nats/disk-guard.ts";
import { connectExternal } from "./nats/external.ts";
import { loadBrokerKeys } from "./nats/keys.ts";
import { type Broker, type BrokerEvent, startBroker } from "./nats/server.ts";
import { type FleetBroker, createFleet } from "./pools/fleet.ts";
import { type Deployer, type DeployOutcome, type SnapshotStore, createDeployer } from "./releases/deployer.ts";
import { type Publication, publishFolder } from "./releases/publish-folder.ts";
import { createExpiryKeeper, type ExpiryKeeper } from "./stores/expiry-keeper.ts";
import { createRestorer } from "./stores/restorer.ts";
import { type Stores, createStores } from "./stores/stores.ts";
import { createAppVariables } from "./variables/variables.ts";
import { createVariableStore, readSetVariables } from "./variables/variable-store.ts";

export interface Platform {
  readonly engineLine: string;
  readonly newToken: string | null; // Of the management API, where this start made it.
  /** The plan with the packages that functions use, which may have to be installed first. */
  plan(app: AppSource): Promise<AppPlan>;
  /** Builds what changed and puts it live on staging; changed variables reach production as well. */
  publish(planned: AppPlan): Promise<Publication>;
  promote(): Promise<DeployOutcome>;
  isPromoted(): boolean;
  /** Ends the wait of deploys for their instances, before a stop. */
  giveUp(): void;
  /** Does what could wait until an app answers. */
  settle(): Promise<void>;
  /** Finishes requests in flight and leaves nothing running. */
  stop(): Promise<void>;
}

const GATEWAY_MAIN = join(import.meta.dirname, "../gateway/main.ts");
const INSTANCE_PING_TIMEOUT_MS = 1_000;
const STATUS_TIMEOUT_MS = 500;
const APPLIED_TIMEOUT_MS = 3_000; // An old instance that still gets a request refuses it safely, so this need not be certain.
const APPLIED_POLL_MS = 5;

export async function startPlatform(settings: UpSettings, app: AppSource, output: Output): Promise<Platform> {
  const parts = new AsyncDisposableStack();
  try {
    return await assemble(settings, app, output, parts);
  } catch (cause) {
    // What went wrong first is what the owner must hear of.
    await parts.disposeAsync().catch((error: unknown) => output.warn(`not everything could be taken back: ${String(error)}`));
    throw cause;
  }
}

async function assemble(settings: UpSettings, app: AppSource, output: Output, parts: AsyncDisposableStack): Promise<Platform> {
  const home = await openHome(settings.home);
  parts.defer(async () => home.release());
  await assertPorts(settings, home);
  const engine = await prepareEngine(settings, home, output, parts);
  const keys = await loadBrokerKeys(home.path);
  const signer = createBrokerSigner(keys);
  const broker = await startOwnBroker(settings, home, engine, signer, output, parts);
  const bus = await createControlBus({ url: broker.url, signer, onError: (error) => output.warn(String(error)) });
  parts.defer(async () => bus.close());
  const appId = await appIdOf(bus);
  for (const environment of ENVIRONMENTS) await bus.ensureAppAccount(appId, environment);
  if (broker.kind === "managed") watchDisk({ home, bus, output, parts });

  const logs = createLogStore(join(home.path, "logs"));
  parts.defer(() => logs.flush());
  logs.follow({}, (entry) => output.printed(entry));
  const journal = createJournal(systemClock);
  const fleet = createFleet({
    engine,
    clock: systemClock,
    broker: fleetBroker(bus, signer, broker.url),
    sessionSecret: ({ appId: id, environment }) => keys.sessionSecret(id, environment),
    logs,
    report(line) {
      output.warn(line.functionName === "" ? line.text : `${line.environment}: ${line.functionName}: ${line.text}`);
      journal.add(line);
    },
  });
  parts.defer(async () => fleet.stopAll({ graceMsMax: STOP_GRACE_MS }));
  const variableStore = createVariableStore(bus, keys);
  const deployer = createDeployer({
    app: { appId, appName: app.appName },
    variables: { folder: app.variables, set: await readSetVariables(variableStore, appId) },
    sessionSecret: ({ appId: id, environment }) => keys.sessionSecret(id, environment),
    fleet,
    state: {
      read: async (key) => (await bus.readControl(key))?.value ?? null,
      write: async (key, value) => void (await bus.writeControl(key, value)),
    },
    snapshots: snapshotStore(bus, signer, broker.url),
    report: (text) => output.warn(text),
    announce: (news) => journal.add(news),
  });
  parts.defer(async () => deployer.close());
  const stores = createStores({ url: broker.url, signer });
  parts.defer(async () => stores.close());
  const expiry = createExpiryKeeper({
    places: () => ENVIRONMENTS.map((environment) => ({ appId, environment })),
    stores: async (place) => stores.of(place.appId, place.environment),
    clock: systemClock,
    report: (text) => output.warn(text),
  });
  parts.defer(async () => expiry.close());
  const restored = fleet.adopt().then(async () => deployer.restore());
  await Promise.all([restored, startGateways(settings, home, { bus, signer, broker, output, parts })]);
  const management = await startManagement({
    home: home.path,
    clock: systemClock,
    control: bus,
    routes: {
      port: settings.apiPort,
      deployer,
      logs,
      journal,
      variables: createAppVariables({ appId, store: variableStore, deployer, clock: systemClock }),
      ...(await storeRoutes({ home, stores, bus, app: { appId, appName: app.appName } })),
      facts: () => ({ app: app.appName, engine: engine.kind, broker: broker.url, home: home.path, pid: process.pid }),
    },
    onTrouble: (error) => output.error(error),
  });
  parts.defer(async () => management.close());
  return runningPlatform({ home, appId, engine, deployer, management, expiry, output, parts });
}

function runningPlatform(running: {
  home: Home;
  appId: string;
  engine: Engine;
  deployer: Deployer;
  management: Management;
  expiry: ExpiryKeeper;
  output: Output;
  parts: AsyncDisposableStack;
}): Platform {
  const { home, appId, engine, deployer, management, expiry, output, parts } = running;
  const { searchPath, extraCaCerts } = environmentSettings();
  const tools = createBuildTools({
    home: home.path,
    engine,
    nodePath: process.execPath,
    searchPath,
    extraCaCerts,
    progress: (line) => output.step(line),
  });
  parts.defer(async () => tools.close());
  return {
    engineLine: `${engine.kind}: ${engine.description}`,
    newToken: management.newToken,
    plan: async (app) => planApp(app, tools),
    async publish(planned) {
      const sitesFolder = sitesFolderOf(home);
      const published = await publishFolder(planned, { appId, engine, deployer, clock: systemClock, environment: "staging", sitesFolder });
      // Production keeps its release and gets its variables; where they break it, the old ones stay and staging is as it should be.
      await deployer.useVariables("production", planned.variables.production).catch((error: unknown) => output.error(error));
      return published;
    },
    promote: async () => deployer.promote(),
    isPromoted: () => deployer.live("production") !== null,
    giveUp: () => deployer.giveUp(),
    async settle() {
      expiry.start();
      await management.warm();
    },
    stop: async () => parts.disposeAsync(),
  };
}

const sitesFolderOf = (home: Home): string => join(home.path, "sites");

/** What the management API needs for documents and backups. */
async function storeRoutes({ home, stores, bus, app }: StoreRouteNeeds): Promise<DataRouteParts & BackupRouteParts> {
  const restorer = await createRestorer({
    folder: join(home.path, "restores"),
    stores: async ({ appId, environment }) => stores.of(appId, environment),
    control: bus,
    clock: systemClock,
  });
  return { app, restorer, clock: systemClock, stores: async (environment) => stores.of(app.appId, environment) };
}

interface StoreRouteNeeds {
  readonly home: Home;
  readonly stores: Stores;
  readonly bus: ControlBus;
  readonly app: BackupRouteParts["app"];
}

/** Every port that is taken is named, before anything is started. A gateway of this home may hold its own. */
async function assertPorts(settings: UpSettings, home: Home): Promise<void> {
  const folder = join(home.path, "gateways");
  const checks = [
    { port: settings.apiPort, name: "management API", flag: "--api-port", isOurs: false },
    { port: settings.stagingPort, name: "staging", flag: "--staging-port", isOurs: (await runningGateway(folder, "staging")) !== null },
    {
      port: settings.productionPort,
      name: "production",
      flag: "--production-port",
      isOurs: (await runningGateway(folder, "production")) !== null,
    },
  ];
  const outcomes = await Promise.allSettled(
    checks.filter((check) => !check.isOurs).map(async (check) => assertPortFree(check.port, check)),
  );
  const taken = outcomes.filter((outcome) => outcome.status === "rejected");
  if (taken.length === 1) throw taken[0]?.reason;
  if (taken.length > 1) {
    const details = taken.flatMap(({ reason }) =>
      reason instanceof PlatformError ? [`${reason.detail.detail} ${reason.detail.remedy}`] : [],
    );
    throw new PlatformError("PORT_IN_USE", { detail: `${taken.length} ports are taken.`, problems: details });
  }
}

async function prepareEngine(settings: UpSettings, home: Home, output: Output, parts: AsyncDisposableStack): Promise<Engine> {
  const { engine, reason } = await chooseEngine({
    choice: settings.engine,
    home: home.path,
    platformId: home.platformId,
    docker: parseDockerAddress(environmentSettings().dockerHost ?? undefined),
    progress: (line) => output.step(line),
  });
  if (reason !== null) output.warn(reason);
  output.step(`engine: ${engine.kind}`);
  parts.defer(async () => engine.dispose());
  await engine.prepare();
  return engine;
}

async function startOwnBroker(
  settings: UpSettings,
  home: Home,
  engine: Engine,
  signer: BrokerSigner,
  output: Output,
  parts: AsyncDisposableStack,
): Promise<Broker> {
  const broker =
    settings.natsUrl === null ? await managedBroker(home, engine, signer, output) : await externalBroker(settings.natsUrl, engine, signer);
  parts.defer(async () => broker.stop());
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
function watchDisk({ home, bus, output, parts }: { home: Home; bus: ControlBus; output: Output; parts: AsyncDisposableStack }): void {
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

/** The only app of this platform; its id stays when its name changes, because accounts and stores hang on it. */
async function appIdOf(bus: ControlBus): Promise<string> {
  const known = (await bus.readControl("app.default"))?.value;
  if (typeof known === "object" && known !== null && "appId" in known && typeof known.appId === "string") return known.appId;
  const appId = randomBytes(6).toString("hex");
  await bus.writeControl("app.default", { appId });
  return appId;
}

function fleetBroker(bus: ControlBus, signer: BrokerSigner, url: string): FleetBroker {
  return {
    credentials: async ({ appId, environment, instanceId }) => ({
      url,
      ...(await signer.instanceCredentials(appId, environment, instanceId)),
    }),
    ping: async ({ appId, environment, instanceId }) =>
      bus.pingInstance(appId, environment, instanceId, { timeoutMs: INSTANCE_PING_TIMEOUT_MS }),
    onEvent: async ({ appId, environment }, listener) => void (await bus.onInstanceEvent(appId, environment, listener)),
  };
}

function snapshotStore(bus: ControlBus, signer: BrokerSigner, url: string): SnapshotStore {
  return {
    read: async (environment, appId) => bus.readSnapshot(environment, appId),
    publish: async (environment, content) => bus.publishSnapshot(environment, content),
    gatewayAccess: async ({ appId, environment }) => ({ url, ...(await signer.gatewayCredentials(appId, environment)) }),
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

async function startGateways(settings: UpSettings, home: Home, needs: GatewayNeeds): Promise<void> {
  const ports: Record<Environment, number> = { staging: settings.stagingPort, production: settings.productionPort };
  const starts = ENVIRONMENTS.map(async (environment) => {
    const config: GatewayConfig = {
      v: 1,
      gatewayId: `${home.platformId}${environment}`,
      environment,
      listen: ["127.0.0.1", "::1"].map((host) => ({ host, port: ports[environment] })),
      trustedProxies: settings.trustedProxies,
      broker: await gatewayAccess(home, environment, needs),
      sitesFolder: sitesFolderOf(home),
      limits: { requestBodyBytesMax: REQUEST_BODY_BYTES_MAX, headerBytesMax: HEADER_BYTES_MAX, targetBytesMax: TARGET_BYTES_MAX },
    };
    const gateway = await startGateway({
      folder: join(home.path, "gateways"),
      mainFile: GATEWAY_MAIN,
      config,
      status: async () => needs.bus.gatewayStatus(environment, { timeoutMs: STATUS_TIMEOUT_MS, gatewayId: config.gatewayId }),
      report: (text) => needs.output.warn(text),
    });
    needs.parts.defer(async () => gateway.stop());
  });
  const outcomes = await Promise.allSettled(starts);
  for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
}
