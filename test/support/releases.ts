// Releases for tests, which say only what matters to them.
import { type ReleaseFunction, type Release, createRelease } from "../../orchestrator/releases/release.ts";

export const releaseFunction = (fields: Partial<ReleaseFunction> = {}): ReleaseFunction => ({
  name: "src/http/get-index",
  method: "GET",
  path: "/",
  generation: "current",
  buildId: "b1",
  concurrency: 32,
  timeoutMs: 5_000,
  memoryBytesMax: 1_000,
  rawJson: false,
  bareQuery: false,
  ...fields,
});

export const releaseOf = (functions: readonly ReleaseFunction[], fields: Partial<Release> = {}): Release => ({
  ...createRelease("a1", { functions, site: null, proxyUrls: {} }, 1_000),
  ...fields,
});
