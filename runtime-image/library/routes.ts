// json.get(...) and its relatives: routes whose functions get (req, res, next) and answer under a key of their own.
import { toRouteResponse, type RouteKind } from "./route-answer.ts";
import { toRouteRequest, type RouteRequest } from "./route-request.ts";
import { checkMiddleware, walk, type Middleware } from "./walk.ts";
import { isFields, type Fields } from "./fields.ts";
import { asError } from "./error-page.ts";
import { requestState } from "./request-state.ts";
import type { Response } from "./answer.ts";

export type RouteMethod = "get" | "post" | "put" | "patch" | "delete";
type RouteHandler = (event: unknown, context?: unknown) => Promise<Response>;
type Wrap = (...functions: readonly unknown[]) => RouteHandler;

export function createRoutes(kind: RouteKind): Readonly<Record<RouteMethod, Wrap>> {
  const wrap = (method: RouteMethod): Wrap => {
    return (...functions) => {
      checkMiddleware(functions);
      return (event) => serve({ kind, method, functions }, isFields(event) ? event : {});
    };
  };
  return { get: wrap("get"), post: wrap("post"), put: wrap("put"), patch: wrap("patch"), delete: wrap("delete") };
}

interface Route {
  readonly kind: RouteKind;
  readonly method: RouteMethod;
  readonly functions: readonly Middleware[];
}

async function serve({ kind, method, functions }: Route, event: Fields): Promise<Response> {
  requestState().canSendCookie = true;
  let request: RouteRequest | null = null;
  try {
    request = await toRouteRequest(event, method);
    const value = await firstAnswer(functions, request.fields);
    return await toRouteResponse(value, { kind, event, request });
  } catch (thrown) {
    return toRouteResponse(asError(thrown), { kind, event, request });
  }
}

async function firstAnswer(functions: readonly Middleware[], request: Fields): Promise<unknown> {
  const outcome = await walk(functions, request, "next called from last arc function");
  if (outcome.kind === "answered") return outcome.value;
  throw new Error("Finished all functions without calling `res`");
}
