// http(...) and http.async(...): handlers made of middleware, with the request parsed before and the answer completed after.
import { toResponse, type Response } from "./answer.ts";
import { bodyParser } from "./body-parser.ts";
import { isCallerFault } from "./caller-fault.ts";
import { asError } from "./error-page.ts";
import { isVersion2 } from "./event.ts";
import { isFields, isThenable, type Fields } from "./fields.ts";
import { interpolate } from "./interpolate.ts";
import { requestState } from "./request-state.ts";
import { readSession } from "./session.ts";
import { siteFileAsked } from "./site-file.ts";
import { checkMiddleware, isAnswer, isChangedRequest, walk, type Middleware } from "./walk.ts";

export type Handler = (event: unknown, context?: unknown) => Promise<Response>;

/** Express style: each function gets (request, res, next). A function that returns or resolves an answer instead is fine too. */
export function expressStyle(...functions: readonly unknown[]): Handler {
  checkMiddleware(functions);
  return (event) =>
    answerTo(event, async (request) => {
      const outcome = await walk(functions, request, "next() called from last function");
      return outcome.kind === "answered" ? outcome.value : nothingSaid(request);
    });
}

/** Each function gets (request, context): one that returns nothing passes on, a request with a method replaces it, the rest is the answer. */
export function asyncStyle(...functions: readonly unknown[]): Handler {
  checkMiddleware(functions);
  return (event, context) => answerTo(event, (request) => firstAnswer(functions, request, context));
}

async function firstAnswer(functions: readonly Middleware[], request: Fields, context: unknown): Promise<unknown> {
  let current = request;
  for (const middleware of functions) {
    const returned = middleware(current, context);
    const value = isThenable(returned) ? await returned : returned;
    if (isChangedRequest(value)) current = value;
    else if (isAnswer(value)) return value;
  }
  return nothingSaid(request);
}

function nothingSaid(request: Fields): undefined {
  if (!isVersion2(request)) throw new Error("Finished all functions without returning a response.");
  return undefined;
}

/** The runtime answers a broken request, the caller's fault, and one that a file of the site answers; whatever else is thrown becomes an error page. */
async function answerTo(event: unknown, work: (request: Fields) => Promise<unknown>): Promise<Response> {
  requestState().canSendCookie = true;
  const fields = isFields(event) ? event : {};
  try {
    return await toResponse(await work(await prepare(fields)), fields);
  } catch (thrown) {
    if (isCallerFault(thrown) || siteFileAsked(thrown) !== null) throw thrown;
    return toResponse(asError(thrown), fields);
  }
}

async function prepare(event: Fields): Promise<Fields> {
  const request = interpolate(event);
  const { body } = event;
  if (typeof body === "string" && body !== "") {
    request["rawBody"] = body;
    request["body"] = bodyParser(event);
  }
  request["session"] = await readSession(event);
  return request;
}
