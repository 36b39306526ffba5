// From an app's folder to a live release: builds what has changed, records the release, deploys it.
import { type Environment, ENVIRONMENTS } from "../../runtime-image/contract/instance-manifest.ts";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import type { AppPlan } from "../builds/build-plan.ts";
import type { Clock } from "../clock.ts";
import type { Engine } from "../engines/engine.ts";
import { collectSites, writeSite } from "../sites/write-site.ts";
import type { Deployer, DeployOutcome } from "./deployer.ts";
import { createRelease } from "./release.ts";

export interface Publication extends DeployOutcome {
  readonly builtNames: readonly string[]; // Functions that were built now; the others were there.
}

const BUILDS_AT_ONCE = 4; // Builds wait for the disk more than for the processor.

export async function publishFolder(
  planned: AppPlan,
  parts: {
    readonly appId: string;
    readonly engine: Engine;
    readonly deployer: Deployer;
    readonly clock: Clock;
    readonly environment: Environment;
    readonly sitesFolder: string;
  },
): Promise<Publication> {
  const builtNames: string[] = [];
  const queue = [...planned.functions];
  const work = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const { reused } = await parts.engine.build(next.source).catch(asBuildFailure(next.release.name));
      if (!reused) builtNames.push(next.release.name);
    }
  };
  await Promise.all(Array.from({ length: BUILDS_AT_ONCE }, work));
  if (planned.site !== null) await writeSite(parts.sitesFolder, planned.site, parts.clock.nowEpochMs());
  const release = createRelease(
    parts.appId,
    { functions: planned.functions.map((one) => one.release), site: planned.site?.snapshot ?? null, proxyUrls: planned.proxyUrls },
    parts.clock.nowEpochMs(),
  );
  const outcome = await parts.deployer.deploy(parts.environment, release, planned.variables[parts.environment]);
  const liveSiteIds = ENVIRONMENTS.flatMap((environment) => parts.deployer.live(environment)?.site?.siteId ?? []);
  // What cannot be removed now is tried again with the next deploy; this one is live.
  await collectSites(parts.sitesFolder, { liveSiteIds, nowEpochMs: parts.clock.nowEpochMs() }).catch(() => undefined);
  return { ...outcome, builtNames };
}

const asBuildFailure =
  (functionName: string) =>
  (cause: unknown): never => {
    if (cause instanceof PlatformError) throw cause;
    throw new PlatformError(
      "BUILD_FAILED",
      { detail: `${functionName}: ${cause instanceof Error ? cause.message : String(cause)}` },
      { cause },
    );
  };
