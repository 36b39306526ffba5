// From a request's head to its dispatcher: reads, finds the app, collects the body, finds the route.
import type { IncomingMessage, ServerResponse } from "node:http";
import { ENVELOPE_VERSION } from "../runtime-image/contract/envelope.ts";
import type { ErrorCode } from "../runtime-image/contract/errors.ts";
import type { GatewayConfig } from "../runtime-image/contract/gateway-config.ts";
import { ANSWER_STALL_TIMEOUT_MS, REQUEST_BYTES_BUFFERED_MAX } from "../runtime-image/contract/limits.ts";
import type { Apps, LiveApp, ServedApp } from "./apps.ts";
import { collectBody, NO_BODY } from "./body.ts";
import type { Clock } from "./clock.ts";
import { NO_PAGES } from "./error-page.ts";
import type { Peer, Trust } from "./forwarded.ts";
import { HttpExchange, HttpJob, type AnswerFromSite, type HttpJobParts, type Serving } from "./http-job.ts";
import type { Log } from "./log.ts";
import { readHead, type RequestHead } from "./request-head.ts";
import type { RouteMatch } from "./routing/match.ts";
import { chooseTarget, type Target } from "./routing/target.ts";
import type { StaticFiles } from "./sites/static-files.ts";
import type { Proxy } from "./upstreams/proxy.ts";

export interface Handler {
  readonly serving: Serving;
  handle(request: IncomingMessage, response: ServerResponse, arrival: Arrival): void;
  /** Ends connections whose clients stopped reading. */
  sweep(nowMs: number): void;
}

export interface Arrival {
  readonly peer: Peer;
  readonly expects: "nothing" | "continue" | "unknown"; // What the Expect header says.
}

export interface HandlerParts {
  readonly config: GatewayConfig;
  readonly apps: Apps;
  readonly trust: Trust;
  readonly staticFiles: StaticFiles;
  readonly proxy: Proxy;
  readonly isReady: () => boolean; // Whether the snapshots were learnt.
  readonly clock: Clock;
  readonly log: Log;
}

const NOTHING: Target = { kind: "nothing" };

export function createHandler(parts: HandlerParts): Handler {
  const { config, apps, clock, log } = parts;
  const serving: Serving = {
    environment: config.environment,
    heldBodies: { bytes: 0, bytesMax: REQUEST_BYTES_BUFFERED_MAX },
    unflushed: new Map(),
    openCount: 0,
    announceEnd: null,
    endsTunnels: false,
  };
  const rules = { limits: config.limits, trust: parts.trust };
  const bodyRules = { bytesMax: config.limits.requestBodyBytesMax, held: serving.heldBodies };
  const { nowMs } = clock;

  const receive = (request: IncomingMessage, response: ServerResponse, arrival: Arrival): void => {
    const incoming = {
      method: request.method ?? "",
      target: request.url ?? "",
      httpVersion: request.httpVersion,
      rawHeaders: request.rawHeaders,
    };
    const reading = readHead(incoming, arrival.peer, rules);
    if (reading.kind === "refused")
      return refuse(request, { serving, response, id: reading.id, accept: reading.accept, pages: NO_PAGES, nowMs }, reading.code);
    const { head } = reading;
    const found = arrival.expects === "unknown" ? "EXPECTATION_FAILED" : findApp(head);
    const pages = typeof found === "string" ? NO_PAGES : (found.live?.site?.pages ?? NO_PAGES);
    const common = { serving, response, id: head.id, accept: head.accept, pages, nowMs };
    if (typeof found === "string") return refuse(request, common, found);
    if (head.bodyBytes === 0 && !head.isChunked) return dispatch(common, head, { app: found, body: NO_BODY });
    if (arrival.expects === "continue") response.writeContinue();
    receiveBody(request, { common, head, app: found });
  };

  const findApp = (head: RequestHead): ServedApp | ErrorCode => {
    const app = apps.find(head.host);
    if (app !== null) return app.live === null ? "NOTHING_DEPLOYED" : app;
    return parts.isReady() ? "APP_NOT_FOUND" : "GATEWAY_STARTING";
  };

  const receiveBody = (
    request: IncomingMessage,
    { common, head, app }: { common: HttpJobParts; head: RequestHead; app: ServedApp },
  ): void => {
    serving.openCount++;
    let isCounted = true;
    const uncount = (): void => {
      if (isCounted) serving.openCount--;
      isCounted = false;
    };
    common.response.once("close", uncount);
    collectBody(request, bodyRules, (reading) => {
      uncount();
      if (reading.kind === "refused") return refuse(request, common, reading.code);
      // The snapshot may have moved on meanwhile: what arrives now goes where requests go now.
      const current = apps.find(head.host) ?? app;
      dispatch(common, head, { app: current.live === null ? app : current, body: reading.body });
    });
  };

  const dispatch = (common: HttpJobParts, head: RequestHead, { app, body }: { app: ServedApp; body: Uint8Array }): void => {
    const { live } = app;
    const target = live === null ? NOTHING : chooseTarget(live, head);
    if (live !== null && target.kind === "function") return submit(live, common, head, { match: target.match, body });
    const exchange = new HttpExchange(common);
    exchange.bodyBytes = body.length;
    try {
      if (target.kind === "proxy") parts.proxy.serve(exchange, { url: target.url, head, body });
      else if (target.kind === "site" && live !== null && live.site !== null)
        parts.staticFiles.serve(exchange, { site: live.site, area: target.area, head });
      else exchange.fail("ROUTE_NOT_FOUND");
    } catch (cause) {
      log.error("a request could not be passed on", { requestId: head.id, cause });
      exchange.fail("INTERNAL");
    }
  };

  /** The function passed the request on to the files of its app. */
  const answerFromSite: AnswerFromSite = (job, { path, isSpa }) => {
    const { site, request, parts: common } = job;
    if (site === null) return job.fail("ROUTE_NOT_FOUND");
    parts.staticFiles.serve(job, { site: { ...site, isSpa }, area: "root", head: { method: request.method, path, accept: common.accept } });
  };

  const submit = (
    live: LiveApp,
    common: HttpJobParts,
    head: RequestHead,
    { match, body }: { match: RouteMatch; body: Uint8Array },
  ): void => {
    const { id, method, path, query, headers, sourceIp, scheme, httpVersion } = head;
    const request = {
      v: ENVELOPE_VERSION,
      id,
      method,
      path,
      query,
      route: match.route,
      params: match.params,
      headers,
      sourceIp,
      scheme,
      httpVersion,
    };
    const job = new HttpJob(common, { ...request, startEpochMs: clock.epochMs() }, { body, site: live.site, answerFromSite });
    job.bodyBytes = body.length;
    try {
      live.upstream.submit(match.key, job);
    } catch (cause) {
      log.error("a request could not be dispatched", { requestId: id, cause });
      job.fail("INTERNAL");
    }
  };

  return {
    serving,
    handle(request, response, arrival) {
      try {
        receive(request, response, arrival);
      } catch (cause) {
        log.error("a request could not be handled", { cause });
        response.destroy();
      }
    },
    sweep(now) {
      parts.proxy.sweep(now, serving.endsTunnels);
      parts.staticFiles.sweep(now);
      for (const [response, sinceMs] of serving.unflushed)
        if (response.writableFinished || response.destroyed) serving.unflushed.delete(response);
        else if (now - sinceMs >= ANSWER_STALL_TIMEOUT_MS) {
          serving.unflushed.delete(response);
          response.destroy();
        }
    },
  };
}

/** Answers without a function. Where a body is still coming, the connection ends with the answer. */
function refuse(request: IncomingMessage, common: HttpJobParts, code: ErrorCode): void {
  const hasUnreadBody =
    !request.complete && (request.headers["transfer-encoding"] !== undefined || Number(request.headers["content-length"] ?? 0) > 0);
  new HttpExchange(common).fail(code, undefined, { lingers: hasUnreadBody });
}
