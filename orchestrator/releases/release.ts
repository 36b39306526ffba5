// A release: an app's builds and routes at one moment. Immutable, and named by its content.
import { createHash } from "node:crypto";
import type { Environment, Generation } from "../../runtime-image/contract/instance-manifest.ts";
import type { RouteMethod, SiteSnapshot } from "../../runtime-image/contract/snapshot.ts";

export interface Release {
  readonly releaseId: string;
  readonly appId: string;
  readonly createdEpochMs: number;
  readonly functions: readonly ReleaseFunction[];
  readonly site: SiteSnapshot | null;
  readonly proxyUrls: Readonly<Partial<Record<Environment, string>>>;
}

export interface ReleaseFunction {
  readonly name: string;
  readonly method: RouteMethod;
  readonly path: string;
  readonly generation: Generation;
  readonly buildId: string;
  readonly concurrency: number;
  readonly timeoutMs: number;
  readonly memoryBytesMax: number;
  readonly rawJson: boolean;
  readonly bareQuery: boolean;
  readonly seesVariables?: false; // It does without the app's environment variables.
}

/** What of a release is no function. */
export type ReleaseSurroundings = Pick<Release, "site" | "proxyUrls">;

export function createRelease(
  appId: string,
  { functions, site, proxyUrls }: ReleaseSurroundings & { readonly functions: readonly ReleaseFunction[] },
  nowEpochMs: number,
): Release {
  const ordered = functions.toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
  const releaseId = createHash("sha256")
    .update(JSON.stringify([appId, ordered, site, proxyUrls]))
    .digest("hex")
    .slice(0, 16);
  return { releaseId, appId, createdEpochMs: nowEpochMs, functions: ordered, site, proxyUrls };
}

const key = (fn: ReleaseFunction): string => `${fn.path} ${fn.method}`;
