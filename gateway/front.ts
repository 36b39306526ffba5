// The HTTP servers of a gateway: where they listen, what a connection may cost, and how they stop.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Server as NetServer, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { PlatformError } from "../runtime-image/contract/errors.ts";
import type { GatewayConfig } from "../runtime-image/contract/gateway-config.ts";
import { CONNECTION_COUNT_MAX, HEADERS_TIMEOUT_MS, KEEP_ALIVE_TIMEOUT_MS, REQUEST_TIMEOUT_MS } from "../runtime-image/contract/limits.ts";
import { peerOf, type Peer, type Trust } from "./forwarded.ts";
import type { Arrival, Handler } from "./handler.ts";
import type { Log } from "./log.ts";
import { refusalOf, refuseOnSocket } from "./raw-refusal.ts";
import type { Upgrades } from "./upgrades.ts";

export interface Front {
  readonly isListening: boolean;
  readonly ports: readonly number[];
  listen(): Promise<void>;
  /** Resolves when every connection is closed, at the latest after the grace. */
  stop(options: { readonly graceMs: number }): Promise<void>;
}

export interface FrontParts {
  readonly config: GatewayConfig;
  readonly handler: Handler;
  readonly upgrades: Upgrades;
  readonly trust: Trust;
  readonly log: Log;
}

const CONNECTION_CHECK_INTERVAL_MS = 1_000; // How exactly the timeouts below are kept.
const HEADER_SLACK_BYTES = 32_768; // Node counts target, names, values and separators together: we count first, and say which it was.
const IDLE_GRACE_MS = 500; // A request that is on its way while we stop still arrives.

interface ConnectionState {
  readonly peer: Peer;
  openCount: number; // Requests of this connection that are not answered yet.
  latest: ServerResponse | null;
}

export function createFront(parts: FrontParts): Front {
  const { config, handler, upgrades, log } = parts;
  const connections = new WeakMap<Duplex, ConnectionState>();
  const refused = new WeakSet<Duplex>(); // The parser fails again with every packet that still comes.
  // Asked for every request with an Upgrade header. Behind one that waits for its answer nothing may be written past Node.
  const shouldUpgradeCallback = (request: IncomingMessage): boolean => {
    const { peer, openCount } = stateOf(request.socket);
    return openCount === 0 && !handler.serving.isStopping && upgrades.takes(request, peer);
  };
  const options = { ...serverOptions(config), shouldUpgradeCallback };
  const servers = config.listen.map((address) => ({ address, server: createServer(options) }));
  let isListening = false;

  const stateOf = (socket: Socket): ConnectionState => {
    let state = connections.get(socket);
    if (state === undefined) {
      state = { peer: peerOf(socket, parts.trust), openCount: 0, latest: null };
      connections.set(socket, state);
    }
    return state;
  };
  const take = (request: IncomingMessage, response: ServerResponse, expects: Arrival["expects"]): void => {
    const state = stateOf(request.socket);
    state.openCount++;
    state.latest = response;
    response.once("finish", () => state.openCount--);
    handler.handle(request, response, { peer: state.peer, expects });
  };
  const onClientError = (failure: Error & { code?: string; rawPacket?: Uint8Array }, socket: Duplex): void => {
    if (refused.has(socket) && failure.code !== "ECONNRESET") return;
    refused.add(socket);
    const isMidAnswer = mayHaveAnswered(connections.get(socket));
    if (failure.code === "ECONNRESET" || !socket.writable || isMidAnswer) socket.destroy();
    else refuseOnSocket(socket, refusalOf(failure));
  };
  for (const { server } of servers) {
    server.maxConnections = CONNECTION_COUNT_MAX;
    server.maxHeadersCount = 0; // Node would drop the rest without a word; their bytes are counted instead.
    server.on("request", (request, response) => take(request, response, "nothing"));
    server.on("checkContinue", (request, response) => take(request, response, "continue"));
    server.on("checkExpectation", (request, response) => take(request, response, "unknown"));
    server.on("upgrade", (request, socket, firstBytes) => upgrades.open(request, asSocket(socket), firstBytes));
    server.on("connect", (_request, socket) => refuseOnSocket(socket, "METHOD_NOT_SUPPORTED"));
    server.on("clientError", onClientError);
  }

  return {
    get isListening() {
      return isListening;
    },
    get ports() {
      return servers.map(({ server }) => portOf(server));
    },
    async listen() {
      const results = await Promise.allSettled(servers.map(({ server, address }) => listenOn(server, address)));
      const failures = results.flatMap((result) => (result.status === "rejected" ? [asError(result.reason)] : []));
      const fatal =
        failures.find((failure) => !isAddressMissing(failure)) ?? (failures.length === servers.length ? failures[0] : undefined);
      if (fatal !== undefined) throw fatal;
      for (const { server } of servers) server.on("error", (cause) => log.error("a listening socket failed", { cause }));
      isListening = true;
    },
    async stop({ graceMs }) {
      isListening = false;
      handler.serving.isStopping = true;
      const force = setTimeout(() => upgrades.endAll(), graceMs); // The servers no longer count them as connections of theirs.
      await Promise.all(servers.map(({ server }) => stopServer(server, graceMs)));
      clearTimeout(force);
    },
  };
}

const asError = (reason: unknown): Error => (reason instanceof Error ? reason : new Error(String(reason)));

const serverOptions = ({ limits }: GatewayConfig) => ({
  maxHeaderSize: limits.headerBytesMax + limits.targetBytesMax + HEADER_SLACK_BYTES,
  headersTimeout: HEADERS_TIMEOUT_MS,
  requestTimeout: REQUEST_TIMEOUT_MS,
  keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
  connectionsCheckingInterval: CONNECTION_CHECK_INTERVAL_MS,
  requireHostHeader: false, // We check it, and answer in our own words.
  insecureHTTPParser: false,
});

// What an HTTP server hands over is the connection itself.
function asSocket(socket: Duplex): Socket {
  if (!(socket instanceof Socket)) throw new TypeError("a connection is a socket");
  return socket;
}

// A refusal now would be read as the answer to a request before it: only a request whose own body is broken may be answered.
function mayHaveAnswered(state: ConnectionState | undefined): boolean {
  if (state === undefined || state.latest === null || state.openCount === 0) return false;
  const isOwnBody = state.openCount === 1 && !state.latest.req.complete && !state.latest.headersSent;
  return !isOwnBody;
}

function listenOn(server: Server, { host, port }: { host: string; port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (cause: NodeJS.ErrnoException): void => reject(listenFailure(cause, `${host}:${port}`));
    server.once("error", fail);
    server.listen({ host, port, ipv6Only: host.includes(":") }, () => {
      server.off("error", fail);
      resolve();
    });
  });
}

function listenFailure(cause: NodeJS.ErrnoException, address: string): PlatformError {
  if (cause.code === "EADDRINUSE")
    return new PlatformError(
      "PORT_IN_USE",
      { detail: `${address} is taken.`, remedy: "Stop what listens there, or choose another port." },
      { cause },
    );
  return new PlatformError("GATEWAY_FAILED", { detail: `${address} cannot be listened on (${cause.code ?? cause.message}).` }, { cause });
}

// A machine without IPv6 has no ::1.
function isAddressMissing(failure: unknown): boolean {
  if (!(failure instanceof PlatformError) || !(failure.cause instanceof Error) || !("code" in failure.cause)) return false;
  return failure.cause.code === "EADDRNOTAVAIL" || failure.cause.code === "EAFNOSUPPORT";
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

function stopServer(server: Server, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    if (!server.listening) return resolve();
    // Not server.close(): it would also cut idle connections, over which a request may be on its way (measured: after 2 ms).
    NetServer.prototype.close.call(server, () => {
      clearInterval(idle);
      clearTimeout(force);
      resolve();
    });
    const idle = setInterval(() => server.closeIdleConnections(), IDLE_GRACE_MS);
    const force = setTimeout(() => server.closeAllConnections(), graceMs);
  });
}
