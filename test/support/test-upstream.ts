// An upstream that a test scripts: a plain HTTP server in the test's own process, which writes down what arrived.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { WebSocketServer, type WebSocket } from "ws";

export interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
}

export interface Upstream {
  readonly url: string;
  readonly port: number;
  readonly received: Received[];
  /** Connections that were opened so far. */
  readonly connectionCount: () => number;
  readonly openCount: () => number; // Answers that are neither finished nor cut.
  /** WebSockets that were accepted, newest last. */
  readonly webSockets: WebSocket[];
  close(): Promise<void>;
}

export type Act = (request: Received, response: ServerResponse, socket: Socket) => void;

/** What acts on a request once its body is there; by path, "*" for all others. */
export async function startUpstream(acts: Readonly<Record<string, Act>>): Promise<Upstream> {
  const received: Received[] = [];
  const webSockets: WebSocket[] = [];
  const sockets = new Set<Socket>();
  let connectionCount = 0;
  let openCount = 0;
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    openCount++;
    response.once("close", () => openCount--);
    request.on("error", () => undefined);
    request.on("data", (part: Buffer) => parts.push(part));
    request.once("end", () => {
      const { method = "", url = "", headers, rawHeaders } = request;
      const one = { method, url, headers, rawHeaders, body: Buffer.concat(parts) };
      received.push(one);
      const act = acts[url.split("?")[0] ?? ""] ?? acts["*"];
      act?.(one, response, request.socket);
    });
  });
  server.on("connection", (socket: Socket) => {
    connectionCount++;
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    socket.on("error", () => undefined);
  });
  acceptWebSockets(server, webSockets);
  const port = await listen(server);
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    received,
    connectionCount: () => connectionCount,
    openCount: () => openCount,
    webSockets,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

/** Echoes on /ws; refuses with 401 and a chunked body on /refused; breaks off in the middle of a refusal on /half; is silent elsewhere. */
function acceptWebSockets(server: Server, accepted: WebSocket[]): void {
  const echo = new WebSocketServer({ noServer: true, handleProtocols: (offered) => [...offered][0] ?? false });
  echo.on("headers", (headers) => headers.push("x-from: upstream", "x-request-id: not-yours"));
  echo.on("connection", (webSocket) => {
    accepted.push(webSocket);
    webSocket.on("message", (data, isBinary) => webSocket.send(data, { binary: isBinary }));
  });
  server.on("upgrade", (request, socket, head) => {
    socket.on("error", () => undefined);
    const path = request.url?.split("?")[0];
    if (path === "/ws") echo.handleUpgrade(request, socket, head, (webSocket) => echo.emit("connection", webSocket, request));
    else if (path === "/refused")
      socket.write(
        "HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Basic\r\nconnection: keep-alive\r\ntransfer-encoding: chunked\r\n\r\n5\r\nfirst\r\n7\r\n second\r\n0\r\n\r\n",
      );
    else if (path === "/half") {
      socket.write("HTTP/1.1 403 Forbidden\r\ncontent-length: 1000\r\n\r\nonly this");
      socket.end();
    } else if (path === "/other") socket.write("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: other\r\n\r\n");
  });
}

const listen = (server: Server): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      resolve(typeof address === "object" && address !== null ? address.port : 0);
    });
  });
