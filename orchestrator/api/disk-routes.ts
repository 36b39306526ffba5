// Routes of the management API for the room that the platform takes: how much, and what of it can be given back.
import { BUILD_GRACE_MS, RELEASE_KEPT_MS } from "../../runtime-image/contract/limits.ts";
import { DISK_PARTS, type DiskReport } from "../doctor/disk-use.ts";
import type { Collector } from "../hosting/collector.ts";
import { type ApiRoute, Type, route } from "./route.ts";

export interface DiskRouteParts {
  readonly disk: () => Promise<DiskReport>;
  readonly collector: Pick<Collector, "collect">;
}

const COUNT = Type.Integer({ minimum: 0 });
const BYTES = COUNT;
const FREE_BYTES = Type.Union([BYTES, Type.Null()]);
const IS_WHOLE = Type.Boolean({ description: "false where measuring was stopped or something may not be looked into: there is more" });

const DISK = Type.Object({
  home: Type.String(),
  bytes: BYTES,
  isWhole: IS_WHOLE,
  freeBytes: FREE_BYTES,
  parts: Type.Array(Type.Object({ part: Type.Enum([...DISK_PARTS]), bytes: BYTES, fileCount: COUNT, isWhole: IS_WHOLE })),
  engine: Type.Union([
    Type.Object({
      kind: Type.Enum(["docker", "process"]),
      buildCount: COUNT,
      buildBytes: BYTES,
      imageBytes: Type.Integer({ minimum: 0, description: "what builds stand on; other platforms of the same engine may share it" }),
      freeBytes: FREE_BYTES,
    }),
    Type.Null(),
  ]),
});

const COLLECTED = Type.Object({
  releaseCount: COUNT,
  buildCount: COUNT,
  siteCount: COUNT,
  installCount: COUNT,
  outdatedCount: Type.Integer({ minimum: 0, description: "runtimes and images of earlier versions, and caches that were too large" }),
  bytesFreed: BYTES,
});

const COLLECT_QUERY = Type.Object({
  keptMs: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: RELEASE_KEPT_MS,
      description: "how long releases that were delivered stay; the latest ones, what is live and what can be gone back to stay anyway",
    }),
  ),
  graceMs: Type.Optional(
    Type.Integer({ minimum: 0, maximum: BUILD_GRACE_MS, description: "how long builds stay after they were made or used last" }),
  ),
});

export function diskRoutes({ disk, collector }: DiskRouteParts): ApiRoute[] {
  return [
    route({
      method: "GET",
      path: "/api/disk",
      role: "read",
      summary: "How much room the platform takes, by what it is for; measured for a second at most.",
      answer: { kind: "json", schema: DISK, handle: async () => disk() },
    }),
    route({
      method: "POST",
      path: "/api/collect",
      role: "admin",
      summary: "Forgets old releases and removes what nothing needs any more, as the platform does every hour.",
      query: COLLECT_QUERY,
      answer: { kind: "json", schema: COLLECTED, handle: async ({ query }) => collector.collect(query) },
    }),
  ];
}
