// What the platform is and does: its state, what functions print, what becomes of it; and its gateways, started anew.
import { ENVIRONMENTS, type Environment } from "../../runtime-image/contract/instance-manifest.ts";
import { LOG_LEVELS } from "../../runtime-image/contract/log-line.ts";
import type { LogFilter, LogStore } from "../logs/log-store.ts";
import type { GatewayProcess } from "../gateways/gateway-process.ts";
import type { HostedApp } from "../hosting/hosted-app.ts";
import { APP_FIELD, type FindApp } from "./app-query.ts";
import { followed } from "./follow.ts";
import { CHANGE_KINDS, type Journal, type JournalEntry } from "./journal.ts";
import { type ApiRoute, type ServerEvent, type Static, Type, route } from "./route.ts";

export interface StateParts {
  readonly app: FindApp;
  readonly defaultApp: () => HostedApp | null;
  readonly gateways: Readonly<Record<Environment, Pick<GatewayProcess, "restart">>>;
  readonly logs: LogStore;
  readonly journal: Journal;
  readonly facts: () => PlatformFacts;
}

export interface PlatformFacts {
  readonly engine: string;
  readonly broker: string;
  readonly home: string;
  readonly pid: number;
}

const LOG_COUNT = 100;
const LOG_COUNT_MAX = 10_000;

const ENVIRONMENT = Type.Enum([...ENVIRONMENTS]);

const LIVE = Type.Union([
  Type.Null(),
  Type.Object({
    releaseId: Type.String(),
    functions: Type.Array(
      Type.Object(
        { name: Type.String(), method: Type.String(), path: Type.String(), buildId: Type.String() },
        { additionalProperties: true },
      ),
    ),
  }),
]);

const STATUS = Type.Object({
  app: Type.Union([Type.String(), Type.Null()], { description: "its name; null where none was named and there is no default app" }),
  engine: Type.String(),
  broker: Type.String(),
  home: Type.String(),
  pid: Type.Integer(),
  environments: Type.Object({ staging: LIVE, production: LIVE }),
});

const LOG_QUERY = Type.Object({
  app: Type.Optional(Type.String({ description: "the name of an app; without it, lines of every app" })),
  functionName: Type.Optional(Type.String({ description: 'the name of a function, such as "get-index" or "src/http/get-index"' })),
  environment: Type.Optional(ENVIRONMENT),
  count: Type.Optional(Type.Integer({ minimum: 0, maximum: LOG_COUNT_MAX })),
  follow: Type.Optional(Type.Boolean()),
});

const LOG_ENTRY = Type.Object({
  epochMs: Type.Number(),
  app: Type.Union([Type.String(), Type.Null()], { description: "its name; null where it is not known" }),
  environment: ENVIRONMENT,
  functionName: Type.String(),
  instanceId: Type.String(),
  requestId: Type.Union([Type.String(), Type.Null()]),
  level: Type.Enum([...LOG_LEVELS]),
  text: Type.String(),
});

const CHANGE = Type.Object({
  id: Type.String(),
  epochMs: Type.Number(),
  kind: Type.Enum([...CHANGE_KINDS]),
  app: Type.Optional(Type.String()),
  environment: ENVIRONMENT,
  functionName: Type.Optional(Type.String()),
  releaseId: Type.Optional(Type.String()),
  text: Type.String(),
});

export function stateRoutes(parts: StateParts): ApiRoute[] {
  return [
    route({
      method: "GET",
      path: "/api/status",
      role: "read",
      summary: "What runs: an app, the engine, and what is live in each environment.",
      query: Type.Object(APP_FIELD),
      answer: {
        kind: "json",
        schema: STATUS,
        async handle({ query }) {
          const app = query.app === undefined ? parts.defaultApp() : parts.app(query.app);
          const environments = { staging: live(app, "staging"), production: live(app, "production") };
          return { app: app?.name ?? null, ...parts.facts(), environments };
        },
      },
    }),
    route({
      method: "POST",
      path: "/api/gateways/:environment/restart",
      role: "admin",
      summary: "Replaces the gateway of an environment by a new process; no request fails, because the listening socket is handed over.",
      params: Type.Object({ environment: ENVIRONMENT }),
      answer: {
        kind: "json",
        schema: Type.Object({ environment: ENVIRONMENT }),
        async handle({ params: { environment } }) {
          await parts.gateways[environment].restart();
          return { environment };
        },
      },
    }),
    route({
      method: "GET",
      path: "/api/logs",
      role: "read",
      summary: "What functions print: the newest lines, and with follow=true every new one.",
      query: LOG_QUERY,
      answer: { kind: "lines", schema: LOG_ENTRY, handle: async ({ query, signal }) => logLines(parts, query, signal) },
    }),
    route({
      method: "GET",
      path: "/api/events",
      role: "read",
      summary: "State changes as they happen; with Last-Event-ID also those that were missed.",
      answer: { kind: "events", schema: CHANGE, handle: async ({ lastEventId, signal }) => changes(parts.journal, lastEventId, signal) },
    }),
  ];
}

function live(app: HostedApp | null, environment: Environment): Static<typeof LIVE> {
  const release = app?.deployer.live(environment) ?? null;
  return release === null ? null : { releaseId: release.releaseId, functions: release.functions.map((fn) => ({ ...fn })) };
}

async function logLines(
  { app: find, logs }: Pick<StateParts, "app" | "logs">,
  query: Static<typeof LOG_QUERY>,
  signal: AbortSignal,
): Promise<AsyncIterable<unknown>> {
  const { app, functionName, environment, count = LOG_COUNT, follow = false } = query;
  const filter: LogFilter = {
    ...(app === undefined ? {} : { app: find(app).name }), // A name that was mistyped is told as such.
    ...(functionName === undefined ? {} : { functionName }),
    ...(environment === undefined ? {} : { environment }),
  };
  const first = count === 0 ? [] : logs.tail(filter, count);
  return follow ? followed((hear) => logs.follow(filter, hear), { first, signal }) : each(first);
}

async function* each<Value>(values: readonly Value[]): AsyncGenerator<Value> {
  yield* values;
}

/** A reader who missed more than is kept hears of it, and can ask for the state as it is. */
async function changes(journal: Journal, lastEventId: string | null, signal: AbortSignal): Promise<AsyncIterable<ServerEvent>> {
  const missed = journal.after(lastEventId);
  const first = missed === null ? [{ event: "gap", data: { after: lastEventId } }] : missed.map(asEvent);
  return followed<ServerEvent>((hear) => journal.follow((entry) => hear(asEvent(entry))), { first, signal });
}

const asEvent = (entry: JournalEntry): ServerEvent => ({ id: entry.id, event: entry.kind, data: entry });
