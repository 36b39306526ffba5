// Static files through a gateway process: what visitors get of them, and what nobody gets, whatever they ask.
import { createHash, randomBytes } from "node:crypto";
import { readdirSync, readFileSync, renameSync } from "node:fs";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { PlannedSite } from "../../orchestrator/sites/site.ts";
import { createWorld, fn, live, startInstance, text, type ScriptedInstance, type World } from "../support/gateway-world.ts";
import { exchange, type RawAnswer } from "../support/raw-http.ts";
import { createSitesRig, type SitesRig } from "../support/site-folder.ts";
import { until } from "../support/until.ts";

const CSS = "body { color: black }\n".repeat(400);
const LARGE = randomBytes(40_000_000);
const PICTURE = randomBytes(5_000);
const FILES = {
  "index.html": "<h1>home</h1>",
  "404.html": "<pre>four o four</pre>",
  "500.html": "<p>our fault</p>",
  "site.css": CSS,
  "picture.png": PICTURE,
  "large.bin": LARGE,
  "data.json": '{"a":1}',
  "sub/index.html": "<h1>sub</h1>",
  "sub/deep.txt": "deep",
  "naïve file.txt": "naïve",
  ".env": "SECRET=1",
};

let world: World;
let rig: SitesRig;
let site: PlannedSite;
let echo: ScriptedInstance;

beforeAll(async () => {
  rig = createSitesRig();
  world = await createWorld({ config: { sitesFolder: rig.sitesFolder } });
  echo = await startInstance(world, "echo1", ({ header, respond }) =>
    header.path === "/fails"
      ? respond({ v: 1, kind: "failed", code: "HANDLER_THREW", message: "secret of the handler" })
      : text(respond, `function ${header.route}`),
  );
  site = await rig.make(FILES);
  await deploy(site);
});

afterAll(async () => {
  await echo.kill();
  await world.close();
  await rig.remove();
});

async function deploy(
  planned: PlannedSite,
  routes: readonly (readonly ["GET" | "POST", string])[] = [
    ["GET", "/fails"],
    ["POST", "/graphql"],
  ],
) {
  const deployment = live(
    world,
    routes.map(([method, path]) => fn(method, path, { instanceIds: ["echo1"] })),
  );
  await world.put({ deployment: { ...deployment, site: planned.snapshot } as typeof deployment }); // live() makes live ones.
}

/** With exactly these headers, and the body's bytes as they travel. */
async function get(path: string, headers: Record<string, string> = {}, method = "GET") {
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    httpRequest({ host: "127.0.0.1", port: world.port, path, method, headers, agent: false }, resolve).once("error", reject).end();
  });
  const parts: Buffer[] = [];
  for await (const part of answer) parts.push(part as Buffer); // What a response yields without an encoding.
  return { status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.concat(parts) };
}

async function rawGet(target: string, headers = ""): Promise<RawAnswer> {
  const [answer] = await exchange(world.port, `GET ${target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${headers}\r\n`);
  if (answer === undefined) throw new Error("no answer");
  return answer;
}

const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

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
});

describe("paths that would lead elsewhere", () => {
  const up = "../".repeat(12);
  it.each([
    `/_static/${up}etc/passwd`,
    `/${up}etc/passwd`,
    "/_static/../site.css",
    "/_static/..%2fsite.css",
    "/_static/%2e%2e/site.css",
    "/_static/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    `/_static/${"%2e%2e/".repeat(12)}etc/passwd`,
    `/_static/${"..%5c".repeat(12)}etc%5cpasswd`,
    "/_static/..\\..\\etc\\passwd",
    "/_static/%252e%252e/site.css",
    "/_static/%c0%ae%c0%ae/site.css",
    "/_static/site.css%00",
    "/_static/site.css%00.png",
    "/_static/sub%2fdeep.txt",
    "/_static//site.css",
    "/_static//etc/passwd",
    "//etc/passwd",
    "/_static/./site.css",
    "/_static/.env",
    "/_static/%2eenv",
    "/_static/.",
    "/_static/..",
    "/%5f%73tatic/../../x",
    "http://x/_static/../site.css",
    "http://x/_static/%2e%2e/site.css",
    "http://x/../../etc/passwd",
    "file:///etc/passwd",
    "/_static/files/../index.html",
    `/_static/${"a/".repeat(2_000)}x`,
    "/_static/C:/windows",
    "/_static/site.css::$DATA",
    "/_static/site.css/",
    "/_static/site.css;x=1",
  ])("%s names nothing", async (target) => {
    const { status, body } = await rawGet(target, "accept: application/json\r\n");
    expect([400, 404]).toContain(status);
    expect(JSON.parse(body)).toMatchObject({ status, code: status === 400 ? "TARGET_MALFORMED" : "ROUTE_NOT_FOUND" });
    for (const secret of ["root:", "SECRET", rig.sitesFolder, "/tmp", "ENOENT", "at "]) expect(body).not.toContain(secret);
  });

  it("are no names by which contents are stored either", async () => {
    const { contentId } = site.index.files["site.css"] ?? { contentId: "" };
    for (const path of [`/${contentId}`, `/_static/${contentId}`, `/_static/files/${contentId}`, `/_static/${site.snapshot.siteId}.json`])
      expect((await get(path)).status).toBe(404);
  });

  it("answer the absolute form like the other", async () => {
    expect((await rawGet("http://x/_static/sub/deep.txt")).body).toBe("deep");
  });
});

describe("large files and slow clients", () => {
  const openFiles = (): number => readdirSync(`/proc/${world.gateway.pid}/fd`).length;
  const residentBytes = (): number =>
    Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${world.gateway.pid}/status`, "utf8"))?.[1] ?? 0) * 1_024;
  const ask = (path: string): Promise<Socket> =>
    new Promise((resolve, reject) => {
      const socket = connect(world.port, "127.0.0.1", () => socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`));
      socket.once("error", reject);
      socket.once("readable", () => resolve(socket)); // Nothing is read from it: the gateway has to wait.
    });

  it("arrive whole", async () => {
    const { body } = await get("/large.bin");
    expect(sha256(body)).toBe(sha256(LARGE));
  });

  it("wait for clients without filling memory, holding others up, or being forgotten", async () => {
    const before = openFiles();
    const memory = residentBytes();
    const sockets = await Promise.all(Array.from({ length: 30 }, () => ask("/large.bin")));
    expect((await world.status()).requestCount).toBe(30);
    expect(residentBytes() - memory).toBeLessThan(200_000_000); // All of them at once would be 1.2 GB.
    const startMs = performance.now();
    expect((await get("/_static/site.css")).status).toBe(200);
    expect(performance.now() - startMs).toBeLessThan(2_000);
    for (const socket of sockets) socket.destroy();
    await until(() => openFiles() <= before, { timeoutMs: 5_000, what: "every file is closed again" });
    await until(async () => (await world.status()).requestCount === 0, { timeoutMs: 5_000, what: "no request is open" });
  });

  it("leave no file open when clients vanish at any moment", async () => {
    await get("/");
    const before = openFiles();
    for (let round = 0; round < 100; round += 1) {
      const socket = connect(world.port, "127.0.0.1", () => {
        socket.write("GET /large.bin HTTP/1.1\r\nhost: x\r\n\r\n");
        if (round % 3 === 0) socket.destroy();
        else if (round % 3 === 1) setImmediate(() => socket.resetAndDestroy());
        else socket.once("data", () => socket.destroy());
      });
      socket.on("error", () => undefined);
      await new Promise((done) => socket.once("close", done));
    }
    await until(() => openFiles() <= before, { timeoutMs: 5_000, what: "every file is closed again" });
    await until(async () => (await world.status()).requestCount === 0, { timeoutMs: 5_000, what: "no request is open" });
  });
});

describe("a site that cannot be read", () => {
  it("keeps no function from answering, and is served once it can be", async () => {
    const planned = await rig.make({ "only.txt": "only" });
    const index = join(rig.sitesFolder, `${planned.snapshot.siteId}.json`);
    renameSync(index, `${index}.away`);
    await deploy(planned);
    const failed = await get("/_static/only.txt");
    expect([failed.status, JSON.parse(failed.body.toString())["code"]]).toEqual([500, "INTERNAL"]);
    expect(failed.body.toString()).not.toContain(rig.sitesFolder);
    expect((await get("/graphql", {}, "POST")).status).toBe(200);
    renameSync(`${index}.away`, index);
    await deploy(planned);
    expect((await get("/_static/only.txt")).body.toString()).toBe("only");
    renameSync(join(rig.sitesFolder, "files"), join(rig.sitesFolder, "away"));
    const gone = await get("/_static/only.txt");
    expect([gone.status, JSON.parse(gone.body.toString())["code"]]).toEqual([500, "INTERNAL"]);
    expect(gone.body.toString()).not.toContain(rig.sitesFolder);
    expect(gone.headers.etag).toBeUndefined();
    renameSync(join(rig.sitesFolder, "away"), join(rig.sitesFolder, "files"));
    await deploy(site);
  });
});

describe("stopping", () => {
  it("lets a download that has begun come to its end", async () => {
    const own = await createWorld({ config: { sitesFolder: rig.sitesFolder } });
    try {
      await own.put({ deployment: { ...live(own, []), site: site.snapshot } as ReturnType<typeof live> }); // live() makes live ones.
      const answer = await new Promise<IncomingMessage>((resolve, reject) => {
        httpRequest({ host: "127.0.0.1", port: own.port, path: "/large.bin", agent: false }, resolve).once("error", reject).end();
      });
      process.kill(own.gateway.pid, "SIGTERM");
      await until(() => own.gateway.output().includes("stopping"), { timeoutMs: 5_000 });
      const hash = createHash("sha256");
      for await (const part of answer) hash.update(part as Buffer); // What a response yields without an encoding.
      expect(hash.digest("hex")).toBe(sha256(LARGE));
      expect(await own.gateway.exited).toBe(0);
    } finally {
      await own.close();
    }
  });
});
