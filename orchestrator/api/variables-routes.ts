// Routes of the management API for environment variables: what there is is told without values, and no value goes into the audit log.
import { ENVIRONMENTS, type Environment } from "../../runtime-image/contract/instance-manifest.ts";
import { APP_FIELD, type FindApp } from "./app-query.ts";
import { type ApiRoute, type Role, Type, route } from "./route.ts";

export interface VariablesRouteParts {
  readonly app: FindApp;
}

export function variablesRoutes({ app }: VariablesRouteParts): ApiRoute[] {
  return [
    route({
      method: "GET",
      path: "/api/variables",
      role: "read",
      summary: "Names of the environment variables of an app, where they come from, and who changed them when; never their values.",
      query: Type.Object(APP_FIELD),
      answer: {
        kind: "json",
        schema: LIST,
        async handle({ query }) {
          const { variables } = app(query.app);
          return { variables: (await Promise.all(ENVIRONMENTS.map(async (one) => variables.list(one)))).flat() };
        },
      },
    }),
    ...TARGETS.map(({ name, environments, role }) =>
      route({
        method: "PATCH",
        path: `/api/variables/${name}`,
        role,
        summary: `Sets and removes environment variables of ${environments.join(" and ")}; answers when functions run with them.`,
        query: Type.Object(APP_FIELD),
        body: CHANGE,
        auditedFields: ["remove"], // Names. What is set holds values.
        answer: {
          kind: "json",
          schema: OUTCOME,
          handle: async ({ query, body, caller }) =>
            app(query.app).variables.change(environments, { set: body.set ?? {}, remove: body.remove ?? [] }, caller.tokenName),
        },
      }),
    ),
  ];
}

/** A path for each, so that what reaches production needs more than what stays on staging. Both at once change together or not at all. */
const TARGETS: readonly { readonly name: Environment | "both"; readonly environments: readonly Environment[]; readonly role: Role }[] = [
  { name: "staging", environments: ["staging"], role: "deploy" },
  { name: "production", environments: ["production"], role: "admin" },
  { name: "both", environments: ENVIRONMENTS, role: "admin" },
];

const VALUE = Type.String({ writeOnly: true });

const CHANGE = Type.Object({
  set: Type.Optional(Type.Record(Type.String(), VALUE, { description: "an object of names and values", writeOnly: true })),
  remove: Type.Optional(Type.Array(Type.String({ pattern: "^[A-Z][A-Z0-9_]*$", writeOnly: true }), { description: "a list of names" })),
});

const FAILURE = Type.Object({ functionName: Type.String(), code: Type.String(), message: Type.String() });

const ENVIRONMENT = Type.Union(ENVIRONMENTS.map((name) => Type.Literal(name)));

const OUTCOME = Type.Object({
  environments: Type.Array(
    Type.Object({
      environment: ENVIRONMENT,
      changed: Type.Array(Type.String(), { description: "names; what was so already is none of them" }),
      failures: Type.Array(FAILURE, { description: "functions that did not start before and do not start now" }),
    }),
  ),
});

const LIST = Type.Object({
  variables: Type.Array(
    Type.Object({
      name: Type.String(),
      environment: ENVIRONMENT,
      source: Type.Union([Type.Literal("set"), Type.Literal("folder")]),
      hidesFolder: Type.Boolean({ description: "whether the app's folder has one of this name, which this one wins over" }),
      changedEpochMs: Type.Union([Type.Number(), Type.Null()]),
      changedBy: Type.Union([Type.String(), Type.Null()]),
    }),
  ),
});
