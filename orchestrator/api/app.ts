// Answers the management API's routes: which one it is, whether the caller may, what it was sent, how its answer leaves; the only file that knows the framework.
import type { IncomingMessage, ServerResponse } from "node:http";
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from "fastify";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { API_BODY_BYTES_MAX, API_BODY_TIMEOUT_MS } from "../../runtime-image/contract/limits.ts";
import type { AuditLog, AuditOutcome } from "./audit.ts";
import { ReaderBehind } from "./follow.ts";
import { type Sent, auditedInput, checkedInput } from "./input.ts";
import { passphraseIn } from "./passphrase.ts";
import { PROBLEM_TYPE, problemOf } from "./problem.ts";
import { type Caller, mayDo } from "./roles.ts";
import type { ApiCall, ApiRoute } from "./route.ts";
import type { ApiApp } from "./server.ts";
import { asEvents, discardRest, linesOf, readJson, sendEvents, sendStream, uploadOf } from "./streams.ts";

export interface AppParts {
  readonly audit: Pick<AuditLog, "begin">;
  readonly onTrouble: (error: unknown) => void;
}

const PARAMETER_LENGTH_MAX = 1_024; // A document's key, percent-encoded.

export async function createApp(routes: readonly ApiRoute[], parts: AppParts): Promise<ApiApp> {
  const app = fastify({
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength: PARAMETER_LENGTH_MAX },
    frameworkErrors: (error, _request, reply) => fail(reply, error, parts),
  });
  const calls = createCalls();
  const callers = new WeakMap<IncomingMessage, Caller>();
  const callerOf = (request: FastifyRequest): Caller => {
    const caller = callers.get(request.raw);
    if (caller === undefined) throw new PlatformError("API_TOKEN_REFUSED"); // Nobody comes past the door without.
    return caller;
  };
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", async (_request: FastifyRequest, body: IncomingMessage) =>
    readJson(body, { bytesMax: API_BODY_BYTES_MAX, timeoutMs: API_BODY_TIMEOUT_MS }),
  );
  app.setNotFoundHandler((request) => {
    throw new PlatformError("API_NOT_FOUND", { detail: `${request.method} ${pathOf(request)}` });
  });
  app.setErrorHandler(async (error, request, reply) => {
    await discardRest(request.raw);
    fail(reply, error, parts);
    return reply;
  });
  const add = (context: FastifyInstance, one: ApiRoute): void => {
    const perform = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
      await answer({ one, request, reply, caller: callerOf(request), calls, parts });
    };
    // Before the body is read: who may not do it need not send it.
    const onRequest = async (request: FastifyRequest): Promise<void> => assertRole(one, callerOf(request));
    context.route({ method: one.method, url: one.path, onRequest, handler: perform });
  };
  for (const one of routes) if (one.answer.kind !== "upload") add(app, one);
  await app.register(async (uploads) => {
    uploads.removeAllContentTypeParsers();
    uploads.addContentTypeParser("*", (_request, body, done) => done(null, body)); // Whatever it is, it is read as it comes.
    for (const one of routes) if (one.answer.kind === "upload") add(uploads, one);
  });
  await app.ready();
  return {
    answer(request, response, caller) {
      callers.set(request, caller);
      app.routing(request, response);
    },
    endStreams: calls.endStreams,
    close: async () => {
      calls.endAll();
      await app.close();
    },
  };
}

const pathOf = (request: FastifyRequest): string => request.url.split("?")[0] ?? "";

function assertRole(route: ApiRoute, caller: Caller): void {
  if (!mayDo(caller.role, route.role))
    throw new PlatformError("API_FORBIDDEN", {
      detail: `${route.method} ${route.path} needs the role ${route.role}; the token "${caller.tokenName}" has the role ${caller.role}.`,
    });
}

interface Answering {
  readonly one: ApiRoute;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly caller: Caller;
  readonly calls: Calls;
  readonly parts: AppParts;
}

async function answer(answering: Answering): Promise<void> {
  const { one, request, reply, caller, parts } = answering;
  const isUpload = one.answer.kind === "upload";
  // Fastify types what a schema of its own would say; these are objects in any case.
  const sent = { params: request.params as object, query: request.query as object, body: isUpload ? undefined : request.body };
  const checked = checkedInput(one, { params: { ...sent.params }, query: { ...sent.query }, body: sent.body });
  const input = { ...checked, passphrase: one.takesPassphrase === true ? passphraseIn(request.headers) : null };
  if (one.method === "GET") return finished(reply, await perform(answering, input));
  const end = await parts.audit.begin({ ...caller, method: one.method, path: one.path, input: auditedInput(one, input) });
  try {
    const performed = await perform(answering, input);
    await end(performed.kind === "streamed" ? performed.outcome : "done"); // Before anyone is told that it is done.
    finished(reply, performed);
  } catch (cause) {
    await end({ code: cause instanceof PlatformError ? cause.code : "INTERNAL" });
    throw cause;
  }
}

type Performed = { readonly kind: "value"; readonly value: unknown } | { readonly kind: "streamed"; readonly outcome: AuditOutcome };

type Input = Sent & Pick<ApiCall, "passphrase">;

async function perform({ one, request, reply, caller, calls, parts }: Answering, input: Input): Promise<Performed> {
  const isStream = one.answer.kind === "lines" || one.answer.kind === "events";
  const call: ApiCall = { ...input, caller, signal: calls.signalFor(reply.raw, isStream) };
  switch (one.answer.kind) {
    case "json":
      return { kind: "value", value: await one.answer.handle(call) };
    case "upload":
      return { kind: "value", value: await one.answer.handle(call, uploadOf(request.raw, one.answer.bytesMax)) };
    case "lines": {
      const lines = await one.answer.handle(call);
      const isForBrowser = request.headers.accept?.includes("text/event-stream") === true;
      return streamed(reply, parts, async (response) =>
        isForBrowser ? sendEvents(response, asEvents(lines)) : sendStream(response, "application/x-ndjson", linesOf(lines)),
      );
    }
    case "events": {
      const id = request.headers["last-event-id"];
      const events = await one.answer.handle({ ...call, lastEventId: typeof id === "string" ? id : null });
      return streamed(reply, parts, async (response) => sendEvents(response, events));
    }
    case "download": {
      const { contentType } = one.answer;
      const bytes = await one.answer.handle(call);
      return streamed(reply, parts, async (response) => sendStream(response, contentType, bytes));
    }
  }
}

async function streamed(
  reply: FastifyReply,
  { onTrouble }: AppParts,
  send: (response: ServerResponse) => Promise<void>,
): Promise<Performed> {
  reply.hijack();
  try {
    await send(reply.raw);
    return { kind: "streamed", outcome: "done" };
  } catch (cause) {
    reply.raw.destroy(); // A part must not be taken for the whole.
    const isExpected = cause instanceof ReaderBehind || cause instanceof PlatformError;
    if (!isExpected) onTrouble(cause);
    return { kind: "streamed", outcome: { code: cause instanceof PlatformError ? cause.code : "INTERNAL" } };
  }
}

function finished(reply: FastifyReply, performed: Performed): void {
  if (performed.kind === "value") finish(reply, 200, "application/json", `${JSON.stringify(performed.value)}\n`);
}

function fail(reply: FastifyReply, error: unknown, { onTrouble }: AppParts): void {
  const ours = oursOf(error);
  if (!(ours instanceof PlatformError)) onTrouble(ours);
  const { status, body } = problemOf(ours);
  finish(reply, status, PROBLEM_TYPE, body);
}

function finish(reply: FastifyReply, status: number, type: string, body: string): void {
  // What nobody is going to read is not waited for.
  if (!reply.request.raw.complete) void reply.header("connection", "close");
  void reply.code(status).header("content-type", type).header("cache-control", "no-store").send(Buffer.from(body));
}

/** What the framework refuses by itself, in our words. */
function oursOf(error: unknown): unknown {
  if (!(error instanceof Error) || !("code" in error) || typeof error.code !== "string") return error;
  if (error.code === "FST_ERR_CTP_INVALID_MEDIA_TYPE")
    return new PlatformError("API_INPUT_INVALID", { problems: ["content-type: should be application/json"] }, { cause: error });
  if (error.code === "FST_ERR_BAD_URL")
    return new PlatformError("API_INPUT_INVALID", { problems: ["path: should have valid percent-encoding"] }, { cause: error });
  if (error.code === "ECONNRESET" || error.code === "ERR_STREAM_PREMATURE_CLOSE") return new PlatformError("REQUEST_TIMED_OUT");
  return error;
}

interface Calls {
  signalFor(response: ServerResponse, isStream: boolean): AbortSignal;
  endStreams(): void;
  endAll(): void;
}

/** Tells handlers that their caller went away or that the orchestrator stops. */
function createCalls(): Calls {
  const open = new Map<AbortController, { readonly isStream: boolean }>();
  let isEnding = false;
  return {
    signalFor(response, isStream) {
      const gone = new AbortController();
      open.set(gone, { isStream });
      response.once("close", () => {
        open.delete(gone);
        gone.abort();
      });
      if (isEnding && isStream) gone.abort();
      return gone.signal;
    },
    endStreams() {
      isEnding = true;
      for (const [gone, { isStream }] of open) if (isStream) gone.abort();
    },
    endAll() {
      for (const gone of open.keys()) gone.abort();
    },
  };
}
