// Checks what a route was sent by its schemas: path, query and body together, so that every problem is heard of at once. Pure.
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { API_PROBLEM_COUNT_MAX } from "../../runtime-image/contract/limits.ts";
import type { ApiRoute } from "./route.ts";
import { Type, fromText, problemsIn } from "./schema.ts";

export interface Sent {
  readonly params: Readonly<Record<string, unknown>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: unknown; // Undefined where there was none.
}

const NOTHING = Type.Object({});

export function checkedInput(route: Pick<ApiRoute, "params" | "query" | "body">, sent: Sent): Sent {
  const params = fromText(route.params ?? NOTHING, sent.params);
  const query = fromText(route.query ?? NOTHING, sent.query);
  const problems = [
    ...problemsIn(route.params ?? NOTHING, params, ""),
    ...problemsIn(route.query ?? NOTHING, query, ""),
    ...bodyProblems(route.body, sent.body),
  ];
  if (problems.length > 0) throw new PlatformError("API_INPUT_INVALID", { problems: problems.slice(0, API_PROBLEM_COUNT_MAX) });
  return { params, query, body: sent.body };
}

function bodyProblems(schema: ApiRoute["body"], body: unknown): string[] {
  if (schema === undefined) return body === undefined ? [] : ["body: is not expected here"];
  if (body === undefined) return ["body: is missing; it should be JSON, with content-type: application/json"];
  // Problems of a field are named by the field; those of the whole are the body's.
  return problemsIn(schema, body, "").map((problem) => (problem.startsWith(": ") ? `body${problem}` : problem));
}

/** What the audit log may keep of it. */
export function auditedInput(route: Pick<ApiRoute, "auditedFields">, { params, query, body }: Sent): Readonly<Record<string, unknown>> {
  const fields = typeof body === "object" && body !== null ? Object.entries(body) : [];
  return { ...query, ...params, ...Object.fromEntries(fields.filter(([name]) => route.auditedFields?.includes(name) === true)) };
}
