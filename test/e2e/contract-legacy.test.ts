// The contract of the legacy handler generation, row by row, over HTTP: payload version 1.0, its response object, its helpers.
import { describe, expect, it } from "vitest";
import { itAnswers } from "../support/answer-suite.ts";
import { RIGHT_LEGACY_ANSWERS, WRONG_LEGACY_ANSWERS, legacyAnswersSource } from "../support/legacy-answers.ts";
import { ENGINE_NAMES, type SendOptions } from "../support/platform.ts";
import { serveForSuite } from "../support/served-app.ts";
import { exchange } from "../support/raw-http.ts";

const ECHO = `({ headers: { "content-type": "application/json", "x-method": event.httpMethod }, body: JSON.stringify(event) })`;

const HELPERS = `
const { http } = require("@architect/functions");
exports.handler = async (event) => {
  const session = await http.session.read(event);
  const body = http.helpers.bodyParser(event);
  const cookie = await http.session.write({ ...session, ...body });
  const headers = { "content-type": "application/json", "cache-control": "no-store", "Set-Cookie": cookie };
  return { headers, body: JSON.stringify({ body, session }) };
};
`;

const BODY = `
exports.handler = async (event) => {
  const sent = { ...event };
  event.body = JSON.stringify({ query: "{hello}" });
  return { body: JSON.stringify({ sent: { body: sent.body, isBase64Encoded: sent.isBase64Encoded }, after: JSON.parse(JSON.stringify(event)) }) };
};
`;

const ANSWERS = [...RIGHT_LEGACY_ANSWERS, ...WRONG_LEGACY_ANSWERS].map((one) => one.returns);

const APP = {
  "app.arc": `@app
contract-legacy

@aws
apigateway rest

@http
get /
any /echo/:item/of/:place
get /files/*
get /answer/:number
post /helpers
post /body
`,
  "src/http/get-index/index.js": `exports.handler = (event, context, callback) => callback(null, ${ECHO});\n`,
  "src/http/any-echo-000item-of-000place/index.mjs": `export const handler = async (event) => ${ECHO};\n`,
  "src/http/get-files-catchall/index.js": `exports.handler = (event) => ${ECHO};\n`,
  "src/http/get-answer-000number/index.js": legacyAnswersSource(ANSWERS),
  "src/http/post-helpers/index.js": HELPERS,
  "src/http/post-body/index.js": BODY,
};

type Event = Readonly<Record<string, unknown>>;

const base64 = (text: string): string => Buffer.from(text).toString("base64");
const FORM = { "content-type": "application/x-www-form-urlencoded" };
const ITEM = "/echo/tea/of/china";

describe.each(ENGINE_NAMES)("the legacy generation on engine %s", (engine) => {
  const served = serveForSuite(APP, { engine, flags: ["--promote", "--no-watch"] });

  const { get } = served;
  const echo = async (path: string, options?: SendOptions): Promise<Event> => JSON.parse((await get(path, options)).text) as Event; // ECHO writes it.
  /** With header lines that no client library would send as they are. */
  const echoRaw = async (path: string, lines: readonly string[]): Promise<Event> => {
    const [answer] = await exchange(
      served.platform.ports.staging,
      [`GET ${path} HTTP/1.1`, "Host: a", "Connection: close", ...lines, "", ""].join("\r\n"),
    );
    return JSON.parse(answer?.body ?? "") as Event; // ECHO writes it.
  };

  describe("gives a handler", () => {
    it.each<[what: string, path: string, options: SendOptions, expected: Event]>([
      ["the method in httpMethod", "/", {}, { httpMethod: "GET" }],
      ...["POST", "PATCH", "PUT", "DELETE"].map((method): [string, string, SendOptions, Event] => [
        `the method ${method}`,
        ITEM,
        { method },
        { httpMethod: method },
      ]),
      ["the path as sent", "/files/a%20b//c/?q=1", {}, { path: "/files/a%20b//c/" }],
      ["no path parameters as null", "/", {}, { pathParameters: null }],
      ["path parameters decoded", "/echo/a%2Fb%20c/of/%C5%BE", {}, { pathParameters: { item: "a/b c", place: "ž" } }],
      ["the rest of a path", "/files/a/b.txt", {}, { pathParameters: { proxy: "a/b.txt" }, resource: "/files/{proxy+}" }],
      ["no query as null", "/", {}, { queryStringParameters: null, multiValueQueryStringParameters: null }],
      ["an empty query as null", "/?", {}, { queryStringParameters: null, multiValueQueryStringParameters: null }],
      [
        "the last of repeated query parameters, and all of them besides",
        "/?a=1&b=%20x+y&a=2",
        {},
        { queryStringParameters: { a: "2", b: " x y" }, multiValueQueryStringParameters: { a: ["1", "2"], b: [" x y"] } },
      ],
      ["no body as null", "/", {}, { body: null, isBase64Encoded: false }],
      ["an empty body as null", ITEM, { method: "POST", headers: { "content-length": "0" } }, { body: null, isBase64Encoded: false }],
      ["an empty chunked body as null", ITEM, { method: "POST", headers: { "transfer-encoding": "chunked" } }, { body: null }],
      ["text as base64", ITEM, { method: "POST", body: "žluť" }, { body: base64("žluť"), isBase64Encoded: true }],
      ["a form unparsed", ITEM, { method: "POST", body: "a=1", headers: FORM }, { body: base64("a=1"), isBase64Encoded: true }],
      [
        "JSON unparsed",
        ITEM,
        { method: "PUT", body: '{"a":1}', headers: { "content-type": "application/json" } },
        { body: base64('{"a":1}'), isBase64Encoded: true },
      ],
      ["binary bytes", ITEM, { method: "PATCH", body: Buffer.from([0, 255, 128, 10]) }, { body: "AP+ACg==", isBase64Encoded: true }],
      [
        "a chunked body",
        ITEM,
        { method: "POST", body: "in chunks", headers: { "transfer-encoding": "chunked" } },
        { body: base64("in chunks"), isBase64Encoded: true },
      ],
      ["the resource that the route names", ITEM, {}, { resource: "/echo/{item}/of/{place}" }],
      ["the version of its payload", "/", {}, { version: "1.0" }],
      [
        "what no function captures, with method and path as sent",
        "/no/such",
        { method: "PATCH" },
        { httpMethod: "PATCH", path: "/no/such", pathParameters: null, resource: "/{proxy+}" },
      ],
    ])("%s", async (_what, path, options, expected) => {
      expect(await echo(path, options)).toMatchObject(expected);
    });

    it("header names in the case that the client sent, the last of repeated ones, and all of them besides", async () => {
      const event = await echoRaw("/", ["X-Mixed-Case: As Is", "Cookie: a=1", "x-many: 1", "x-many: 2", "__proto__: own"]);
      expect(event["headers"]).toMatchObject({ "X-Mixed-Case": "As Is", Cookie: "a=1", "x-many": "2" });
      expect(event["multiValueHeaders"]).toMatchObject({ "X-Mixed-Case": ["As Is"], Cookie: ["a=1"], "x-many": ["1", "2"] });
      expect(Object.entries(event["headers"] ?? {})).toContainEqual(["__proto__", "own"]);
    });

    it("the context of the request", async () => {
      const beforeMs = Date.now();
      const answer = await get(`${ITEM}?q=1`, { method: "PUT", headers: { "user-agent": "a test", host: "shop.example.org:8080" } });
      const { requestContext } = JSON.parse(answer.text) as Event; // ECHO writes it.
      expect(requestContext).toMatchObject({
        accountId: expect.stringMatching(/^\d{12}$/) as unknown,
        apiId: expect.stringMatching(/^\w+$/) as unknown,
        domainName: "shop.example.org",
        domainPrefix: "shop",
        httpMethod: "PUT",
        path: ITEM,
        protocol: "HTTP/1.1",
        identity: { sourceIp: "127.0.0.1", userAgent: "a test" },
        requestId: answer.headers["x-request-id"],
        requestTimeEpoch: expect.toSatisfy((epochMs: number) => epochMs >= beforeMs && epochMs <= Date.now()) as unknown,
        resourcePath: "/echo/{item}/of/{place}",
        stage: "$default",
      });
    });

    it("HEAD with the route of GET, and drops the body of its answer", async () => {
      expect(await get("/files/a", { method: "HEAD" })).toMatchObject({ status: 200, text: "", headers: { "x-method": "HEAD" } });
    });

    it("a body whose assignment clears the flag, as in the current generation", async () => {
      const answer: unknown = JSON.parse((await get("/body", { method: "POST", body: "hi" })).text);
      expect(answer).toMatchObject({
        sent: { body: base64("hi"), isBase64Encoded: true },
        after: { body: '{"query":"{hello}"}', isBase64Encoded: false },
      });
    });
  });

  describe("answers a visitor", () => {
    itAnswers(served, { right: RIGHT_LEGACY_ANSWERS, wrong: WRONG_LEGACY_ANSWERS });
  });

  it("has the same body parser and the same sessions", async () => {
    const first = await get("/helpers", { method: "POST", body: "greeting=hi+there", headers: FORM });
    expect(first).toMatchObject({ status: 200, headers: { "cache-control": "no-store" } });
    expect(JSON.parse(first.text)).toEqual({ body: { greeting: "hi there" }, session: {} });
    const cookie = first.headers["set-cookie"]?.[0]?.split(";")[0] ?? "";
    expect(cookie).toMatch(/^_idx=/);
    // The name of the header as an old browser might have sent it.
    const second = await get("/helpers", {
      method: "POST",
      body: '{"more":1}',
      headers: { "content-type": "application/json", Cookie: `other=1; ${cookie}` },
    });
    expect(JSON.parse(second.text)).toEqual({ body: { more: 1 }, session: { greeting: "hi there" } });
  });
});
