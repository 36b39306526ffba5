// Upstreams that apps name with @proxy: their requests and WebSockets. Nothing else here knows http-proxy.
import { Agent as HttpAgent, ClientRequest, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import type { Socket } from "node:net";
import { Stream } from "node:stream";
import httpProxy from "http-proxy";
import type { ErrorCode } from "../../runtime-image/contract/errors.ts";
import {
  PROXY_ANSWER_TIMEOUT_MS,
  PROXY_FREE_SOCKET_COUNT_MAX,
  PROXY_FREE_SOCKET_TIMEOUT_MS,
  PROXY_SOCKET_COUNT_MAX,
  PROXY_STALL_TIMEOUT_MS,
  PROXY_TUNNEL_COUNT_MAX,
  PROXY_TUNNEL_IDLE_TIMEOUT_MS,
  PROXY_TUNNEL_QUIET_MS,
} from "../../runtime-image/contract/limits.ts";
import type { HttpExchange } from "../http-job.ts";
import type { Log } from "../log.ts";
import type { RequestHead } from "../request-head.ts";
import { ProxyExchange, type ProxyTimes } from "./proxy-exchange.ts";
import { planUpstream, type UpstreamAddress, type UpstreamPlan } from "./proxy-head.ts";
import { ProxyTunnel, type TunnelTimes } from "./proxy-tunnel.ts";

export interface Proxy {
  /** Asks the upstream and answers the client. The body is whole, and counted in the exchange. */
  serve(exchange: HttpExchange, asked: ProxiedRequest): void;
  /** Joins the client's socket with the upstream, or answers why not through fail(). */
  upgrade(socket: Socket, asked: ProxiedUpgrade): void;
  sweep(nowMs: number, isStopping: boolean): void;
  /** Ends every WebSocket, whatever it does. */
  endTunnels(): void;
  readonly tunnelCount: number;
}

export interface ProxiedRequest {
  readonly url: string; // As the snapshot names it.
  readonly head: RequestHead;
  readonly body: Uint8Array;
}

export interface ProxiedUpgrade {
  readonly url: string;
  readonly head: RequestHead;
  readonly request: IncomingMessage;
  readonly firstBytes: Buffer; // What the client sent behind its request.
  readonly fail: (code: ErrorCode, detail: string) => void;
}

export interface ProxyParts {
  readonly nowMs: () => number;
  readonly log: Log;
  readonly times?: Partial<ProxyTimes & TunnelTimes>;
  readonly tunnelCountMax?: number;
}

type Ask = Extract<UpstreamPlan, { kind: "ask" }>;

export function createProxy({ nowMs, log, tunnelCountMax = PROXY_TUNNEL_COUNT_MAX, ...parts }: ProxyParts): Proxy {
  const times: ProxyTimes & TunnelTimes = { ...TIMES, ...parts.times };
  const server = httpProxy.createProxyServer({ selfHandleResponse: true, toProxy: true });
  const agents = { "http:": new HttpAgent(AGENT_OPTIONS), "https:": new HttpsAgent(AGENT_OPTIONS) };
  const exchanges = new Set<ProxyExchange>();
  const tunnels = new Set<ProxyTunnel>();

  const teller =
    (requestId: string) =>
    (code: ErrorCode, detail: string): void =>
      log.error("a proxied upstream failed", { code, requestId, detail });

  return {
    serve(exchange, { url, head, body }) {
      const { response } = exchange.parts;
      const request = response.req;
      const connection = request.headers.connection ?? "";
      const plan = planUpstream({ url, head, connection, bodyBytes: body.length, purpose: "request" });
      if (plan.kind !== "ask") return exchange.fail(...refusalOf(plan));
      const { address, path } = plan;
      const send = (proxied: ProxyExchange): void => {
        request.headers = { ...plan.headers };
        const buffer = new WholeBody((outgoing) => proxied.take(outgoing));
        server.web(request, response, { ...optionsOf(address), agent: agents[address.protocol], buffer }, heardElsewhere);
      };
      const onOver = (proxied: ProxyExchange): void => void exchanges.delete(proxied);
      const proxied = new ProxyExchange({ exchange, origin: address.origin, path, body, times, send, tell: teller(head.id), onOver });
      exchanges.add(proxied);
      proxied.start();
    },

    upgrade(socket, { url, head, request, firstBytes, fail }) {
      const plan = planUpstream({ url, head, connection: request.headers.connection ?? "", bodyBytes: 0, purpose: "upgrade" });
      if (plan.kind !== "ask") return fail(...refusalOf(plan));
      if (tunnels.size >= tunnelCountMax) return fail("NO_CAPACITY", `This gateway holds ${tunnelCountMax} WebSockets already.`);
      const tell = teller(head.id);
      const tunnel = new ProxyTunnel({
        socket,
        origin: plan.address.origin,
        path: plan.path,
        requestId: head.id,
        times,
        nowMs,
        fail(code, detail) {
          tell(code, detail);
          fail(code, detail);
        },
        onOver: (over) => void tunnels.delete(over),
      });
      tunnels.add(tunnel);
      openTunnel(tunnel, { request, socket, firstBytes, plan });
    },

    sweep(now, isStopping) {
      for (const exchange of exchanges) exchange.sweep(now);
      for (const tunnel of tunnels) tunnel.sweep(now, isStopping);
    },
    endTunnels() {
      for (const tunnel of tunnels) tunnel.end();
    },
    get tunnelCount() {
      return tunnels.size;
    },
  };
}

const TIMES: ProxyTimes & TunnelTimes = {
  answerTimeoutMs: PROXY_ANSWER_TIMEOUT_MS,
  stallTimeoutMs: PROXY_STALL_TIMEOUT_MS,
  idleTimeoutMs: PROXY_TUNNEL_IDLE_TIMEOUT_MS,
  quietMs: PROXY_TUNNEL_QUIET_MS,
};

const AGENT_OPTIONS = {
  keepAlive: true,
  maxSockets: PROXY_SOCKET_COUNT_MAX,
  maxFreeSockets: PROXY_FREE_SOCKET_COUNT_MAX,
  timeout: PROXY_FREE_SOCKET_TIMEOUT_MS, // Of free sockets: on one in use it is an event that nobody listens to.
  scheduling: "lifo",
} as const;

/**
 * The framing guard. Left to itself http-proxy pipes the client's bytes behind the client's own framing, and for a chunked DELETE or
 * OPTIONS it says "no body" and sends one: over a kept connection the upstream then reads a second request. So it is given the body
 * as this "stream", whose only act is to hand over the request to the upstream; length and bytes are written by us.
 */
class WholeBody extends Stream {
  readonly #take: (outgoing: ClientRequest) => void;

  constructor(take: (outgoing: ClientRequest) => void) {
    super();
    this.#take = take;
  }

  override pipe<T extends NodeJS.WritableStream>(destination: T): T {
    if (!(destination instanceof ClientRequest)) throw new TypeError("http-proxy pipes the body into its request");
    this.#take(destination);
    return destination;
  }
}

interface Opening {
  readonly request: IncomingMessage;
  readonly socket: Socket;
  readonly firstBytes: Buffer;
  readonly plan: Ask;
}

function openTunnel(tunnel: ProxyTunnel, { request, socket, firstBytes, plan }: Opening): void {
  const server = httpProxy.createProxyServer({ toProxy: true }); // One each: its events do not say which tunnel they are about.
  server.once("proxyReqWs", (outgoing) => tunnel.take(outgoing));
  request.headers = { ...plan.headers };
  try {
    server.ws(request, socket, firstBytes, optionsOf(plan.address), heardElsewhere);
    tunnel.join();
  } catch (cause) {
    tunnel.fail("PROXY_FAILED", String(cause));
  }
}

/** Certificates of https upstreams are verified, as Node does by itself. */
function optionsOf({ protocol, hostname, host, port, auth }: UpstreamAddress): httpProxy.ServerOptions {
  const target = { protocol, hostname, host, port: Number(port) };
  return auth === null ? { target } : { target, auth };
}

// Failures are heard on the request to the upstream itself, before http-proxy hears them; without a listener it would throw.
const heardElsewhere = (): void => undefined;

function refusalOf(plan: Exclude<UpstreamPlan, Ask>): [ErrorCode, string] {
  if (plan.kind === "invalid") return ["PROXY_FAILED", "The address of the upstream is no http or https URL."];
  return ["PROXY_LOOPED", `This request has passed through gateways of this platform ${plan.hopCount} times.`];
}
