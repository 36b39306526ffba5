// The runtime library inside a running app: what needs the platform around it.
import { rm } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Answer, makeApp, type RunningPlatform, startPlatform } from "../support/platform.ts";

let app: string;
let platform: RunningPlatform;

beforeAll(async () => {
  app = await makeApp({
    "app.arc": "@app\nlibrary\n\n@http\nget /\nget /named\nget /token\npost /form\npost /parsed\npost /count\n",
    "public/index.html": "<h1>front page</h1>",
    "public/docs/index.html": "<h1>docs</h1>",
    "public/404.html": "<h1>four o four</h1>",
    "public/app.js": "run()",
    // Written for the originals, and run as it is: the package is not installed.
    "src/http/get-index/index.js":
      'const arc = require("@architect/functions");\nexports.handler = arc.http.proxy({ spa: true, alias: { "/old": "/docs/" } });\n',
    "src/http/get-named/index.mjs":
      'import { http, json } from "@architect/functions";\nexport const handler = http.async(async () => ({ json: [typeof http.async, typeof json.get] }));\n',
    "src/http/get-token/index.js":
      'const { http } = require("@orchestrator/functions");\nexports.handler = http.async(async () => ({ text: http.csrf.create() }));\n',
    "src/http/post-form/index.js":
      'const { http, html } = require("@orchestrator/functions");\nexports.handler = http(html.csrf, (request, res) => res({ text: "saved" }));\n',
    "src/http/post-parsed/index.js":
      'const { http } = require("@orchestrator/functions");\nexports.handler = async (request) => ({ got: http.helpers.bodyParser(request) });\n',
    "src/http/post-count/index.js":
      'const { http } = require("@orchestrator/functions");\nexports.handler = http.async(async ({ session }) => ({ session: { n: (session.n ?? 0) + 1 }, json: session }));\n',
  });
  platform = await startPlatform({ app, engine: "process", flags: ["--promote"] });
});

afterAll(async () => {
  await platform.stop();
  await rm(app, { recursive: true, force: true });
});

const get = (path: string, headers: Record<string, string> = {}) => platform.get("staging", path, { headers });
const post = (path: string, type: string, body: string, headers: Record<string, string> = {}) =>
  platform.get("staging", path, { method: "POST", headers: { "content-type": type, ...headers }, body });
const cookieOf = ({ headers }: Answer): string => (headers["set-cookie"]?.[0] ?? "").split(";", 1)[0] ?? "";

describe("proxy.public in GET /", () => {
  it.each([
    ["/", "<h1>front page</h1>", "text/html; charset=utf-8"],
    ["/app.js", "run()", "text/javascript; charset=utf-8"],
    ["/docs/", "<h1>docs</h1>", "text/html; charset=utf-8"],
    ["/old", "<h1>docs</h1>", "text/html; charset=utf-8"],
  ])("answers %s with the file of the app's site", async (path, body, type) => {
    const answer = await get(path);
    expect([answer.status, answer.text, answer.headers["content-type"]]).toEqual([200, body, type]);
  });

  it("answers the pages of a single page app with its first one", async () => {
    expect((await get("/users/7", { accept: "text/html" })).text).toBe("<h1>front page</h1>");
  });

  it("answers what is not there with the app's own page", async () => {
    const answer = await get("/nothing.png");
    expect([answer.status, answer.text]).toEqual([404, "<h1>four o four</h1>"]);
  });

  it("knows when a client has the file already", async () => {
    const { headers } = await get("/app.js");
    expect((await get("/app.js", { "if-none-match": headers.etag ?? "" })).status).toBe(304);
  });
});

describe("the library inside a function", () => {
  it("gives ES modules its exports by name", async () => {
    expect((await get("/named")).text).toBe('["function","function"]');
  });

  it("answers a malformed body with 400 and goes on", async () => {
    const answer = await post("/parsed", "application/json", '{"a":');
    expect([answer.status, JSON.parse(answer.text)]).toEqual([400, expect.objectContaining({ code: "BODY_MALFORMED" })]);
    expect((await post("/parsed", "application/json", '{"a":1}')).text).toBe('{"got":{"a":1}}');
  });

  it("answers a malformed body with 400 where a wrapper parses it", async () => {
    expect((await post("/form", "multipart/form-data; boundary=x", "--x\r\n")).status).toBe(400);
  });

  it("keeps a session from request to request, and forgets one whose cookie is forged", async () => {
    const cookie = cookieOf(await post("/count", "text/plain", ""));
    expect((await post("/count", "text/plain", "", { cookie })).text).toBe('{"n":1}');
    expect((await post("/count", "text/plain", "", { cookie })).text).toBe('{"n":2}');
    expect((await post("/count", "text/plain", "", { cookie: `${cookie.slice(0, -3)}AAA` })).text).toBe("{}");
  });

  it("does not know a session of the other environment", async () => {
    const cookie = cookieOf(await post("/count", "text/plain", ""));
    const answer = await platform.get("production", "/count", { method: "POST", headers: { cookie } });
    expect([answer.status, answer.text]).toEqual([200, "{}"]);
  });

  it("lets a form through with the token that its visitor was given, and no other", async () => {
    const page = await get("/token");
    const send = (cookie: string) => post("/form", "application/x-www-form-urlencoded", `csrf=${page.text}`, { cookie });
    expect((await send(cookieOf(page))).text).toBe("saved");
    expect((await send(cookieOf(await get("/token")))).status).toBe(403);
  });
});
