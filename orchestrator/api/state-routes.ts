// What the platform is and does: its state, promote, what functions print, what becomes of it.
import { ENVIRONMENTS, type Environment } from "../../runtime-image/contract/instance-manifest.ts";
import { LOG_LEVELS } from "../../runtime-image/contract/log-line.ts";
import type { LogFilter, LogStore } from "../logs/log-store.ts";
import type { Deployer } from "../releases/deployer.ts";
import { followed } from "./follow.ts";
import { CHANGE_KINDS, type Journal, type JournalEntry } from "./journal.ts";
import { type ApiRoute, type ServerEvent, type Static, Type, route } from "./route.ts";

export interface StateParts {
  readonly deployer: Deployer;
  readonly logs: LogStore;
  readonly journal: Journal;
  readonly facts: () => PlatformFacts;
}

export interface PlatformFacts {
  readonly app: string;
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
  app: Type.String(),
  engine: Type.String(),
  broker: Type.String(),
  home: Type.String(),
  pid: Type.Integer(),
  environments: Type.Object({ staging: LIVE, production: LIVE }),
});

const PROMOTED = Type.Object({
  releaseId: Type.String(),
  failures: Type.Array(Type.Object({ functionName: Type.String(), code: Type.String(), message: Type.String() })),
});

const LOG_QUERY = Type.Object({
  functionName: Type.Optional(Type.String({ description: 'the name of a function, such as "get-index" or "src/http/get-index"' })),
  environment: Type.Optional(ENVIRONMENT),
  count: Type.Optional(Type.Integer({ minimum: 0, maximum: LOG_COUNT_MAX })),
  follow: Type.Optional(Type.Boolean()),
});

const LOG_ENTRY = Type.Object({
  epochMs: Type.Number(),
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
      summary: "What runs: the app, the engine, and what is live in each environment.",
      answer: { kind: "json", schema: STATUS, handle: async () => ({ ...parts.facts(), environments: environments(parts.deployer) }) },
    }),
    route({
      method: "POST",
      path: "/api/promote",
      role: "deploy",
      summary: "Makes production run the very builds that are live on staging.",
      answer: { kind: "json", schema: PROMOTED, handle: async () => promote(parts.deployer) },
    }),
    route({
      method: "GET",
      path: "/api/logs",
      role: "read",
      summary: "What functions print: the newest lines, and with follow=true every new one.",
      query: LOG_QUERY,
      answer: { kind: "lines", schema: LOG_ENTRY, handle: async ({ query, signal }) => logLines(parts.logs, query, signal) },
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

const environments = (deployer: Deployer): Record<Environment, Static<typeof LIVE>> => ({
  staging: live(deployer, "staging"),
  production: live(deployer, "production"),
});

function live(deployer: Deployer, environment: Environment): Static<typeof LIVE> {
  const release = deployer.live(environment);
  return release === null ? null : { releaseId: release.releaseId, functions: release.functions.map((fn) => ({ ...fn })) };
}

async function promote(deployer: Deployer): Promise<Static<typeof PROMOTED>> {
  const { release, failures } = await deployer.promote();
  return { releaseId: release.releaseId, failures: [...failures] };
}

async function logLines(logs: LogStore, query: Static<typeof LOG_QUERY>, signal: AbortSignal): Promise<AsyncIterable<unknown>> {
  const { functionName, environment, count = LOG_COUNT, follow = false } = query;
  const filter: LogFilter = {
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
