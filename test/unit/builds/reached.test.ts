// What a build holds besides the function's own folder: packages that are reached, shared code, the library.
import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { PlatformError } from "../../../runtime-image/contract/errors.ts";
import { type BuiltApp, type Files, HANDLER, fakePackage, makeBuiltApp, pathsOf } from "../../support/built-app.ts";

const NAME = "src/http/get-index";
const made: BuiltApp[] = [];
const appOf = async (files: Files): Promise<BuiltApp> => {
  const app = await makeBuiltApp(files);
  made.push(app);
  return app;
};
afterEach(async () => {
  for (const app of made.splice(0)) await app.remove();
});

const saying = (value: string): string => `exports.handler = async () => ${value};\n`;
const withoutStubs = (paths: readonly string[]): string[] =>
  paths.filter((path) => !/^node_modules\/@(?:architect|begin|orchestrator)\//.test(path));

describe("a package", () => {
  it("ships from the function's own node_modules, before one of the same name further up", async () => {
    const app = await appOf({
      [`${NAME}/index.js`]: saying('require("a")'),
      ...fakePackage(NAME, "a", 'module.exports = "own";'),
      ...fakePackage(".", "a", 'module.exports = "root";'),
    });
    expect(await app.run(NAME)).toBe("own");
    expect(withoutStubs(pathsOf(await app.planned(NAME)))).toEqual([
      `${NAME}/index.js`,
      `${NAME}/node_modules/a/index.js`,
      `${NAME}/node_modules/a/package.json`,
    ]);
  });

  it("ships from the app's root with what it needs itself, and nothing that is not reached does", async () => {
    const app = await appOf({
      [`${NAME}/index.mjs`]: 'import a from "a"; export const handler = async () => a;',
      ...fakePackage(".", "a", 'module.exports = require("b") + 1;'),
      ...fakePackage(".", "b", "module.exports = 41;"),
      ...fakePackage(".", "tool", "throw new Error('a tool of development');"),
    });
    expect(await app.run(NAME)).toBe(42);
    expect(pathsOf(await app.planned(NAME)).filter((path) => /tool|README/.test(path))).toEqual([]);
  });

  it("ships the files that it reads beside its code", async () => {
    const app = await appOf({
      [`${NAME}/index.js`]: saying('require("a")'),
      ...fakePackage(".", "a", 'module.exports = require("fs").readFileSync(__dirname + "/data.txt", "utf8");'),
      "node_modules/a/data.txt": "read at run time",
    });
    expect(await app.run(NAME)).toBe("read at run time");
  });

  it("ships by the conditions of its exports, for require and for import", async () => {
    const fields = { exports: { require: "./index.js", import: "./index.mjs" } };
    const app = await appOf({
      [`${NAME}/index.js`]: saying('require("a")'),
      "src/http/get-other/index.mjs": 'import a from "a"; export const handler = () => a;',
      ...fakePackage(".", "a", 'module.exports = "required";', fields),
      "node_modules/a/index.mjs": 'export default "imported";',
    });
    expect([await app.run(NAME), await app.run("src/http/get-other")]).toEqual(["required", "imported"]);
  });

  it("is found through links, as package managers lay them", async () => {
    const app = await appOf({
      [`${NAME}/index.js`]: saying('require("a")'),
      "node_modules/.store/a@1/node_modules/a/index.js": 'module.exports = "linked " + require("b");',
      "node_modules/.store/a@1/node_modules/a/package.json": '{"name":"a"}',
      "node_modules/.store/b@1/node_modules/b/index.js": 'module.exports = "twice";',
    });
    await app.link("node_modules/a", ".store/a@1/node_modules/a");
    await app.link("node_modules/.store/a@1/node_modules/b", "../../b@1/node_modules/b");
    expect(await app.run(NAME)).toBe("linked twice");
  });

  it("that is missing is no failure of the build: the function may do without it", async () => {
    const app = await appOf({
      [`${NAME}/index.js`]: 'let a = "without"; try { a = require("missing"); } catch {} exports.handler = async () => a;',
      ...fakePackage(".", "b", ""),
    });
    expect(await app.run(NAME)).toBe("without");
  });

  it("that only a test of the function uses does not ship", async () => {
    const app = await appOf({
      [`${NAME}/index.js`]: HANDLER,
      [`${NAME}/index.test.js`]: 'require("a");',
      ...fakePackage(".", "a", ""),
    });
    expect(pathsOf(await app.planned(NAME)).filter((path) => path.includes("/a/"))).toEqual([]);
  });

  it("that changes makes another build, and is read anew though it was looked into before", async () => {
    const app = await appOf({
      [`${NAME}/index.js`]: saying('require("a")'),
      ...fakePackage(".", "a", 'module.exports = "first";'),
      ...fakePackage(".", "b", 'module.exports = "second";'),
    });
    const first = await app.planned(NAME);
    expect((await app.planned(NAME)).release.buildId).toBe(first.release.buildId);
    await app.write({ "node_modules/a/index.js": 'module.exports = require("b");' });
    expect((await app.planned(NAME)).release.buildId).not.toBe(first.release.buildId);
    expect(await app.run(NAME)).toBe("second");
  });
});

describe("files of the app outside of a function's folder", () => {
  it("ship where a relative path leads to them, with the packages that they use", async () => {
    const app = await appOf({
      [`${NAME}/index.js`]: saying('require("../../lib/price.js")'),
      "src/lib/price.js": 'module.exports = require("a");',
      "src/lib/other.js": "",
      ...fakePackage(".", "a", "module.exports = 7;"),
    });
    expect(await app.run(NAME)).toBe(7);
    expect(pathsOf(await app.planned(NAME))).not.toContain("src/lib/other.js");
  });

  it("ship although the app has no node_modules at all", async () => {
    const app = await appOf({ [`${NAME}/index.js`]: saying('require("../../lib/price.js")'), "src/lib/price.js": "module.exports = 7;" });
    expect(await app.run(NAME)).toBe(7);
  });

  it("may be what the app's package.json names with #imports, of which only what Node reads ships", async () => {
    const app = await appOf({
      [`${NAME}/index.js`]: 'import price from "#price"; export const handler = () => price;',
      "package.json": JSON.stringify({ type: "module", imports: { "#price": "./lib/price.js" }, scripts: { secret: "x" } }),
      "lib/price.js": "export default 8;",
    });
    expect(await app.run(NAME)).toBe(8);
    const shipped = (await app.planned(NAME)).source.files.find((file) => file.path === "package.json");
    expect(Buffer.from(shipped?.bytes ?? []).toString()).not.toContain("secret");
  });
});

describe("shared code", () => {
  it("is @architect/shared in every function, and @architect/views where a page is got", async () => {
    const app = await appOf({
      [`${NAME}/index.js`]: saying('require("@architect/shared/a.js") + require("@architect/views")'),
      "src/http/post-index/index.js": HANDLER,
      "src/shared/a.js": 'module.exports = "shared ";',
      "src/views/index.js": 'module.exports = "view";',
    });
    expect(await app.run(NAME)).toBe("shared view");
    expect(withoutStubs(pathsOf(await app.planned("src/http/post-index")))).toEqual([
      "src/http/post-index/index.js",
      "src/http/post-index/node_modules/@architect/shared/a.js",
    ]);
  });

  it("is of the module type that the app's root says, wherever it ends up", async () => {
    const app = await appOf({
      "package.json": '{"type":"module"}',
      [`${NAME}/index.js`]: 'import { a } from "@architect/shared/a.js"; export const handler = () => a;',
      "src/shared/a.js": 'export { b as a } from "./b.js";',
      "src/shared/b.js": 'export const b = "module";',
    });
    expect(await app.run(NAME)).toBe("module");
  });

  it("uses packages of its own, of the function, and of the app's root", async () => {
    const app = await appOf({
      [`${NAME}/index.js`]: saying('require("@architect/shared")'),
      "src/shared/index.js": 'module.exports = [require("a"), require("b"), require("c")];',
      ...fakePackage("src/shared", "a", 'module.exports = "shared";'),
      ...fakePackage(NAME, "b", 'module.exports = "function";'),
      ...fakePackage(".", "c", 'module.exports = "root";'),
    });
    expect(await app.run(NAME)).toEqual(["shared", "function", "root"]);
  });

  it("that changes makes every function that sees it another build", async () => {
    const app = await appOf({ [`${NAME}/index.js`]: HANDLER, "src/shared/a.js": "1" });
    const first = (await app.planned(NAME)).release.buildId;
    await app.write({ "src/shared/a.js": "2" });
    expect((await app.planned(NAME)).release.buildId).not.toBe(first);
  });

  it("is refused with a syntax error under its own path", async () => {
    const app = await appOf({ [`${NAME}/index.js`]: HANDLER, "src/shared/a.js": "const = 1" });
    await expect(app.plan()).rejects.toMatchObject({
      code: "FUNCTION_INVALID",
      detail: { problems: [expect.stringMatching(/^src\/shared\/a\.js:1:/) as unknown] },
    });
  });
});

describe("the library", () => {
  const USES = ["@architect/functions", "@orchestrator/functions"].map((name) => `require("${name}").http`);
  const READS = ["@begin/data", "@orchestrator/data"].map((name) => `require("${name}").get`);

  it("is there without being installed, for require and for import", async () => {
    const app = await appOf({
      [`${NAME}/index.js`]: saying(`[${[...USES, ...READS].join(", ")}]`),
      "src/http/get-module/index.mjs":
        'import arc, { http } from "@architect/functions"; import { get } from "@begin/data"; export const handler = () => [http, arc.http, get];',
    });
    expect(await app.run(NAME)).toEqual(["our http", "our http", "our get", "our get"]);
    expect(await app.run("src/http/get-module")).toEqual(["our http", "our http", "our get"]);
  });

  it("takes the place of copies that an app installed, whose own packages do not ship either", async () => {
    const copy = (folder: string): Files => fakePackage(folder, "@architect/functions", 'module.exports = require("aws-sdk");');
    const app = await appOf({
      [`${NAME}/index.js`]: saying('require("@architect/functions").http + require("a")'),
      ...copy(NAME),
      ...copy("."),
      ...copy("node_modules/a"),
      ...fakePackage(".", "a", 'module.exports = " " + require("@architect/functions").http;'),
      ...fakePackage(".", "aws-sdk", "throw new Error('no');"),
    });
    expect(await app.run(NAME)).toBe("our http our http");
    expect(pathsOf(await app.planned(NAME)).filter((path) => path.includes("aws-sdk"))).toEqual([]);
  });

  it("does not count to the size of a function", async () => {
    const code = HANDLER;
    const app = await appOf({ [`${NAME}/index.js`]: code, [`${NAME}/big.bin`]: Buffer.alloc(5_000_000 - code.length) });
    expect((await app.plan()).functions).toHaveLength(1);
  });
});

describe("the size of a function", () => {
  it("counts shared code and packages, and names them among the five largest entries", async () => {
    const app = await appOf({
      [`${NAME}/index.js`]: saying('require("a")'),
      [`${NAME}/lib/a.bin`]: Buffer.alloc(10_000),
      "src/shared/big.bin": Buffer.alloc(2_000_000),
      ...fakePackage(".", "a", `module.exports = "${"a".repeat(3_100_000)}";`),
    });
    const error = await app.plan().catch((cause: unknown) => cause);
    if (!(error instanceof PlatformError)) throw new Error("it was accepted");
    expect(error.code).toBe("FUNCTION_TOO_LARGE");
    expect(error.detail.problems).toEqual([
      "node_modules/a: 3.10 MB",
      `${NAME}/node_modules/@architect/shared: 2.00 MB`,
      `${NAME}/lib: 0.01 MB`,
      `${NAME}/index.js: 0.00 MB`,
    ]);
  });
});

describe("a plan without tools", () => {
  it("is complete where no function reaches out, and says so where one does", async () => {
    const { planApp } = await import("../../../orchestrator/builds/build-plan.ts");
    const { readAppFolder } = await import("../../../orchestrator/apps/app-folder.ts");
    const app = await appOf({ [`${NAME}/index.js`]: HANDLER, ...fakePackage(".", "a", "") });
    expect((await planApp(await readAppFolder(app.folder))).isComplete).toBe(true);
    await app.write({ [`${NAME}/index.js`]: saying('require("a")') });
    expect((await planApp(await readAppFolder(app.folder))).isComplete).toBe(false);
    await symlink("nowhere", join(app.folder, "dangling")); // Nobody looks at what no function reaches.
    expect((await app.plan()).isComplete).toBe(true);
  });
});
