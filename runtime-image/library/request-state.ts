// What the library knows about the request that the running code belongs to: which session it has, and whether its cookie must be sent.
import { bridge, type BridgeRequest } from "./bridge.ts";
import { newSessionId, sessionIdIn } from "./session-id.ts";

export interface RequestState {
  sessionId: string | null; // Null until the visitor has one.
  isCookieDue: boolean; // The visitor does not know this id yet.
  canSendCookie: boolean; // A wrapper of the library writes the answer, and can add a cookie to it.
}

const states = new WeakMap<BridgeRequest, RequestState>();

/** Outside of any request, a state that nobody else sees. */
export function requestState(): RequestState {
  const request = bridge().currentRequest();
  if (request === null) return { sessionId: null, isCookieDue: false, canSendCookie: false };
  const known = states.get(request);
  if (known !== undefined) return known;
  const state: RequestState = { sessionId: sessionIdIn(cookieHeaderOf(request.headers)), isCookieDue: false, canSendCookie: false };
  states.set(request, state);
  return state;
}

/** A visitor's id, made where there is none. */
export function ensureSessionId(state: RequestState): string {
  return state.sessionId ?? renewSessionId(state);
}

export function renewSessionId(state: RequestState): string {
  state.isCookieDue = true;
  return (state.sessionId = newSessionId());
}

function cookieHeaderOf(headers: readonly string[]): string {
  const cookies: string[] = [];
  for (let index = 0; index + 1 < headers.length; index += 2)
    if (headers[index]?.toLowerCase() === "cookie") cookies.push(headers[index + 1] ?? "");
  return cookies.join("; ");
}
