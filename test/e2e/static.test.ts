// Static files of a running app: served at once, changed without a failed request, promoted with their release.
import { rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { brotliDecompressSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Answer, handler, makeApp, type RunningPlatform, startPlatform, writeFiles } from "../support/platform.ts";
import { until } from "../support/until.ts";

const CSS = "body { color: black }\n".repeat(200);

let app: string;
let platform: RunningPlatform;

beforeAll(async () => {
  app = await makeApp({
    "app.arc": "@app\nstatics\n\n@http\nget /names\nget /fails\npost /graphql\n\n@static\nfingerprint true\n",
    "public/index.html": "<link href=\"/_static/${STATIC('css/site.css')}\">one",
    "public/404.html": "<pre>four o four</pre>",
    "public/500.html": "<pre>five hundred</pre>",
    "public/css/site.css": CSS,
    "public/.env": "SECRET=1",
    "src/http/get-names/index.js": handler(
      "return { body: JSON.stringify(require('@architect/shared/static.json')), headers: { 'content-type': 'application/json' } };",
    ),
    "src/http/get-fails/index.js": handler("throw new Error('on purpose');"),
    "src/http/post-graphql/index.js": handler("return { hello: 'world' };"),
  });
  platform = await startPlatform({ app, engine: "process", flags: ["--promote"] });
});

afterAll(async () => {
  await platform.stop();
  await rm(app, { recursive: true, force: true });
});

/** Asks without a pause until the answer is the one that is waited for; every answer on the way. */
async function askUntil(path: string, isNew: (answer: Answer) => boolean): Promise<Answer[]> {
  const answers: Answer[] = [];
  await until(
    async () => {
      const answer = await platform.get("staging", path);
      answers.push(answer);
      return isNew(answer);
    },
    { timeoutMs: 20_000, what: `${path} has changed` },
  );
  return answers;
}

describe("the static files of an app without GET /", () => {
  it("answer on both environments, at the root and below /_static", async () => {
    for (const environment of ["staging", "production"] as const) {
      expect((await platform.get(environment, "/")).text).toMatch(/^<link href="\/_static\/css\/site-[0-9a-f]{10}\.css">one$/);
      const css = await platform.get(environment, "/_static/css/site.css", { headers: { "accept-encoding": "br" } });
      expect([css.status, css.headers["content-encoding"]]).toEqual([200, "br"]);
      expect(brotliDecompressSync(css.body).toString()).toBe(CSS);
      expect((await platform.get(environment, "/_static/.env")).status).toBe(404);
    }
  });

  it("stand beside functions, and lend them their pages for errors", async () => {
    expect((await platform.get("staging", "/graphql", { method: "POST", body: "{}" })).text).toBe('{"hello":"world"}');
    const missing = await platform.get("staging", "/nowhere");
    expect([missing.status, missing.text]).toEqual([404, "<pre>four o four</pre>"]);
    const failed = await platform.get("staging", "/fails", { headers: { accept: "text/html" } });
    expect([failed.status, failed.text]).toEqual([500, "<pre>five hundred</pre>"]);
    const problem = await platform.get("staging", "/fails");
    expect([problem.status, problem.headers["content-type"]]).toEqual([500, "application/problem+json"]);
  });

  it("have fingerprinted names that functions know, and that may be cached for ever", async () => {
    const names: unknown = JSON.parse((await platform.get("staging", "/names")).text);
    expect(names).toMatchObject({ "css/site.css": expect.stringMatching(/^css\/site-[0-9a-f]{10}\.css$/) as unknown });
    const link = /href="([^"]+)"/.exec((await platform.get("staging", "/")).text)?.[1] ?? "";
    const css = await platform.get("staging", link);
    expect([css.status, css.text, css.headers["cache-control"]]).toEqual([200, CSS, "public, max-age=31536000, immutable"]);
  });
});

describe("an edit in the folder of a running app", () => {
  it("is served without a failed request, on staging only", async () => {
    await writeFiles(app, { "public/index.html": "two" });
    const answers = await askUntil("/", (answer) => answer.text === "two");
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    expect((await platform.get("production", "/")).text).toContain("one");
  });

  it("may add, move and remove files, and comes through a file that cannot be served", async () => {
    await writeFiles(app, { "public/new/index.html": "new" });
    await askUntil("/new", (answer) => answer.text === "new");
    await writeFile(join(app, "public", "bad\nname"), "x");
    await until(() => platform.events.some((event) => event.code === "SITE_INVALID"), { timeoutMs: 20_000 });
    expect((await platform.get("staging", "/new")).text).toBe("new");
    await rm(join(app, "public", "bad\nname"));
    await rename(join(app, "public", "new"), join(app, "public", "moved"));
    await askUntil("/moved", (answer) => answer.text === "new");
    expect((await platform.get("staging", "/new")).status).toBe(404);
  });
});
