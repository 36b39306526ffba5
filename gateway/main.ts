// A gateway process: puts its parts together from the config file, serves until it is told to stop.
import { PlatformError } from "../runtime-image/contract/errors.ts";
import { HAND_OVER_SIGNAL, type GatewayStatus } from "../runtime-image/contract/gateway-config.ts";
import { gatewayStatusSubject, snapshotBucket } from "../runtime-image/contract/subjects.ts";
import { openAppUpstream } from "./app-upstream.ts";
import { createApps, type Apps, type OpenUpstream } from "./apps.ts";
import { systemClock } from "./clock.ts";
import { readConfig, type ReadConfig } from "./config.ts";
import { createTrust } from "./forwarded.ts";
import { createFront, type Front } from "./front.ts";
import { handOver } from "./hand-over.ts";
import { createHandler, type Handler } from "./handler.ts";
import { createLeaving, type Leaving } from "./leaving.ts";
import { createLog, type Log } from "./log.ts";
import { createSiteOpener } from "./sites/site.ts";
import { createStaticFiles } from "./sites/static-files.ts";
import { createSnapshots } from "./snapshots.ts";
import type { Standing } from "./succession.ts";
import { isSuccessor, sayFailure, succeed } from "./successor.ts";
import { startSweep } from "./sweep.ts";
import { createUpgrades } from "./upgrades.ts";
import { openLink, type Delivery } from "./upstreams/functions.ts";
import { createProxy } from "./upstreams/proxy.ts";

interface Gateway {
  readonly apps: Apps;
  readonly handler: Handler;
  readonly front: Front;
  readonly leaving: Leaving;
  readonly standing: () => Standing;
  /** From now on it answers those who ask how it is. */
  speak(): void;
}

function createGateway({ config, path, hash: configHash }: ReadConfig, log: Log): Gateway {
  const { environment, gatewayId } = config;
  const trust = createTrust(config.trustedProxies);
  const snapshots = createSnapshots();
  let isReady = false;
  let isSpeaking = !isSuccessor(); // Until it serves, the one before it answers.
  // Before a successor serves, it has links to whatever the one before it may be asked for.
  const openUpstream: OpenUpstream = (appId, access) =>
    openAppUpstream({ appId, access, opensAtOnce: !isSpeaking, gatewayId, clock: systemClock, log });
  const apps = createApps(openUpstream, createSiteOpener(config.sitesFolder, { nowMs: systemClock.nowMs, log }));
  const staticFiles = createStaticFiles({ sitesFolder: config.sitesFolder, nowMs: systemClock.nowMs, log });
  const proxy = createProxy({ nowMs: systemClock.nowMs, log });
  const handler = createHandler({ config, apps, trust, staticFiles, proxy, isReady: () => isReady, clock: systemClock, log });
  const upgrades = createUpgrades({ config, apps, trust, proxy });
  const front = createFront({ config, handler, upgrades, trust, clock: systemClock, log });

  const onSnapshot = (appId: string, text: string | null): void => {
    const news = snapshots.take(appId, text);
    if (news.kind === "changed") apps.put(news.snapshot);
    else if (news.kind === "removed") apps.remove(news.appId);
  };
  const standing = (): Standing => ({
    hasLearnt: isReady,
    sequences: snapshots.sequences(),
    connected: apps.connected(),
    sites: apps.sites(),
  });
  const status = (): GatewayStatus => ({
    pid: process.pid,
    gatewayId,
    configHash,
    listening: front.isListening,
    requestCount: handler.serving.openCount,
    sequences: snapshots.sequences(),
    connected: apps.connected(),
    handOver: leaving.handOver,
  });
  const onQuestion = (question: Delivery): void => {
    if (isSpeaking && !leaving.isLeaving) question.respond(Buffer.from(JSON.stringify(status())));
  };
  const platform = openLink(
    {
      access: config.broker,
      name: `gateway ${gatewayId} ${environment}`,
      subscriptions: { [gatewayStatusSubject(environment)]: onQuestion },
      onError: (message, cause) => log.error(message, { cause }),
    },
    {
      bucket: snapshotBucket(environment),
      onValue: onSnapshot,
      onReady: () => {
        if (!isReady) log.info("snapshots learnt", { sequences: snapshots.sequences() });
        isReady = true;
      },
    },
  );
  const leaving = createLeaving({
    requestCount: () => handler.serving.openCount,
    startSuccessor: (signal) => handOver({ configFile: path, sockets: () => front.sockets, standing }, signal),
    drain: front.stop,
    end: async () => {
      await Promise.all([apps.close(), platform.close()]);
      process.exit(0);
    },
    log,
  });
  return { apps, handler, front, leaving, standing, speak: () => void (isSpeaking = true) };
}

async function run(log: Log): Promise<void> {
  // Left alone it would end the process, also in the moment before it can be heeded.
  let leaving: Leaving | null = null;
  process.on(HAND_OVER_SIGNAL, () => leaving?.replace());
  const read = readConfig(process.argv[2]);
  const { environment, listen } = read.config;
  const gateway = createGateway(read, log);
  const { front } = gateway;
  startSweep(systemClock, (now) => {
    gateway.apps.sweep(now);
    gateway.handler.sweep(now.nowMs);
  });
  if (isSuccessor()) await succeed({ listen, front, standing: gateway.standing });
  else await front.listen();
  gateway.speak();
  log.info("listening", { environment, addresses: listen.map(({ host }, index) => `${host}:${front.ports[index]}`) });
  ({ leaving } = gateway);
  for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => gateway.leaving.stop(signal));
}

const log = createLog({ process: "gateway" });
// One broken request must not take the others with it.
process.on("uncaughtException", (cause) => log.error("an error that nobody caught", { code: "INTERNAL", cause }));
process.on("unhandledRejection", (cause) => log.error("a failure that nobody caught", { code: "INTERNAL", cause }));
run(log).catch(async (cause: unknown) => {
  if (cause instanceof PlatformError) log.error(cause.message, { code: cause.code, ...cause.detail });
  else log.error("the gateway cannot start", { code: "INTERNAL", cause });
  await sayFailure(cause instanceof Error ? cause.message : String(cause));
  process.exit(1);
});
