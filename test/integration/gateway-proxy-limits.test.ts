// The time and number limits of proxied requests and WebSockets: a gateway's own parts in this process, with limits that a test can wait for.
import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { connect, createServer, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { type InProcessGateway, startInProcessGateway } from "../support/gateway-in-process.ts";
import { startUpstream, type Upstream } from "../support/test-upstream.ts";
import { until } from "../support/until.ts";

const ANSWER_TIMEOUT_MS = 300;
const STALL_TIMEOUT_MS = 600;
const IDLE_TIMEOUT_MS = 700;
const TUNNEL_COUNT_MAX = 2;
const ENDLESS = Buffer.alloc(100_000, "x");

let upstream: Upstream;
let gateway: InProcessGateway;

const startGateway = (proxyUrl: string): Promise<InProcessGateway> => {
  const times = { answerTimeoutMs: ANSWER_TIMEOUT_MS, stallTimeoutMs: STALL_TIMEOUT_MS, idleTimeoutMs: IDLE_TIMEOUT_MS, quietMs: 100 };
  return startInProcessGateway({ proxyUrl, times, tunnelCountMax: TUNNEL_COUNT_MAX });
};

let endlessBytes = 0;

beforeAll(async () => {
  upstream = await startUpstream({
    "*": (_request, response) => response.end("fine"),
    "/never": () => undefined,
    "/stands-still": (_request, response) => void response.write("first"),
    "/endless": (_request, response) => {
      const more = (): void => {
        do endlessBytes += ENDLESS.length;
        while (!response.destroyed && response.write(ENDLESS));
        if (!response.destroyed) response.once("drain", more);
      };
      more();
    },
    "/drips": (_request, response) => {
      let count = 0;
      const timer = setInterval(() => {
        response.write(".");
        if (++count < 10) return;
        clearInterval(timer);
        response.end();
      }, STALL_TIMEOUT_MS / 6);
    },
  });
  gateway = await startGateway(upstream.url);
});

afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

const get = (path: string): Promise<Response> => fetch(`http://127.0.0.1:${gateway.port}${path}`);

async function open(path: string): Promise<IncomingMessage> {
  const outgoing = httpRequest({ host: "127.0.0.1", port: gateway.port, path, agent: false });
  outgoing.on("error", () => undefined);
  outgoing.end();
  const [incoming] = (await once(outgoing, "response")) as [IncomingMessage]; // What a request emits.
  incoming.on("error", () => undefined);
  return incoming;
}

const nothingIsLeft = async (): Promise<void> => {
  await until(() => gateway.handler.serving.openCount === 0 && upstream.openCount() === 0, {
    timeoutMs: 2_000,
    what: "nothing is left open",
  });
  expect(gateway.handler.serving.heldBodies.bytes).toBe(0);
  expect(await (await get("/next")).text()).toBe("fine");
};

describe("a proxied request", () => {
  it("that gets no status in time: 504, and the upstream is let go", async () => {
    const answer = await fetch(`http://127.0.0.1:${gateway.port}/never`, { method: "POST", body: "held" });
    expect([answer.status, await answer.json()]).toMatchObject([504, { code: "PROXY_TIMED_OUT" }]);
    expect(gateway.told.at(-1)).toContain("PROXY_TIMED_OUT");
    await nothingIsLeft();
  });

  it("to an upstream that takes connections and reads nothing: 504 as well", async () => {
    const deaf = await startDeaf();
    const other = await startGateway(`http://127.0.0.1:${deaf.port}`);
    const answer = await fetch(`http://127.0.0.1:${other.port}/x`);
    expect(answer.status).toBe(504);
    await other.close();
    deaf.close();
  });

  it("whose answer stands still is cut", async () => {
    const incoming = await open("/stands-still");
    incoming.resume();
    await new Promise((resolve) => incoming.once("close", resolve));
    expect(incoming.complete).toBe(false);
    await nothingIsLeft();
  });

  it("whose client stops reading is cut, and meanwhile the upstream had to wait", async () => {
    const incoming = await open("/endless");
    incoming.pause();
    await until(() => upstream.openCount() === 0, { timeoutMs: 5_000, what: "the upstream is let go" });
    expect(endlessBytes).toBeLessThan(50_000_000); // What the sockets on the way take; without back pressure it would be gigabytes.
    await nothingIsLeft();
  });

  it("may take longer than any limit, as long as bytes move", async () => {
    const startMs = performance.now();
    expect(await (await get("/drips")).text()).toBe("..........");
    expect(performance.now() - startMs).toBeGreaterThan(STALL_TIMEOUT_MS);
    await nothingIsLeft();
  });

  it("holds its body no longer than until the upstream answers", async () => {
    const body = Buffer.alloc(1_000_000);
    const outgoing = httpRequest({ host: "127.0.0.1", port: gateway.port, path: "/stands-still", method: "POST", agent: false });
    outgoing.on("error", () => undefined);
    outgoing.end(body);
    await once(outgoing, "response");
    expect(gateway.handler.serving.heldBodies.bytes).toBe(0);
    expect(gateway.handler.serving.openCount).toBe(1);
    outgoing.destroy();
    await nothingIsLeft();
  });
});

/** Takes connections, and does nothing with them. */
async function startDeaf(): Promise<{ port: number; close: () => void }> {
  const server = createServer();
  server.listen({ host: "127.0.0.1", port: 0 });
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const sockets: Socket[] = [];
  server.on("connection", (socket) => {
    sockets.push(socket);
    socket.pause();
    socket.on("error", () => undefined);
  });
  return {
    port,
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

const dial = (path: string): WebSocket => {
  const webSocket = new WebSocket(`ws://127.0.0.1:${gateway.port}${path}`);
  webSocket.on("error", () => undefined);
  return webSocket;
};

const refusal = async (webSocket: WebSocket): Promise<number | undefined> => {
  const [, incoming] = (await once(webSocket, "unexpected-response")) as [unknown, IncomingMessage]; // What ws emits.
  incoming.resume();
  return incoming.statusCode;
};

describe("a WebSocket", () => {
  it("whose handshake is not answered in time: 504", async () => {
    expect(await refusal(dial("/silent"))).toBe(504);
    await until(() => gateway.proxy.tunnelCount === 0, { timeoutMs: 2_000 });
  });

  it("whose client leaves during the handshake leaves the upstream, too", async () => {
    const before = upstream.connectionCount();
    const socket = connect({ host: "127.0.0.1", port: gateway.port });
    socket.write("GET /silent HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n");
    await until(() => upstream.connectionCount() > before && gateway.proxy.tunnelCount === 1, { timeoutMs: 2_000 });
    socket.resetAndDestroy();
    const startMs = performance.now();
    await until(() => gateway.proxy.tunnelCount === 0, { timeoutMs: 2_000 });
    expect(performance.now() - startMs).toBeLessThan(ANSWER_TIMEOUT_MS / 2);
  });

  it("that is silent for too long ends; one that talks, or is pinged, stays", async () => {
    const silent = dial("/ws");
    const talking = dial("/ws");
    await Promise.all([once(silent, "open"), once(talking, "open")]);
    const pings = setInterval(() => talking.ping(), IDLE_TIMEOUT_MS / 5);
    await once(silent, "close", { signal: AbortSignal.timeout(IDLE_TIMEOUT_MS * 3) });
    const [pong] = (await once(talking, "pong")) as [Buffer]; // What ws emits.
    expect(pong.length).toBe(0);
    expect(talking.readyState).toBe(WebSocket.OPEN);
    clearInterval(pings);
    talking.terminate();
    await until(() => gateway.proxy.tunnelCount === 0, { timeoutMs: 2_000 });
  });

  it("above their number: 503, until one of them ends", async () => {
    const first = dial("/ws");
    const second = dial("/ws");
    await Promise.all([once(first, "open"), once(second, "open")]);
    expect(await refusal(dial("/ws"))).toBe(503);
    first.terminate();
    await until(() => gateway.proxy.tunnelCount === 1, { timeoutMs: 2_000 });
    const third = dial("/ws");
    await once(third, "open");
    for (const webSocket of [second, third]) webSocket.terminate();
    await until(() => gateway.proxy.tunnelCount === 0, { timeoutMs: 2_000 });
  });

  it("that does not fall silent is ended with the grace of a stop", async () => {
    const other = await startGateway(upstream.url);
    const busy = new WebSocket(`ws://127.0.0.1:${other.port}/ws`);
    busy.on("error", () => undefined);
    await once(busy, "open");
    const pings = setInterval(() => busy.ping(), 20);
    const startMs = performance.now();
    const stopped = other.front.stop({ idleMs: 500, tunnelMs: 500, requestMs: 500 });
    await once(busy, "close");
    clearInterval(pings);
    await stopped;
    expect(performance.now() - startMs).toBeGreaterThan(400);
    expect(performance.now() - startMs).toBeLessThan(3_000);
    await other.close();
  });
});
