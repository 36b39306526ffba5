// How http(...) and http.async(...) walk through their functions, and what these see.
import { beforeEach, describe, expect, it, vi } from "vitest";
import { isCallerFault } from "../../../runtime-image/library/caller-fault.ts";
import { functions } from "../../../runtime-image/library/functions.ts";
import { version1, version2 } from "../../support/library-events.ts";
import { layTestInstance } from "../../support/library-instance.ts";

const { http } = functions;
type Request = Record<string, unknown>;
type Res = (value: unknown) => void;
type Next = (thrown?: unknown) => void;

let printed = 0;

beforeEach(() => {
  layTestInstance();
  printed = 0;
  vi.spyOn(console, "error").mockImplementation(() => void (printed += 1));
});

describe("http: express style", () => {
  it("answers with what res is given", async () => {
    expect(await http((_req: Request, res: Res) => res({ html: "hi" }))(version2())).toMatchObject({ statusCode: 200, body: "hi" });
  });

  it("passes the same request on with next", async () => {
    const handler = http(
      (request: Request, _res: Res, next: Next) => {
        request["user"] = "ada";
        next();
      },
      (request: Request, res: Res) => res({ text: request["user"] }),
    );
    expect((await handler(version2())).body).toBe("ada");
  });

  it("waits for a function that answers later", async () => {
    const handler = http((_request: Request, res: Res) => setImmediate(() => res({ text: "later" })));
    expect((await handler(version2())).body).toBe("later");
  });

  it("takes the first of two answers", async () => {
    const handler = http((_request: Request, res: Res) => {
      res({ text: "first" });
      res({ text: "second" });
    });
    expect((await handler(version2())).body).toBe("first");
  });

  it("goes on once, however often next is called", async () => {
    let count = 0;
    const handler = http(
      (_request: Request, _res: Res, next: Next) => {
        next();
        next();
      },
      (_request: Request, res: Res) => {
        count += 1;
        res({ text: String(count) });
      },
    );
    expect((await handler(version2())).body).toBe("1");
    expect(count).toBe(1);
  });

  it.each([
    ["async functions that call res", [async (_request: Request, res: Res) => res({ text: "x" })]],
    [
      "async functions that call next",
      [async (_r: Request, _res: Res, next: Next) => next(), (_r: Request, res: Res) => res({ text: "x" })],
    ],
    ["async functions that return an answer", [async () => ({ text: "x" })]],
    ["async functions that return nothing first", [async (_r: Request, _c: unknown) => undefined, async () => ({ text: "x" })]],
    ["functions that return an answer", [() => ({ text: "x" })]],
    ["a function that returns a changed request", [(r: Request) => ({ ...r, name: "x" }), (r: Request) => ({ text: r["name"] })]],
  ])("takes %s", async (_name, list) => {
    expect((await http(...list)(version2())).body).toBe("x");
  });

  it.each([
    ["next past the end", (_r: Request, _res: Res, next: Next) => next(), 500, "next() called from last function"],
    ["an error given to res", (_r: Request, res: Res) => res(new Error("boom")), 500, "boom"],
    ["an error given to next", (_r: Request, _res: Res, next: Next) => next(new Error("boom")), 500, "boom"],
    ["a thrown error", () => fails("boom"), 500, "boom"],
    ["a rejected promise", async (_r: Request, _res: Res) => fails("boom"), 500, "boom"],
    ["an error with a status", () => fails("gone", { status: 410 }), 410, "gone"],
    ["an error with a code", () => fails("no", { code: 404 }), 404, "no"],
    ["an error with a status code", () => fails("no", { statusCode: 403 }), 403, "no"],
    ["an error with one of node's codes", () => fails("no", { code: "ENOENT" }), 500, "no"],
  ])("answers %s with an error page", async (_name, middleware, statusCode, message) => {
    const answer = await http(middleware)(version2());
    expect(answer).toMatchObject({ statusCode, headers: { "content-type": "text/html; charset=utf8" } });
    expect(answer.body).toContain(message);
  });

  it("refuses what is no function when the handler is made", () => {
    expect(() => http({})).toThrow(new TypeError("an object not a function"));
    expect(() => http()).toThrow(TypeError);
  });
});

describe("http.async", () => {
  it.each([
    ["http.async", http.async],
    ["http.middleware", http.middleware],
    ["middleware", functions.middleware],
  ])("is called %s, too", async (_name, wrap) => {
    expect((await wrap(async () => ({ text: "x" }))(version2())).body).toBe("x");
  });

  it.each([
    ["nothing", undefined],
    ["null", null],
    ["false", false],
    ["an empty text", ""],
  ])("goes on after a function that returns %s", async (_name, value) => {
    expect(
      (
        await http.async(
          async () => value,
          async () => ({ text: "x" }),
        )(version2())
      ).body,
    ).toBe("x");
  });

  it("gives a request that a function returns to the next one", async () => {
    const handler = http.async(
      async (request: Request) => ({ ...request, user: "ada" }),
      async (request: Request) => ({ text: request["user"] }),
    );
    expect((await handler(version2())).body).toBe("ada");
  });

  it("gives the context as second argument", async () => {
    const handler = http.async(async (_request: Request, context: { awsRequestId: string }) => ({ text: context.awsRequestId }));
    expect((await handler(version2(), { awsRequestId: "r1" })).body).toBe("r1");
  });

  it("takes functions that are not async", async () => {
    expect(
      (
        await http.async(
          () => undefined,
          () => ({ text: "x" }),
        )(version2())
      ).body,
    ).toBe("x");
  });

  it("answers with an empty body where no function answers, under payload version 2.0", async () => {
    expect(await http.async(async () => undefined)(version2())).toMatchObject({ statusCode: 200, body: "" });
  });

  it("fails where no function answers, under payload version 1", async () => {
    const answer = await http.async(async () => undefined)(version1());
    expect(answer.statusCode).toBe(500);
    expect(answer.body).toContain("Finished all functions without returning a response.");
  });

  it("answers a returned error with its page", async () => {
    expect(await http.async(async () => new Error("boom"))(version2())).toMatchObject({ statusCode: 500 });
  });

  it("leaves a malformed body to the runtime, which answers 400, and calls no function", async () => {
    const middleware = vi.fn<() => void>();
    const event = version2({ method: "POST", type: "application/json", body: "{" });
    await expect(http.async(middleware)(event)).rejects.toSatisfy(isCallerFault);
    expect(middleware).not.toHaveBeenCalled();
  });
});

describe("error pages", () => {
  const page = async () => (await http(() => fails("<secret>"))(version2())).body;

  it("show message and stack in staging", async () => {
    expect(await page()).toContain("&#60;secret&#62;");
    expect(await page()).toContain("middleware.test.ts");
  });

  it("show neither in production", async () => {
    layTestInstance({ environment: "production" });
    expect(await page()).not.toContain("secret");
    expect(await page()).not.toContain("middleware.test.ts");
    expect(await page()).toContain("500 Internal Server Error");
  });

  it("are told to the owner where the function is to blame", async () => {
    await http(() => fails("boom"))(version2());
    expect(printed).toBe(1);
    await http(() => fails("not here", { status: 404 }))(version2());
    expect(printed).toBe(1);
  });
});

describe("the request that functions see", () => {
  const seen = async (event: Request) => {
    let request: Request = {};
    await http((given: Request, res: Res) => {
      request = given;
      res({});
    })(event);
    return request;
  };

  it("has the names of both payload versions, under version 2.0", async () => {
    const event = version2({
      method: "POST",
      path: "/shop",
      type: "application/json",
      body: '{"a":1}',
      query: { q: "1" },
      params: { id: "7" },
    });
    expect(await seen({ ...event, routeKey: "POST /shop/{id}" })).toMatchObject({
      version: "2.0",
      httpMethod: "POST",
      method: "POST",
      path: "/shop",
      resource: "/shop/{id}",
      params: { id: "7" },
      pathParameters: { id: "7" },
      query: { q: "1" },
      queryStringParameters: { q: "1" },
      body: { a: 1 },
      rawBody: "eyJhIjoxfQ==",
      session: {},
    });
  });

  it("has empty objects where nothing was sent", async () => {
    const nothing = { body: {}, params: {}, query: {}, pathParameters: {}, queryStringParameters: {} };
    expect(await seen(version2())).toMatchObject(nothing);
    expect(await seen(version1())).toMatchObject({ ...nothing, method: "GET" });
  });

  it("has $default as resource where no route matched", async () => {
    expect((await seen({ ...version2(), routeKey: "$default" }))["resource"]).toBe("$default");
  });

  it("has its path filled in with its params, under payload version 1", async () => {
    expect((await seen({ ...version1({ params: { baz: "v" } }), path: "/foo/{baz}/{other}" }))["path"]).toBe("/foo/v/{other}");
  });

  it("is made of a simple request, too", async () => {
    const event = { method: "post", path: "/x", headers: {}, params: { a: "1" }, query: { b: "2" }, body: { c: 3 } };
    expect(await seen(event)).toMatchObject({ method: "POST", httpMethod: "POST", params: { a: "1" }, query: { b: "2" }, body: { c: 3 } });
  });

  it("is an object of its own: the event stays as it was", async () => {
    const event = version1({ method: "POST", type: "text/plain", body: "x" });
    const before = structuredClone(event);
    await seen(event);
    expect(event).toEqual(before);
  });
});

function fails(message: string, fields: object = {}): never {
  throw Object.assign(new Error(message), fields);
}
