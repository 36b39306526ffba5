// @proxy through a real gateway: requests and WebSockets to real upstreams, and everything that can go wrong on the way there and back.
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { connect, createServer, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { createWorld, fn, freePort, live, startInstance, text, type ScriptedInstance, type World } from "../support/gateway-world.ts";
import { problemOf } from "../support/problems.ts";
import { exchange } from "../support/raw-http.ts";
import { startUpstream, type Act, type Received, type Upstream } from "../support/test-upstream.ts";
import { until } from "../support/until.ts";

const BIG = randomBytes(20_000_000);
const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

const echo: Act = ({ method, url, headers, body }, response) => {
  const answer = JSON.stringify({ method, url, headers, bodyBytes: body.length, body: body.toString("latin1").slice(0, 1_000) });
  response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(answer) }).end(answer);
};

const ACTS: Readonly<Record<string, Act>> = {
  "*": echo,
  "/answer-headers": (_request, response) => {
    response.writeHead(418, [
      "X-Case",
      "kept",
      "set-cookie",
      "a=1",
      "set-cookie",
      "b=2",
      "connection",
      "keep-alive, x-bound",
      "x-bound",
      "dropped",
      "proxy-authenticate",
      "dropped",
      "x-request-id",
      "not-yours",
    ]);
    response.end("teapot");
  },
  "/moved": (_request, response) => response.writeHead(302, { location: "http://elsewhere.test/there" }).end(),
  "/empty": (_request, response) => response.writeHead(204).end(),
  "/big": (_request, response) => response.end(BIG),
  "/dies": (_request, response, socket) => {
    response.writeHead(200, { "content-length": "1000" });
    response.write("only this", () => socket.destroy());
  },
  "/dies-chunked": (_request, response, socket) => {
    response.write("only this", () => socket.destroy());
  },
  "/dies-at-once": (_request, _response, socket) => void socket.destroy(),
  "/garbage": (_request, _response, socket) => void socket.end("this is no HTTP\r\n\r\n"),
  "/two-framings": (_request, _response, socket) =>
    void socket.end("HTTP/1.1 200 OK\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"),
  "/odd-status": (_request, _response, socket) => void socket.end("HTTP/1.1 099 Odd\r\ncontent-length: 0\r\n\r\n"),
  "/to-the-end": (_request, _response, socket) => void socket.end("HTTP/1.0 200 OK\r\ncontent-type: text/plain\r\n\r\nuntil it closes"),
  "/switches": (_request, _response, socket) =>
    void socket.write("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n"),
  "/never": () => undefined,
  "/slowly": (_request, response) => {
    response.write("first ");
    setTimeout(() => response.end("second"), 200);
  },
};

let world: World;
let upstream: Upstream;
let instance: ScriptedInstance;
let base: string;

const deploy = (proxyUrl: string | null, more: { functions?: Parameters<typeof live>[1] } = {}): Promise<void> => {
  const functions = more.functions ?? [
    fn("GET", "/", { instanceIds: ["one"] }),
    fn("POST", "/api/:x", { instanceIds: ["one"] }),
    fn("GET", "/fn-ws", { instanceIds: ["one"] }),
  ];
  return world.put({ deployment: { ...live(world, functions), ...(proxyUrl === null ? {} : { proxyUrl }) } });
};

beforeAll(async () => {
  world = await createWorld();
  base = `http://127.0.0.1:${world.port}`;
  upstream = await startUpstream(ACTS);
  instance = await startInstance(world, "one", ({ header, respond }) => text(respond, `function ${header.route}`));
  await deploy(upstream.url);
  await until(async () => (await fetch(base)).status === 200, { timeoutMs: 5_000, what: "the instance answers" });
});

afterAll(async () => {
  await instance.kill();
  await world.close();
  await upstream.close();
});

interface Echo {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly bodyBytes: number;
  readonly body: string;
}

const echoed = async (path: string, init: RequestInit = {}): Promise<Echo> => (await (await fetch(base + path, init)).json()) as Echo; // What echo() above writes.
const rawEcho = async (bytes: string): Promise<Echo> => {
  const [answer] = await exchange(world.port, bytes);
  return JSON.parse(answer?.body ?? "null") as Echo; // The same.
};
/** The problem that a path is answered with. */
async function problemAt(path: string): Promise<ReturnType<typeof problemOf>> {
  const answer = await fetch(base + path);
  return problemOf({ status: answer.status, headers: Object.fromEntries(answer.headers), text: await answer.text() });
}

const isServed = async (): Promise<void> => {
  expect((await echoed("/next")).url).toBe("/next");
  await until(async () => (await world.status()).requestCount === 0, { timeoutMs: 5_000, what: "nothing is left in flight" });
};

describe("what the proxy answers", () => {
  it("is what no function is declared for: routes win, and GET / is no fallback any more", async () => {
    expect(await (await fetch(base)).text()).toBe("function GET /");
    expect(await (await fetch(`${base}/api/1`, { method: "POST" })).text()).toBe("function POST /api/:x");
    expect(await echoed("/elsewhere")).toMatchObject({ method: "GET", url: "/elsewhere" });
    expect(await echoed("/api/1", { method: "PUT", body: "x" })).toMatchObject({ method: "PUT", url: "/api/1", body: "x" });
    expect(await echoed("/", { method: "DELETE" })).toMatchObject({ method: "DELETE", url: "/" });
  });

  it("is never a path below /_static", async () => {
    expect(await problemAt("/_static/x")).toMatchObject({ status: 404, code: "ROUTE_NOT_FOUND" });
  });

  it("follows the snapshot to another upstream, and back to GET / without one", async () => {
    const other = await startUpstream({ "*": (_request, response) => response.end("the other") });
    await deploy(other.url);
    expect(await (await fetch(`${base}/x`)).text()).toBe("the other");
    await deploy(null);
    expect(await (await fetch(`${base}/x`)).text()).toBe("function $default");
    await deploy(upstream.url);
    await other.close();
    await isServed();
  });
});

describe("what the upstream is told", () => {
  it("the path below the URL's own path, with slashes, dots and encoding as they were sent", async () => {
    await deploy(`${upstream.url}/below/`);
    expect((await rawEcho("GET //a/../b%2Fc//?x=//y?z HTTP/1.1\r\nhost: a.test\r\nconnection: close\r\n\r\n")).url).toBe(
      "/below//a/../b%2Fc//?x=//y?z",
    );
    await deploy(upstream.url);
    expect((await rawEcho("GET http://a.test/http://b//c HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")).url).toBe("/http://b//c");
  });

  it("its own name as host, and the visitor's in x-forwarded-*", async () => {
    const { headers } = await rawEcho(
      "GET /x HTTP/1.1\r\nHost: Visitor.test:81\r\nx-forwarded-for: 6.6.6.6\r\nx-forwarded-host: evil\r\nx-forwarded-proto: https\r\nforwarded: for=6.6.6.6\r\nx-request-id: mine\r\nconnection: close\r\n\r\n",
    );
    expect(headers).toMatchObject({
      host: `127.0.0.1:${upstream.port}`,
      "x-forwarded-for": "127.0.0.1",
      "x-forwarded-host": "Visitor.test:81",
      "x-forwarded-proto": "http",
      "x-forwarded-port": String(world.port),
    });
    expect(headers["forwarded"]).toBeUndefined();
    expect(headers["x-request-id"]).toMatch(/^[0-9a-f-]{36}$/);
  });

  it("nothing that belongs to the client's connection, not even what Connection names; the visitor's address cannot be named away", async () => {
    const { headers } = await rawEcho(
      "GET /x HTTP/1.1\r\nhost: a\r\nconnection: close, x-secret, X-Forwarded-For, x-request-id\r\nx-secret: 1\r\nkeep-alive: timeout=1\r\nte: trailers\r\nproxy-authorization: Basic eA==\r\nupgrade: h2c\r\nx-stays: 1\r\n\r\n",
    );
    expect(headers).toMatchObject({ "x-stays": "1", "x-forwarded-for": "127.0.0.1", connection: "keep-alive" });
    expect(Object.keys(headers)).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/^(x-secret|keep-alive|te|upgrade|proxy-authorization)$/)]),
    );
    expect(headers["x-request-id"]).toBeDefined();
  });

  it("repeated headers and names as they were written, __proto__ left out", async () => {
    await rawEcho("GET /x HTTP/1.1\r\nhost: a\r\nX-Twice: 1\r\nx-twice: 2\r\n__proto__: x\r\n__proto__: y\r\nconnection: close\r\n\r\n");
    const { rawHeaders } = upstream.received.at(-1) as Received; // rawEcho() has its answer.
    expect(rawHeaders.join("|")).toContain("X-Twice|1|X-Twice|2");
    expect(rawHeaders).not.toContain("__proto__");
  });

  it("credentials that the URL holds", async () => {
    await deploy(upstream.url.replace("//", "//me:p%40ss@"));
    expect((await echoed("/x")).headers["authorization"]).toBe(`Basic ${Buffer.from("me:p@ss").toString("base64")}`);
    await deploy(upstream.url);
    expect((await echoed("/x")).headers["authorization"]).toBeUndefined();
  });

  it.each(["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])(
    "the whole body of a %s, with its true length, however it was sent",
    async (method) => {
      const chunked = `${method} /x HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n`;
      const first = await rawEcho(chunked);
      expect(first).toMatchObject({ method, body: "abcde", headers: { "content-length": "5" } });
      expect(first.headers["transfer-encoding"]).toBeUndefined();
      expect(await rawEcho(`${method} /x HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\nconnection: close\r\n\r\nfghij`)).toMatchObject({
        body: "fghij",
      });
      expect(await rawEcho(`${method} /x HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n`)).toMatchObject({ method, bodyBytes: 0 });
    },
  );

  it("6 MB that it reads slowly", async () => {
    const bytes = randomBytes(6_000_000);
    await fetch(`${base}/upload`, { method: "POST", body: bytes });
    expect(sha256(upstream.received.at(-1)?.body ?? Buffer.alloc(0))).toBe(sha256(bytes));
    await isServed();
  });
});

describe("a second request inside a first one", () => {
  const inner = "GET /smuggled HTTP/1.1\r\nhost: a\r\n\r\n";
  it.each(["DELETE", "OPTIONS", "GET", "POST"])("in the chunked body of a %s never reaches the upstream as one", async (method) => {
    const connectionsBefore = upstream.connectionCount();
    upstream.received.length = 0;
    const chunk = `${inner.length.toString(16)}\r\n${inner}\r\n0\r\n\r\n`;
    for (let round = 0; round < 5; round++)
      await exchange(world.port, `${method} /outer HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n${chunk}`);
    await isServed();
    expect(upstream.received.map(({ url }) => url)).toEqual([...Array.from({ length: 5 }, () => "/outer"), "/next"]);
    expect(upstream.received[0]?.body.toString()).toBe(inner);
    expect(upstream.connectionCount() - connectionsBefore).toBeLessThanOrEqual(1); // They share a connection, or this would prove nothing.
  });

  it("under two framings is refused before the upstream hears of it", async () => {
    upstream.received.length = 0;
    const [answer] = await exchange(
      world.port,
      `POST /outer HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${inner}`,
    );
    expect(answer?.status).toBe(400);
    await isServed();
    expect(upstream.received.map(({ url }) => url)).toEqual(["/next"]);
  });
});

describe("what the client gets", () => {
  it("status and headers of the upstream, without those of its connection, and our request id", async () => {
    const answer = await fetch(`${base}/answer-headers`);
    expect(answer.status).toBe(418);
    expect(await answer.text()).toBe("teapot");
    expect(answer.headers.get("x-case")).toBe("kept");
    expect(answer.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
    for (const name of ["x-bound", "proxy-authenticate"]) expect(answer.headers.get(name)).toBeNull();
    expect(answer.headers.get("x-request-id")).toBe(upstream.received.at(-1)?.headers["x-request-id"]);
  });

  it("redirects and answers without a body as they are", async () => {
    const moved = await fetch(`${base}/moved`, { redirect: "manual" });
    expect([moved.status, moved.headers.get("location")]).toEqual([302, "http://elsewhere.test/there"]);
    expect((await fetch(`${base}/empty`)).status).toBe(204);
    const head = await fetch(`${base}/x`, { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
    expect(upstream.received.at(-1)?.method).toBe("HEAD");
  });

  it("20 MB, byte for byte, also from a slow reading client", async () => {
    const bytes = Buffer.from(await (await fetch(`${base}/big`)).arrayBuffer());
    expect([bytes.length, sha256(bytes)]).toEqual([BIG.length, sha256(BIG)]);
    const answer = await open("/big");
    const parts: Buffer[] = [];
    for await (const part of answer.incoming) {
      parts.push(part as Buffer); // No encoding was set.
      if (parts.length % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 5)); // The pace is what is tested.
    }
    expect(sha256(Buffer.concat(parts))).toBe(sha256(BIG));
  });

  it("an answer as it comes, and one that only its end delimits", async () => {
    const answer = await open("/slowly");
    const [first] = (await once(answer.incoming, "data")) as [Buffer]; // What an incoming message emits.
    expect(first.toString()).toBe("first ");
    answer.incoming.destroy();
    expect(await (await fetch(`${base}/to-the-end`)).text()).toBe("until it closes");
    await isServed();
  });
});

const open = async (path: string): Promise<{ incoming: IncomingMessage; destroy: () => void }> => {
  const outgoing = httpRequest(base + path, { agent: false });
  outgoing.on("error", () => undefined);
  outgoing.end();
  const [incoming] = (await once(outgoing, "response")) as [IncomingMessage]; // What a request emits.
  incoming.on("error", () => undefined);
  return { incoming, destroy: () => outgoing.destroy() };
};

/** An answer that was cut has an error, too; once() would make it ours. */
const closed = (incoming: IncomingMessage): Promise<void> => new Promise((resolve) => void incoming.once("close", () => resolve()));

describe("what goes wrong at the upstream", () => {
  it.each(["/dies-at-once", "/garbage", "/two-framings", "/odd-status", "/switches"])(
    "502 where it answers nothing that could be sent on (%s)",
    async (path) => {
      expect(await problemAt(path)).toMatchObject({
        status: 502,
        code: "PROXY_FAILED",
        detail: expect.stringContaining(upstream.url) as unknown,
      });
      await isServed();
    },
  );

  it("502 where nobody listens, without showing the credentials of its URL", async () => {
    await deploy(`http://me:secret@127.0.0.1:${await freePort()}`);
    const problem = await problemAt("/x");
    expect(problem).toMatchObject({ status: 502, code: "PROXY_FAILED", detail: expect.stringContaining("ECONNREFUSED") as unknown });
    expect(problem.detail).not.toContain("secret");
    expect(world.gateway.output()).not.toContain("secret");
    await deploy(upstream.url);
    await isServed();
  });

  it("502 where an https upstream cannot prove who it is, or the URL is none", async () => {
    await deploy(upstream.url.replace("http:", "https:"));
    expect(await problemAt("/x")).toMatchObject({ status: 502, code: "PROXY_FAILED" });
    await deploy("ftp://127.0.0.1/");
    expect(await problemAt("/x")).toMatchObject({ status: 502, code: "PROXY_FAILED" });
    await deploy(upstream.url);
    await isServed();
  });

  it.each(["/dies", "/dies-chunked"])("a connection that is cut where it dies in the middle of its answer (%s)", async (path) => {
    const { incoming } = await open(path);
    expect(incoming.statusCode).toBe(200);
    const parts: Buffer[] = [];
    incoming.on("data", (part: Buffer) => parts.push(part));
    await closed(incoming);
    expect([Buffer.concat(parts).toString(), incoming.complete]).toEqual(["only this", false]);
    await isServed();
  });

  it("a safe request goes out again where the kept connection had been closed meanwhile", async () => {
    const brusque = await startBrusque();
    await deploy(`http://127.0.0.1:${brusque.port}`);
    const statuses: number[] = [];
    for (let round = 0; round < 4; round++) statuses.push((await fetch(`${base}/x`)).status);
    expect(statuses).toEqual([200, 200, 200, 200]);
    expect(brusque.cutCount()).toBeGreaterThan(0);
    await deploy(upstream.url);
    brusque.close();
    await isServed();
  });
});

/** Answers the first request of each connection, and resets it at the second. */
async function startBrusque(): Promise<{ port: number; cutCount: () => number; close: () => void }> {
  let cutCount = 0;
  const server = createServer((socket) => {
    let requestCount = 0;
    socket.on("error", () => undefined);
    socket.on("data", () => {
      requestCount++;
      if (requestCount === 1) return void socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
      cutCount++;
      socket.resetAndDestroy();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return { port, cutCount: () => cutCount, close: () => void server.close() };
}

describe("a client that leaves", () => {
  it("before the answer: the upstream's request ends, too", async () => {
    const outgoing = httpRequest(`${base}/never`, { method: "POST", agent: false });
    outgoing.on("error", () => undefined);
    outgoing.end("body");
    await until(() => upstream.received.at(-1)?.url === "/never", { timeoutMs: 5_000 });
    expect(upstream.openCount()).toBe(1);
    outgoing.destroy();
    await until(() => upstream.openCount() === 0, { timeoutMs: 2_000, what: "the upstream notices" });
    await isServed();
  });

  it("in the middle of the answer: the upstream stops sending", async () => {
    const { incoming, destroy } = await open("/big");
    await once(incoming, "data");
    expect(upstream.openCount()).toBe(1);
    destroy();
    await until(() => upstream.openCount() === 0, { timeoutMs: 2_000, what: "the upstream notices" });
    await isServed();
  });
});

describe("a proxy that leads back to its own gateway", () => {
  it("is told from a long way after a few rounds", async () => {
    await deploy(base);
    const answer = await fetch(`${base}/x`);
    expect([answer.status, await answer.json()]).toMatchObject([508, { code: "PROXY_LOOPED" }]);
    await deploy(upstream.url);
    await isServed();
  });
});

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
    const closed = once(there, "close");
    byClient.close(code, "bye");
    expect((await closed)[0]).toBe(code);
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
    await isServed();
  });

  it("whose refusal breaks off is cut, and does not stay open", async () => {
    const { incoming, body } = await refused("/half");
    expect([incoming.statusCode, incoming.complete, body.length < 1_000]).toEqual([403, false, true]);
    await isServed();
  });

  it("whose upstream speaks another protocol, or is not there: 502", async () => {
    const other = await refused("/other");
    expect([other.incoming.statusCode, JSON.parse(other.body)]).toMatchObject([502, { code: "PROXY_FAILED" }]);
    await deploy(`http://127.0.0.1:${await freePort()}`);
    const { incoming, body } = await refused("/ws");
    expect(problemOf({ status: incoming.statusCode ?? 0, headers: incoming.headers, text: body })).toMatchObject({
      status: 502,
      code: "PROXY_FAILED",
    });
    await deploy(upstream.url);
    await isServed();
  });

  it("that leads back to its own gateway: 508", async () => {
    await deploy(base);
    expect((await refused("/ws")).incoming.statusCode).toBe(508);
    await deploy(upstream.url);
    await isServed();
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
    const closed = once(webSocket, "close");
    const { incoming } = await open("/slowly");
    process.kill(world.gateway.pid, "SIGTERM");
    const parts: Buffer[] = [];
    incoming.on("data", (part: Buffer) => parts.push(part));
    await once(incoming, "end");
    expect(Buffer.concat(parts).toString()).toBe("first second");
    expect((await closed)[0]).toBe(1006);
    const startMs = performance.now();
    expect(await world.gateway.exited).toBe(0);
    expect(performance.now() - startMs).toBeLessThan(5_000);
  });
});
