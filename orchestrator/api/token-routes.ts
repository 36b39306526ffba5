// Tokens of the management API, and the log of what was done with them.
import type { AuditLog } from "./audit.ts";
import { ROLES } from "./roles.ts";
import { type ApiRoute, Type, route } from "./route.ts";
import { TOKEN_NAME, type TokenBook } from "./tokens.ts";

export interface TokenParts {
  readonly tokens: TokenBook;
  readonly audit: AuditLog;
}

const AUDIT_COUNT = 100;
const AUDIT_COUNT_MAX = 10_000;

const NAME = Type.String({ pattern: TOKEN_NAME.source, description: "a name of up to 32 small letters, digits and dashes" });
const ROLE = Type.Enum([...ROLES]);

const TOKENS = Type.Object({
  tokens: Type.Array(Type.Object({ name: Type.String(), role: ROLE, createdEpochMs: Type.Union([Type.Number(), Type.Null()]) })),
});

const AUDIT = Type.Object({
  entries: Type.Array(
    Type.Object({
      id: Type.String(),
      epochMs: Type.Number(),
      tokenName: Type.String(),
      role: ROLE,
      method: Type.String(),
      path: Type.String(),
      input: Type.Record(Type.String(), Type.Unknown()),
      outcome: Type.Union([Type.Literal("done"), Type.Literal("unfinished"), Type.Object({ code: Type.String() })]),
      durationMs: Type.Union([Type.Number(), Type.Null()]),
    }),
  ),
});

export function tokenRoutes({ tokens, audit }: TokenParts): ApiRoute[] {
  return [
    route({
      method: "GET",
      path: "/api/tokens",
      role: "admin",
      summary: "Every token's name and role.",
      answer: { kind: "json", schema: TOKENS, handle: async () => ({ tokens: tokens.list() }) },
    }),
    route({
      method: "POST",
      path: "/api/tokens",
      role: "admin",
      summary: "Makes a token. It is in this answer and nowhere else: only a hash of it is kept.",
      body: Type.Object({ name: NAME, role: ROLE }),
      auditedFields: ["name", "role"],
      answer: {
        kind: "json",
        schema: Type.Object({ name: Type.String(), role: ROLE, token: Type.String() }),
        handle: async ({ body: { name, role } }) => ({ name, role, token: await tokens.create(name, role) }),
      },
    }),
    route({
      method: "DELETE",
      path: "/api/tokens/:name",
      role: "admin",
      summary: "Removes a token; from then on it is refused.",
      params: Type.Object({ name: NAME }),
      answer: {
        kind: "json",
        schema: Type.Object({ name: Type.String() }),
        async handle({ params: { name } }) {
          await tokens.remove(name);
          return { name };
        },
      },
    }),
    route({
      method: "GET",
      path: "/api/audit",
      role: "admin",
      summary: "Who changed what, newest first.",
      query: Type.Object({ count: Type.Optional(Type.Integer({ minimum: 1, maximum: AUDIT_COUNT_MAX })) }),
      answer: { kind: "json", schema: AUDIT, handle: async ({ query }) => ({ entries: await audit.list(query.count ?? AUDIT_COUNT) }) },
    }),
  ];
}
