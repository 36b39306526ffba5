// Static files through a gateway process: what visitors get of them.
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { PlannedSite } from "../../orchestrator/sites/site.ts";
import type { SitesRig } from "../support/site-folder.ts";
import { createStaticWorld, CSS, FILES, LARGE, PICTURE, sha256, type StaticWorld } from "../support/static-world.ts";

let rig: SitesRig;
let site: PlannedSite;
let deploy: StaticWorld["deploy"];
let get: StaticWorld["get"];
let close: StaticWorld["close"];

beforeAll(async () => {
  ({ rig, site, deploy, get, close } = await createStaticWorld());
});

afterAll(async () => close());

describe("a file", () => {
  it("is answered with its bytes, its type, its tag and the request's id", async () => {
    const { status, headers, body } = await get("/_static/site.css");
    expect(status).toBe(200);
    expect(body.toString()).toBe(CSS);
    expect(headers).toMatchObject({
      "content-type": "text/css; charset=utf-8",
      "content-length": String(CSS.length),
      "cache-control": "public, max-age=0, must-revalidate",
      "accept-ranges": "bytes",
      etag: `"${sha256(Buffer.from(CSS)).slice(0, 32)}"`,
      vary: "accept-encoding",
    });
    expect(headers["x-request-id"]).toMatch(/^[0-9a-f-]{36}$/);
    expect(headers).not.toHaveProperty("last-modified");
  });

  it("answers at the root as well where no function answers GET /", async () => {
    expect((await get("/site.css?v=1")).body.toString()).toBe(CSS);
    expect((await get("/na%C3%AFve%20file.txt")).body.toString()).toBe("naïve");
    expect((await get("/sub/deep.txt")).body.toString()).toBe("deep");
    await deploy({ ...site, snapshot: { ...site.snapshot, answersRoot: false } }, [["GET", "/"]]);
    expect((await get("/site.css")).body.toString()).toBe("function $default");
    expect((await get("/_static/site.css")).body.toString()).toBe(CSS);
    await deploy(site);
  });

  it("stands behind functions", async () => {
    expect((await get("/graphql", {}, "POST")).body.toString()).toBe("function POST /graphql");
    expect((await get("/graphql")).status).toBe(404);
  });

  it("has the type of its name", async () => {
    const types = await Promise.all(
      ["/", "/data.json", "/picture.png", "/large.bin"].map(async (path) => (await get(path, {}, "HEAD")).headers["content-type"]),
    );
    expect(types).toEqual(["text/html; charset=utf-8", "application/json; charset=utf-8", "image/png", "application/octet-stream"]);
  });

  it("is described to HEAD without a body", async () => {
    const { status, headers, body } = await get("/large.bin", {}, "HEAD");
    expect([status, headers["content-length"], body.length]).toEqual([200, String(LARGE.length), 0]);
  });

  it("is not changed by other methods", async () => {
    const refused = await get("/_static/site.css", {}, "DELETE");
    expect([refused.status, refused.headers.allow, JSON.parse(refused.body.toString())["code"]]).toEqual([
      405,
      "GET, HEAD",
      "METHOD_NOT_ALLOWED",
    ]);
    expect((await get("/_static/nope.css", {}, "POST")).status).toBe(404);
    expect((await get("/site.css", {}, "POST")).status).toBe(404);
  });
});

describe("folders and pages", () => {
  it("answer with their index.html, with a slash and without, at the root only", async () => {
    expect((await get("/")).body.toString()).toBe("<h1>home</h1>");
    expect((await get("/sub")).body.toString()).toBe("<h1>sub</h1>");
    expect((await get("/sub/")).body.toString()).toBe("<h1>sub</h1>");
    expect((await get("/_static/sub")).status).toBe(404);
    expect((await get("/_static/")).status).toBe(404);
  });

  it("are kept out of caches, and still spare their bytes to who has them", async () => {
    for (const path of ["/", "/data.json"]) {
      const first = await get(path);
      expect(first.headers["cache-control"]).toContain("no-store");
      const again = await get(path, { "if-none-match": first.headers.etag ?? "" });
      expect([again.status, again.body.length, again.headers.etag]).toEqual([304, 0, first.headers.etag]);
      expect(again.headers["cache-control"]).toContain("no-store");
      expect(again.headers["x-request-id"]).toBeDefined();
    }
  });

  it("say 404 with the app's own page for what is missing, unless a client wants no page", async () => {
    for (const path of ["/nope", "/_static/nope", "/nope/nope.css", "/.env", "/_static/.env"]) {
      const { status, headers, body } = await get(path, { accept: "*/*" });
      expect([path, status, body.toString()]).toEqual([path, 404, "<pre>four o four</pre>"]);
      expect(headers["content-type"]).toBe("text/html; charset=utf-8");
      expect(headers["cache-control"]).toContain("no-store");
      expect(headers["x-request-id"]).toBeDefined();
    }
    const problem = await get("/nope", { accept: "application/json" });
    expect([problem.status, problem.headers["content-type"]]).toEqual([404, "application/problem+json"]);
  });

  it("take the place of the platform's page when a function fails, and hide nothing from programs", async () => {
    const page = await get("/fails", { accept: "text/html" });
    expect([page.status, page.body.toString(), page.headers["content-type"]]).toEqual([
      500,
      "<p>our fault</p>",
      "text/html; charset=utf-8",
    ]);
    expect(page.headers["cache-control"]).toContain("no-store");
    expect(page.headers["x-request-id"]).toBeDefined();
    const problem = await get("/fails", { accept: "*/*" });
    expect([problem.status, JSON.parse(problem.body.toString())["code"]]).toEqual([500, "HANDLER_THREW"]);
  });

  it("are there for browsers too where neither a function nor a file may answer", async () => {
    await deploy({ ...site, snapshot: { ...site.snapshot, answersRoot: false } }, [["GET", "/fails"]]);
    const browser = await get("/nope", { accept: "text/html" });
    expect([browser.status, browser.body.toString()]).toEqual([404, "<pre>four o four</pre>"]);
    expect((await get("/nope", { accept: "*/*" })).headers["content-type"]).toBe("application/problem+json");
    await deploy(site);
  });

  it("are plain errors where the app has none of its own", async () => {
    await deploy(await rig.make({ "a.txt": "a" }));
    const browser = await get("/nope", { accept: "text/html" });
    expect([browser.status, browser.body.toString()]).toEqual([404, expect.stringContaining("ROUTE_NOT_FOUND")]);
    expect((await get("/fails", { accept: "text/html" })).body.toString()).toContain("HANDLER_THREW");
    await deploy(site);
  });

  it("answer for every path of an app of one page", async () => {
    await deploy(await rig.make(FILES, { isSpa: true }));
    expect((await get("/deep/down", { accept: "text/html" })).body.toString()).toBe("<h1>home</h1>");
    expect((await get("/deep/down")).status).toBe(200);
    expect((await get("/deep/down.js", { accept: "text/html" })).status).toBe(404);
    expect((await get("/deep/down", { accept: "application/json" })).status).toBe(404);
    expect((await get("/_static/deep", { accept: "text/html" })).status).toBe(404);
    await deploy(site);
  });
});

describe("conditions and ranges", () => {
  it("answer 304 to any form of the current tag, and the file to another one", async () => {
    const etag = (await get("/site.css")).headers.etag ?? "";
    const statuses = async (values: readonly string[]) =>
      Promise.all(values.map(async (value) => (await get("/site.css", { "if-none-match": value })).status));
    expect(await statuses([etag, `W/${etag}`, `"x", ${etag}`, "*"])).toEqual([304, 304, 304, 304]);
    expect(await statuses(['"x"', etag.slice(1, -1), ""])).toEqual([200, 200, 200]);
  });

  it("answer 412 where another version is asked for, and ignore dates that no file has", async () => {
    const etag = (await get("/site.css")).headers.etag ?? "";
    const failed = await get("/site.css", { "if-match": '"x"' });
    expect([failed.status, JSON.parse(failed.body.toString())["code"], failed.headers.etag]).toEqual([
      412,
      "PRECONDITION_FAILED",
      undefined,
    ]);
    expect((await get("/site.css", { "if-match": etag })).status).toBe(200);
    expect((await get("/site.css", { "if-unmodified-since": "Thu, 01 Jan 1970 00:00:00 GMT" })).status).toBe(200);
    expect((await get("/site.css", { "if-modified-since": new Date().toUTCString() })).status).toBe(200);
  });

  it.each([
    ["bytes=0-99", 0, 99],
    ["bytes=4990-", 4_990, 4_999],
    ["bytes=-10", 4_990, 4_999],
    ["bytes=4990-9999", 4_990, 4_999],
    ["bytes=0-0", 0, 0],
  ])("give the bytes of %s", async (range, start, end) => {
    const { status, headers, body } = await get("/picture.png", { range });
    expect([status, headers["content-range"], headers["content-length"]]).toEqual([
      206,
      `bytes ${start}-${end}/5000`,
      String(end - start + 1),
    ]);
    expect(body.equals(PICTURE.subarray(start, end + 1))).toBe(true);
  });

  it("give the whole file for several ranges, for nonsense, and for a range of another version", async () => {
    const etag = (await get("/picture.png")).headers.etag ?? "";
    const asked: Record<string, string>[] = [
      { range: "bytes=0-1,100-101" },
      { range: "bytes=x" },
      { range: "lines=0-1" },
      { range: "bytes=0-1", "if-range": '"other"' },
      { range: "bytes=0-1", "if-range": new Date().toUTCString() },
    ];
    const answers = await Promise.all(asked.map(async (headers) => get("/picture.png", headers)));
    expect(answers.map(({ status, body }) => [status, body.length])).toEqual(asked.map(() => [200, 5_000]));
    expect((await get("/picture.png", { range: "bytes=0-1", "if-range": etag })).status).toBe(206);
  });

  it("say 416 with the length for bytes that there are not", async () => {
    const { status, headers, body } = await get("/picture.png", { range: "bytes=5000-" });
    expect([status, headers["content-range"], JSON.parse(body.toString())["code"]]).toEqual([416, "bytes */5000", "RANGE_NOT_SATISFIABLE"]);
    expect(headers["x-request-id"]).toBeDefined();
    expect(headers["content-length"]).toBe(String(body.length));
  });
});

describe("encodings", () => {
  it("are the client's choice, each with a tag of its own", async () => {
    const [plain, br, gzip] = [
      await get("/site.css"),
      await get("/site.css", { "accept-encoding": "gzip, br" }),
      await get("/site.css", { "accept-encoding": "gzip" }),
    ];
    expect([plain, br, gzip].map(({ headers }) => headers["content-encoding"])).toEqual([undefined, "br", "gzip"]);
    expect(brotliDecompressSync(br.body).toString()).toBe(CSS);
    expect(gunzipSync(gzip.body).toString()).toBe(CSS);
    expect(new Set([plain, br, gzip].map(({ headers }) => headers.etag)).size).toBe(3);
    for (const { headers } of [plain, br, gzip]) expect(headers.vary).toBe("accept-encoding");
    expect(br.headers["content-type"]).toBe("text/css; charset=utf-8");
    expect((await get("/site.css", { "accept-encoding": "br", "if-none-match": br.headers.etag ?? "" })).status).toBe(304);
    expect((await get("/site.css", { "accept-encoding": "gzip", "if-none-match": br.headers.etag ?? "" })).status).toBe(200);
  });

  it("leave alone what gains nothing", async () => {
    const { headers, body } = await get("/picture.png", { "accept-encoding": "gzip, br" });
    expect(headers["content-encoding"]).toBeUndefined();
    expect(body.equals(PICTURE)).toBe(true);
  });
});

describe("fingerprints", () => {
  it("make names that may be cached for ever, beside the plain ones", async () => {
    const planned = await rig.make({ "app.js": "1", "index.html": "/_static/${STATIC('app.js')}" }, { fingerprint: "on" });
    await deploy(planned);
    const [url] = [(await get("/")).body.toString()];
    expect(url).toMatch(/^\/_static\/app-[0-9a-f]{10}\.js$/);
    expect((await get(url)).headers["cache-control"]).toBe("public, max-age=31536000, immutable");
    expect((await get("/_static/app.js")).headers["cache-control"]).toBe("public, max-age=0, must-revalidate");
    expect((await get("/app-0000000000.js")).status).toBe(404);
    await deploy(site);
  });

  it("are answered a little longer than their release lives, for the pages that name them", async () => {
    const files = (body: string) => ({ "app.js": body, "plain.txt": body, "gone.txt": body });
    const before = await rig.make(files("1"), { fingerprint: "on" });
    const after = await rig.make({ ...files("2"), "gone.txt": "3" }, { fingerprint: "on" });
    const name = before.staticNames?.["app.js"] ?? "";
    await deploy(before);
    await deploy(after);
    expect((await get(`/${name}`)).body.toString()).toBe("1");
    expect((await get("/app.js")).body.toString()).toBe("2");
    await deploy(site);
    expect((await get(`/${name}`)).status).toBe(404);
    expect((await get("/plain.txt")).status).toBe(404);
  });
});
