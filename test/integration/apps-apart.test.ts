// Two apps of one platform, through the management API: what one has, the other has not, and whoever names neither gets the default one.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { createGunzip } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type HostedWorld, startHostedWorld } from "../support/hosted-world.ts";
import { type Finished, runCommand } from "../support/platform.ts";
import { until } from "../support/until.ts";

let world: HostedWorld;
let folder = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "orchestrator-apart-"));
  world = await startHostedWorld(["shop", "blog"]);
});

afterAll(async () => {
  await world.close();
  await rm(folder, { recursive: true, force: true });
});

const lines = async (path: string): Promise<unknown[]> => {
  const values: unknown[] = [];
  await world.api.lines(path, (value) => void values.push(value), new AbortController().signal);
  return values;
};

describe("two apps of one platform", () => {
  it("have variables of their own", async () => {
    const named = async (query: string): Promise<unknown> => {
      const { variables } = (await world.api.get(`/api/variables${query}`)) as { variables: { name: string; environment: string }[] }; // The route's schema.
      return variables.map(({ name, environment }) => `${environment} ${name}`);
    };
    await world.api.patch("/api/variables/both?app=shop", { set: { SHOP_KEY: "1" } });
    await world.api.patch("/api/variables/staging?app=blog", { set: { BLOG_KEY: "2" } });
    await world.api.patch("/api/variables/production", { set: { DEFAULT_KEY: "3" } });
    const ofShop = ["staging SHOP_KEY", "production DEFAULT_KEY", "production SHOP_KEY"];
    expect([await named(""), await named("?app=shop"), await named("?app=blog")]).toEqual([ofShop, ofShop, ["staging BLOG_KEY"]]);
    const removing = world.api.patch("/api/variables/staging?app=blog", { remove: ["SHOP_KEY"] });
    await expect(removing).rejects.toMatchObject({ code: "VARIABLES_INVALID" });
    expect((await world.rig.audit.list(4)).map(({ input }) => input["app"])).toEqual(["blog", undefined, "blog", "shop"]);
  });

  it("have documents of their own", async () => {
    const put = async (query: string, key: string): Promise<unknown> =>
      world.api.put(`/api/data/staging/document${query}`, { table: "t", key, document: {} });
    await put("?app=shop", "of-shop");
    await put("?app=blog", "of-blog");
    await put("", "of-default");
    const keys = async (query: string): Promise<string[]> => {
      const page = (await world.api.get(`/api/data/staging/page?table=t${query}`)) as { documents: { key: string }[] }; // The route's schema.
      return page.documents.map(({ key }) => key);
    };
    expect([await keys(""), await keys("&app=shop"), await keys("&app=blog")]).toEqual([
      ["of-default", "of-shop"],
      ["of-default", "of-shop"],
      ["of-blog"],
    ]);
    expect(await world.api.get("/api/data/staging/count?table=t&app=blog")).toEqual({ count: 1 });
    expect(await world.api.get("/api/data/staging/tables?app=blog")).toEqual({ tables: [{ table: "t", count: 1 }] });
    expect(await world.api.get("/api/data/production/tables?app=shop")).toEqual({ tables: [] });
    const looking = world.api.get("/api/data/staging/document?table=t&key=of-shop&app=blog");
    await expect(looking).rejects.toMatchObject({ code: "DOCUMENT_NOT_FOUND" });
    const removed = await world.api.post("/api/data/staging/remove?app=blog", { table: "t", keys: ["of-shop", "of-blog"] });
    expect(removed).toEqual({ removedKeys: ["of-blog"] });
    await world.api.upload("/api/data/staging/import?app=blog", Readable.from(['{"table":"t","key":"imported"}\n']));
    expect([await keys(""), await keys("&app=blog")]).toEqual([["of-default", "of-shop"], ["imported"]]);
    expect(JSON.stringify(await lines("/api/data/staging/export?app=blog"))).not.toContain("of-shop");
  });

  it("have backups of their own, and one can be put into the other", async () => {
    const backup = await text((await world.api.download("/api/backup/staging?app=shop")).pipe(createGunzip()));
    expect(backup).toContain('"appName":"shop"');
    expect(backup).toContain("of-shop");
    expect(backup).not.toContain("imported");
    const restoring = async (app: string): Promise<unknown> =>
      world.api.upload(`/api/restore/production?app=${app}`, await world.api.download("/api/backup/staging?app=blog"));
    expect(await restoring("shop")).toMatchObject({ appName: "blog", environment: "staging", counts: { data: 1, sessions: 0 } });
    expect(await world.api.get("/api/data/production/count?table=t&app=shop")).toEqual({ count: 1 });
    expect(await world.api.get("/api/data/production/count?table=t&app=blog")).toEqual({ count: 0 });
    await expect(restoring("shop")).rejects.toMatchObject({ code: "RESTORE_REFUSED" });
    expect(await world.api.get("/api/restore/production?app=blog")).toEqual({ kind: "none" });
  });

  it("have log lines of their own, kept and live", async () => {
    const print = (name: string, line: string): void => {
      const { appId } = world.hosting.app(name);
      const source = { appId, environment: "staging", functionName: "src/http/get-index", instanceId: `of ${name}` } as const;
      world.logs.append(source, { stream: "stdout", text: line, epochMs: Date.now() });
    };
    print("shop", "in the shop");
    print("blog", "in the blog");
    const seen = async (query: string): Promise<unknown> => {
      const entries = (await lines(`/api/logs${query}`)) as { app: string; text: string }[]; // The route's schema.
      return entries.map(({ app, text: said }) => `${app}: ${said}`);
    };
    expect(await seen("")).toEqual(["shop: in the shop", "blog: in the blog"]);
    expect(await seen("?app=blog")).toEqual(["blog: in the blog"]);
    const heard: string[] = [];
    const over = new AbortController();
    const following = world.api.lines(
      "/api/logs?app=blog&follow=true",
      (value) => void heard.push((value as { text: string }).text), // As above.
      over.signal,
    );
    await until(() => heard.length === 1, { timeoutMs: 5_000 });
    print("shop", "again in the shop");
    print("blog", "again in the blog");
    await until(() => heard.length === 2, { timeoutMs: 5_000 });
    over.abort();
    await following;
    expect(heard).toEqual(["in the blog", "again in the blog"]);
  });

  it("are named in what orchestrator logs shows, from the files of the home as well as live, unless one was asked for", async () => {
    world.logs.flush();
    const kept = async (...args: string[]): Promise<Finished> => runCommand(["logs", ...args, "--home", world.brokerHome]);
    expect((await kept("-n", "2")).stdout).toMatch(/Z shop staging src\/http\/get-index - info: again in the shop\n.*Z blog staging .*\n$/);
    expect((await kept("--app", "blog", "-n", "1")).stdout).toMatch(/^\S+Z staging src\/http\/get-index - info: again in the blog\n$/);
    expect(await kept("--app", "nobody")).toMatchObject({ stdout: "", stderr: 'no lines of an app "nobody" are kept\n' });
    const asked = async (...args: string[]): Promise<Finished> =>
      runCommand(["logs", ...args, "--api-port", `${world.rig.port}`], { cwd: folder });
    expect((await asked("-n", "1")).stdout).toContain("Z blog staging src/http/get-index");
    expect((await asked("--app", "blog", "-n", "1")).stdout).toContain("Z staging src/http/get-index");
    expect((await asked("--app", "nobody")).stderr).toContain("APP_UNKNOWN");
  });

  it.each([
    "/api/variables?app=nobody",
    "/api/data/staging/tables?app=nobody",
    "/api/restore/staging?app=nobody",
    "/api/logs?app=nobody",
    "/api/status?app=nobody",
  ])("are told by name where %s names neither", async (path) => {
    await expect(world.api.get(path)).rejects.toMatchObject({ code: "APP_UNKNOWN", detail: { remedy: "There are: blog, shop." } });
  });

  it("are told apart by commands", async () => {
    expect((await world.run(["env", "ls", "--app", "blog"])).stdout).toMatch(/^BLOG_KEY +staging +set /m);
    expect((await world.run(["env", "set", "MORE=1", "--app", "blog"])).stdout).toBe("staging: set MORE\n");
    expect((await world.run(["env", "rm", "MORE", "--app", "blog"])).stdout).toBe("staging: removed MORE\n");
    expect((await world.run(["data", "ls", "t", "--app", "blog"])).stdout).toBe("key       document\nimported  {}\n");
    expect((await world.run(["data", "count", "t"])).stdout).toBe("2\n");
    expect((await world.run(["data", "set", "t", "more", "{}", "--app", "blog"])).exitCode).toBe(0);
    expect((await world.run(["data", "export", "--app", "blog"])).stdout).toBe(
      '{"table":"t","key":"imported"}\n{"table":"t","key":"more"}\n',
    );
    const file = join(folder, "blog.gz");
    expect((await world.run(["backup", file, "--app", "blog", "--json"])).stdout).toContain('"appName":"blog"');
    expect((await world.run(["restore", file, "--app", "blog", "--replace"])).stdout).toContain("2 documents and 0 sessions of blog");
    expect(await world.run(["data", "ls", "--app", "nobody"])).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining("APP_UNKNOWN") as unknown,
    });
  });
});
