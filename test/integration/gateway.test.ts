// A gateway process between real sockets and a real broker: routing, limits, dispatch and errors as a visitor sees them.
import { createHash, randomBytes } from "node:crypto";
import { request as httpRequest } from "node:http";
import { connect as connectSocket } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createWorld, fn, live, startInstance, text, type ScriptedInstance, type World } from "../support/gateway-world.ts";
import { until } from "../support/until.ts";

let world: World;
let echo: ScriptedInstance;
let base: string;

beforeAll(async () => {
  world = await createWorld();
  base = `http://127.0.0.1:${world.port}`;
  echo = await startInstance(world, "echo1", ({ header, body, respond }) =>
    text(
      respond,
      JSON.stringify({
        ...header,
        body: body.length > 1_000 ? createHash("sha256").update(body).digest("hex") : Buffer.from(body).toString("base64"),
      }),
    ),
  );
});

afterAll(async () => {
  await echo.kill();
  await world.close();
});

const routes = (paths: readonly (readonly [Parameters<typeof fn>[0], string])[], instanceIds: readonly string[] = ["echo1"]) =>
  paths.map(([method, path]) => fn(method, path, { instanceIds }));

interface Echo {
  readonly route: string;
  readonly path: string;
  readonly query: string;
  readonly method: string;
  readonly params: Record<string, string> | null;
  readonly body: string;
  readonly headers: readonly string[];
  readonly sourceIp: string;
}

const echoed = async (path: string, init: RequestInit = {}): Promise<Echo> => (await (await fetch(base + path, init)).json()) as Echo; // What the scripted instance above answers.
const problem = async (answer: Response): Promise<{ code: string; detail?: string; requestId: string }> =>
  (await answer.json()) as { code: string; detail?: string; requestId: string }; // The shape that the tests below look at.

/** What comes back on a bare socket until it closes or an answer is complete. */
function raw(bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connectSocket(world.port, "127.0.0.1", () => socket.write(bytes, "latin1"));
    let received = "";
    socket.setTimeout(5_000, () => socket.destroy(new Error(`no answer; got ${received}`)));
    socket.on("data", (chunk) => void (received += chunk.toString("latin1")));
    socket.on("error", reject);
    socket.on("close", () => resolve(received));
  });
}

describe("before anything is deployed", () => {
  it("answers a stranger's host with 404 and a problem", async () => {
    await until(async () => (await fetch(base)).status === 404, { timeoutMs: 5_000 });
    const answer = await fetch(base);
    expect(answer.headers.get("content-type")).toBe("application/problem+json");
    expect(answer.headers.get("cache-control")).toContain("no-store");
    const { code, requestId } = await problem(answer);
    expect(code).toBe("APP_NOT_FOUND");
    expect(requestId).toBe(answer.headers.get("x-request-id"));
  });

  it("says how to deploy where an app has nothing live", async () => {
    await world.put({ deployment: { kind: "none" } });
    const answer = await fetch(base);
    expect(answer.status).toBe(503);
    expect(answer.headers.get("retry-after")).toBe("1");
    expect(await problem(answer)).toMatchObject({
      code: "NOTHING_DEPLOYED",
      detail: expect.stringContaining("orchestrator up") as unknown,
    });
  });

  it("shows a page to a browser", async () => {
    const answer = await fetch(base, { headers: { accept: "text/html,*/*;q=0.8" } });
    expect(answer.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(await answer.text()).toContain("NOTHING_DEPLOYED");
  });
});

describe("routing", () => {
  beforeAll(async () => {
    await world.put({
      deployment: live(
        world,
        routes([
          ["GET", "/"],
          ["GET", "/shop/:item"],
          ["POST", "/api/submit"],
          ["ANY", "/files/*"],
        ]),
      ),
    });
  });

  it("gives a function its route, path, query and decoded params", async () => {
    expect(await echoed("/shop/a%2Fb?x=1&y")).toMatchObject({
      route: "GET /shop/:item",
      path: "/shop/a%2Fb",
      query: "x=1&y",
      params: { item: "a/b" },
    });
    expect(await echoed("/files/a/b.txt", { method: "DELETE" })).toMatchObject({ route: "ANY /files/*", params: { proxy: "a/b.txt" } });
  });

  it("gives what no route captures to GET / as $default, with its own method and body", async () => {
    expect(await echoed("/nowhere", { method: "PUT", body: "x" })).toMatchObject({
      route: "$default",
      method: "PUT",
      path: "/nowhere",
      params: null,
      body: "eA==",
    });
  });

  it("carries bytes of a body, also chunked and after 100-continue", async () => {
    const bytes = Buffer.from([0, 255, 10, 13, 128]);
    expect((await echoed("/api/submit", { method: "POST", body: bytes })).body).toBe(bytes.toString("base64"));
    const chunked =
      "POST /api/submit HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
    expect(await raw(chunked)).toContain(Buffer.from("abcde").toString("base64"));
    const continued = await new Promise<string>((resolve, reject) => {
      const request = httpRequest(
        `${base}/api/submit`,
        { method: "POST", headers: { expect: "100-continue", "content-length": 2 } },
        (answer) => {
          let body = "";
          answer.on("data", (chunk: Buffer) => void (body += chunk.toString())).on("end", () => resolve(body));
        },
      );
      request.on("continue", () => request.end("ok")).on("error", reject);
      request.flushHeaders();
    });
    expect(continued).toContain('"body":"b2s="');
  });

  it("carries bodies of 6 MB, over the first link and then over the second", async () => {
    for (let round = 0; round < 3; round++) {
      const bytes = randomBytes(6_000_000);
      expect((await echoed("/api/submit", { method: "POST", body: bytes })).body).toBe(createHash("sha256").update(bytes).digest("hex"));
    }
  });

  it("answers HEAD with the length and without the body", async () => {
    const answer = await fetch(`${base}/shop/x`, { method: "HEAD" });
    expect(answer.status).toBe(200);
    expect(Number(answer.headers.get("content-length"))).toBeGreaterThan(0);
    expect(await answer.text()).toBe("");
  });

  it("finds apps by host, whatever its case and port", async () => {
    await world.put({
      appId: "other",
      appName: "other",
      hosts: ["other.test"],
      isDefault: false,
      deployment: live(world, routes([["GET", "/only-here"]])),
    });
    expect(await raw("GET /only-here HTTP/1.1\r\nhost: OTHER.test:81\r\nconnection: close\r\n\r\n")).toContain('"route":"GET /only-here"');
    expect(await raw("GET /nothing HTTP/1.1\r\nhost: other.test\r\nconnection: close\r\n\r\n")).toContain("ROUTE_NOT_FOUND");
    await world.remove("other");
    expect(await raw("GET /only-here HTTP/1.1\r\nhost: other.test\r\nconnection: close\r\n\r\n")).toContain('"route":"$default"');
  });

  it("drops forwarded headers of strangers and writes its own", async () => {
    const { headers, sourceIp } = await echoed("/shop/x", {
      headers: { "x-forwarded-for": "6.6.6.6", "x-forwarded-secret": "1", forwarded: "for=6.6.6.6", "x-other": "stays" },
    });
    expect(sourceIp).toBe("127.0.0.1");
    expect(headers.join(" ")).not.toContain("6.6.6.6");
    expect(headers).toEqual(expect.arrayContaining(["x-other", "stays", "x-forwarded-for", "127.0.0.1", "x-forwarded-proto", "http"]));
    expect(headers).not.toContain("x-forwarded-secret");
  });
});

describe("what is no proper request", () => {
  const cases: readonly (readonly [string, string, number])[] = [
    ["garbage", "\x16\x03\x01\x02\r\n\r\n", 400],
    ["an unknown method", "FROB / HTTP/1.1\r\nhost: x\r\n\r\n", 501],
    ["a method that no route can have", "TRACE / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n", 501],
    ["CONNECT", "CONNECT example.com:443 HTTP/1.1\r\nhost: x\r\n\r\n", 501],
    ["no host", "GET / HTTP/1.1\r\nconnection: close\r\n\r\n", 400],
    ["two hosts", "GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\nconnection: close\r\n\r\n", 400],
    ["a host that is none", "GET / HTTP/1.1\r\nhost: a/b\r\nconnection: close\r\n\r\n", 400],
    ["broken percent-encoding", "GET /%zz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n", 400],
    ["percent-encoding that is no UTF-8", "GET /%ff HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n", 400],
    ["an asterisk", "OPTIONS * HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n", 400],
    ["two framings", "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", 400],
    ["two lengths", "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\nabc", 400],
    ["a broken chunk", "POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", 400],
    ["an unknown expectation", "GET / HTTP/1.1\r\nhost: x\r\nexpect: miracles\r\nconnection: close\r\n\r\n", 417],
    ["a target of 9,000 bytes", `GET /${"a".repeat(9_000)} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`, 414],
    ["headers of 17,000 bytes", `GET / HTTP/1.1\r\nhost: x\r\nx-large: ${"a".repeat(17_000)}\r\nconnection: close\r\n\r\n`, 431],
    ["headers of 200,000 bytes", `GET / HTTP/1.1\r\nhost: x\r\nx-large: ${"a".repeat(200_000)}\r\nconnection: close\r\n\r\n`, 431],
    ["an announced body of 6,000,001 bytes", "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 6000001\r\n\r\n", 413],
  ];
  it.each(cases)("refuses %s with a problem", async (_name, bytes, status) => {
    const answer = await raw(bytes);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(answer.toLowerCase()).toContain("connection: close");
    expect(answer.toLowerCase()).toContain("x-request-id: ");
    expect(answer).toContain("application/problem+json");
  });

  it("stops reading a chunked body that grows too large, and still gets its refusal through", async () => {
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const request = httpRequest(base, { method: "POST" }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      });
      request.on("error", reject);
      for (let index = 0; index < 100; index++) request.write(Buffer.alloc(100_000));
      request.end();
    });
    expect(status).toBe(413);
  });

  it("takes the absolute form, whose host stands above the header", async () => {
    expect(await raw("GET http://Elsewhere.test:80/shop/1?q HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")).toContain(
      '"path":"/shop/1"',
    );
  });

  it("answers pipelined requests in their order", async () => {
    const one = (name: string, more = ""): string => `GET /shop/${name} HTTP/1.1\r\nhost: x\r\n${more}\r\n`;
    const answer = await raw(one("first") + one("second") + one("third", "connection: close\r\n"));
    expect([...answer.matchAll(/"path":"\/shop\/(\w+)"/g)].map(([, name]) => name)).toEqual(["first", "second", "third"]);
  });

  it("ignores an upgrade", async () => {
    expect(await raw("GET /shop/1 HTTP/1.1\r\nhost: x\r\nconnection: upgrade, close\r\nupgrade: websocket\r\n\r\n")).toMatch(
      /^HTTP\/1.1 200 /,
    );
  });

  it("serves all of these without an error of its own", async () => {
    expect((await world.status()).requestCount).toBe(0);
    expect(world.gateway.output()).not.toContain('"level":"error"');
  });
});

describe("answers of functions", () => {
  let odd: ScriptedInstance;
  beforeAll(async () => {
    const body = Buffer.from("body");
    odd = await startInstance(world, "odd1", ({ header, respond }) => {
      const whole = { v: 1, kind: "whole", status: 200, headers: [] as string[], bodyBytes: body.length } as const;
      if (header.path === "/framing")
        respond(
          { ...whole, headers: ["Transfer-Encoding", "chunked", "Content-Length", "9", "set-cookie", "a=1", "set-cookie", "b=2"] },
          body,
        );
      else if (header.path === "/split") respond({ ...whole, headers: ["x-a", "1\r\nx-b: 2"] }, body);
      else if (header.path === "/status") respond({ ...whole, status: 99 }, body);
      else if (header.path === "/length") respond({ ...whole, bodyBytes: 3 }, body);
      else if (header.path === "/empty") respond({ ...whole, status: 204, bodyBytes: 4 });
      else if (header.path === "/threw")
        respond({ v: 1, kind: "failed", code: "HANDLER_THREW", message: "oh", stack: "Error: oh\n    at index.js:1" });
      else if (header.path === "/malformed") respond({ v: 1, kind: "failed", code: "BODY_MALFORMED", message: "no JSON" });
      else if (header.path === "/full") respond({ v: 1, kind: "failed", code: "STORE_FULL", message: "no room" });
      else respond({ v: 1, kind: "failed", code: "API_TOKEN_REFUSED", message: "a lie" });
    });
    await world.put({ deployment: live(world, routes([["ANY", "/*"]], ["odd1"])) });
  });
  afterAll(() => odd.kill());

  it("frames them itself and keeps repeated headers", async () => {
    const answer = await raw("GET /framing HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    expect(answer.toLowerCase()).not.toContain("transfer-encoding");
    expect(answer).toContain("content-length: 4\r\n");
    expect(answer).toContain("set-cookie: a=1\r\nset-cookie: b=2\r\n");
    expect(answer.endsWith("\r\n\r\nbody")).toBe(true);
  });

  it.each(["/split", "/status", "/length"])("answers 502 for what is no HTTP answer (%s)", async (path) => {
    const answer = await fetch(base + path);
    expect(answer.status).toBe(502);
    expect((await problem(answer)).code).toBe("HANDLER_ANSWER_INVALID");
  });

  it("sends no length with 204", async () => {
    const answer = await raw("GET /empty HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    expect(answer).toMatch(/^HTTP\/1.1 204 /);
    expect(answer.toLowerCase()).not.toContain("content-length");
  });

  it("shows a stack outside production, and believes no code that is not about the function", async () => {
    const threw = await fetch(`${base}/threw`);
    expect(threw.status).toBe(500);
    expect(await problem(threw)).toMatchObject({ code: "HANDLER_THREW", detail: expect.stringContaining("index.js:1") as unknown });
    expect((await problem(await fetch(`${base}/lie`))).code).toBe("HANDLER_THREW");
  });

  it("answers 400 for a body that the function could not read", async () => {
    const answer = await fetch(`${base}/malformed`, { method: "POST", body: "{" });
    expect(answer.status).toBe(400);
    expect(await problem(answer)).toMatchObject({ code: "BODY_MALFORMED", detail: "no JSON" });
  });

  it("keeps the code of what the store could not do and the handler did not catch", async () => {
    const answer = await fetch(`${base}/full`);
    expect(answer.status).toBe(507);
    expect(await problem(answer)).toMatchObject({ code: "STORE_FULL", detail: "no room" });
  });
});

describe("snapshots", () => {
  it("flips between releases under load without one failure", async () => {
    const instances = await Promise.all(["flip1", "flip2"].map((id) => startInstance(world, id, ({ respond }) => text(respond, id))));
    await world.put({ deployment: live(world, routes([["GET", "/"]], ["flip1"])) });
    const load = { isOver: false };
    const statuses = new Map<number, number>();
    const client = async (): Promise<void> => {
      while (!load.isOver) {
        const answer = await fetch(base);
        await answer.text();
        statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
      }
    };
    const clients = Array.from({ length: 8 }, client);
    for (let round = 0; round < 20; round++)
      await world.put({ deployment: live(world, routes([["GET", "/"]], [round % 2 === 0 ? "flip2" : "flip1"])) });
    load.isOver = true;
    await Promise.all(clients);
    expect([...statuses.keys()]).toEqual([200]);
    expect(statuses.get(200)).toBeGreaterThan(100);
    await Promise.all(instances.map((instance) => instance.kill()));
  });

  it("ignores a snapshot that is older than the one it has", async () => {
    await world.put({ deployment: live(world, routes([["GET", "/"]])), sequence: 1_000 });
    const before = await world.status();
    const bucket = await world.client().jetstream().views.kv("snapshot_staging");
    await bucket.put(
      "app",
      JSON.stringify({ v: 1, appId: "app", appName: "app", hosts: [], isDefault: true, sequence: 5, deployment: { kind: "none" } }),
    );
    await bucket.put("app", "no snapshot at all");
    await world.put({ appId: "marker", hosts: ["marker.test"], isDefault: false, deployment: { kind: "none" } }); // It came later, and is there.
    expect((await world.status()).sequences["app"]).toBe(before.sequences["app"]);
    expect((await fetch(base)).status).toBe(200);
  });
});
