// Routes of the management API for backups of an environment's stores: made, put back, and how far putting back is.
import { ENVIRONMENTS, type Environment } from "../../runtime-image/contract/instance-manifest.ts";
import { BACKUP_BYTES_MAX } from "../../runtime-image/contract/limits.ts";
import type { Clock } from "../clock.ts";
import { backupStores } from "../stores/backup.ts";
import type { Restorer } from "../stores/restorer.ts";
import type { AppStores } from "../stores/stores.ts";
import { STORE_ROLES } from "./data-routes.ts";
import { type ApiRoute, Type, route } from "./route.ts";

export interface BackupRouteParts {
  readonly stores: (environment: Environment) => Promise<AppStores>;
  readonly restorer: Restorer;
  readonly app: { readonly appId: string; readonly appName: string };
  readonly clock: Clock;
}

const COUNT = Type.Integer({ minimum: 0 });

const OUTCOME = Type.Object({
  appName: Type.String(),
  environment: Type.Enum([...ENVIRONMENTS]),
  createdAt: Type.String(),
  counts: Type.Object({ sessions: COUNT, data: COUNT }),
  removedCount: COUNT,
  wentOn: Type.Boolean({ description: "whether an earlier restore of this backup had been broken off" }),
});

const STATUS = Type.Union([
  Type.Object({ kind: Type.Literal("none") }),
  Type.Object({ kind: Type.Literal("broken-off"), startedEpochMs: Type.Number() }),
  Type.Object({ kind: Type.Literal("receiving") }),
  Type.Object({
    kind: Type.Literal("running"),
    phase: Type.Enum(["checking", "removing", "writing"]),
    doneCount: COUNT,
    totalCount: Type.Union([COUNT, Type.Null()]),
  }),
]);

export const backupRoutes = (parts: BackupRouteParts): ApiRoute[] => ENVIRONMENTS.flatMap((environment) => routesOf(environment, parts));

function routesOf(environment: Environment, { stores, restorer, app, clock }: BackupRouteParts): ApiRoute[] {
  const role = STORE_ROLES[environment];
  const target = { appId: app.appId, environment };
  return [
    route({
      method: "GET",
      path: `/api/backup/${environment}`,
      role,
      summary: `A backup of the sessions and documents of ${environment}, made while it runs.`,
      answer: {
        kind: "download",
        contentType: "application/gzip",
        handle: async () =>
          backupStores(await stores(environment), { appName: app.appName, environment, createdAt: new Date(clock.nowEpochMs()) }),
      },
    }),
    route({
      method: "GET",
      path: `/api/restore/${environment}`,
      role,
      summary: `Whether a restore into ${environment} is on its way, and how far it is.`,
      answer: { kind: "json", schema: STATUS, handle: async () => restorer.status(target) },
    }),
    route({
      method: "POST",
      path: `/api/restore/${environment}`,
      role,
      summary: `Puts a backup into ${environment}: checked as a whole before anything is written, and only where nothing is, unless it may replace.`,
      query: Type.Object({ replace: Type.Optional(Type.Boolean()) }),
      answer: {
        kind: "upload",
        contentType: "application/gzip",
        bytesMax: BACKUP_BYTES_MAX,
        schema: OUTCOME,
        handle: async ({ query, signal }, body) => {
          const { header, trailer, removedCount, wentOn } = await restorer.restore(target, body, {
            isReplacing: query.replace === true,
            signal,
          });
          const { appName, createdAt } = header;
          return { appName, environment: header.environment, createdAt, counts: trailer.counts, removedCount, wentOn };
        },
      },
    }),
  ];
}
