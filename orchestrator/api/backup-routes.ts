// Routes of the management API for backups of an environment: made, put back, and how far putting back is.
import { ENVIRONMENTS, type Environment } from "../../runtime-image/contract/instance-manifest.ts";
import { BACKUP_BYTES_MAX } from "../../runtime-image/contract/limits.ts";
import type { Clock } from "../clock.ts";
import type { HostedApp } from "../hosting/hosted-app.ts";
import { backupStores } from "../stores/backup.ts";
import type { RestoreOutcome, RestoringVariables } from "../stores/restore.ts";
import type { Restorer } from "../stores/restorer.ts";
import { type BackupOrigin, type BackupVariables, type VariableSeals, createVariableSeals } from "../stores/sealed-variables.ts";
import { APP_FIELD, type FindApp } from "./app-query.ts";
import { STORE_ROLES } from "./data-routes.ts";
import { type ApiCall, type ApiRoute, type Static, Type, route } from "./route.ts";

export interface BackupRouteParts {
  readonly app: FindApp;
  readonly restorer: Restorer;
  readonly clock: Clock;
}

const COUNT = Type.Integer({ minimum: 0 });
const FAILURE = Type.Object({ functionName: Type.String(), code: Type.String(), message: Type.String() });

const VARIABLES = Type.Union([
  Type.Object({ kind: Type.Literal("none") }),
  Type.Object({ kind: Type.Enum(["left-out", "closed"]), count: COUNT }),
  Type.Object({
    kind: Type.Literal("restored"),
    count: COUNT,
    failures: Type.Array(FAILURE, { description: "functions that did not start before and do not start now" }),
  }),
]);

const OUTCOME = Type.Object({
  appName: Type.String(),
  environment: Type.Enum([...ENVIRONMENTS]),
  createdAt: Type.String(),
  counts: Type.Object({ sessions: COUNT, data: COUNT }),
  removedCount: COUNT,
  wentOn: Type.Boolean({ description: "whether an earlier restore of this backup had been broken off" }),
  variables: VARIABLES,
});

const STATUS = Type.Union([
  Type.Object({ kind: Type.Literal("none") }),
  Type.Object({ kind: Type.Literal("broken-off"), startedEpochMs: Type.Number() }),
  Type.Object({ kind: Type.Literal("receiving") }),
  Type.Object({
    kind: Type.Literal("running"),
    phase: Type.Enum(["checking", "variables", "removing", "writing"]),
    doneCount: COUNT,
    totalCount: Type.Union([COUNT, Type.Null()]),
  }),
]);

export function backupRoutes(parts: BackupRouteParts): ApiRoute[] {
  const seals = createVariableSeals();
  return ENVIRONMENTS.flatMap((environment) => routesOf(environment, { ...parts, seals }));
}

interface Parts extends BackupRouteParts {
  readonly seals: VariableSeals;
}

function routesOf(environment: Environment, { app, restorer, clock, seals }: Parts): ApiRoute[] {
  const role = STORE_ROLES[environment];
  return [
    route({
      method: "GET",
      path: `/api/backup/${environment}`,
      role,
      summary: `A backup of ${environment}, made while it runs: sessions, documents, and with a passphrase the variables that were set.`,
      query: Type.Object(APP_FIELD),
      takesPassphrase: true,
      answer: {
        kind: "download",
        contentType: "application/gzip",
        async handle({ query, passphrase }) {
          const backedUp = app(query.app);
          const createdAt = new Date(clock.nowEpochMs()).toISOString();
          const origin: BackupOrigin = { appName: backedUp.name, environment, createdAt };
          const variables = await variablesFor(backedUp, origin, { passphrase, seals });
          return backupStores(await backedUp.stores(environment), { ...origin, ...variables });
        },
      },
    }),
    route({
      method: "GET",
      path: `/api/restore/${environment}`,
      role,
      summary: `Whether a restore into ${environment} is on its way, and how far it is.`,
      query: Type.Object(APP_FIELD),
      answer: {
        kind: "json",
        schema: STATUS,
        handle: async ({ query }) => restorer.status({ appId: app(query.app).appId, environment }),
      },
    }),
    route({
      method: "POST",
      path: `/api/restore/${environment}`,
      role,
      summary: `Puts a backup into ${environment}: checked as a whole before anything is written, and only where nothing is, unless it may replace.`,
      query: Type.Object({ ...APP_FIELD, replace: Type.Optional(Type.Boolean()) }),
      takesPassphrase: true,
      answer: {
        kind: "upload",
        contentType: "application/gzip",
        bytesMax: BACKUP_BYTES_MAX,
        schema: OUTCOME,
        async handle({ query, signal, ...call }, body) {
          const into = app(query.app);
          const variables = restoringVariables(into, environment, { ...call, seals });
          const options = { variables, isReplacing: query.replace === true, signal };
          return outcomeOf(await restorer.restore({ appId: into.appId, environment }, body, options));
        },
      },
    }),
  ];
}

interface Sealing {
  readonly passphrase: string | null;
  readonly seals: VariableSeals;
}

async function variablesFor(
  { variables }: HostedApp,
  origin: BackupOrigin,
  { passphrase, seals }: Sealing,
): Promise<{ readonly variables?: BackupVariables }> {
  const values = await variables.keptValues(origin.environment);
  const count = Object.keys(values).length;
  if (count === 0) return {};
  return { variables: passphrase === null ? { kind: "left-out", count } : await seals.seal(values, { passphrase, origin }) };
}

const restoringVariables = (
  { variables }: HostedApp,
  environment: Environment,
  { caller, passphrase, seals }: Pick<ApiCall, "caller"> & Sealing,
): RestoringVariables => ({
  now: async () => variables.keptValues(environment),
  replace: async (values) => variables.replace(environment, values, caller.tokenName),
  open: passphrase === null ? null : async (sealed, origin) => seals.open(sealed, { passphrase, origin }),
});

function outcomeOf({ header, trailer, removedCount, wentOn, variables }: RestoreOutcome): Static<typeof OUTCOME> {
  const { appName, environment, createdAt } = header;
  const told = variables.kind === "restored" ? { ...variables, failures: [...variables.failures] } : variables;
  return { appName, environment, createdAt, counts: trailer.counts, removedCount, wentOn, variables: told };
}
