// What is said of a node_modules that lacks what its package.json asks for.
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { readAppFolder } from "../../../orchestrator/apps/app-folder.ts";
import { lackingPackages } from "../../../orchestrator/builds/lacking-packages.ts";
import { handler, makeApp } from "../../support/platform.ts";

let app = "";

afterEach(async () => {
  await rm(app, { recursive: true });
});

const INDEX = { "src/http/get-index/index.js": handler("return {};") };
const asking = (...names: string[]): string => JSON.stringify({ dependencies: Object.fromEntries(names.map((name) => [name, "1.0.0"])) });

async function warnings(files: Record<string, string>): Promise<readonly string[]> {
  app = await makeApp({ ...INDEX, ...files });
  return lackingPackages(await readAppFolder(app));
}

describe("lackingPackages", () => {
  it("names what is asked for and not there, the folder, and what to do", async () => {
    const files = { "package.json": asking("ms", "@x/there", "bytes"), "node_modules/@x/there/index.js": "" };
    expect(await warnings(files)).toEqual([
      `package.json asks for ms, bytes: node_modules lacks them, and is used as it is; run npm install in ${app}`,
    ]);
  });

  it("finds a function's packages in the folders above, too", async () => {
    const own = "src/http/get-index";
    const files = {
      [`${own}/package.json`]: asking("above", "nowhere"),
      [`${own}/node_modules/mine/index.js`]: "",
      "node_modules/above/index.js": "",
    };
    expect(await warnings(files)).toEqual([
      `${own}/package.json asks for nowhere: ${own}/node_modules lacks it, and is used as it is; run npm install in ${join(app, own)}`,
    ]);
  });

  it("names packages that are asked for by their path, where nothing is installed yet", async () => {
    const files = { "package.json": '{"dependencies":{"a":"1.0.0","b":"file:./b","c":"../c"}}' };
    expect(await warnings(files)).toEqual([
      `package.json asks for packages by their path, which are found in a node_modules of the app only (b, c); run npm install in ${app}`,
    ]);
  });

  it.each<[string, Record<string, string>]>([
    ["nothing is there yet, because it is installed then", { "package.json": asking("ms") }],
    ["only the library is asked for", { "package.json": asking("@architect/functions", "@begin/data"), "node_modules/a/index.js": "" }],
    ["development tools are missing", { "package.json": '{"devDependencies":{"a":"1"}}', "node_modules/b/index.js": "" }],
    ["everything is there", { "package.json": asking("a"), "node_modules/a/index.js": "" }],
  ])("says nothing where %s", async (_what, files) => {
    expect(await warnings(files)).toEqual([]);
  });
});
