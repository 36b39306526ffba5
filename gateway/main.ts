// A gateway process: puts its parts together from the config file, serves until it is told to stop.
import { PlatformError } from "../runtime-image/contract/errors.ts";
import type { GatewayConfig, GatewayStatus } from "../runtime-image/contract/gateway-config.ts";
import { STOP_GRACE_MS } from "../runtime-image/contract/limits.ts";
import { gatewayStatusSubject, snapshotBucket } from "../runtime-image/contract/subjects.ts";
import { openAppUpstream } from "./app-upstream.ts";
import { createApps, type Apps, type OpenUpstream } from "./apps.ts";
import { systemClock } from "./clock.ts";
import { readConfig } from "./config.ts";
import { createTrust } from "./forwarded.ts";
import { createFront, type Front } from "./front.ts";
import { createHandler, type Handler } from "./handler.ts";
import { createLog, type Log } from "./log.ts";
import { createSiteOpener } from "./sites/site.ts";
import { createStaticFiles } from "./sites/static-files.ts";
import { createSnapshots } from "./snapshots.ts";
import { startSweep } from "./sweep.ts";
import { createUpgrades } from "./upgrades.ts";
import { openLink, type BrokerLink } from "./upstreams/functions.ts";
import { createProxy } from "./upstreams/proxy.ts";

const STOP_MARGIN_MS = 500; // Whoever stops us kills after the grace; we are done before.

interface Gateway {
  readonly apps: Apps;
  readonly handler: Handler;
  readonly front: Front;
  readonly platform: BrokerLink;
}

function createGateway(config: GatewayConfig, log: Log): Gateway {
  const { environment, gatewayId } = config;
  const trust = createTrust(config.trustedProxies);
  const snapshots = createSnapshots();
  let isReady = false;
  const openUpstream: OpenUpstream = (appId, access) => openAppUpstream({ appId, access, gatewayId, clock: systemClock, log });
  const apps = createApps(openUpstream, createSiteOpener(config.sitesFolder, { nowMs: systemClock.nowMs, log }));
  const staticFiles = createStaticFiles({ sitesFolder: config.sitesFolder, nowMs: systemClock.nowMs, log });
  const proxy = createProxy({ nowMs: systemClock.nowMs, log });
  const handler = createHandler({ config, apps, trust, staticFiles, proxy, isReady: () => isReady, clock: systemClock, log });
  const upgrades = createUpgrades({ config, apps, trust, proxy });
  const front = createFront({ config, handler, upgrades, trust, log });

  const onSnapshot = (appId: string, text: string | null): void => {
    const news = snapshots.take(appId, text);
    if (news.kind === "changed") apps.put(news.snapshot);
    else if (news.kind === "removed") apps.remove(news.appId);
  };
  const status = (): GatewayStatus => ({
    pid: process.pid,
    gatewayId,
    listening: front.isListening,
    requestCount: handler.serving.openCount,
    sequences: snapshots.sequences(),
    connected: apps.connected(),
  });
  const platform = openLink(
    {
      access: config.broker,
      name: `gateway ${gatewayId} ${environment}`,
      subscriptions: { [gatewayStatusSubject(environment)]: (question) => question.respond(Buffer.from(JSON.stringify(status()))) },
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
  return { apps, handler, front, platform };
}

async function run(log: Log): Promise<void> {
  const config = readConfig(process.argv[2]);
  const gateway = createGateway(config, log);
  const sweep = startSweep(systemClock, (now) => {
    gateway.apps.sweep(now);
    gateway.handler.sweep(now.nowMs);
  });
  await gateway.front.listen();
  log.info("listening", {
    environment: config.environment,
    addresses: config.listen.map(({ host }, index) => `${host}:${gateway.front.ports[index]}`),
  });

  let isStopping = false;
  const stop = async (signal: string): Promise<void> => {
    if (isStopping) return;
    isStopping = true;
    log.info("stopping", { signal, requestCount: gateway.handler.serving.openCount });
    await gateway.front.stop({ graceMs: STOP_GRACE_MS - STOP_MARGIN_MS });
    sweep.stop();
    await Promise.all([gateway.apps.close(), gateway.platform.close()]);
    process.exit(0);
  };
  for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => void stop(signal)); // Nothing in it fails.
}

const log = createLog({ process: "gateway" });
// One broken request must not take the others with it.
process.on("uncaughtException", (cause) => log.error("an error that nobody caught", { code: "INTERNAL", cause }));
process.on("unhandledRejection", (cause) => log.error("a failure that nobody caught", { code: "INTERNAL", cause }));
run(log).catch((cause: unknown) => {
  if (cause instanceof PlatformError) log.error(cause.message, { code: cause.code, ...cause.detail });
  else log.error("the gateway cannot start", { code: "INTERNAL", cause });
  process.exit(1);
});
