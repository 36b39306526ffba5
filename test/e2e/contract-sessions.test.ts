// Sessions over HTTP, in one app with functions of several generations: the cookie, what it opens, and what it does not.
import { describe, expect, it } from "vitest";
import { CookieJar, type SetCookie, parseSetCookie } from "../support/cookie-jar.ts";
import { type Answer, ENGINE_NAMES } from "../support/platform.ts";
import { serveForSuite } from "../support/served-app.ts";
import { problemOf } from "../support/problems.ts";

const READ = `
const { http } = require("@orchestrator/functions");
exports.handler = async (request) => ({ session: await http.session.read(request) });
`;

const WRITE = `
import { http } from "@orchestrator/functions";
export async function handler(request) {
  const cookie = await http.session.write(http.helpers.bodyParser(request));
  return { statusCode: 201, cookies: [cookie], body: "" };
}
`;

const ASYNC = `
const { http } = require("@orchestrator/functions");
const count = async ({ session }) => ({ session: { ...session, visits: (session.visits ?? 0) + 1 }, json: session });
exports.handler = http.async(async () => undefined, count);
`;

const EXPRESS = `
const { http } = require("@architect/functions");
exports.handler = http((req, res, next) => next(), (req, res) => res({ json: { session: req.session } }));
`;

const JSON_READ = `
const { json } = require("@architect/functions");
exports.handler = json.get((req, res) => res({ json: { session: req.session } }));
`;

const JSON_WRITE = `
const { json } = require("@architect/functions");
exports.handler = json.post((req, res) => res({ json: { ok: true }, session: req.body }));
`;

const HTML_READ = `
const { html } = require("@architect/functions");
exports.handler = html.get((req, res) => res({ html: JSON.stringify({ session: req.session }) }));
`;

// No manifest: the functions of three kinds are found by their folders.
const APP = {
  "src/http/get-read/index.js": READ,
  "src/http/post-write/index.mjs": WRITE,
  "src/http/get-visits/index.js": ASYNC,
  "src/http/get-express/index.js": EXPRESS,
  "src/json/get-api-read/index.js": JSON_READ,
  "src/json/post-api-write/index.js": JSON_WRITE,
  "src/html/get-page-read/index.js": HTML_READ,
};

const READERS = ["/read", "/express", "/api/read", "/page/read"];
const WEEK_S = 7 * 24 * 60 * 60;

describe.each(ENGINE_NAMES)("sessions on engine %s", (engine) => {
  const served = serveForSuite(APP, { engine, flags: ["--promote", "--no-watch", "--trust-proxy", "127.0.0.1"] });

  const { get } = served;
  const write = async (value: unknown, options: { path?: string; headers?: Record<string, string> } = {}): Promise<Answer> => {
    const headers = { "content-type": "application/json", ...options.headers };
    return get(options.path ?? "/write", { method: "POST", body: JSON.stringify(value), headers });
  };
  const read = async (cookie: string, path = "/read"): Promise<unknown> =>
    (JSON.parse((await get(path, { headers: { cookie } })).text) as { session: unknown }).session; // Every reader writes it.
  const cookieOf = (answer: Answer): SetCookie => {
    const cookies = (answer.headers["set-cookie"] ?? []).map(parseSetCookie);
    expect(cookies.map(({ name }) => name)).toEqual(["_idx"]);
    return cookies[0] ?? { name: "", value: "", attributes: new Map() };
  };
  /** What a visitor's browser sends after the session was written. */
  const stored = async (value: unknown, path = "/write"): Promise<string> => `_idx=${cookieOf(await write(value, { path })).value}`;

  describe("the cookie", () => {
    it("is called _idx, and holds an id that cannot be guessed with a signature", async () => {
      const values = [cookieOf(await write({ a: 1 })).value, cookieOf(await write({ a: 1 })).value];
      expect(new Set(values).size).toBe(2);
      for (const value of values) {
        const [id = "", signature = ""] = decodeURIComponent(value).split(".");
        expect(Buffer.from(id, "base64url").length).toBeGreaterThanOrEqual(16);
        expect(Buffer.from(signature, "base64url").length).toBeGreaterThanOrEqual(32);
      }
    });

    it("is kept from scripts and from other sites' forms, on every path", async () => {
      for (const path of ["/write", "/api/write"]) {
        const { attributes } = cookieOf(await write({ a: 1 }, { path }));
        expect([attributes.has("httponly"), attributes.get("samesite"), attributes.get("path")]).toEqual([true, "Lax", "/"]);
        expect(Number(attributes.get("max-age"))).toBeGreaterThanOrEqual(WEEK_S);
      }
    });

    it("is for TLS only where the visitor came by TLS", async () => {
      const plain = cookieOf(await write({ a: 1 }));
      const secure = cookieOf(await write({ a: 1 }, { headers: { "x-forwarded-proto": "https" } }));
      expect([plain.attributes.has("secure"), secure.attributes.has("secure")]).toEqual([false, true]);
    });

    it("is set by nothing that only reads, unless a page needs it for its csrf token", async () => {
      expect((await get("/read")).headers["set-cookie"]).toBeUndefined();
      expect((await get("/express")).headers["set-cookie"]).toBeUndefined();
      expect(cookieOf(await get("/api/read")).value).toMatch(/\./);
      expect(cookieOf(await get("/page/read")).value).toMatch(/\./);
    });
  });

  it.each(["/write", "/api/write"])("are read in every kind of function after %s", async (path) => {
    const cookie = await stored({ name: "Ada", list: [1, { deep: true }], text: "žluť" }, path);
    for (const reader of READERS) expect(await read(cookie, reader)).toEqual({ name: "Ada", list: [1, { deep: true }], text: "žluť" });
  });

  it("grow from visit to visit, each visitor's by itself", async () => {
    const [one, other] = [new CookieJar(), new CookieJar()];
    const visit = async (jar: CookieJar): Promise<unknown> => {
      const answer = await get("/visits", { headers: { cookie: jar.header } });
      jar.take(answer);
      return JSON.parse(answer.text);
    };
    expect(await visit(one)).toEqual({});
    expect(await visit(one)).toEqual({ visits: 1 });
    expect(await visit(other)).toEqual({});
    expect(await visit(one)).toEqual({ visits: 2 });
    expect(await visit(other)).toEqual({ visits: 1 });
  });

  it("are replaced as a whole by what is written", async () => {
    const cookie = await stored({ a: 1, b: 2 });
    const jar = new CookieJar();
    jar.take(await write({ c: 3 }, { headers: { cookie } }));
    expect(await read(jar.header)).toEqual({ c: 3 });
  });

  it("are gone once an empty one is written, under their old cookie too", async () => {
    const cookie = await stored({ a: 1 });
    const jar = new CookieJar();
    jar.take(await write({}, { headers: { cookie } }));
    for (const one of [cookie, jar.header]) expect(await read(one)).toEqual({});
  });

  it("are empty for a visitor without one", async () => {
    for (const reader of READERS) expect(await read("", reader)).toEqual({});
    expect(await read("other=1; idx=2; _idxx=3")).toEqual({});
  });

  it("are found among other cookies", async () => {
    expect(await read(`a=1; ${await stored({ a: 1 })}; b=2`)).toEqual({ a: 1 });
  });

  it.each<[what: string, forge: (value: string) => string]>([
    ["whose signature was changed", (value) => value.replace(/\.(.)/, (_all, first: string) => (first === "A" ? ".B" : ".A"))],
    ["whose id was changed", (value) => (value.startsWith("A") ? `B${value.slice(1)}` : `A${value.slice(1)}`)],
    ["without its signature", (value) => value.split(".")[0] ?? ""],
    ["with an empty signature", (value) => `${value.split(".")[0]}.`],
    ["that is empty", () => ""],
    ["that names a place", () => "../../etc/passwd.x"],
    ["that holds a NUL", () => "%00.%00"],
    ["with malformed escapes", () => "%zz.%"],
    ["that is long", () => `${"x".repeat(4_000)}.${"y".repeat(4_000)}`],
    ["as the originals signed it without a secret", () => "s%3Aabcdefghijklmnopqrstuvwx.fallback"],
  ])("read as empty with a cookie %s, and set none", async (_what, forge) => {
    const value = (await stored({ a: 1 })).slice("_idx=".length);
    const forged = forge(value);
    expect(forged).not.toBe(value);
    const answer = await get("/read", { headers: { cookie: `_idx=${forged}` } });
    expect(answer).toMatchObject({ status: 200, text: '{"session":{}}' });
    expect(answer.headers["set-cookie"]).toBeUndefined();
    expect(await read(`_idx=${value}`)).toEqual({ a: 1 });
  });

  it("are not written below an id that a visitor brings", async () => {
    const { value } = cookieOf(await write({ a: 1 }, { headers: { cookie: "_idx=chosen-by-the-visitor.signature" } }));
    expect(value).not.toContain("chosen-by-the-visitor");
  });

  it("of staging are unknown on production", async () => {
    const cookie = await stored({ a: 1 });
    const answer = await served.platform.get("production", "/read", { headers: { cookie } });
    expect(answer).toMatchObject({ status: 200, text: '{"session":{}}' });
    expect(await read(cookie)).toEqual({ a: 1 });
  });

  it("hold 400 KB and not more", async () => {
    const fits = { text: "x".repeat(399_000) };
    expect(await read(await stored(fits))).toEqual(fits);
    const refused = problemOf(await write({ text: "x".repeat(400_001) }));
    expect(refused).toMatchObject({ status: 500, detail: expect.stringContaining("400 KB") as unknown });
    expect((await write({ a: 1 })).status).toBe(201);
  });
});
