// The apps that this gateway serves: found by host, each with its routes and its way to its instances.
import type { GatewayStatus } from "../runtime-image/contract/gateway-config.ts";
import type { BrokerAccess } from "../runtime-image/contract/instance-manifest.ts";
import type { AppSnapshot } from "../runtime-image/contract/snapshot.ts";
import type { AppUpstream } from "./app-upstream.ts";
import { createHosts } from "./hosts.ts";
import { buildRouteTable } from "./routing/table.ts";
import type { TargetFacts } from "./routing/target.ts";
import type { OpenSite, Site } from "./sites/site.ts";

/** What one snapshot makes of an app. A request keeps the one it found. */
export interface ServedApp {
  readonly snapshot: AppSnapshot;
  readonly live: LiveApp | null; // Null where nothing is deployed.
}

export interface LiveApp extends TargetFacts {
  readonly upstream: AppUpstream;
  readonly site: Site | null;
}

export interface Apps {
  find(host: string): ServedApp | null;
  put(snapshot: AppSnapshot): void;
  remove(appId: string): void;
  sweep(now: { readonly nowMs: number; readonly blockedMs: number }): void;
  connected(): GatewayStatus["connected"];
  /** Per app with static files, whether they can be read. */
  sites(): Readonly<Record<string, boolean>>;
  close(): Promise<void>;
}

export type OpenUpstream = (appId: string, access: BrokerAccess) => AppUpstream;

export function createApps(openUpstream: OpenUpstream, openSite: OpenSite): Apps {
  const apps = new Map<string, ServedApp>();
  const retired = new Set<AppUpstream>();
  const hosts = createHosts<ServedApp>();

  const retire = (upstream: AppUpstream, successor: AppUpstream | null): void => {
    retired.add(upstream);
    for (const { key, job } of upstream.takeQueued())
      if (successor === null) job.fail("NO_CAPACITY", "The deployment was removed while this request waited.");
      else successor.submit(key, job);
  };

  const serve = (snapshot: AppSnapshot, before: LiveApp | null): ServedApp => {
    const { deployment } = snapshot;
    if (deployment.kind === "none") return { snapshot, live: null };
    const site = deployment.site === undefined ? null : openSite(deployment.site, before?.site ?? null);
    const isKept = before !== null && isSame(before.upstream.access, deployment.broker);
    const upstream = isKept ? before.upstream : openUpstream(snapshot.appId, deployment.broker);
    upstream.update(deployment.functions);
    const table = buildRouteTable(deployment.functions);
    return { snapshot, live: { table, site, proxyUrl: deployment.proxyUrl ?? null, upstream } };
  };

  return {
    find: hosts.find,
    put(snapshot) {
      const live = apps.get(snapshot.appId)?.live ?? null;
      const before = live?.upstream ?? null;
      const app = serve(snapshot, live);
      apps.set(snapshot.appId, app);
      hosts.put(snapshot, app);
      const after = app.live?.upstream ?? null;
      if (before !== null && before !== after) retire(before, after);
    },
    remove(appId) {
      const upstream = apps.get(appId)?.live?.upstream;
      apps.delete(appId);
      hosts.remove(appId);
      if (upstream !== undefined) retire(upstream, null);
    },
    sweep(now) {
      for (const app of apps.values()) app.live?.upstream.sweep(now);
      for (const upstream of retired) {
        upstream.sweep(now);
        if (!upstream.isIdle()) continue;
        void upstream.close(); // Never fails.
        retired.delete(upstream);
      }
    },
    connected: () =>
      Object.fromEntries(
        [...apps].flatMap(([appId, { live }]) => {
          const isUp = live?.upstream.isUp() ?? null;
          return isUp === null ? [] : [[appId, isUp]];
        }),
      ),
    sites: () =>
      Object.fromEntries(
        [...apps].flatMap(([appId, { live }]) => (live === null || live.site === null ? [] : [[appId, live.site.files !== null]])),
      ),
    async close() {
      const live = [...apps.values()].map((app) => app.live?.upstream);
      await Promise.all([...live, ...retired].map(async (upstream) => upstream?.close()));
    },
  };
}

const isSame = (left: BrokerAccess, right: BrokerAccess): boolean =>
  left.url === right.url && left.jwt === right.jwt && left.seed === right.seed;
