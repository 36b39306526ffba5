// Who may talk to the management API, what it takes, and what it answers to everyone else.
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { ensureToken } from "../../orchestrator/api/access.ts";
import { connectApi } from "../../orchestrator/api/client.ts";
import { type ApiRoute, Type, route } from "../../orchestrator/api/route.ts";
import { type ApiRig, startApiRig } from "../support/api-rig.ts";
import { send } from "../support/platform.ts";

describe("the management API", () => {
  let rig: ApiRig;
  let port = 0;

  const routes: readonly ApiRoute[] = [
    route({
      method: "GET",
      path: "/api/echo",
      role: "read",
      summary: "Says it back.",
      query: Type.Object({
        a: Type.Optional(Type.String()),
        count: Type.Optional(Type.Integer({ minimum: 0, maximum: 9 })),
        isLoud: Type.Optional(Type.Boolean()),
        names: Type.Optional(Type.Array(Type.String())),
      }),
      answer: { kind: "json", schema: Type.Unknown(), handle: async ({ query }) => query },
    }),
    route({
      method: "PUT",
      path: "/api/things/:environment/:name",
      role: "deploy",
      summary: "Keeps a thing.",
      params: Type.Object({ environment: Type.Enum(["staging", "production"]), name: Type.String({ maxLength: 8 }) }),
      query: Type.Object({ dry: Type.Optional(Type.Boolean()) }),
      body: Type.Object({
        note: Type.String(),
        secret: Type.Optional(Type.String({ writeOnly: true, minLength: 4 })),
        parts: Type.Optional(Type.Array(Type.Object({ size: Type.Integer() }))),
      }),
      auditedFields: ["note"],
      answer: {
        kind: "json",
        schema: Type.Unknown(),
        handle: async ({ params, body, caller }) => ({ ...params, ...body, by: caller.tokenName }),
      },
    }),
    route({
      method: "POST",
      path: "/api/fail",
      role: "read",
      summary: "Fails.",
      answer: { kind: "json", schema: Type.Unknown(), handle: async () => Promise.reject(new Error("a secret detail")) },
    }),
  ];

  beforeAll(async () => {
    rig = await startApiRig(routes);
    port = rig.port;
  });

  afterEach(() => rig.troubles.splice(0));
  afterAll(async () => rig.stop());

  const withToken = (): Record<string, string> => ({ authorization: `Bearer ${rig.token}`, host: `localhost:${port}` });
  const withJson = (): Record<string, string> => ({ ...withToken(), "content-type": "application/json" });

  it("is loaded by the first who asks, once", async () => {
    expect(rig.loadCount()).toBe(0);
    await Promise.all([send(port, "/api/echo", { headers: withToken() }), send(port, "/api/echo", { headers: withToken() })]);
    expect(rig.loadCount()).toBe(1);
  });

  it("answers who has the token", async () => {
    const answer = await send(port, "/api/echo?a=1", { headers: withToken() });
    expect([answer.status, answer.text]).toEqual([200, '{"a":"1"}\n']);
  });

  it("keeps the token in a file that only its owner can read, and keeps it over restarts", async () => {
    expect((await stat(join(rig.home, "api-token"))).mode & 0o777).toBe(0o600);
    expect(await ensureToken(rig.home)).toEqual({ token: rig.token, isNew: false });
  });

  it.each([
    ["no token", { authorization: "" }, 401, "API_TOKEN_REFUSED"],
    ["a wrong token", { authorization: `Bearer ${"0".repeat(64)}` }, 401, "API_TOKEN_REFUSED"],
    ["a foreign Host, as a page that rebinds its name would send", { host: "evil.example" }, 403, "API_HOST_REFUSED"],
    ["the Host of another port", { host: "localhost:1" }, 403, "API_HOST_REFUSED"],
    ["a foreign Origin", { origin: "http://evil.example" }, 403, "API_ORIGIN_REFUSED"],
    ["an opaque Origin", { origin: "null" }, 403, "API_ORIGIN_REFUSED"],
  ])("refuses %s", async (_what, headers, status, code) => {
    for (const path of ["/api/echo", "/api/nothing", "/api/%zz"]) {
      const answer = await send(port, path, { headers: { ...withToken(), ...headers } });
      expect(answer.status).toBe(status);
      expect(JSON.parse(answer.text)).toMatchObject({ code });
    }
  });

  it("sends no CORS header, so that no page of another origin can read an answer", async () => {
    const answer = await send(port, "/api/echo", { method: "OPTIONS", headers: { ...withToken(), origin: "http://evil.example" } });
    expect(answer.status).toBe(403);
    expect(answer.headers["access-control-allow-origin"]).toBeUndefined();
  });

  it("does not say what it is built with, and lets nobody keep an answer", async () => {
    const answer = await send(port, "/api/echo", { headers: withToken() });
    expect(Object.keys(answer.headers).toSorted()).toEqual(["cache-control", "connection", "content-length", "content-type", "date"]);
    expect(answer.headers["cache-control"]).toBe("no-store");
  });

  it("says INTERNAL and no more when something of ours fails", async () => {
    const answer = await send(port, "/api/fail", { method: "POST", headers: withToken() });
    expect(answer.status).toBe(500);
    expect(answer.text).not.toContain("secret");
    expect(rig.troubles.map(String)).toEqual(["Error: a secret detail"]);
  });

  it("names what it does not have", async () => {
    const answer = await send(port, "/api/nothing", { headers: withToken() });
    expect(JSON.parse(answer.text)).toMatchObject({ status: 404, code: "API_NOT_FOUND", detail: "GET /api/nothing" });
    expect((await send(port, "/api/echo", { method: "HEAD", headers: withToken() })).status).toBe(404);
  });

  it("can be talked to by a command that knows only the port", async () => {
    const client = await connectApi({ port, home: null });
    expect(await client.get("/api/echo?a=2")).toEqual({ a: "2" });
  });

  it("is on loopback alone", async () => {
    const { networkInterfaces } = await import("node:os");
    const outside = Object.values(networkInterfaces())
      .flatMap((list) => list ?? [])
      .filter((address) => address.family === "IPv4" && !address.internal);
    for (const { address } of outside) await expect(fetch(`http://${address}:${port}/`)).rejects.toThrow("fetch failed");
  });

  describe("input", () => {
    it("arrives in the types that a route asks for", async () => {
      const answer = await send(port, "/api/echo?count=7&isLoud=true&names=a&names=b", { headers: withToken() });
      expect(JSON.parse(answer.text)).toEqual({ count: 7, isLoud: true, names: ["a", "b"] });
      expect(JSON.parse((await send(port, "/api/echo?names=a", { headers: withToken() })).text)).toEqual({ names: ["a"] });
    });

    it("that is wrong is refused with every problem, its path, and what it should be; a secret is not said back", async () => {
      const answer = await send(port, "/api/things/moon/far-too-long?dry=maybe&wet=1", {
        method: "PUT",
        headers: withJson(),
        body: JSON.stringify({ secret: "abc", parts: [{ size: 1 }, { size: 1.5, weight: 2 }], extra: true }),
      });
      expect(answer.status).toBe(400);
      expect(answer.headers["content-type"]).toBe("application/problem+json");
      expect(JSON.parse(answer.text)).toMatchObject({
        code: "API_INPUT_INVALID",
        problems: [
          'environment: should be one of staging, production, got "moon"',
          'name: should be text of at most 8 characters, got "far-too-long"',
          'dry: should be true or false, got "maybe"',
          "wet: is not known; known are dry",
          "note: is missing; it should be text",
          "secret: should be text of at least 4 characters, got something else",
          "parts[1].size: should be a whole number, got 1.5",
          "parts[1].weight: is not known; known are size",
          "extra: is not known; known are note, secret, parts",
        ],
      });
    });

    it.each([
      ["no JSON", "{", "application/json", /^body: should be JSON: /],
      ["another type than JSON", "a=1", "application/x-www-form-urlencoded", /^content-type: should be application\/json/],
      ["no object", "[1]", "application/json", /^body: should be an object, got \[1\]$/],
      ["nothing", "", "application/json", /^body: is missing/],
    ])("is refused where the body is %s", async (_what, body, type, problem) => {
      const answer = await send(port, "/api/things/staging/a", { method: "PUT", headers: { ...withToken(), "content-type": type }, body });
      expect(answer.status).toBe(400);
      const { code, problems } = JSON.parse(answer.text) as { code: string; problems: string[] };
      expect(code).toBe("API_INPUT_INVALID");
      expect(problems[0]).toMatch(problem);
    });

    it("is refused where there should be none", async () => {
      const answer = await send(port, "/api/fail", { method: "POST", headers: withJson(), body: "{}" });
      expect(JSON.parse(answer.text)).toMatchObject({ code: "API_INPUT_INVALID", problems: ["body: is not expected here"] });
      expect((await send(port, "/api/%zz", { headers: withToken() })).status).toBe(400);
    });

    it("of more than a megabyte is refused", async () => {
      const body = JSON.stringify({ note: "x".repeat(1_000_000) });
      const answer = await send(port, "/api/things/staging/a", { method: "PUT", headers: withJson(), body });
      expect([answer.status, JSON.parse(answer.text)]).toMatchObject([413, { code: "BODY_TOO_LARGE" }]);
    });
  });

  describe("a role", () => {
    const asReader = (): Record<string, string> => ({ ...withJson(), authorization: `Bearer ${rig.lookersToken}` });

    it("lets a token do what it is for", async () => {
      expect((await send(port, "/api/echo", { headers: asReader() })).status).toBe(200);
    });

    it("that is too small is told so, before its body is read", async () => {
      const answer = await send(port, "/api/things/staging/a", { method: "PUT", headers: asReader(), body: "{" });
      expect([answer.status, JSON.parse(answer.text)]).toMatchObject([403, { code: "API_FORBIDDEN" }]);
      expect(answer.text).toContain('needs the role deploy; the token \\"looker\\" has the role read');
    });
  });

  describe("the audit log", () => {
    it("has every change with who, what and how it ended, and no secret", async () => {
      const body = JSON.stringify({ note: "hello", secret: "hunter2" });
      await send(port, "/api/things/staging/a?dry=true", { method: "PUT", headers: withJson(), body });
      await send(port, "/api/fail", { method: "POST", headers: withToken() });
      await send(port, "/api/echo", { headers: withToken() });
      const [failed, done] = await rig.audit.list(2);
      expect(done).toMatchObject({
        tokenName: "home",
        role: "admin",
        method: "PUT",
        path: "/api/things/:environment/:name",
        input: { environment: "staging", name: "a", dry: true, note: "hello" },
        outcome: "done",
      });
      expect(failed).toMatchObject({ path: "/api/fail", outcome: { code: "INTERNAL" } });
      expect(await readFile(join(rig.home, "audit/audit.ndjson"), "utf8")).not.toContain("hunter2");
    });
  });
});
