// A new app: what is made, what it is called, and what is left alone.
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readAppFolder } from "../../../orchestrator/apps/app-folder.ts";
import { appNameOf, initApp } from "../../../orchestrator/commands/init.ts";

let base = "";
beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), "init-"));
});
afterEach(async () => {
  await rm(base, { recursive: true });
});

describe("initApp", () => {
  it("makes an app that the platform reads: one function, GET /", async () => {
    const made = await initApp(join(base, "apps", "My Shop"));
    expect(made.files).toEqual(["app.arc", "src/http/get-index/index.js", "orchestrator.d.ts", ".gitignore"]);
    const app = await readAppFolder(made.folder);
    expect(app.appName).toBe("my-shop");
    expect(app.functions.map(({ method, path, name }) => ({ method, path, name }))).toEqual([
      { method: "GET", path: "/", name: "src/http/get-index" },
    ]);
  });

  it("makes a handler whose answer no cache keeps and whose page shows no foreign markup", async () => {
    const made = await initApp(join(base, "app"));
    const source = createRequire(import.meta.url)(join(made.folder, "src/http/get-index/index.js")) as {
      handler(request: object): Promise<{ statusCode: number; headers: Record<string, string>; body: string }>;
    }; // A module that this test has just made.
    const answer = await source.handler({ queryStringParameters: { name: "<b>you" } });
    expect(answer.statusCode).toBe(200);
    expect(answer.headers["cache-control"]).toContain("no-store");
    expect(answer.body).toContain("Hello, &#60;b&#62;you!");
    expect((await source.handler({})).body).toContain("Hello, world!");
  });

  it("keeps the platform's own state out of version control", async () => {
    const made = await initApp(join(base, "app"));
    expect(await readFile(join(made.folder, ".gitignore"), "utf8")).toMatch(/^\.orchestrator\/$/m);
  });

  it("takes an empty folder that is already there", async () => {
    await mkdir(join(base, "empty"));
    await expect(initApp(join(base, "empty"))).resolves.toMatchObject({ appName: "empty" });
  });

  it("refuses a folder that holds something, and leaves it as it was", async () => {
    await writeFile(join(base, "notes.txt"), "mine");
    await expect(initApp(base)).rejects.toMatchObject({
      code: "INIT_REFUSED",
      detail: { remedy: expect.stringContaining("empty folder") as string },
    });
    expect(await readdir(base)).toEqual(["notes.txt"]);
  });

  it("refuses a path that is a file", async () => {
    await writeFile(join(base, "file"), "");
    await expect(initApp(join(base, "file"))).rejects.toMatchObject({ code: "INIT_REFUSED" });
  });
});

describe("appNameOf", () => {
  it.each([
    ["/srv/shop", "shop"],
    ["/srv/My Shop_2", "my-shop-2"],
    ["/srv/2048", "app"],
    ["/srv/3d-prints", "d-prints"],
    ["/srv/Émile's Café", "emile-s-cafe"],
    ["/srv/日本", "app"],
    ["/srv/-x-", "x"],
    [`/srv/${"a".repeat(62)}-b`, "a".repeat(62)],
  ])("makes of %s the name %s", (folder, name) => {
    expect(appNameOf(folder)).toBe(name);
  });
});
