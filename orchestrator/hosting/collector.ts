// Forgets old releases of every app, and removes builds and sites that no release names any more. What runs is never touched.
import { setInterval as every } from "node:timers/promises";
import { ENVIRONMENTS } from "../../runtime-image/contract/instance-manifest.ts";
import { BUILD_GRACE_MS, COLLECT_INTERVAL_MS } from "../../runtime-image/contract/limits.ts";
import type { Clock } from "../clock.ts";
import type { Engine } from "../engines/engine.ts";
import { releasesToForget } from "../releases/retention.ts";
import { collectSites } from "../sites/write-site.ts";
import type { HostedApp } from "./hosted-app.ts";
import type { Hosting } from "./hosting.ts";

export interface Collector {
  /** Looks now and then, the first time soon. */
  start(): void;
  collect(): Promise<Collected>;
  close(): Promise<void>;
}

export interface Collected {
  readonly releaseCount: number;
  readonly buildCount: number;
}

export interface CollectorParts {
  readonly hosting: Pick<Hosting, "all">;
  readonly engine: Pick<Engine, "listBuilds" | "removeBuild">;
  readonly sitesFolder: string;
  /** Builds that were asked for a moment ago: they may belong to a release that is not recorded yet. */
  readonly isInUse: (buildId: string) => boolean;
  readonly clock: Clock;
  readonly report: (text: string) => void;
}

export function createCollector(parts: CollectorParts): Collector {
  const over = new AbortController();
  let running: Promise<unknown> = Promise.resolve();
  const look = async (): Promise<void> => {
    try {
      await collect(parts, over.signal);
    } catch (cause) {
      if (!over.signal.aborted) parts.report(`old releases could not be collected: ${String(cause)}`);
    }
  };
  const loop = async (): Promise<void> => {
    await look();
    for await (const _ of every(COLLECT_INTERVAL_MS, undefined, { signal: over.signal, ref: false })) await look();
  };
  return {
    start() {
      running = loop().catch(() => undefined); // It ends with the signal.
    },
    collect: async () => collect(parts, over.signal),
    async close() {
      over.abort();
      await running;
    },
  };
}

async function collect({ hosting, engine, sitesFolder, isInUse, clock }: CollectorParts, signal: AbortSignal): Promise<Collected> {
  const nowEpochMs = clock.nowEpochMs();
  // Before anything is looked up: a release that is recorded meanwhile names builds that are older than this list or in use.
  const builds = await engine.listBuilds();
  const kept: Kept = { buildIds: new Set(), siteIds: new Set() };
  let releaseCount = 0;
  for (const app of hosting.all()) {
    signal.throwIfAborted();
    releaseCount += await collectApp(app, kept, nowEpochMs);
  }
  let buildCount = 0;
  for (const { buildId, madeEpochMs } of builds) {
    signal.throwIfAborted();
    if (kept.buildIds.has(buildId) || isInUse(buildId) || nowEpochMs - madeEpochMs < BUILD_GRACE_MS) continue;
    await engine.removeBuild(buildId);
    buildCount += 1;
  }
  await collectSites(sitesFolder, { liveSiteIds: [...kept.siteIds], nowEpochMs });
  return { releaseCount, buildCount };
}

interface Kept {
  readonly buildIds: Set<string>;
  readonly siteIds: Set<string>;
}

async function collectApp({ book }: HostedApp, kept: Kept, nowEpochMs: number): Promise<number> {
  const known = await book.list();
  const pointers = (await Promise.all(ENVIRONMENTS.map(async (environment) => book.pointer(environment)))).filter((one) => one !== null);
  const forgotten = new Set(releasesToForget(known, { pointers, nowEpochMs }));
  for (const releaseId of forgotten) await book.forget(releaseId);
  for (const { release } of known) {
    if (forgotten.has(release.releaseId)) continue;
    for (const fn of release.functions) kept.buildIds.add(fn.buildId);
    if (release.site !== null) kept.siteIds.add(release.site.siteId);
  }
  return forgotten.size;
}
