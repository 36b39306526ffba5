// Forgets old releases of every app, and removes what nothing needs any more: builds, sites, installs, images. What runs is never touched.
import { setInterval as every } from "node:timers/promises";
import { ENVIRONMENTS } from "../../runtime-image/contract/instance-manifest.ts";
import { BUILD_GRACE_MS, COLLECT_INTERVAL_MS, RELEASE_KEPT_MS } from "../../runtime-image/contract/limits.ts";
import { mapAtOnce } from "../at-once.ts";
import { beingStopped } from "../ongoing.ts";
import type { BuildShop } from "../builds/build-tools.ts";
import type { Clock } from "../clock.ts";
import type { Engine, ExistingBuild } from "../engines/engine.ts";
import type { Release } from "../releases/release.ts";
import { releasesToForget } from "../releases/retention.ts";
import type { UsedBuilds } from "../releases/used-builds.ts";
import { collectSites } from "../sites/write-site.ts";
import { createTurn } from "../turn.ts";
import type { HostedApp } from "./hosted-app.ts";
import type { Hosting } from "./hosting.ts";

export interface Collector {
  /** Looks now and then, the first time soon. */
  start(): void;
  /** Once more, now. */
  collect(options?: CollectOptions): Promise<Collected>;
  close(): Promise<void>;
}

export interface CollectOptions {
  /** Delivered releases that are older are forgotten, where nothing else keeps them. */
  readonly keptMs?: number;
  /** Builds that were made or used later than this ago stay; at most BUILD_GRACE_MS. */
  readonly graceMs?: number;
}

export interface Collected {
  readonly releaseCount: number;
  readonly buildCount: number;
  readonly siteCount: number;
  readonly installCount: number;
  readonly outdatedCount: number; // Runtimes, images and caches of the engine.
  readonly bytesFreed: number;
}

export interface CollectorParts {
  readonly hosting: Pick<Hosting, "all">;
  readonly engine: Pick<Engine, "listBuilds" | "removeBuild" | "removeOutdated">;
  readonly shop: Pick<BuildShop, "collect">;
  readonly sitesFolder: string;
  /** Builds of deploys that are on their way: the releases that name them may not be recorded yet. */
  readonly used: Pick<UsedBuilds, "isUsedSince">;
  readonly clock: Clock;
  readonly report: (text: string) => void;
}

const REMOVALS_AT_ONCE = 4; // Deploys want the engine and the disk, too.

export function createCollector(parts: CollectorParts): Collector {
  const over = new AbortController();
  const inTurn = createTurn();
  let running: Promise<unknown> = Promise.resolve();
  const collectNow = async (options: CollectOptions = {}): Promise<Collected> => inTurn(async () => collect(parts, options, over.signal));
  const look = async (): Promise<void> => {
    try {
      await collectNow();
    } catch (cause) {
      if (!over.signal.aborted) parts.report(`what nothing needs any more could not be removed: ${String(cause)}`);
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
    collect: collectNow,
    async close() {
      over.abort(beingStopped());
      await Promise.all([running, inTurn(async () => undefined)]);
    },
  };
}

async function collect(
  parts: CollectorParts,
  { keptMs = RELEASE_KEPT_MS, graceMs = BUILD_GRACE_MS }: CollectOptions,
  signal: AbortSignal,
): Promise<Collected> {
  const { hosting, engine, shop, sitesFolder, used } = parts;
  const nowEpochMs = parts.clock.nowEpochMs();
  // Before any release is looked up: whatever is recorded later names builds that are younger than this list, or in use since.
  const builds = await engine.listBuilds();
  const kept: Release[] = [];
  let releaseCount = 0;
  for (const app of hosting.all()) {
    signal.throwIfAborted();
    const { forgottenCount, left } = await forgetReleases(app, { nowEpochMs, keptMs });
    releaseCount += forgottenCount;
    kept.push(...left);
  }
  const named = new Set(kept.flatMap(({ functions }) => functions.map(({ buildId }) => buildId)));
  const isNeeded = ({ buildId, madeEpochMs }: ExistingBuild): boolean =>
    named.has(buildId) || nowEpochMs - madeEpochMs < graceMs || used.isUsedSince(buildId, nowEpochMs - graceMs);
  const removed = await removeBuilds(engine, { builds, isNeeded, signal });
  const sites = await collectSites(sitesFolder, { liveSiteIds: kept.flatMap(({ site }) => site?.siteId ?? []), nowEpochMs });
  signal.throwIfAborted();
  const installs = await shop.collect();
  signal.throwIfAborted();
  const outdated = await engine.removeOutdated();
  return {
    releaseCount,
    buildCount: removed.count,
    siteCount: sites.siteCount,
    installCount: installs.count,
    outdatedCount: outdated.count,
    bytesFreed: removed.bytes + sites.bytes + installs.bytes + outdated.bytes,
  };
}

interface Removals {
  readonly builds: readonly ExistingBuild[];
  readonly isNeeded: (build: ExistingBuild) => boolean;
  readonly signal: AbortSignal;
}

async function removeBuilds(
  engine: CollectorParts["engine"],
  { builds, isNeeded, signal }: Removals,
): Promise<{ count: number; bytes: number }> {
  const unneeded = builds.filter((build) => !isNeeded(build));
  if (unneeded.length === 0) return { count: 0, bytes: 0 };
  await mapAtOnce(unneeded, REMOVALS_AT_ONCE, async (build) => {
    signal.throwIfAborted();
    // Asked again in the very moment: a deploy may have begun since, and the engine lets it wait for a removal that goes before.
    if (!isNeeded(build)) await engine.removeBuild(build.buildId);
  });
  const left = new Set((await engine.listBuilds()).map(({ buildId }) => buildId)); // An instance keeps its own.
  const gone = unneeded.filter(({ buildId }) => !left.has(buildId));
  return { count: gone.length, bytes: gone.reduce((sum, { bytes }) => sum + bytes, 0) };
}

interface Policy {
  readonly nowEpochMs: number;
  readonly keptMs: number;
}

interface Forgotten {
  readonly forgottenCount: number;
  readonly left: readonly Release[];
}

async function forgetReleases({ book, deployer }: HostedApp, policy: Policy): Promise<Forgotten> {
  const choose = async () => {
    const known = await book.list();
    const pointers = (await Promise.all(ENVIRONMENTS.map(async (environment) => book.pointer(environment)))).filter((one) => one !== null);
    return { known, forgotten: new Set(releasesToForget(known, { pointers, ...policy })) };
  };
  const now = await choose();
  // A deploy or a rollback could make live what was just chosen: while any goes on, nothing is forgotten.
  const { known, forgotten } = now.forgotten.size === 0 ? now : await deployer.whileStill(async () => forgetAll(book, await choose()));
  return { forgottenCount: forgotten.size, left: known.map(({ release }) => release).filter(({ releaseId }) => !forgotten.has(releaseId)) };
}

async function forgetAll<Choice extends { readonly forgotten: ReadonlySet<string> }>(
  book: HostedApp["book"],
  choice: Choice,
): Promise<Choice> {
  for (const releaseId of choice.forgotten) await book.forget(releaseId);
  return choice;
}
