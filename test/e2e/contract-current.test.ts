// The contract of the current handler generation, row by row, over HTTP: request object, response object, handlers, context.
import { describe, expect, it } from "vitest";
import { itAnswers } from "../support/answer-suite.ts";
import { RIGHT_ANSWERS, WRONG_ANSWERS, answersSource } from "../support/current-answers.ts";
import { ENGINE_NAMES, type SendOptions } from "../support/platform.ts";
import { serveForSuite } from "../support/served-app.ts";
import { problemOf } from "../support/problems.ts";
import { exchange } from "../support/raw-http.ts";
import { until } from "../support/until.ts";

// Says in headers what a HEAD request cannot say in its body.
const ECHO = `(event) => ({
  statusCode: 200,
  headers: { "content-type": "application/json", "x-method": event.requestContext.http.method, "x-route-key": event.routeKey },
  body: JSON.stringify({ event, keys: Object.keys(event) }),
})`;

const BODY = `
export const handler = async (event) => {
  const before = { ...event };
  const assigned = Object.assign({}, event);
  const read = JSON.parse(JSON.stringify(event));
  const kind = Object.getOwnPropertyDescriptor(event, "body");
  event.body = JSON.stringify({ query: "{hello}" });
  const after = { body: event.body, isBase64Encoded: event.isBase64Encoded, spread: { ...event }.body, read: JSON.parse(JSON.stringify(event)).isBase64Encoded };
  return { before, assigned, read, isOwn: Object.hasOwn(event, "body"), isEnumerable: kind.enumerable, after };
};
`;

const CALLBACK = `
exports.handler = (event, context, callback) => {
  switch (event.queryStringParameters.way) {
    case "at once": return callback(null, { body: "at once" });
    case "later": setTimeout(() => callback(null, { statusCode: 201, body: "later" }), 20); return;
    case "error": return callback(new TypeError("by callback"));
    case "returned": return { body: "returned" };
    case "promise": return Promise.resolve({ body: "promise" });
  }
};
`;

const CONTEXT = `
interface Context { awsRequestId: string; functionName: string; getRemainingTimeInMillis(): number; signal: AbortSignal }
interface Event { queryStringParameters?: Record<string, string>; requestContext: { requestId: string } }
let aborted: { afterMs: number; reason: string } | null = null;

export async function handler(event: Event, context: Context): Promise<object> {
  if (event.queryStringParameters?.wait === undefined) {
    const { awsRequestId, functionName, signal } = context;
    return { awsRequestId, functionName, remainingMs: context.getRemainingTimeInMillis(), isAborted: signal.aborted, requestId: event.requestContext.requestId, aborted };
  }
  const startMs: number = performance.now();
  return new Promise(() => {
    context.signal.addEventListener("abort", () => { aborted = { afterMs: performance.now() - startMs, reason: context.signal.reason.name }; });
  });
}
`;

const ANSWERS = [...RIGHT_ANSWERS, ...WRONG_ANSWERS].map((one) => one.returns);
const THROWS = 'Promise.reject(new TypeError("out of ideas"))';

const APP = {
  "app.arc":
    "@app\ncontract\n\n@http\nget /\nany /echo/:item/of/:place\nget /files/*\nany /body\nget /answer/:number\nget /callback\nget /context\n",
  "src/http/get-index/index.js": `exports.handler = ${ECHO};\n`,
  "src/http/any-echo-000item-of-000place/index.js": `await Promise.resolve();\nexport const handler = async ${ECHO};\n`,
  "src/http/any-echo-000item-of-000place/package.json": '{ "type": "module" }',
  "src/http/get-files-catchall/index.cjs": `exports.handler = ${ECHO};\n`,
  "src/http/any-body/index.mjs": BODY,
  "src/http/get-answer-000number/index.js": answersSource([...ANSWERS, THROWS]),
  "src/http/get-callback/index.js": CALLBACK,
  "src/http/get-context/index.ts": CONTEXT,
  "src/http/get-context/config.arc": "@aws\ntimeout 1\n",
};

interface Event {
  readonly [field: string]: unknown;
  readonly headers: Record<string, string>;
  readonly requestContext: { readonly [field: string]: unknown; readonly http: Record<string, string> };
}

/** What a handler was given, as it said itself. */
const eventIn = (text: string): { event: Event; keys: string[] } => JSON.parse(text) as { event: Event; keys: string[] }; // ECHO writes it.

const base64 = (text: string): string => Buffer.from(text).toString("base64");

describe.each(ENGINE_NAMES)("the current generation on engine %s", (engine) => {
  const served = serveForSuite(APP, { engine, flags: ["--promote", "--no-watch"] });

  const { get } = served;
  const echo = async (path: string, options?: SendOptions): Promise<Event> => eventIn((await get(path, options)).text).event;
  /** With header lines that no client library would send as they are. */
  const echoRaw = async (path: string, lines: readonly string[]): Promise<Event> => {
    const [answer] = await exchange(
      served.platform.ports.staging,
      [`GET ${path} HTTP/1.1`, "Host: 127.0.0.1", "Connection: close", ...lines, "", ""].join("\r\n"),
    );
    return eventIn(answer?.body ?? "").event;
  };

  describe("gives a handler", () => {
    const ITEM = "/echo/tea/of/china";

    it.each<[string, string, SendOptions, Record<string, unknown>]>([
      ["the version", "/", {}, { version: "2.0" }],
      ["the route key", "/", {}, { routeKey: "GET /" }],
      ["params of the route key in braces", ITEM, {}, { routeKey: "ANY /echo/{item}/of/{place}" }],
      ["the route key of a catch-all", "/files/a/b.txt", {}, { routeKey: "GET /files/{proxy+}", pathParameters: { proxy: "a/b.txt" } }],
      ["$default where no function captures the path", "/no/such", {}, { routeKey: "$default", rawPath: "/no/such" }],
      ["$default where no function captures the method", "/callback", { method: "DELETE" }, { routeKey: "$default", rawPath: "/callback" }],
      ["the path as it was sent", "/echo/a%2Fb/of/c%20d/", {}, { rawPath: "/echo/a%2Fb/of/c%20d/" }],
      ["params decoded, with %2F inside", "/echo/a%2Fb/of/c%20d%C5%BE", {}, { pathParameters: { item: "a/b", place: "c dž" } }],
      ["the query with its question mark", "/?a=1&b=%20", {}, { rawQueryString: "?a=1&b=%20", queryStringParameters: { a: "1", b: " " } }],
      ["an empty text without a query", "/", {}, { rawQueryString: "" }],
      ["an empty text for a bare question mark", "/?", {}, { rawQueryString: "" }],
      ["repeated names of a query joined", "/?a=1&b=x&a=2&a=", {}, { queryStringParameters: { a: "1,2,", b: "x" } }],
      [
        "plus and escapes of a query decoded",
        "/?a+b=c+d%2B%26&%C5%BE=%E2%82%AC",
        {},
        { queryStringParameters: { "a b": "c d+&", ž: "€" } },
      ],
      [
        "malformed escapes of a query as they are",
        "/?a=%zz&b=%&c=%C5%BE%ff",
        {},
        { queryStringParameters: { a: "%zz", b: "%", c: "%C5%BE%ff" } },
      ],
      ["names of a query without a value", "/?a&b=&=c", {}, { queryStringParameters: { a: "", b: "", "": "c" } }],
      ["a question mark inside of a query", "/?a=?b=c", {}, { rawQueryString: "?a=?b=c", queryStringParameters: { a: "?b=c" } }],
      ["cookies one by one", "/", { headers: { cookie: "a=1; b=2=3;c" } }, { cookies: ["a=1", "b=2=3", "c"] }],
      [
        "header names in lower case",
        "/",
        { headers: { "X-Mixed-Case": "As Is" } },
        { headers: expect.objectContaining({ "x-mixed-case": "As Is" }) as unknown },
      ],
      [
        "the cookie header besides cookies",
        "/",
        { headers: { cookie: "a=1" } },
        { headers: expect.objectContaining({ cookie: "a=1" }) as unknown },
      ],
      ["no flag without a body", ITEM, {}, { isBase64Encoded: false }],
      ["text as base64", ITEM, { method: "POST", body: "žluť" }, { body: base64("žluť"), isBase64Encoded: true }],
      [
        "a form unparsed",
        ITEM,
        { method: "POST", body: "greeting=hi", headers: { "content-type": "application/x-www-form-urlencoded" } },
        { body: base64("greeting=hi"), isBase64Encoded: true },
      ],
      [
        "JSON unparsed",
        ITEM,
        { method: "PUT", body: '{"a":1}', headers: { "content-type": "application/json" } },
        { body: base64('{"a":1}'), isBase64Encoded: true },
      ],
      ["binary bytes", ITEM, { method: "PATCH", body: Buffer.from([0, 255, 128, 10]) }, { body: "AP+ACg==", isBase64Encoded: true }],
      ["the body of a DELETE", ITEM, { method: "DELETE", body: "x" }, { body: base64("x") }],
      ["the body of a GET", "/", { body: "x" }, { body: base64("x"), isBase64Encoded: true }],
      [
        "a chunked body",
        ITEM,
        { method: "POST", body: "in chunks", headers: { "transfer-encoding": "chunked" } },
        { body: base64("in chunks"), isBase64Encoded: true },
      ],
      ["no flag with an empty body", ITEM, { method: "POST", headers: { "content-length": "0" } }, { isBase64Encoded: false }],
    ])("%s", async (_what, path, options, expected) => {
      expect(await echo(path, options)).toMatchObject(expected);
    });

    it.each<[string, string, SendOptions]>([
      ["pathParameters", "/", {}],
      ["pathParameters", "/no/such/route", {}],
      ["queryStringParameters", "/", {}],
      ["queryStringParameters", "/?", {}],
      ["cookies", "/", {}],
      ["body", "/", {}],
      ["body", "/echo/tea/of/china", { method: "POST", headers: { "content-length": "0" } }],
      ["body", "/echo/tea/of/china", { method: "POST", headers: { "transfer-encoding": "chunked" } }],
    ])("no %s on %s where there is none", async (field, path, options) => {
      const { event, keys } = eventIn((await get(path, options)).text);
      expect(event).toMatchObject({ version: "2.0" });
      expect(keys).not.toContain(field);
    });

    it("a name like __proto__ of a query as any other name", async () => {
      const { queryStringParameters } = await echo("/?__proto__=a&constructor=b&__proto__=c");
      expect(Object.entries(queryStringParameters ?? {})).toEqual([
        ["__proto__", "a,c"],
        ["constructor", "b"],
      ]);
    });

    it("repeated headers joined, those of cookies with a semicolon", async () => {
      const event = await echoRaw("/", ["X-Many: a", "x-many: b, c", "Cookie: a=1", "COOKIE: b=2; c=3", "__proto__: own"]);
      expect(event.headers).toMatchObject({ "x-many": "a, b, c", cookie: "a=1; b=2; c=3" });
      expect(Object.entries(event.headers)).toContainEqual(["__proto__", "own"]);
      expect(event["cookies"]).toEqual(["a=1", "b=2", "c=3"]);
    });

    it("the context of the request", async () => {
      const beforeMs = Date.now();
      const path = "/echo/a%20b/of/c";
      const answer = await get(`${path}?q=1`, { method: "PUT", headers: { "user-agent": "a test", host: "shop.example.org:8080" } });
      const { event } = eventIn(answer.text);
      expect(event.requestContext).toEqual({
        accountId: expect.stringMatching(/^\d{12}$/) as unknown,
        apiId: expect.stringMatching(/^\w+$/) as unknown,
        domainName: "shop.example.org",
        domainPrefix: "shop",
        http: { method: "PUT", path, protocol: "HTTP/1.1", sourceIp: "127.0.0.1", userAgent: "a test" },
        requestId: answer.headers["x-request-id"],
        routeKey: "ANY /echo/{item}/of/{place}",
        stage: "$default",
        time: expect.stringMatching(/^\d{2}\/[A-Z][a-z]{2}\/\d{4}:\d{2}:\d{2}:\d{2} \+0000$/) as unknown,
        timeEpoch: expect.toSatisfy((epochMs: number) => epochMs >= beforeMs && epochMs <= Date.now()) as unknown,
      });
    });

    it("$default in its context too, with method and path as they were", async () => {
      const event = await echo("/no/such", { method: "PATCH" });
      expect(event.requestContext).toMatchObject({ routeKey: "$default", http: { method: "PATCH", path: "/no/such" } });
    });

    it.each(["GET", "POST", "PATCH", "PUT", "DELETE", "OPTIONS"])("the method %s", async (method) => {
      expect((await echo("/echo/a/of/b", { method })).requestContext.http["method"]).toBe(method);
    });

    it("HEAD with the route of GET, and drops the body of its answer", async () => {
      const answer = await get("/files/a", { method: "HEAD" });
      expect(answer).toMatchObject({
        status: 200,
        text: "",
        headers: { "x-method": "HEAD", "x-route-key": "GET /files/{proxy+}", "content-type": "application/json" },
      });
      expect(Number(answer.headers["content-length"])).toBeGreaterThan(100);
    });

    it("a body that survives spread, assign and JSON, and whose assignment clears the flag", async () => {
      const sent = { body: base64("hi"), isBase64Encoded: true };
      const answer: unknown = JSON.parse((await get("/body", { method: "POST", body: "hi" })).text);
      const body = JSON.stringify({ query: "{hello}" });
      expect(answer).toMatchObject({
        before: sent,
        assigned: sent,
        read: sent,
        isOwn: true,
        isEnumerable: true,
        after: { body, isBase64Encoded: false, spread: body, read: false },
      });
    });
  });

  describe("answers a visitor", () => {
    itAnswers(served, { right: RIGHT_ANSWERS, wrong: WRONG_ANSWERS });

    it("500 for a handler that throws, with its stack on staging only", async () => {
      const path = `/answer/${ANSWERS.length}`;
      const onStaging = problemOf(await get(path));
      expect(onStaging).toMatchObject({ status: 500, code: "HANDLER_THREW" });
      expect(onStaging.detail).toMatch(/TypeError: out of ideas[^]*index\.js:\d+/);
      expect(onStaging.detail).not.toMatch(/main\.js|\/runtime\//); // What lies below the handler is none of its owner's business.
      const onProduction = await served.platform.get("production", path);
      expect(problemOf(onProduction)).toEqual({ status: 500, code: "HANDLER_THREW", detail: null });
      const page = await served.platform.get("production", path, { headers: { accept: "text/html" } });
      expect(page.headers["content-type"]).toBe("text/html; charset=utf-8");
      for (const text of [onProduction.text, page.text]) expect(text).not.toMatch(/out of ideas|index\.js/);
    });

    it.each([
      ["at once", 200],
      ["later", 201],
      ["returned", 200],
      ["promise", 200],
    ])("a handler with a callback: %s", async (way, status) => {
      expect(await get(`/callback?way=${encodeURIComponent(way)}`)).toMatchObject({ status, text: way });
    });

    it("500 for an error that a handler calls back", async () => {
      expect(problemOf(await get("/callback?way=error"))).toMatchObject({
        code: "HANDLER_THREW",
        detail: expect.stringContaining("TypeError: by callback") as unknown,
      });
    });
  });

  it("gives a handler a context with its request's id, its name and its time", async () => {
    const answer = await get("/context");
    const requestId = answer.headers["x-request-id"];
    const context = JSON.parse(answer.text) as Record<string, unknown>; // CONTEXT writes it.
    expect(context).toMatchObject({ awsRequestId: requestId, requestId, functionName: "src/http/get-context", isAborted: false });
    expect(context["remainingMs"]).toSatisfy((remainingMs: number) => remainingMs > 0 && remainingMs <= 1_000);
  });

  it("answers 504 at a handler's timeout, and aborts its signal then", async () => {
    expect(problemOf(await get("/context?wait"))).toMatchObject({ status: 504, code: "HANDLER_TIMED_OUT" });
    const aborted = async (): Promise<{ afterMs: number; reason: string } | null> =>
      (JSON.parse((await get("/context")).text) as { aborted: { afterMs: number; reason: string } | null }).aborted;
    await until(async () => (await aborted()) !== null, { timeoutMs: 2_000 });
    expect(await aborted()).toMatchObject({
      reason: "TimeoutError",
      afterMs: expect.toSatisfy((afterMs: number) => afterMs > 900 && afterMs < 1_500) as unknown,
    });
  });
});
