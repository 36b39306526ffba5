// Which function a request reaches, over HTTP, and what happens to requests that reach none: too large, broken, unknown.
import { describe, expect, it } from "vitest";
import { type Answer, ENGINE_NAMES } from "../support/platform.ts";
import { problemOf } from "../support/problems.ts";
import { exchange } from "../support/raw-http.ts";
import { CAPTURED, type Reached, UNCAPTURED, routingApp } from "../support/routing-app.ts";
import { serveForSuite } from "../support/served-app.ts";

const BODY_BYTES_MAX = 6_000_000;
const TARGET_BYTES_MAX = 8_192;
const HEADER_BYTES_MAX = 16_384;

const reachedIn = (answer: Answer): Reached => JSON.parse(answer.text) as Reached; // The app's functions write it.

describe.each(ENGINE_NAMES)("routing on engine %s", (engine) => {
  const served = serveForSuite(routingApp({ order: "as listed", hasIndex: true }), { engine, flags: ["--no-watch"] });

  const { get } = served;
  const raw = async (lines: readonly string[], body = "") =>
    exchange(served.platform.ports.staging, `${[...lines, "", ""].join("\r\n")}${body}`);

  it.each(CAPTURED)("%s %s reaches %s", async (method, path, folder, params) => {
    const reached = reachedIn(await get(path, { method }));
    expect(reached).toMatchObject({ folder, method, rawPath: path.replace(/\?.*/, "") });
    expect(reached.pathParameters).toEqual(params);
  });

  it.each(UNCAPTURED)("%s %s goes to GET / as $default", async (method, path) => {
    const reached = reachedIn(await get(path, { method }));
    expect(reached).toMatchObject({ folder: "get-index", routeKey: "$default", method, rawPath: path });
    expect(reached.pathParameters).toBeUndefined();
  });

  it("keeps /_static for files, also where there are none", async () => {
    expect(problemOf(await get("/_static/app.css"))).toMatchObject({ status: 404, code: "ROUTE_NOT_FOUND" });
  });

  it.each([
    ["/shop/list", "get-shop-list"],
    ["/shop/tea", "get-shop-000item"],
    ["/files/readme", "get-files-readme"],
    ["/files/a/b", "get-files-catchall"],
    ["/", "get-index"],
    ["/nowhere", "get-index"],
  ])("HEAD %s runs what GET runs, %s, and sends no body", async (path, folder) => {
    const answer = await get(path, { method: "HEAD" });
    expect(answer).toMatchObject({ status: 200, text: "", headers: { "x-folder": folder } });
  });

  it("takes a target in absolute form, whose host stands above the header", async () => {
    const [answer] = await raw(["GET http://shop.example.org/shop/list HTTP/1.1", "Host: other", "Connection: close"]);
    expect(JSON.parse(answer?.body ?? "")).toMatchObject({
      folder: "get-shop-list",
      rawPath: "/shop/list",
      domainName: "shop.example.org",
    });
  });

  it("gives each request of one connection its own answer, in order", async () => {
    const one = (path: string, isLast: boolean) => `GET ${path} HTTP/1.1\r\nHost: a\r\n${isLast ? "Connection: close\r\n" : ""}\r\n`;
    const answers = await exchange(
      served.platform.ports.staging,
      ["/shop/list", "/shop/%ff", "/nowhere", "/files/a/b"].map((path, index) => one(path, index === 3)).join(""),
    );
    expect(answers.map(({ status, headers }) => [status, headers["x-folder"]])).toEqual([
      [200, "get-shop-list"],
      [400, undefined],
      [200, "get-index"],
      [200, "get-files-catchall"],
    ]);
    expect(new Set(answers.map(({ headers }) => headers["x-request-id"])).size).toBe(4);
  });

  it("replaces what an untrusted client says about where it comes from", async () => {
    const headers = {
      "x-forwarded-for": "9.9.9.9",
      "x-forwarded-proto": "https",
      "x-forwarded-host": "evil.example.org",
      "x-forwarded-port": "1",
      "x-forwarded-prefix": "/x",
      forwarded: "for=9.9.9.9",
    };
    const answer = await get("/", { headers: { ...headers, "x-request-id": "chosen-by-the-client" } });
    const reached = reachedIn(answer);
    const host = `127.0.0.1:${served.platform.ports.staging}`;
    expect(reached).toMatchObject({ sourceIp: "127.0.0.1", domainName: "127.0.0.1" });
    expect(reached.forwarded).toEqual({
      "x-forwarded-for": "127.0.0.1",
      "x-forwarded-proto": "http",
      "x-forwarded-host": host,
      "x-forwarded-port": `${served.platform.ports.staging}`,
    });
    expect(answer.headers["x-request-id"]).toBe(reached.requestId);
    expect(reached.requestId).not.toBe("chosen-by-the-client");
  });

  describe("limits", () => {
    const target = (bytes: number): string => `/?${"x".repeat(bytes - 2)}`;
    const headers = (bytes: number): string[] => {
      const fixed = ["Host: a", "Connection: close", "X-Fill: "];
      const fixedBytes = fixed.join("").replaceAll(": ", "").length;
      return [...fixed.slice(0, 2), `X-Fill: ${"x".repeat(bytes - fixedBytes)}`];
    };

    it("takes what is just small enough", async () => {
      expect((await get("/shop/list", { method: "POST", body: Buffer.alloc(BODY_BYTES_MAX) })).status).toBe(200);
      expect((await get(target(TARGET_BYTES_MAX))).status).toBe(200);
      expect(await raw(["GET / HTTP/1.1", ...headers(HEADER_BYTES_MAX)])).toMatchObject([{ status: 200 }]);
    });

    it.each<[number, string, () => Promise<Answer>]>([
      [413, "BODY_TOO_LARGE", async () => get("/shop/list", { method: "POST", body: Buffer.alloc(BODY_BYTES_MAX + 1) })],
      [
        413,
        "BODY_TOO_LARGE",
        async () =>
          get("/shop/list", { method: "POST", body: Buffer.alloc(BODY_BYTES_MAX + 1), headers: { "transfer-encoding": "chunked" } }),
      ],
      [414, "TARGET_TOO_LONG", async () => get(target(TARGET_BYTES_MAX + 1))],
      [414, "TARGET_TOO_LONG", async () => get(target(3 * TARGET_BYTES_MAX))],
      [431, "HEADERS_TOO_LARGE", async () => get("/", { headers: { "x-fill": "x".repeat(HEADER_BYTES_MAX) } })],
      [417, "EXPECTATION_FAILED", async () => get("/", { method: "POST", body: "x", headers: { expect: "the best" } })],
    ])("answers %i %s", async (status, code, refused) => {
      expect(problemOf(await refused())).toEqual({ status, code, detail: null });
      expect((await get("/shop/list")).status).toBe(200);
    });

    it("answers 431 for a byte too many, and for far too many", async () => {
      for (const bytes of [HEADER_BYTES_MAX + 1, 10 * HEADER_BYTES_MAX]) {
        const [answer] = await raw(["GET / HTTP/1.1", ...headers(bytes)]);
        expect(problemOf({ status: 0, ...answer, headers: answer?.headers ?? {}, text: answer?.body ?? "" })).toMatchObject({
          status: 431,
          code: "HEADERS_TOO_LARGE",
        });
      }
    });

    it("shows a page to a browser", async () => {
      const answer = await get(target(TARGET_BYTES_MAX + 1), { headers: { accept: "text/html,application/xhtml+xml,*/*;q=0.8" } });
      expect(answer).toMatchObject({
        status: 414,
        headers: { "content-type": "text/html; charset=utf-8", "cache-control": expect.stringContaining("no-store") as unknown },
      });
      expect(answer.text).toContain(`TARGET_TOO_LONG · ${String(answer.headers["x-request-id"])}`);
    });
  });

  describe("broken requests", () => {
    const HOST = ["Host: a", "Connection: close"];
    const SMUGGLED = "GET /shop/smuggled HTTP/1.1\r\nHost: a\r\n\r\n";

    it.each<[string, number, string, readonly string[], string?]>([
      ["an unknown method", 501, "METHOD_NOT_SUPPORTED", ["BREW / HTTP/1.1", ...HOST]],
      ["a method of WebDAV", 501, "METHOD_NOT_SUPPORTED", ["PROPFIND / HTTP/1.1", ...HOST]],
      ["TRACE", 501, "METHOD_NOT_SUPPORTED", ["TRACE / HTTP/1.1", ...HOST]],
      ["CONNECT", 501, "METHOD_NOT_SUPPORTED", ["CONNECT a:80 HTTP/1.1", ...HOST]],
      ["a request line that is none", 400, "REQUEST_MALFORMED", ["hello"]],
      ["a request line without a version", 400, "REQUEST_MALFORMED", ["GET /", ...HOST]],
      ["a version that is not spoken here", 400, "REQUEST_MALFORMED", ["GET / HTTP/2.0", ...HOST]],
      ["a version that is none", 400, "REQUEST_MALFORMED", ["GET / HTTQ/1.1", ...HOST]],
      [
        "both length and transfer encoding",
        400,
        "REQUEST_MALFORMED",
        ["POST /shop/list HTTP/1.1", "Host: a", "Content-Length: 5", "Transfer-Encoding: chunked"],
        `0\r\n\r\n${SMUGGLED}`,
      ],
      [
        "two lengths",
        400,
        "REQUEST_MALFORMED",
        ["POST /shop/list HTTP/1.1", "Host: a", "Content-Length: 0", "Content-Length: 44"],
        SMUGGLED,
      ],
      ["a length that is no number", 400, "REQUEST_MALFORMED", ["POST /shop/list HTTP/1.1", "Host: a", "Content-Length: +5"], "hello"],
      [
        "a transfer encoding that is not chunked in the end",
        400,
        "REQUEST_MALFORMED",
        ["POST /shop/list HTTP/1.1", "Host: a", "Transfer-Encoding: chunked, gzip"],
        SMUGGLED,
      ],
      [
        "a chunk whose size is no number",
        400,
        "REQUEST_MALFORMED",
        ["POST /shop/list HTTP/1.1", "Host: a", "Transfer-Encoding: chunked"],
        `5\r\nhello\r\nxyz\r\n${SMUGGLED}`,
      ],
      [
        "a chunk longer than its size",
        400,
        "REQUEST_MALFORMED",
        ["POST /shop/list HTTP/1.1", "Host: a", "Transfer-Encoding: chunked"],
        `2\r\nhello\r\n0\r\n\r\n${SMUGGLED}`,
      ],
      [
        "a broken trailer",
        400,
        "REQUEST_MALFORMED",
        ["POST /shop/list HTTP/1.1", "Host: a", "Transfer-Encoding: chunked"],
        `2\r\nhi\r\n0\r\nX Odd: 1\r\n\r\n${SMUGGLED}`,
      ],
      ["a space before a header's colon", 400, "REQUEST_MALFORMED", ["GET / HTTP/1.1", ...HOST, "X-Odd : 1"]],
      ["a header over two lines", 400, "REQUEST_MALFORMED", ["GET / HTTP/1.1", "Host: a", "X-Odd: 1", " 2", "Connection: close"]],
      ["a NUL in a header", 400, "REQUEST_MALFORMED", ["GET / HTTP/1.1", ...HOST, "X-Odd: a\0b"]],
      ["no host", 400, "REQUEST_MALFORMED", ["GET / HTTP/1.1", "Connection: close"]],
      ["two hosts", 400, "REQUEST_MALFORMED", ["GET / HTTP/1.1", ...HOST, "Host: b"]],
      ["a host that is none", 400, "REQUEST_MALFORMED", ["GET / HTTP/1.1", "Host: a/b?c", "Connection: close"]],
      ["a malformed escape in the path", 400, "TARGET_MALFORMED", ["GET /shop/%zz HTTP/1.1", ...HOST]],
      ["a percent sign at the end", 400, "TARGET_MALFORMED", ["GET /shop/% HTTP/1.1", ...HOST]],
      ["escapes that are no UTF-8", 400, "TARGET_MALFORMED", ["GET /shop/%ff HTTP/1.1", ...HOST]],
      ["an overlong escape of a slash", 400, "TARGET_MALFORMED", ["GET /shop/%c0%af HTTP/1.1", ...HOST]],
      ["a path without a slash", 400, "TARGET_MALFORMED", ["GET * HTTP/1.1", ...HOST]],
    ])("%s: %i %s, once, and the next request is not affected", async (_what, status, code, lines, body) => {
      const answers = await raw(lines, body);
      expect(answers).toHaveLength(1);
      const [answer] = answers;
      const problem = problemOf({ status: answer?.status ?? 0, headers: answer?.headers ?? {}, text: answer?.body ?? "" });
      expect(problem).toEqual({ status, code, detail: null });
      expect(reachedIn(await get("/shop/list")).folder).toBe("get-shop-list");
    });

    it("gives every answer an id of its own, errors included", async () => {
      const paths = ["/", "/nowhere", "/shop/%ff", "/shop/list", `/${"x".repeat(9_000)}`];
      const ids = await Promise.all(paths.map(async (path) => (await get(path)).headers["x-request-id"]));
      for (const id of ids) expect(id).toMatch(/^[\w-]{16,}$/);
      expect(new Set(ids).size).toBe(paths.length);
    });
  });
});

describe("an app without GET /, behind a trusted proxy, its manifest turned round", () => {
  const served = serveForSuite(routingApp({ order: "turned round", hasIndex: false }), {
    engine: "process",
    flags: ["--no-watch", "--trust-proxy", "127.0.0.1"],
  });

  it.each(CAPTURED)("%s %s reaches %s", async (method, path, folder, params) => {
    const reached = reachedIn(await served.get(path, { method }));
    expect(reached).toMatchObject({ folder, method });
    expect(reached.pathParameters).toEqual(params);
  });

  it.each([...UNCAPTURED, ["GET", "/"] as const])("%s %s answers a plain 404", async (method, path) => {
    const answer = await served.get(path, { method });
    expect(problemOf(answer)).toEqual({ status: 404, code: "ROUTE_NOT_FOUND", detail: null });
    expect(answer.headers["x-request-id"]).toMatch(/^[\w-]{16,}$/);
  });

  it.each([
    ["text/html", "text/html; charset=utf-8"],
    ["text/html,application/xhtml+xml,*/*;q=0.8", "text/html; charset=utf-8"],
    ["application/json", "application/problem+json"],
    ["application/json, text/html;q=0.9", "application/problem+json"],
    ["*/*", "application/problem+json"],
  ])("shows a 404 to a client that accepts %s as %s", async (accept, type) => {
    const answer = await served.get("/", { headers: { accept } });
    expect(answer).toMatchObject({ status: 404, headers: { "content-type": type } });
    expect(answer.text).toContain(String(answer.headers["x-request-id"]));
  });

  it("believes what its proxy says about where a request comes from", async () => {
    const headers = {
      "x-forwarded-for": "9.9.9.9, 1.2.3.4",
      "x-forwarded-proto": "https",
      "x-forwarded-host": "shop.example.org",
      "x-request-id": "chosen-by-the-proxy",
    };
    const answer = await served.get("/shop/list", { headers });
    expect(reachedIn(answer)).toMatchObject({
      // The proxy appended whom it heard from; what stands before that anyone may have written.
      sourceIp: "1.2.3.4",
      requestId: "chosen-by-the-proxy",
      forwarded: {
        "x-forwarded-for": "1.2.3.4",
        "x-forwarded-proto": "https",
        "x-forwarded-host": "shop.example.org",
        "x-forwarded-port": "443",
      },
    });
    expect(answer.headers["x-request-id"]).toBe("chosen-by-the-proxy");
  });

  it("takes no request id that could do harm, from a proxy neither", async () => {
    for (const id of ["x".repeat(129), 'a"b', "a b"]) {
      const { headers } = await served.get("/shop/list", { headers: { "x-request-id": id } });
      expect(headers["x-request-id"]).toMatch(/^[\w-]{16,}$/);
    }
  });
});
