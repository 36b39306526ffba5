// JSON routes, HTML routes and their relatives: what their functions see, and what becomes of each thing given to res.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { functions } from "../../../runtime-image/library/functions.ts";
import { cookieValueOf, newSessionId, secretOf, sessionIdIn } from "../../../runtime-image/library/session-id.ts";
import { version1, version2, type EventParts } from "../../support/library-events.ts";
import { layTestInstance, type TestInstance } from "../../support/library-instance.ts";

const { json, html, css, js, text, xml, http } = functions;
type Request = Record<string, unknown>;
type Res = (value: unknown) => void;
type Handler = (event: unknown, context?: unknown) => Promise<{ statusCode: number; headers: Record<string, unknown>; body: string }>;
const METHODS = ["get", "post", "put", "patch", "delete"] as const;
const STATUSES = [400, 403, 404, 406, 409, 415, 500];
let instance: TestInstance;

beforeEach(() => {
  instance = layTestInstance();
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});

const ask = (handler: Handler, parts: EventParts & { cookie?: string } = {}) => {
  const headers = parts.cookie === undefined ? {} : { cookie: parts.cookie };
  const event = version1({ ...parts, headers: { ...parts.headers, ...headers } });
  return instance.within({ headers: Object.entries(headers).flat() }, () => handler(event));
};
const textWith = (part: string): unknown => expect.stringContaining(part); // Its own type is any.
const answering = (value: unknown) => (_request: Request, res: Res) => res(value);
const cookieOf = ({ headers }: { headers: Record<string, unknown> }): string => String(headers["set-cookie"]).split(";", 1)[0] ?? "";

describe("what a JSON route's functions see", () => {
  const seen = async (method: (typeof METHODS)[number], parts: EventParts & { cookie?: string }) => {
    let request: Request = {};
    const handler = json[method]((given: Request, res: Res) => {
      request = given;
      res({ json: {} });
    });
    return { request: (await ask(handler, parts), request), again: () => request };
  };
  const posted: EventParts = {
    method: "POST",
    path: "/login",
    type: "application/json",
    body: '{"a":1}',
    query: { q: "1" },
    params: { id: "7" },
  };

  it("has the contract's keys and no others", async () => {
    const { request } = await seen("post", posted);
    const keys = ["method", "path", "headers", "query", "body", "params", "_idx", "_secret", "csrf", "session"];
    expect(Object.keys(request).toSorted()).toEqual(keys.toSorted());
    expect(request).toMatchObject({ method: "post", path: "/login", query: { q: "1" }, body: { a: 1 }, params: { id: "7" }, session: {} });
  });

  it.each(METHODS)("has the method in lower case: %s", async (method) => {
    expect((await seen(method, posted)).request["method"]).toBe(method);
  });

  it("has an empty body for GET, whatever is sent", async () => {
    expect((await seen("get", posted)).request["body"]).toEqual({});
  });

  it.each(METHODS.slice(1))("has an empty body where none is sent: %s", async (method) => {
    expect((await seen(method, { method: method.toUpperCase() })).request["body"]).toEqual({});
  });

  it("has empty params and an empty query where there are none", async () => {
    expect((await seen("get", {})).request).toMatchObject({ params: {}, query: {} });
  });

  it("has the visitor's session, id and secret", async () => {
    const id = newSessionId();
    const cookie = `_idx=${cookieValueOf(id)}`;
    await instance.within({ headers: ["cookie", cookie] }, () => http.session.write({ user: "ada" }));
    const { request } = await seen("get", { cookie });
    expect(request).toMatchObject({ _idx: id, _secret: secretOf(id), session: { user: "ada" } });
  });

  it("has a csrf token that _verify knows, and helpers that are no keys", async () => {
    const { request } = await seen("get", {});
    const { _verify, _url, _static } = request as Record<string, (value: unknown) => unknown>;
    expect(_verify?.(request["csrf"])).toBe(true);
    expect(_verify?.("x")).toBe(false);
    expect([_url?.("/a"), _static?.("/a.css")]).toEqual(["/a", "/_static/a.css"]);
  });

  it("is made of payload version 2.0, too", async () => {
    const handler = json.get((request: Request, res: Res) => res({ json: { path: request["path"], query: request["query"] } }));
    const answer = await instance.within({}, () => handler(version2({ path: "/x", query: { a: "1" } })));
    expect(answer.body).toBe('{"path":"/x","query":{"a":"1"}}');
  });
});

describe("what a JSON route answers", () => {
  const rows: readonly (readonly [given: unknown, status: number, body: string])[] = [
    [{ json: { a: 1 } }, 200, '{"a":1}'],
    [{ json: [1] }, 200, "[1]"],
    [{ json: '{"a":1}' }, 200, '{"a":1}'],
    [{ json: null }, 200, "null"],
    [{ json: {}, status: 200 }, 200, "{}"],
    [{ json: {}, status: "403" }, 403, "{}"],
    [{ json: {}, code: 404 }, 404, "{}"],
    [{ json: {}, statusCode: 409 }, 409, "{}"],
    ...STATUSES.map((status) => [{ json: { status }, status }, status, JSON.stringify({ status })] as const),
    [{ location: "/x" }, 302, ""],
    [{ location: "https://example.org/" }, 302, ""],
    [{ location: "x", status: 302 }, 302, ""],
  ];
  it.each(METHODS)("is what res was given, for %s", async (method) => {
    for (const [given, statusCode, body] of rows)
      expect(await ask(json[method](answering(given)))).toMatchObject({
        statusCode,
        body,
        headers: { "content-type": "application/json; charset=utf-8", "cache-control": textWith("no-store") },
      });
  });

  it("has the location that res was given", async () => {
    expect((await ask(json.get(answering({ location: "https://example.org/?a" })))).headers["location"]).toBe("https://example.org/?a");
  });

  const wrong: readonly (readonly [given: unknown, message: string])[] = [
    [{ json: {}, status: 201 }, "invalid status value: 201\n\nMust be one of: 400, 403, 404, 406, 409, 415, 500"],
    [{ json: {}, status: 302 }, "invalid status value: 302"],
    [{ location: "/", status: 200 }, "invalid status value: 200"],
    [{ json: {}, code: "teapot" }, "invalid status value: teapot"],
    [{ json: {}, location: "/" }, "`res` invoked with `location` and `json` keys: only one is allowed"],
    [{}, "`res` must be invoked with either `location` or `json`"],
    [{ session: {} }, "`res` must be invoked with either `location` or `json`"],
    [
      { json: {}, cookie: "a=1" },
      "`res` invoked with invalid keys\ngot: cookie\nallowed: location, session, json, status, code, statusCode",
    ],
    [{ location: "/\nx" }, '"location" should be free of control characters'],
    [{ location: 1 }, "invalid location value: the number 1 is not a valid URL"],
    [{ json: {}, session: "x" }, "session should be an object"],
    ["text", "`res` was not invoked with a plain object"],
    [undefined, "`res` was not invoked with a plain object"],
    [null, "`res` was not invoked with a plain object"],
    [[1], "`res` was not invoked with a plain object"],
    [new Map(), "`res` was not invoked with a plain object"],
  ];
  it.each(wrong)("is a 500 that says why, for %j", async (given, message) => {
    const answer = await ask(json.post(answering(given)));
    expect(answer.statusCode).toBe(500);
    expect(JSON.parse(answer.body)).toMatchObject({ message: textWith(message) });
  });

  it("calls such a mistake what the originals called it", async () => {
    expect(JSON.parse((await ask(json.get(answering({})))).body)).toMatchObject({ name: "InvalidJsonResponseError" });
    expect((await ask(html.get(answering({})))).body).toContain("InvalidHtmlResponseError");
  });
});

describe("errors of a JSON route", () => {
  const errorWith = (fields: object) => Object.assign(new Error("no"), fields);
  const rows: readonly (readonly [fields: object, status: number])[] = [
    [{}, 500],
    ...STATUSES.flatMap(
      (status) =>
        [
          [{ status }, status],
          [{ code: status }, status],
          [{ statusCode: status }, status],
        ] as const,
    ),
    [{ status: 201, code: 404 }, 404],
    [{ status: 404, code: 403 }, 404],
    [{ status: 200 }, 500],
    [{ code: "ENOENT", statusCode: 415 }, 415],
  ];
  it.each(rows)("with %j have the status %i", async (fields, statusCode) => {
    const answer = await ask(json.get(answering(errorWith(fields))));
    expect(answer).toMatchObject({ statusCode, headers: { "content-type": "application/json; charset=utf-8" } });
    expect(JSON.parse(answer.body)).toMatchObject({ name: "Error", message: "no", stack: textWith("routes.test.ts"), ...fields });
  });

  it.each([
    [
      "thrown",
      () => {
        throw errorWith({ status: 409 });
      },
    ],
    ["rejected", async () => Promise.reject(errorWith({ status: 409 }))],
    ["given to next", (_r: Request, _res: Res, next: (thrown: unknown) => void) => next(errorWith({ status: 409 }))],
  ])("may be %s", async (_name, middleware) => {
    expect((await ask(json.get(middleware))).statusCode).toBe(409);
  });

  it("have no stack in production", async () => {
    instance = layTestInstance({ environment: "production" });
    const { body } = await ask(json.get(answering(errorWith({ status: 404 }))));
    expect(JSON.parse(body)).toEqual({ name: "Error", message: "no", status: 404 });
  });

  it("may hold anything", async () => {
    const error: Error & { self?: unknown } = new Error("no");
    error.self = error;
    expect(JSON.parse((await ask(json.get(answering(error)))).body)).toMatchObject({ name: "Error", message: "no" });
  });

  it("are a 400 where the body is malformed, and no function is called", async () => {
    const middleware = vi.fn<() => void>();
    const answer = await ask(json.post(middleware), { method: "POST", type: "application/json", body: "{" });
    expect(answer.statusCode).toBe(400);
    expect(JSON.parse(answer.body)).toMatchObject({ message: "Invalid request body encoding or invalid JSON" });
    expect(middleware).not.toHaveBeenCalled();
  });

  it.each([
    ["next past the end", (_r: Request, _res: Res, next: () => void) => next(), "next called from last arc function"],
    ["no answer at all", async () => undefined, "Finished all functions without calling `res`"],
  ])("come of %s", async (_name, middleware, message) => {
    expect((await ask(json.get(middleware))).body).toContain(message);
  });
});

describe("a JSON route's chain of functions", () => {
  it.each([
    ["callbacks", [(_r: Request, _res: Res, next: () => void) => setImmediate(next), (_r: Request, res: Res) => res({ json: { ok: 1 } })]],
    [
      "async functions",
      [async (_r: Request, _res: Res, next: () => void) => next(), async (_r: Request, res: Res) => res({ json: { ok: 1 } })],
    ],
    ["returned answers", [async () => ({ json: { ok: 1 } })]],
  ])("takes %s", async (_name, list) => {
    expect(await ask(json.get(...list))).toMatchObject({ statusCode: 200, body: '{"ok":1}' });
  });

  it("refuses what is no function when the handler is made", () => {
    expect(() => json.get("x")).toThrow('"x" not a function');
  });
});

describe("a JSON route's session", () => {
  it.each([
    ["an answer", { json: {} }],
    ["a redirect", { location: "/" }],
    ["an error", new Error("no")],
    ["a wrong answer", {}],
  ])("gets its cookie with a visitor's first answer: %s", async (_name, given) => {
    const cookie = cookieOf(await ask(json.get(answering(given))));
    expect(sessionIdIn(cookie)).not.toBeNull();
    expect(instance.calls).toEqual([]);
  });

  it("sets no cookie again for a visitor who has one", async () => {
    const cookie = cookieOf(await ask(json.get(answering({ json: {} }))));
    expect((await ask(json.get(answering({ json: {} })), { cookie })).headers["set-cookie"]).toBeUndefined();
  });

  it.each([
    ["json", { json: {} }],
    ["location", { location: "/" }],
  ])("is written with %s, and read with the cookie that came along", async (_name, given) => {
    const cookie = cookieOf(await ask(json.post(answering({ ...given, session: { user: "ada" } }))));
    const answer = await ask(
      json.get((request: Request, res: Res) => res({ json: request["session"] })),
      { cookie },
    );
    expect(answer.body).toBe('{"user":"ada"}');
  });

  it("is kept where a function changes req.session, as the originals did", async () => {
    const count = json.get((request: Request & { session?: { count?: number } }, res: Res) => {
      const session = request.session ?? {};
      session.count = (session.count ?? 0) + 1;
      res({ json: session });
    });
    const first = await ask(count);
    expect(await ask(count, { cookie: cookieOf(first) })).toMatchObject({ body: '{"count":2}' });
  });

  it("is cleared with {}", async () => {
    const cookie = cookieOf(await ask(json.post(answering({ json: {}, session: { user: "ada" } }))));
    await ask(json.post(answering({ json: {}, session: {} })), { cookie });
    expect(await instance.store.count("sessions", "")).toBe(0);
  });

  it("binds a page's token to the id of the first answer", async () => {
    const page = await ask(html.get((request: Request, res: Res) => res({ html: String(request["csrf"]) })));
    const form = html.post(html.csrf, (_request: Request, res: Res) => res({ html: "in" }));
    const send = (cookie: string) =>
      ask(form, { method: "POST", type: "application/x-www-form-urlencoded", body: `csrf=${page.body}`, cookie });
    expect(await send(cookieOf(page))).toMatchObject({ statusCode: 200, body: "in" });
    expect(await send(`_idx=${cookieValueOf(newSessionId())}`)).toMatchObject({ statusCode: 403 });
  });
});

describe("the relatives of JSON routes", () => {
  it.each([
    ["html", html, "text/html; charset=utf-8", "no-store"],
    ["css", css, "text/css; charset=utf-8", "max-age=86400"],
    ["js", js, "text/javascript; charset=utf-8", "max-age=86400"],
    ["text", text, "text/plain; charset=utf-8", "max-age=86400"],
    ["xml", xml, "application/xml; charset=utf-8", "max-age=86400"],
  ] as const)("answer under their own key: %s", async (key, wrap, type, cache) => {
    for (const method of METHODS) {
      const cookie = `_idx=${cookieValueOf(newSessionId())}`;
      const answer = await ask(wrap[method](answering({ [key]: "body" })), { cookie });
      expect(answer).toMatchObject({ statusCode: 200, body: "body", headers: { "content-type": type, "cache-control": textWith(cache) } });
    }
    for (const given of [{ [key]: "first visit" }, { [key]: "gone", status: 404 }])
      expect((await ask(wrap.get(answering(given)))).headers["cache-control"]).toContain("no-store");
    expect((await ask(wrap.get(answering({ [key]: { no: "text" } })))).statusCode).toBe(500);
    expect(await ask(wrap.get(answering({ [key]: "gone", status: 404 })))).toMatchObject({ statusCode: 404, body: "gone" });
    const failed = await ask(wrap.get(answering(Object.assign(new Error("no */ <b>"), { status: 403 }))));
    expect(failed).toMatchObject({ statusCode: 403, headers: { "content-type": type } });
    expect(failed.body).not.toMatch(key === "css" || key === "js" ? /\*\/.*\*\// : key === "text" ? /^$/ : /<b>/);
  });

  it("show a function's own error page, error.js, for HTML", async () => {
    await withOwnPage("module.exports = (error) => `<h1>Oh: ${error.message}</h1>`;", async () => {
      const answer = await ask(html.get(answering(Object.assign(new Error("no"), { status: 404 }))));
      expect(answer).toMatchObject({ statusCode: 404, body: "<h1>Oh: no</h1>" });
    });
  });

  it("show the plain page where error.js fails itself", async () => {
    await withOwnPage("module.exports = () => { throw new Error('worse'); };", async () => {
      expect((await ask(html.get(answering(new Error("no"))))).body).toContain("500 Internal Server Error");
    });
  });
});

async function withOwnPage(code: string, work: () => Promise<void>): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), "orchestrator-error-page-"));
  writeFileSync(path.join(folder, "error.js"), code);
  const spy = vi.spyOn(process, "cwd").mockReturnValue(folder);
  try {
    await work();
  } finally {
    spy.mockRestore();
    rmSync(folder, { recursive: true });
  }
}
