// The request object of JSON and HTML routes, with exactly the keys that their contract names.
import { bodyParser } from "./body-parser.ts";
import { isTokenOf, tokenOf } from "./csrf.ts";
import { isFields, type Fields } from "./fields.ts";
import { interpolate } from "./interpolate.ts";
import { ensureSessionId, requestState } from "./request-state.ts";
import { secretOf } from "./session-id.ts";
import { readSession } from "./session.ts";
import { pathOf, staticPath } from "./static-path.ts";

export interface RouteRequest {
  readonly fields: Fields;
  /** What the session was when the request came, as JSON: a handler that changes req.session has written it. */
  readonly sessionBefore: string;
}

export async function toRouteRequest(event: Fields, method: string): Promise<RouteRequest> {
  const session = await readSession(event);
  const sessionId = ensureSessionId(requestState());
  const { path, headers, query, params } = interpolate(event);
  const fields: Fields = {
    method,
    path,
    headers: isFields(headers) ? headers : {},
    query,
    body: method === "get" ? {} : (bodyParser(event) ?? {}),
    params,
    _idx: sessionId,
    _secret: secretOf(sessionId),
    csrf: tokenOf({ sessionId }),
    session,
  };
  const hidden = { _url: pathOf, _static: staticPath, _verify: (token: unknown) => isTokenOf(sessionId, token) };
  for (const [name, value] of Object.entries(hidden)) Object.defineProperty(fields, name, { value, writable: true, configurable: true });
  return { fields, sessionBefore: JSON.stringify(session) };
}
