// Apps: which there are, made, given domains, removed; and routes that are added to them.
import { ENVIRONMENTS } from "../../runtime-image/contract/instance-manifest.ts";
import { ROUTE_KINDS } from "../apps/route-edit.ts";
import type { Receiver, RouteChange, RouteOrder } from "../deliveries/receive.ts";
import { hostsOf } from "../hosting/app-names.ts";
import type { HostedApp } from "../hosting/hosted-app.ts";
import type { Hosting } from "../hosting/hosting.ts";
import { APP_FIELD } from "./app-query.ts";
import { type ApiRoute, type Static, Type, route } from "./route.ts";

export interface AppRouteParts {
  readonly hosting: Hosting;
  readonly receiver: Receiver;
  readonly port: number;
}

const ENVIRONMENT = Type.Enum([...ENVIRONMENTS]);
const NAME = Type.String({ description: "the name of an app" });
const RELEASE_ID = Type.Union([Type.String(), Type.Null()]);

const APP = Type.Object({
  name: Type.String(),
  appId: Type.String(),
  isDefault: Type.Boolean(),
  source: Type.Enum(["folder", "repository"]),
  hosts: Type.Object({ staging: Type.Array(Type.String()), production: Type.Array(Type.String()) }),
  live: Type.Object({ staging: RELEASE_ID, production: RELEASE_ID }),
  createdEpochMs: Type.Number(),
  createdBy: Type.String(),
  gitUrl: Type.Union([Type.String(), Type.Null()]),
});

const CHANGED_ROUTE = Type.Object({
  deliveryId: Type.Union([Type.String(), Type.Null()]),
  files: Type.Array(Type.String({ description: "written or removed, in the app's folder" })),
});

const ROUTE = Type.String({ description: 'such as "POST /api/submit"' });
const DOMAIN_PARAMS = Type.Object({ app: NAME, domain: Type.String({ description: "a host name, such as shop.example.org" }) });

export const appRoutes = (parts: AppRouteParts): ApiRoute[] => [...hostingRoutes(parts), ...domainRoutes(parts), ...changeRoutes(parts)];

function hostingRoutes({ hosting, port }: AppRouteParts): ApiRoute[] {
  return [
    route({
      method: "GET",
      path: "/api/apps",
      role: "read",
      summary: "Every app: its hosts, and what is live in each environment.",
      answer: {
        kind: "json",
        schema: Type.Object({ apps: Type.Array(APP) }),
        handle: async () => ({ apps: hosting.list().map((app) => shown(app, port)) }),
      },
    }),
    route({
      method: "POST",
      path: "/api/apps",
      role: "admin",
      summary: "Makes an app, with an empty repository to push to.",
      body: Type.Object({ name: NAME }),
      auditedFields: ["name"],
      answer: {
        kind: "json",
        schema: APP,
        handle: async ({ body, caller }) => shown(await hosting.create(body.name, caller.tokenName), port),
      },
    }),
    route({
      method: "DELETE",
      path: "/api/apps/:app",
      role: "admin",
      summary: "Removes an app with everything of it: its releases, its documents and sessions, its repository.",
      params: Type.Object({ app: NAME }),
      answer: {
        kind: "json",
        schema: Type.Object({ name: Type.String() }),
        async handle({ params }) {
          await hosting.remove(params.app);
          return { name: params.app };
        },
      },
    }),
  ];
}

function domainRoutes({ hosting, port }: AppRouteParts): ApiRoute[] {
  return [
    route({
      method: "PUT",
      path: "/api/apps/:app/domains/:domain",
      role: "admin",
      summary: "Lets an app answer on a domain.",
      params: DOMAIN_PARAMS,
      body: Type.Object({ environment: ENVIRONMENT }),
      auditedFields: ["environment"],
      answer: {
        kind: "json",
        schema: APP,
        handle: async ({ params: { app, domain }, body: { environment } }) =>
          shown(await hosting.addDomain(app, { domain, environment }), port),
      },
    }),
    route({
      method: "DELETE",
      path: "/api/apps/:app/domains/:domain",
      role: "admin",
      summary: "Takes a domain from an app.",
      params: DOMAIN_PARAMS,
      answer: {
        kind: "json",
        schema: APP,
        handle: async ({ params: { app, domain } }) => shown(await hosting.removeDomain(app, domain), port),
      },
    }),
  ];
}

function changeRoutes({ hosting, receiver }: AppRouteParts): ApiRoute[] {
  const change = async (order: Omit<RouteOrder, "app"> & { readonly app: string | undefined }): Promise<Static<typeof CHANGED_ROUTE>> =>
    shownChange(await receiver.changeRoute({ ...order, app: hosting.app(order.app) }));
  return [
    route({
      method: "POST",
      path: "/api/routes",
      role: "deploy",
      summary: "Adds a route to an app: its manifest, a basic handler, a commit, a delivery to staging.",
      query: Type.Object(APP_FIELD),
      body: Type.Object({ route: ROUTE, kind: Type.Optional(Type.Enum([...ROUTE_KINDS])) }),
      auditedFields: ["route", "kind"],
      answer: {
        kind: "json",
        schema: CHANGED_ROUTE,
        handle: async ({ query, body, caller, signal }) =>
          change({ app: query.app, action: "add", route: body.route, kind: body.kind ?? "http", by: caller.tokenName, signal }),
      },
    }),
    route({
      method: "DELETE",
      path: "/api/routes",
      role: "deploy",
      summary: "Takes a route out of an app's manifest; it leaves staging with the delivery that this begins.",
      query: Type.Object({ ...APP_FIELD, route: ROUTE }),
      answer: {
        kind: "json",
        schema: CHANGED_ROUTE,
        handle: async ({ query, caller, signal }) =>
          change({ app: query.app, action: "remove", route: query.route, kind: "http", by: caller.tokenName, signal }),
      },
    }),
  ];
}

function shown(app: HostedApp, port: number): Static<typeof APP> {
  const { name, appId, isDefault, source, domains, createdEpochMs, createdBy } = app.known();
  return {
    name,
    appId,
    isDefault,
    source,
    hosts: { staging: [...hostsOf(name, "staging", domains.staging)], production: [...hostsOf(name, "production", domains.production)] },
    live: { staging: app.deployer.live("staging")?.releaseId ?? null, production: app.deployer.live("production")?.releaseId ?? null },
    createdEpochMs,
    createdBy,
    gitUrl: source === "repository" ? `http://localhost:${port}/git/${name}.git` : null,
  };
}

const shownChange = ({ files, begun }: RouteChange): Static<typeof CHANGED_ROUTE> => ({
  deliveryId: begun?.delivery.deliveryId ?? null,
  files: [...files],
});
