// @proxy through a real gateway: requests to real upstreams, and everything that can go wrong on the way there and back.
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { createServer } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort, type World } from "../support/gateway-world.ts";
import { closed, slowly, startProxyRig, type ProxyRig } from "../support/proxy-rig.ts";
import { exchange } from "../support/raw-http.ts";
import { startUpstream, type Act, type Received, type Upstream } from "../support/test-upstream.ts";
import { until } from "../support/until.ts";

const BIG = randomBytes(20_000_000);
const READING_PAUSE_MS = 5;
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
  "/slowly": slowly,
};

let rig: ProxyRig;
let world: World;
let upstream: Upstream;
let base: string;

beforeAll(async () => {
  rig = await startProxyRig(ACTS);
  ({ world, upstream, base } = rig);
});

afterAll(() => rig.close());

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
describe("what the proxy answers", () => {
  it("is what no function is declared for: routes win, and GET / is no fallback any more", async () => {
    expect(await (await fetch(base)).text()).toBe("function GET /");
    expect(await (await fetch(`${base}/api/1`, { method: "POST" })).text()).toBe("function POST /api/:x");
    expect(await echoed("/elsewhere")).toMatchObject({ method: "GET", url: "/elsewhere" });
    expect(await echoed("/api/1", { method: "PUT", body: "x" })).toMatchObject({ method: "PUT", url: "/api/1", body: "x" });
    expect(await echoed("/", { method: "DELETE" })).toMatchObject({ method: "DELETE", url: "/" });
  });

  it("is never a path below /_static", async () => {
    expect(await rig.problemAt("/_static/x")).toMatchObject({ status: 404, code: "ROUTE_NOT_FOUND" });
  });

  it("follows the snapshot to another upstream, and back to GET / without one", async () => {
    const other = await startUpstream({ "*": (_request, response) => response.end("the other") });
    await rig.deploy(other.url);
    expect(await (await fetch(`${base}/x`)).text()).toBe("the other");
    await rig.deploy(null);
    expect(await (await fetch(`${base}/x`)).text()).toBe("function $default");
    await rig.deploy(upstream.url);
    await other.close();
    await rig.isServed();
  });
});

describe("what the upstream is told", () => {
  it("the path below the URL's own path, with slashes, dots and encoding as they were sent", async () => {
    await rig.deploy(`${upstream.url}/below/`);
    expect((await rawEcho("GET //a/../b%2Fc//?x=//y?z HTTP/1.1\r\nhost: a.test\r\nconnection: close\r\n\r\n")).url).toBe(
      "/below//a/../b%2Fc//?x=//y?z",
    );
    await rig.deploy(upstream.url);
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
    await rig.deploy(upstream.url.replace("//", "//me:p%40ss@"));
    expect((await echoed("/x")).headers["authorization"]).toBe(`Basic ${Buffer.from("me:p@ss").toString("base64")}`);
    await rig.deploy(upstream.url);
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
    await rig.isServed();
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
    await rig.isServed();
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
    await rig.isServed();
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
    const answer = await rig.open("/big");
    const parts: Buffer[] = [];
    for await (const part of answer.incoming) {
      parts.push(part as Buffer); // No encoding was set.
      if (parts.length % 50 === 0) await delay(READING_PAUSE_MS); // The pace is what is tested.
    }
    expect(sha256(Buffer.concat(parts))).toBe(sha256(BIG));
  });

  it("an answer as it comes, and one that only its end delimits", async () => {
    const answer = await rig.open("/slowly");
    const [first] = (await once(answer.incoming, "data")) as [Buffer]; // What an incoming message emits.
    expect(first.toString()).toBe("first ");
    answer.incoming.destroy();
    expect(await (await fetch(`${base}/to-the-end`)).text()).toBe("until it closes");
    await rig.isServed();
  });
});

describe("what goes wrong at the upstream", () => {
  it.each(["/dies-at-once", "/garbage", "/two-framings", "/odd-status", "/switches"])(
    "502 where it answers nothing that could be sent on (%s)",
    async (path) => {
      expect(await rig.problemAt(path)).toMatchObject({
        status: 502,
        code: "PROXY_FAILED",
        detail: expect.stringContaining(upstream.url) as unknown,
      });
      await rig.isServed();
    },
  );

  it("502 where nobody listens, without showing the credentials of its URL", async () => {
    await rig.deploy(`http://me:secret@127.0.0.1:${await freePort()}`);
    const problem = await rig.problemAt("/x");
    expect(problem).toMatchObject({ status: 502, code: "PROXY_FAILED", detail: expect.stringContaining("ECONNREFUSED") as unknown });
    expect(problem.detail).not.toContain("secret");
    expect(world.gateway.output()).not.toContain("secret");
    await rig.deploy(upstream.url);
    await rig.isServed();
  });

  it("502 where an https upstream cannot prove who it is, or the URL is none", async () => {
    await rig.deploy(upstream.url.replace("http:", "https:"));
    expect(await rig.problemAt("/x")).toMatchObject({ status: 502, code: "PROXY_FAILED" });
    await rig.deploy("ftp://127.0.0.1/");
    expect(await rig.problemAt("/x")).toMatchObject({ status: 502, code: "PROXY_FAILED" });
    await rig.deploy(upstream.url);
    await rig.isServed();
  });

  it.each(["/dies", "/dies-chunked"])("a connection that is cut where it dies in the middle of its answer (%s)", async (path) => {
    const { incoming } = await rig.open(path);
    expect(incoming.statusCode).toBe(200);
    const parts: Buffer[] = [];
    incoming.on("data", (part: Buffer) => parts.push(part));
    await closed(incoming);
    expect([Buffer.concat(parts).toString(), incoming.complete]).toEqual(["only this", false]);
    await rig.isServed();
  });

  it("a safe request goes out again where the kept connection had been closed meanwhile", async () => {
    const brusque = await startBrusque();
    await rig.deploy(`http://127.0.0.1:${brusque.port}`);
    const statuses: number[] = [];
    for (let round = 0; round < 4; round++) statuses.push((await fetch(`${base}/x`)).status);
    expect(statuses).toEqual([200, 200, 200, 200]);
    expect(brusque.cutCount()).toBeGreaterThan(0);
    await rig.deploy(upstream.url);
    brusque.close();
    await rig.isServed();
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
    await rig.isServed();
  });

  it("in the middle of the answer: the upstream stops sending", async () => {
    const { incoming, destroy } = await rig.open("/big");
    await once(incoming, "data");
    expect(upstream.openCount()).toBe(1);
    destroy();
    await until(() => upstream.openCount() === 0, { timeoutMs: 2_000, what: "the upstream notices" });
    await rig.isServed();
  });
});

describe("a proxy that leads back to its own gateway", () => {
  it("is told from a long way after a few rounds", async () => {
    await rig.deploy(base);
    const answer = await fetch(`${base}/x`);
    expect([answer.status, await answer.json()]).toMatchObject([508, { code: "PROXY_LOOPED" }]);
    await rig.deploy(upstream.url);
    await rig.isServed();
  });
});
