// The contract of the older simple handler API, row by row, over HTTP: a parsed request, an answer of a few words.
import { describe, expect, it } from "vitest";
import { itAnswers } from "../support/answer-suite.ts";
import { ENGINE_NAMES, type SendOptions } from "../support/platform.ts";
import { serveForSuite } from "../support/served-app.ts";
import { problemOf } from "../support/problems.ts";
import { RIGHT_SIMPLE_ANSWERS, WRONG_SIMPLE_ANSWERS, simpleAnswersSource } from "../support/simple-answers.ts";

const ECHO = `({ type: "application/json", body: JSON.stringify(request), headers: { "x-method": request.method } })`;
const ANSWERS = [...RIGHT_SIMPLE_ANSWERS, ...WRONG_SIMPLE_ANSWERS].map((one) => one.returns);

const SESSION = `
const { http } = require("@architect/functions");
exports.handler = async (request) => {
  const session = await http.session.read(request);
  const cookie = await http.session.write({ visits: (session.visits || 0) + 1 });
  return { status: 200, type: "application/json", cookie, body: JSON.stringify(session) };
};
`;

const APP = {
  "app.arc": `@app
contract-simple

@generation simple

@http
get /
any /echo/:item/of/:place
get /answer/:number
put /answer/:number
get /session
`,
  "src/http/get-index/index.js": `exports.handler = (request, context, callback) => callback(null, ${ECHO});\n`,
  "src/http/any-echo-000item-of-000place/index.mjs": `export const handler = async (request) => ${ECHO};\n`,
  "src/http/get-answer-000number/index.js": simpleAnswersSource(ANSWERS),
  "src/http/put-answer-000number/index.js": "exports.handler = () => ({ cors: true });\n",
  "src/http/get-session/index.js": SESSION,
};

type Request = Readonly<Record<string, unknown>>;

const ITEM = "/echo/tea/of/china";
const sent = (type: string, body: string | Buffer): SendOptions => ({ method: "POST", body, headers: { "content-type": type } });

describe.each(ENGINE_NAMES)("the simple generation on engine %s", (engine) => {
  const served = serveForSuite(APP, { engine, flags: ["--promote", "--no-watch"] });

  const { get } = served;
  const echo = async (path: string, options?: SendOptions): Promise<Request> => JSON.parse((await get(path, options)).text) as Request; // ECHO writes it.

  describe("gives a handler", () => {
    it.each<[what: string, path: string, options: SendOptions, expected: Request]>([
      ...["GET", "POST", "PATCH", "PUT", "DELETE"].map((method): [string, string, SendOptions, Request] => [
        `the method ${method} in lower case`,
        ITEM,
        { method },
        { method: method.toLowerCase() },
      ]),
      ["the path as sent", "/echo/a%20b/of/c/?q=1", {}, { path: "/echo/a%20b/of/c/" }],
      ["no params as an empty object", "/", {}, { params: {} }],
      ["params decoded", "/echo/a%2Fb/of/%C5%BE", {}, { params: { item: "a/b", place: "ž" } }],
      ["no query as an empty object", "/", {}, { query: {} }],
      ["the last of repeated query parameters", "/?a=1&b=%20x+y&a=2", {}, { query: { a: "2", b: " x y" } }],
      ["no body as an empty object", "/", {}, { body: {} }],
      ["an empty body as an empty object", ITEM, { method: "POST", headers: { "content-length": "0" } }, { body: {} }],
      ["a form as an object", ITEM, sent("application/x-www-form-urlencoded", "a=1&b=x+y&a=2"), { body: { a: ["1", "2"], b: "x y" } }],
      ["JSON as what it says", ITEM, sent("application/json; charset=utf-8", '{"a":{"b":[1]}}'), { body: { a: { b: [1] } } }],
      ["JSON of a vendor's", ITEM, sent("application/vnd.api+json", '{"a":1}'), { body: { a: 1 } }],
      ["binary bytes as base64", ITEM, sent("application/octet-stream", Buffer.from([0, 255, 128, 10])), { body: { base64: "AP+ACg==" } }],
      [
        "multipart as base64",
        ITEM,
        sent("multipart/form-data; boundary=x", "--x--\r\n"),
        { body: { base64: Buffer.from("--x--\r\n").toString("base64") } },
      ],
      [
        "a chunked body",
        ITEM,
        { method: "POST", body: "a=1", headers: { "content-type": "application/x-www-form-urlencoded", "transfer-encoding": "chunked" } },
        { body: { a: "1" } },
      ],
      [
        "what no function captures, as it came",
        "/no/such?x=1",
        { method: "PATCH" },
        { method: "patch", path: "/no/such", query: { x: "1" } },
      ],
    ])("%s", async (_what, path, options, expected) => {
      const request = await echo(path, options);
      for (const [name, value] of Object.entries(expected)) expect({ [name]: request[name] }).toEqual({ [name]: value });
    });

    it("header names in lower case", async () => {
      const { headers } = await echo("/", { headers: { "X-Mixed-Case": "As Is", Cookie: "a=1" } });
      expect(headers).toMatchObject({ "x-mixed-case": "As Is", cookie: "a=1" });
    });

    it("a name like __proto__ of a query as any other name, and none of it from a body", async () => {
      const { query, body } = await echo(`${ITEM}?__proto__=a`, sent("application/x-www-form-urlencoded", "__proto__=b&constructor=c"));
      expect(Object.entries(query ?? {})).toEqual([["__proto__", "a"]]);
      expect(Object.entries(body ?? {})).toEqual([["constructor", "c"]]);
    });

    it("HEAD in the place of GET, and drops the body of its answer", async () => {
      expect(await get("/", { method: "HEAD" })).toMatchObject({ status: 200, text: "", headers: { "x-method": "head" } });
    });
  });

  it("answers 400 to JSON that is none, before the handler runs", async () => {
    const answer = await get(ITEM, sent("application/json", "{"));
    expect(problemOf(answer).status).toBe(400);
    expect((await get(ITEM)).status).toBe(200);
  });

  describe("answers a visitor", () => {
    itAnswers(served, { right: RIGHT_SIMPLE_ANSWERS, wrong: WRONG_SIMPLE_ANSWERS });
  });

  it("reads and writes sessions with the same helpers", async () => {
    const first = await get("/session");
    expect(JSON.parse(first.text)).toEqual({});
    const cookie = first.headers["set-cookie"]?.[0]?.split(";")[0] ?? "";
    expect(JSON.parse((await get("/session", { headers: { cookie } })).text)).toEqual({ visits: 1 });
  });
});
