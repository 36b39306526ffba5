// Releases: which there are, how two differ, and moving an environment to one: promote and rollback.
import { ENVIRONMENTS } from "../../runtime-image/contract/instance-manifest.ts";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import type { HostedApp } from "../hosting/hosted-app.ts";
import type { DeployOutcome } from "../releases/deployer.ts";
import { diffReleases } from "../releases/diff.ts";
import { type KnownRelease, RELEASE_OUTCOMES } from "../releases/release-book.ts";
import type { Release } from "../releases/release.ts";
import { APP_FIELD, type FindApp } from "./app-query.ts";
import { type ApiRoute, type Static, Type, route } from "./route.ts";

export interface ReleaseRouteParts {
  readonly app: FindApp;
}

const COUNT = 20;
const COUNT_MAX = 1_000;
const PREFIX_LENGTH_MIN = 4;

const ENVIRONMENT = Type.Enum([...ENVIRONMENTS]);
const TEXT = Type.Union([Type.String(), Type.Null()]);
const RELEASE = Type.String({ description: "the id of a release, the beginning of one, or what is live: staging or production" });

const LISTED = Type.Object({
  releaseId: Type.String(),
  createdEpochMs: Type.Number(),
  by: Type.String(),
  commit: TEXT,
  message: TEXT,
  deliveryId: TEXT,
  outcome: Type.Enum([...RELEASE_OUTCOMES]),
  live: Type.Array(ENVIRONMENT),
  functionCount: Type.Integer(),
});

const FAILURES = Type.Array(Type.Object({ functionName: Type.String(), code: Type.String(), message: Type.String() }));
const MOVED = Type.Object({ releaseId: Type.String(), environment: ENVIRONMENT, failures: FAILURES });

const DIFF = Type.Object({
  from: Type.String(),
  to: Type.String(),
  functions: Type.Array(
    Type.Object({
      name: Type.String(),
      route: Type.String(),
      change: Type.Enum(["added", "removed", "rebuilt", "settings"]),
      settings: Type.Array(Type.Object({ name: Type.String(), from: Type.String(), to: Type.String() })),
    }),
  ),
  site: Type.Enum(["same", "changed", "added", "removed"]),
  proxies: Type.Array(Type.Object({ environment: ENVIRONMENT, from: TEXT, to: TEXT })),
});

export const releaseRoutes = ({ app }: ReleaseRouteParts): ApiRoute[] => [...readingRoutes(app), ...movingRoutes(app)];

function readingRoutes(app: FindApp): ApiRoute[] {
  return [
    route({
      method: "GET",
      path: "/api/releases",
      role: "read",
      summary: "The releases of an app, newest first: who made them, from which commit, and where they are live.",
      query: Type.Object({ ...APP_FIELD, count: Type.Optional(Type.Integer({ minimum: 1, maximum: COUNT_MAX })) }),
      answer: {
        kind: "json",
        schema: Type.Object({ releases: Type.Array(LISTED) }),
        handle: async ({ query }) => ({ releases: (await listed(app(query.app))).slice(0, query.count ?? COUNT) }),
      },
    }),
    route({
      method: "GET",
      path: "/api/releases/diff",
      role: "read",
      summary: "What differs between two releases: functions, their settings, static files, proxies.",
      query: Type.Object({ ...APP_FIELD, from: RELEASE, to: RELEASE }),
      answer: {
        kind: "json",
        schema: DIFF,
        async handle({ query }) {
          const found = app(query.app);
          return diffReleases(await releaseNamed(found, query.from), await releaseNamed(found, query.to));
        },
      },
    }),
  ];
}

function movingRoutes(app: FindApp): ApiRoute[] {
  return [
    route({
      method: "POST",
      path: "/api/promote",
      role: "deploy",
      summary: "Makes production run the very builds that are live on staging, or those of an earlier release that was green there.",
      query: Type.Object({ ...APP_FIELD, release: Type.Optional(RELEASE) }),
      answer: {
        kind: "json",
        schema: MOVED,
        async handle({ query }) {
          const found = app(query.app);
          return moved(await found.deployer.promote(await idNamed(found, query.release)));
        },
      },
    }),
    route({
      method: "POST",
      path: "/api/rollback",
      role: "deploy",
      summary: "Makes an environment run what it ran before, or an earlier release that is named.",
      query: Type.Object({ ...APP_FIELD, environment: Type.Optional(ENVIRONMENT), release: Type.Optional(RELEASE) }),
      answer: {
        kind: "json",
        schema: MOVED,
        async handle({ query }) {
          const found = app(query.app);
          return moved(await found.deployer.rollback(query.environment ?? "production", await idNamed(found, query.release)));
        },
      },
    }),
  ];
}

const moved = ({ release, environment, failures }: DeployOutcome): Static<typeof MOVED> => ({
  releaseId: release.releaseId,
  environment,
  failures: [...failures],
});

async function listed(app: HostedApp): Promise<Static<typeof LISTED>[]> {
  const known = await app.book.list();
  return known.toSorted((a, b) => b.release.createdEpochMs - a.release.createdEpochMs).map((one) => shown(one, app));
}

function shown({ release, origin, outcome }: KnownRelease, { deployer }: HostedApp): Static<typeof LISTED> {
  const { releaseId, createdEpochMs, functions } = release;
  const live = ENVIRONMENTS.filter((environment) => deployer.live(environment)?.releaseId === releaseId);
  return { releaseId, createdEpochMs, ...origin, outcome, live, functionCount: new Set(functions.map((fn) => fn.name)).size };
}

/** Null where none is named. */
const idNamed = async (app: HostedApp, name: string | undefined): Promise<string | null> =>
  name === undefined ? null : (await releaseNamed(app, name)).releaseId;

async function releaseNamed(app: HostedApp, name: string): Promise<Release> {
  const environment = ENVIRONMENTS.find((one) => one === name);
  if (environment !== undefined) {
    const live = app.deployer.live(environment);
    if (live !== null) return live;
    throw new PlatformError("RELEASE_NOT_FOUND", { detail: `Nothing is live on ${environment}.` });
  }
  const found = (await app.book.list()).filter(({ release }) => release.releaseId.startsWith(name));
  const [only] = found;
  if (only !== undefined && found.length === 1 && name.length >= PREFIX_LENGTH_MIN) return only.release;
  throw new PlatformError("RELEASE_NOT_FOUND", {
    detail:
      found.length > 1
        ? `${found.length} releases of ${app.name} begin with "${name}".`
        : `"${name.slice(0, 64)}" is no release of ${app.name}.`,
    remedy: `orchestrator releases shows those that there are; ${PREFIX_LENGTH_MIN} characters of an id are enough.`,
  });
}
