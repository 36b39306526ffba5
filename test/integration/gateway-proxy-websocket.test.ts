// WebSockets through a real gateway to a real upstream, what becomes of other upgrades, and how a gateway with open ones stops.
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { freePort, type World } from "../support/gateway-world.ts";
import { problemOf } from "../support/problems.ts";
import { closed, slowly, startProxyRig, type ProxyRig } from "../support/proxy-rig.ts";
import { exchange } from "../support/raw-http.ts";
import type { Upstream } from "../support/test-upstream.ts";

let rig: ProxyRig;
let world: World;
let upstream: Upstream;
let base: string;

beforeAll(async () => {
  rig = await startProxyRig({ "*": (_request, response) => response.end("fine"), "/slowly": slowly });
  ({ world, upstream, base } = rig);
});

afterAll(() => rig.close());

/** A WebSocket through the gateway; what the handshake failed with, where it did. */
async function dial(path: string, more: { protocols?: string[] } = {}): Promise<WebSocket> {
  const webSocket = new WebSocket(`ws://127.0.0.1:${world.port}${path}`, more.protocols ?? []);
  await once(webSocket, "open");
  return webSocket;
}

const refused = async (path: string): Promise<{ incoming: IncomingMessage; body: string }> => {
  const webSocket = new WebSocket(`ws://127.0.0.1:${world.port}${path}`);
  webSocket.on("error", () => undefined);
  const [, incoming] = (await once(webSocket, "unexpected-response")) as [unknown, IncomingMessage]; // What ws emits.
  const parts: Buffer[] = [];
  incoming.on("error", () => undefined);
  incoming.on("data", (part: Buffer) => parts.push(part));
  await closed(incoming);
  return { incoming, body: Buffer.concat(parts).toString() };
};

const next = async (webSocket: WebSocket): Promise<Buffer> => {
  const [data] = (await once(webSocket, "message", { signal: AbortSignal.timeout(5_000) })) as [Buffer]; // What ws emits by default.
  return data;
};

describe("a WebSocket", () => {
  it("carries text, bytes and a megabyte both ways, and pings", async () => {
    const webSocket = await dial("/ws?x=1", { protocols: ["chat"] });
    expect(webSocket.protocol).toBe("chat");
    for (const sent of [Buffer.from("hello"), Buffer.of(0, 255, 10), randomBytes(1_000_000)]) {
      webSocket.send(sent);
      expect((await next(webSocket)).equals(sent)).toBe(true);
    }
    webSocket.ping("are you there");
    const [pong] = (await once(webSocket, "pong")) as [Buffer]; // What ws emits.
    expect(pong.toString()).toBe("are you there");
    webSocket.close(1000);
    await once(webSocket, "close");
  });

  it("shows the upstream who asks, and the client our request id", async () => {
    const handshake = new WebSocket(`ws://127.0.0.1:${world.port}/ws`, { headers: { "x-forwarded-for": "6.6.6.6", "x-mine": "1" } });
    const [answer] = (await once(handshake, "upgrade")) as [IncomingMessage]; // What ws emits.
    expect(answer.headers["x-from"]).toBe("upstream");
    expect(answer.headers["x-request-id"]).toMatch(/^[0-9a-f-]{36}$/);
    handshake.terminate();
  });

  it.each([1000, 1001, 3001, 4999])("ends with the code that either side names: %i", async (code) => {
    const byUpstream = await dial("/ws");
    upstream.webSockets.at(-1)?.close(code, "bye");
    const [seen, reason] = (await once(byUpstream, "close")) as [number, Buffer]; // What ws emits.
    expect([seen, reason.toString()]).toEqual([code, "bye"]);
    const byClient = await dial("/ws");
    const there = upstream.webSockets.at(-1) as WebSocket; // It has just been accepted.
    const ended = once(there, "close");
    byClient.close(code, "bye");
    expect((await ended)[0]).toBe(code);
  });

  it("ends at the upstream where the client vanishes, and the other way round", async () => {
    const client = await dial("/ws");
    const there = upstream.webSockets.at(-1) as WebSocket; // It has just been accepted.
    const gone = once(there, "close");
    client.terminate();
    expect((await gone)[0]).toBe(1006);
    const second = await dial("/ws");
    const lost = once(second, "close");
    upstream.webSockets.at(-1)?.terminate();
    expect((await lost)[0]).toBe(1006);
  });

  it("that the upstream refuses: its own status, headers and body, well framed", async () => {
    const { incoming, body } = await refused("/refused");
    expect([incoming.statusCode, incoming.headers["www-authenticate"], body]).toEqual([401, "Basic", "first second"]);
    expect(incoming.headers["transfer-encoding"]).toBeUndefined();
    expect(incoming.headers.connection).toBe("close");
    await rig.isServed();
  });

  it("whose refusal breaks off is cut, and does not stay open", async () => {
    const { incoming, body } = await refused("/half");
    expect([incoming.statusCode, incoming.complete, body.length < 1_000]).toEqual([403, false, true]);
    await rig.isServed();
  });

  it("whose upstream speaks another protocol, or is not there: 502", async () => {
    const other = await refused("/other");
    expect([other.incoming.statusCode, JSON.parse(other.body)]).toMatchObject([502, { code: "PROXY_FAILED" }]);
    await rig.deploy(`http://127.0.0.1:${await freePort()}`);
    const { incoming, body } = await refused("/ws");
    expect(problemOf({ status: incoming.statusCode ?? 0, headers: incoming.headers, text: body })).toMatchObject({
      status: 502,
      code: "PROXY_FAILED",
    });
    await rig.deploy(upstream.url);
    await rig.isServed();
  });

  it("that leads back to its own gateway: 508", async () => {
    await rig.deploy(base);
    expect((await refused("/ws")).incoming.statusCode).toBe(508);
    await rig.deploy(upstream.url);
    await rig.isServed();
  });

  it("to a function is a request like any other, and so is any other upgrade", async () => {
    expect((await refused("/fn-ws")).body).toBe("function GET /fn-ws");
    const [h2c] = await exchange(world.port, "GET /x HTTP/1.1\r\nhost: a\r\nconnection: upgrade, close\r\nupgrade: h2c\r\n\r\n");
    expect(h2c?.status).toBe(200);
    const [post] = await exchange(
      world.port,
      "POST /x HTTP/1.1\r\nhost: a\r\nconnection: upgrade, close\r\nupgrade: websocket\r\ncontent-length: 1\r\n\r\nx",
    );
    expect(post?.status).toBe(200);
  });

  it("behind a request that waits for its answer is no WebSocket", async () => {
    const upgrade =
      "GET /ws HTTP/1.1\r\nhost: a\r\nconnection: upgrade, close\r\nupgrade: websocket\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13\r\n\r\n";
    const answers = await rawText(`GET /slowly HTTP/1.1\r\nhost: a\r\n\r\n${upgrade}`);
    expect([...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual(["200", "200"]);
  });
});

/** Everything that a connection carries until it closes. */
async function rawText(bytes: string): Promise<string> {
  const socket: Socket = connect({ host: "127.0.0.1", port: world.port });
  let received = "";
  socket.on("data", (part: Buffer) => void (received += part.toString("latin1")));
  socket.write(bytes);
  await once(socket, "close", { signal: AbortSignal.timeout(5_000) });
  return received;
}

describe("a gateway that stops", () => {
  it("finishes the answers it has begun, ends silent WebSockets, and exits", async () => {
    const webSocket = await dial("/ws");
    const ended = once(webSocket, "close");
    const { incoming } = await rig.open("/slowly");
    process.kill(world.gateway.pid, "SIGTERM");
    const parts: Buffer[] = [];
    incoming.on("data", (part: Buffer) => parts.push(part));
    await once(incoming, "end");
    expect(Buffer.concat(parts).toString()).toBe("first second");
    expect((await ended)[0]).toBe(1006);
    const startMs = performance.now();
    expect(await world.gateway.exited).toBe(0);
    expect(performance.now() - startMs).toBeLessThan(5_000);
  });
});
