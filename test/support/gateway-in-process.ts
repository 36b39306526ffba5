// A gateway's own parts in the process of a test, in front of a proxied upstream: for limits that a test can wait for.
import { openAppUpstream } from "../../gateway/app-upstream.ts";
import { createApps, type Apps } from "../../gateway/apps.ts";
import { systemClock } from "../../gateway/clock.ts";
import { createTrust } from "../../gateway/forwarded.ts";
import { createFront, type Front } from "../../gateway/front.ts";
import { createHandler, type Handler } from "../../gateway/handler.ts";
import { createSiteOpener } from "../../gateway/sites/site.ts";
import { createStaticFiles } from "../../gateway/sites/static-files.ts";
import { startSweep } from "../../gateway/sweep.ts";
import { createUpgrades } from "../../gateway/upgrades.ts";
import { createProxy, type Proxy, type ProxyParts } from "../../gateway/upstreams/proxy.ts";
import type { GatewayConfig } from "../../runtime-image/contract/gateway-config.ts";
import { HEADER_BYTES_MAX, REQUEST_BODY_BYTES_MAX, TARGET_BYTES_MAX } from "../../runtime-image/contract/limits.ts";
import { freePort } from "./gateway-world.ts";

export interface InProcessGateway {
  readonly apps: Apps;
  readonly handler: Handler;
  readonly front: Front;
  readonly proxy: Proxy;
  readonly port: number;
  readonly told: string[]; // What it logged as errors.
  close(): Promise<void>;
}

export interface InProcessOptions {
  readonly proxyUrl: string;
  readonly times?: ProxyParts["times"];
  readonly tunnelCountMax?: number;
}

/** Its only app is passed on to the upstream; there is no broker, which a proxy does not need. */
export async function startInProcessGateway({ proxyUrl, times = {}, tunnelCountMax = 100 }: InProcessOptions): Promise<InProcessGateway> {
  const broker = { url: `nats://127.0.0.1:${await freePort()}`, jwt: "", seed: "" }; // Nobody listens there.
  const config: GatewayConfig = {
    v: 1,
    gatewayId: "g1",
    environment: "staging",
    listen: [{ host: "127.0.0.1", port: 0 }],
    trustedProxies: [],
    broker,
    sitesFolder: "/nonexistent/sites",
    limits: { requestBodyBytesMax: REQUEST_BODY_BYTES_MAX, headerBytesMax: HEADER_BYTES_MAX, targetBytesMax: TARGET_BYTES_MAX },
  };
  const told: string[] = [];
  const log = { info: () => undefined, error: (message: string, fields = {}) => void told.push(`${message} ${JSON.stringify(fields)}`) };
  const quiet = { info: () => undefined, error: () => undefined };
  const { nowMs } = systemClock;
  const trust = createTrust([]);
  const apps = createApps(
    (appId, access) => openAppUpstream({ appId, access, opensAtOnce: false, gatewayId: "g1", clock: systemClock, log: quiet }),
    createSiteOpener(config.sitesFolder, { nowMs, log }),
  );
  const proxy = createProxy({ nowMs, log, times, tunnelCountMax });
  const staticFiles = createStaticFiles({ sitesFolder: config.sitesFolder, nowMs, log });
  const handler = createHandler({ config, apps, trust, staticFiles, proxy, isReady: () => true, clock: systemClock, log });
  const front = createFront({ config, handler, upgrades: createUpgrades({ config, apps, trust, proxy }), trust, clock: systemClock, log });
  const sweep = startSweep(systemClock, (now) => handler.sweep(now.nowMs));
  apps.put({
    v: 1,
    appId: "app",
    appName: "app",
    hosts: [],
    isDefault: true,
    sequence: 1,
    deployment: { kind: "live", releaseId: "r", broker, functions: [], proxyUrl },
  });
  await front.listen();
  return {
    apps,
    handler,
    front,
    proxy,
    port: front.ports[0] ?? 0,
    told,
    async close() {
      await front.stop({ idleMs: 0, tunnelMs: 0, requestMs: 0 });
      sweep.stop();
      await apps.close();
    },
  };
}
