// The connections of a gateway: which requests wait on each of them, and how each of them ends when the gateway goes.
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { peerOf, type Peer, type Trust } from "./forwarded.ts";

export interface Connection {
  readonly peer: Peer;
  openCount: number; // Requests of this connection that are not answered yet.
  latest: ServerResponse | null;
  isEnding: boolean; // Its client was told, or is being told, that nothing more is answered here.
}

export interface Connections {
  /** Of every new socket, so that it is known which of them are open. */
  opened(socket: Socket): void;
  /** It is no HTTP connection any more. */
  left(socket: Socket): void;
  of(socket: Socket): Connection;
  /** Null where nothing was asked on it yet. */
  find(socket: Duplex): Connection | null;
  /** Says `connection: close` with this answer, unless requests behind it still wait: then the last of them says so. */
  announceEnd(response: ServerResponse): void;
  /** Ends those on which nothing was asked for so long, counted from the first call on. */
  endIdle(nowMs: number, idleMs: number): void;
}

interface Quiet {
  readonly bytesRead: number;
  readonly sinceMs: number;
}

const LINGER_MS = 1_000;

export function createConnections(trust: Trust): Connections {
  const connections = new WeakMap<Duplex, Connection>();
  const open = new Set<Socket>();
  const quiet = new WeakMap<Socket, Quiet>();

  const of = (socket: Socket): Connection => {
    let connection = connections.get(socket);
    if (connection === undefined) {
      connection = { peer: peerOf(socket, trust), openCount: 0, latest: null, isEnding: false };
      connections.set(socket, connection);
    }
    return connection;
  };
  /** Whether bytes came since the last look: the head of a request may be on its way. */
  const quietSinceMs = (socket: Socket, nowMs: number): number => {
    const before = quiet.get(socket);
    if (before?.bytesRead === socket.bytesRead) return before.sinceMs;
    quiet.set(socket, { bytesRead: socket.bytesRead, sinceMs: nowMs });
    return nowMs;
  };

  return {
    opened(socket) {
      open.add(socket);
      socket.once("close", () => open.delete(socket));
    },
    left: (socket) => void open.delete(socket),
    of,
    find: (socket) => connections.get(socket) ?? null,
    announceEnd(response) {
      const { socket } = response.req;
      const connection = of(socket);
      if (connection.latest !== response) return;
      connection.isEnding = true;
      response.shouldKeepAlive = false;
      socket.destroySoon = () => endSoftly(socket); // What Node calls after the last answer of a connection.
    },
    endIdle(nowMs, idleMs) {
      for (const socket of open) {
        const connection = connections.get(socket);
        // On one that is new the first request is on its way; Node ends it where none comes.
        if (connection === undefined || connection.isEnding) continue;
        if (connection.openCount > 0) quiet.delete(socket);
        else if (nowMs - quietSinceMs(socket, nowMs) >= idleMs) {
          connection.isEnding = true;
          endSoftly(socket);
        }
      }
    },
  };
}

/**
 * RFC 9112 9.6: what the client sent meanwhile is read and dropped for a moment. A close with bytes unread would be a reset, and a reset
 * may take the last answer along.
 */
function endSoftly(socket: Socket): void {
  socket.end();
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once("close", () => clearTimeout(timer));
}
