// What is installed for a folder, and when it has to be installed anew.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readAppFolder } from "../../../orchestrator/apps/app-folder.ts";
import { type InstallRequest, installRequest } from "../../../orchestrator/builds/install-request.ts";
import { npmArguments } from "../../../orchestrator/npm/npm-command.ts";
import { userConfig } from "../../../orchestrator/npm/own-npm.ts";
import { HANDLER } from "../../support/built-app.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "orchestrator-request-"));
  await write({ "src/http/get-index/index.js": HANDLER });
});
afterEach(async () => rm(folder, { recursive: true }));

async function write(files: Record<string, string>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
}

async function requestFor(fields: object, settings: { allowsInstallScripts?: boolean } = {}): Promise<InstallRequest | null> {
  await write({ "package.json": JSON.stringify(fields) });
  const app = await readAppFolder(folder);
  return installRequest(folder, { ...app, settings: { ...app.settings, ...settings } });
}

const packageOf = (request: InstallRequest | null): unknown =>
  JSON.parse(Buffer.from(request?.files.get("package.json") ?? "null").toString());

describe("a request to install", () => {
  it("is none where only development tools or the library itself are asked for", async () => {
    expect(await requestFor({ devDependencies: { tape: "5" } })).toBeNull();
    expect(await requestFor({ dependencies: { "@architect/functions": "^3", "@begin/data": "1" } })).toBeNull();
    expect(await requestFor({})).toBeNull();
  });

  it("leaves out the library's names and development tools, unless a lock has to agree", async () => {
    const fields = { dependencies: { a: "1", "@architect/functions": "^3" }, devDependencies: { tape: "5" } };
    expect(packageOf(await requestFor(fields))).toEqual({ dependencies: { a: "1" } });
    await write({ "package-lock.json": "{}" });
    expect(packageOf(await requestFor(fields))).toEqual(fields);
  });

  it("is the same whatever else package.json says, and another one for other packages, lock or settings", async () => {
    const dependencies = { a: "1" };
    const first = await requestFor({ dependencies, scripts: { test: "tape" }, description: "one" });
    expect((await requestFor({ dependencies, scripts: { test: "jest" }, description: "two" }))?.hash).toBe(first?.hash);
    const others = [await requestFor({ dependencies: { a: "2" } }), await requestFor({ dependencies }, { allowsInstallScripts: true })];
    await write({ ".npmrc": "registry=http://localhost:1/" });
    others.push(await requestFor({ dependencies }));
    await write({ "package-lock.json": "{}" });
    others.push(await requestFor({ dependencies }));
    expect(new Set([first, ...others].map((request) => request?.hash)).size).toBe(5);
  });
});

describe("npm", () => {
  it("goes by the lock where there is one, and runs no scripts unless they are allowed", () => {
    expect(npmArguments({ hasLock: true, allowsScripts: false })).toEqual(expect.arrayContaining(["ci", "--omit=dev", "--ignore-scripts"]));
    expect(npmArguments({ hasLock: false, allowsScripts: true })).toContain("install");
    expect(npmArguments({ hasLock: false, allowsScripts: true })).not.toContain("--ignore-scripts");
  });

  it("is told its owner's registries and proxies, and no secret", () => {
    const text = userConfig({
      registry: "https://registry.example/",
      "@mine:registry": "https://mine.example/",
      "https-proxy": null,
      noproxy: ["a.example", "b.example"],
      "//mine.example/:_authToken": "secret",
      _auth: "secret",
      cache: "/home/me/.npm",
    });
    expect(text).toBe("registry=https://registry.example/\n@mine:registry=https://mine.example/\nnoproxy=a.example,b.example\n");
  });
});
