// The contract of JSON routes, row by row, over HTTP: what req holds, what res takes, and what it says of the rest.
import { describe, expect, it } from "vitest";
import { CookieJar } from "../support/cookie-jar.ts";
import { ENGINE_NAMES, type SendOptions, handler } from "../support/platform.ts";
import { FAILURES, RIGHT_ANSWERS, WRONG_ANSWERS, middlewareAnswers } from "../support/route-answers.ts";
import { serveForSuite } from "../support/served-app.ts";

const ECHO = (method: string): string => `
const { json } = require("@architect/functions");
exports.handler = json.${method}((req, res) => res({ json: { ...req, keys: Object.keys(req) }, session: { seen: req.method } }));
`;

const STEPS = `
import { json } from "@orchestrator/functions";
const ways = {
  "in turn": (req, res, next) => { req.body.steps = ["first"]; next(); },
  "ends early": (req, res) => res({ json: { ended: "early" } }),
  "throws": () => { throw new Error("in a step"); },
  "rejects": async () => { throw Object.assign(new Error("in an async step"), { status: 409 }); },
  "past the end": (req, res, next) => { req.body.goOn = true; next(); },
};
const first = (req, res, next) => ways[req.body.way](req, res, next);
const last = (req, res, next) => (req.body.goOn ? next() : res({ json: { steps: [...req.body.steps, "last"] } }));
export const handler = json.post(first, last);
`;

const APP = {
  "src/json/get-req-000item/index.js": ECHO("get"),
  "src/json/post-req-000item/index.js": ECHO("post"),
  "src/json/put-req-000item/index.js": ECHO("put"),
  "src/json/patch-req-000item/index.js": ECHO("patch"),
  "src/json/delete-req-000item/index.js": ECHO("delete"),
  "src/json/get-plain/index.js": ECHO("get"),
  "src/json/get-answer-000number/index.js": middlewareAnswers("json", [...RIGHT_ANSWERS, ...WRONG_ANSWERS, ...FAILURES]),
  "src/json/post-steps/index.mjs": STEPS,
  "src/json/get-raw/index.js": handler('return { statusCode: 418, headers: { "x-raw": typeof request.headers.host }, body: "raw" };'),
};

interface Req {
  readonly [key: string]: unknown;
  readonly csrf: string;
  readonly keys: readonly string[];
}

const KEYS = ["method", "path", "headers", "query", "body", "params", "session", "csrf", "_idx", "_secret"];
const JSON_TYPE = "application/json; charset=utf-8";
const sent = (method: string, body: string, type = "application/json"): SendOptions => ({
  method,
  body,
  headers: { "content-type": type },
});

describe.each(ENGINE_NAMES)("JSON routes on engine %s", (engine) => {
  const served = serveForSuite(APP, { engine, flags: ["--promote", "--no-watch"] });

  const { get } = served;
  const echo = async (path: string, options?: SendOptions): Promise<Req> => JSON.parse((await get(path, options)).text) as Req; // ECHO writes it.

  describe("give req", () => {
    it.each(["GET", "POST", "PUT", "PATCH", "DELETE"])("every key of the contract, and the method %s in lower case", async (method) => {
      const req = await echo("/req/tea?a=1", { method });
      expect(req.keys).toEqual(expect.arrayContaining(KEYS));
      expect(req["method"]).toBe(method.toLowerCase());
    });

    it.each<[what: string, path: string, options: SendOptions, expected: Readonly<Record<string, unknown>>]>([
      ["the requested path", "/req/green%20tea", {}, { path: "/req/green%20tea", params: { item: "green tea" } }],
      ["no params as an empty object", "/plain", {}, { path: "/plain", params: {} }],
      ["a query, of repeated names the last", "/plain?a=1&b=x+y&a=2", {}, { query: { a: "2", b: "x y" } }],
      ["no query as an empty object", "/plain", {}, { query: {} }],
      ["no session as an empty object", "/plain", {}, { session: {} }],
      ["the body of a GET as an empty object, whatever it holds", "/plain", sent("GET", '{"a":1}'), { body: {} }],
      ["no body as an empty object", "/req/tea", { method: "POST" }, { body: {} }],
      ["JSON parsed", "/req/tea", sent("POST", '{"a":[1]}'), { body: { a: [1] } }],
      ["JSON parsed for PUT", "/req/tea", sent("PUT", '{"a":1}'), { body: { a: 1 } }],
      ["JSON parsed for PATCH", "/req/tea", sent("PATCH", '{"a":1}'), { body: { a: 1 } }],
      ["JSON parsed for DELETE", "/req/tea", sent("DELETE", '{"a":1}'), { body: { a: 1 } }],
      ["a form parsed", "/req/tea", sent("POST", "a=1&b=x+y", "application/x-www-form-urlencoded"), { body: { a: "1", b: "x y" } }],
    ])("%s", async (_what, path, options, expected) => {
      const req = await echo(path, options);
      for (const [name, value] of Object.entries(expected)) expect({ [name]: req[name] }).toEqual({ [name]: value });
    });

    it("the request's headers, an authorization among them, by lower-case names", async () => {
      const { headers } = await echo("/plain", { headers: { Authorization: "Bearer secret", "X-Mine": "As Is" } });
      expect(headers).toMatchObject({ authorization: "Bearer secret", "x-mine": "As Is" });
    });

    it("a csrf token that is signed, and another one each time", async () => {
      const [one, other] = [await echo("/plain"), await echo("/plain")];
      expect(one.csrf).toMatch(/^\S{32,}$/);
      expect(one.csrf).not.toBe(other.csrf);
    });

    it("internal keys that the session itself does not show", async () => {
      const jar = new CookieJar();
      jar.take(await get("/plain"));
      const req = await echo("/plain", { headers: { cookie: jar.header } });
      expect(req["session"]).toEqual({ seen: "get" });
      expect(req["_idx"]).toMatch(/^\S{16,}$/);
      expect(req["_secret"]).toMatch(/^\S{16,}$/);
    });
  });

  describe("answer", () => {
    it.each(RIGHT_ANSWERS.map((one, number) => [one.name, number, one] as const))("%s", async (_name, number, expected) => {
      const answer = await get(`/answer/${number}`);
      const headers = expected.status === 302 ? {} : { "content-type": JSON_TYPE };
      expect(answer).toMatchObject({ status: expected.status, text: expected.body("json"), headers });
      for (const [name, value] of Object.entries(expected.headers ?? {})) expect(answer.headers[name]?.toString()).toMatch(value);
    });

    it.each(WRONG_ANSWERS.map((one, index) => [one.name, RIGHT_ANSWERS.length + index, one.words] as const))(
      "500 for %s, and say so",
      async (_name, number, words) => {
        const answer = await get(`/answer/${number}`);
        expect(answer).toMatchObject({ status: 500, headers: { "content-type": JSON_TYPE } });
        const { message } = JSON.parse(answer.text) as { message: string }; // Looked at below.
        for (const word of words) expect(message).toContain(word);
      },
    );

    it.each(FAILURES.map((one, index) => [one.name, RIGHT_ANSWERS.length + WRONG_ANSWERS.length + index, one] as const))(
      "%s, with its stack outside production only",
      async (_name, number, { status, message }) => {
        const onStaging = await get(`/answer/${number}`);
        expect(onStaging).toMatchObject({ status, headers: { "content-type": JSON_TYPE } });
        expect(JSON.parse(onStaging.text)).toMatchObject({ message, stack: expect.stringContaining("index.js") as unknown });
        const onProduction = await served.platform.get("production", `/answer/${number}`);
        expect(onProduction.status).toBe(status);
        expect(JSON.parse(onProduction.text)).toMatchObject({ message });
        expect(onStaging.text).not.toMatch(/library\.js|main\.js|\/src\/json\//);
        expect(onProduction.text).not.toMatch(/stack|index\.js/);
      },
    );
  });

  it.each<[way: string, status: number, text: RegExp]>([
    ["in turn", 200, /^\{"steps":\["first","last"\]\}$/],
    ["ends early", 200, /^\{"ended":"early"\}$/],
    ["throws", 500, /in a step/],
    ["rejects", 409, /in an async step/],
    ["past the end", 500, /next/],
  ])("run middleware %s", async (way, status, text) => {
    const answer = await get("/steps", sent("POST", JSON.stringify({ way })));
    expect(answer.status).toBe(status);
    expect(answer.text).toMatch(text);
  });

  it("answer 400 to JSON that is none", async () => {
    const answer = await get("/req/tea", sent("POST", "{"));
    expect(answer.status).toBe(400);
    expect((await get("/req/tea")).status).toBe(200);
  });

  it("take a handler without wrapper too, in the legacy shape", async () => {
    expect(await get("/raw")).toMatchObject({ status: 418, text: "raw", headers: { "x-raw": "string" } });
  });

  it("send HEAD to the function of GET", async () => {
    expect(await get("/plain", { method: "HEAD" })).toMatchObject({ status: 200, text: "", headers: { "content-type": JSON_TYPE } });
  });
});
