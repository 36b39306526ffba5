// From an app's plan to its release: makes the builds that are new, writes the site. Nothing is live by that.
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import type { AppPlan } from "../builds/build-plan.ts";
import type { Clock } from "../clock.ts";
import type { Engine } from "../engines/engine.ts";
import { writeSite } from "../sites/write-site.ts";
import { type Release, createRelease } from "./release.ts";

export interface MadeRelease {
  readonly release: Release;
  readonly builtNames: readonly string[]; // Functions that were built now; the others were there.
}

export interface ReleaseParts {
  readonly appId: string;
  readonly engine: Pick<Engine, "build">;
  readonly onUse: (buildId: string) => void; // Before it is asked for.
  readonly clock: Clock;
  readonly sitesFolder: string;
}

const BUILDS_AT_ONCE = 4; // Builds wait for the disk more than for the processor.

export async function makeRelease(planned: AppPlan, { appId, engine, onUse, clock, sitesFolder }: ReleaseParts): Promise<MadeRelease> {
  const builtNames: string[] = [];
  const queue = [...planned.functions];
  const work = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      onUse(next.release.buildId);
      const { reused } = await engine.build(next.source).catch(asBuildFailure(next.release.name));
      if (!reused) builtNames.push(next.release.name);
    }
  };
  await Promise.all(Array.from({ length: BUILDS_AT_ONCE }, work));
  if (planned.site !== null) await writeSite(sitesFolder, planned.site, clock.nowEpochMs());
  const release = createRelease(
    appId,
    { functions: planned.functions.map((one) => one.release), site: planned.site?.snapshot ?? null, proxyUrls: planned.proxyUrls },
    clock.nowEpochMs(),
  );
  return { release, builtNames };
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
