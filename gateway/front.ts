// The HTTP servers of a gateway: where they listen, what a connection may cost, and how they stop.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { Server as NetServer, Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { GatewayAddress, GatewayConfig } from "../runtime-image/contract/gateway-config.ts";
import { CONNECTION_COUNT_MAX, HEADERS_TIMEOUT_MS, KEEP_ALIVE_TIMEOUT_MS, REQUEST_TIMEOUT_MS } from "../runtime-image/contract/limits.ts";
import { createCertificates } from "./certificates.ts";
import type { Clock } from "./clock.ts";
import { createConnections, type Connection } from "./connections.ts";
import type { Trust } from "./forwarded.ts";
import type { Arrival, Handler } from "./handler.ts";
import { bindAll, isSameAddress, listenLike, portOf, type ListeningSocket } from "./listening.ts";
import type { Log } from "./log.ts";
import { refusalOf, refuseOnSocket } from "./raw-refusal.ts";
import { createStopping, type Patience } from "./stopping.ts";
import type { Upgrades } from "./upgrades.ts";

export interface Front {
  readonly isListening: boolean;
  readonly ports: readonly number[];
  readonly sockets: readonly ListeningSocket[]; // Those on which it listens.
  /** Binds its addresses, all but those, which it will be given. */
  listen(options?: { readonly except: readonly GatewayAddress[] }): Promise<void>;
  /** Listens on the socket that another process bound, and has from it the connections that wait there. */
  take(address: GatewayAddress, from: NetServer): void;
  /** Resolves when every connection is closed, at the latest when patience is over. Another call can only shorten it. */
  stop(patience: Patience): Promise<void>;
}

export interface FrontParts {
  readonly config: GatewayConfig;
  readonly handler: Handler;
  readonly upgrades: Upgrades;
  readonly trust: Trust;
  readonly clock: Clock;
  readonly log: Log;
}

const CONNECTION_CHECK_INTERVAL_MS = 1_000; // How exactly the timeouts below are kept.
const HEADER_SLACK_BYTES = 32_768; // Node counts target, names, values and separators together: we count first, and say which it was.

export function createFront(parts: FrontParts): Front {
  const { config, handler, upgrades, log } = parts;
  const { serving } = handler;
  const connections = createConnections(parts.trust);
  const refused = new WeakSet<Duplex>(); // The parser fails again with every packet that still comes.
  // Asked for every request with an Upgrade header. Behind one that waits for its answer nothing may be written past Node.
  const shouldUpgradeCallback = (request: IncomingMessage): boolean => {
    const { peer, openCount, isEnding } = connections.of(request.socket);
    return openCount === 0 && !isEnding && !serving.endsTunnels && upgrades.takes(request, peer);
  };
  const options = { ...serverOptions(config), shouldUpgradeCallback };
  const sockets = config.listen.map((address): ListeningSocket => ({
    address,
    server: address.tls === undefined ? createServer(options) : createSecureServer({ ...options, handshakeTimeout: HEADERS_TIMEOUT_MS }),
  }));
  const certificates = createCertificates(sockets, log);
  let isListening = false;
  let closed: Promise<unknown> | null = null;

  const take = (request: IncomingMessage, response: ServerResponse, expects: Arrival["expects"]): void => {
    const connection = connections.of(request.socket);
    // RFC 9112 9.6: what comes behind the announced end is not processed; its client knows, and may ask again elsewhere.
    if (connection.isEnding) return void request.resume();
    connection.openCount++;
    connection.latest = response;
    response.once("finish", () => connection.openCount--);
    handler.handle(request, response, { peer: connection.peer, expects });
  };
  const onClientError = (failure: Error & { code?: string; rawPacket?: Uint8Array }, socket: Duplex): void => {
    if (refused.has(socket) && failure.code !== "ECONNRESET") return;
    refused.add(socket);
    const isMidAnswer = mayHaveAnswered(connections.find(socket));
    if (failure.code === "ECONNRESET" || !socket.writable || isMidAnswer) socket.destroy();
    else refuseOnSocket(socket, refusalOf(failure));
  };
  for (const { server, address } of sockets) {
    server.maxConnections = CONNECTION_COUNT_MAX;
    server.maxHeadersCount = 0; // Node would drop the rest without a word; their bytes are counted instead.
    server.on(address.tls === undefined ? "connection" : "secureConnection", (socket: Socket) => connections.opened(socket));
    server.on("request", (request, response) => take(request, response, "nothing"));
    server.on("checkContinue", (request, response) => take(request, response, "continue"));
    server.on("checkExpectation", (request, response) => take(request, response, "unknown"));
    server.on("upgrade", (request, duplex, firstBytes) => {
      const socket = asSocket(duplex);
      connections.left(socket);
      upgrades.open(request, socket, firstBytes);
    });
    server.on("connect", (_request, socket) => refuseOnSocket(socket, "METHOD_NOT_SUPPORTED"));
    server.on("clientError", onClientError);
  }
  const watch = ({ server }: ListeningSocket): void => {
    server.on("error", (cause) => log.error("a listening socket failed", { cause }));
  };
  const stopping = createStopping({
    clock: parts.clock,
    serving,
    endIdle: connections.endIdle,
    endTunnels: upgrades.endAll, // The servers do not count them as connections of theirs.
    endRequests: () => sockets.forEach(({ server }) => server.closeAllConnections()),
  });

  return {
    get isListening() {
      return isListening;
    },
    get ports() {
      return sockets.map(({ server }) => portOf(server));
    },
    get sockets() {
      return sockets.filter(({ server }) => server.listening);
    },
    async listen({ except } = { except: [] }) {
      const own = sockets.filter(({ address }) => !except.some((one) => isSameAddress(one, address)));
      await certificates.load();
      await bindAll(own, { hasOthers: except.length > 0 });
      own.forEach(watch);
      isListening = true;
    },
    take(address, from) {
      const socket = sockets.find((one) => isSameAddress(one.address, address));
      if (socket === undefined) throw new TypeError(`${address.host}:${address.port} is no address of this gateway`);
      listenLike(socket.server, from);
      watch(socket);
    },
    async stop(patience) {
      isListening = false;
      serving.announceEnd = connections.announceEnd;
      closed ??= Promise.all(sockets.map(({ server }) => closeOwn(server)));
      stopping.within(patience);
      await closed;
      stopping.over();
      certificates.close();
    },
  };
}

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
function mayHaveAnswered(connection: Connection | null): boolean {
  if (connection === null || connection.latest === null || connection.openCount === 0) return false;
  const isOwnBody = connection.openCount === 1 && !connection.latest.req.complete && !connection.latest.headersSent;
  return !isOwnBody;
}

/**
 * The socket itself stays, where a successor has it as well: connections that wait there are not lost with our handle.
 * Not server.close(): it would also cut idle connections, over which a request may be on its way (measured: after 2 ms).
 */
function closeOwn(server: ListeningSocket["server"]): Promise<void> {
  return new Promise((resolve) => {
    if (server.listening) NetServer.prototype.close.call(server, () => resolve());
    else resolve();
  });
}
