// Static files through a gateway process that is asked for what is not its own, by slow clients, by leaving ones, and without its files.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, renameSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { PlannedSite } from "../../orchestrator/sites/site.ts";
import { createWorld, live, type World } from "../support/gateway-world.ts";
import { exchange, type RawAnswer } from "../support/raw-http.ts";
import type { SitesRig } from "../support/site-folder.ts";
import { ask, createStaticWorld, LARGE, sha256, type StaticWorld, withSite } from "../support/static-world.ts";
import { until } from "../support/until.ts";

let world: World;
let rig: SitesRig;
let site: PlannedSite;
let deploy: StaticWorld["deploy"];
let get: StaticWorld["get"];
let close: StaticWorld["close"];

beforeAll(async () => {
  ({ world, rig, site, deploy, get, close } = await createStaticWorld());
});

afterAll(async () => close());

async function rawGet(target: string, headers = ""): Promise<RawAnswer> {
  const [answer] = await exchange(world.port, `GET ${target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${headers}\r\n`);
  if (answer === undefined) throw new Error("no answer");
  return answer;
}

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
  const askUnread = (path: string): Promise<Socket> =>
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
    const sockets = await Promise.all(Array.from({ length: 30 }, () => askUnread("/large.bin")));
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
    expect((await get("/site.css")).status).toBe(200);
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
      await own.put({ deployment: withSite(live(own, []), site) });
      const answer = await ask(own.port, { path: "/large.bin" });
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
