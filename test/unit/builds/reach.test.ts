// Which code is traced at all: everything that may reach something beyond its own folder, and little else.
import { describe, expect, it } from "vitest";
import { mayReachOut } from "../../../orchestrator/builds/reach.ts";

const isKnown = (specifier: string): boolean => specifier.startsWith("@architect/");
const reaches = (code: string, path = "index.js"): boolean => mayReachOut(code, { path, isKnown });

describe("code that stays inside", () => {
  it.each([
    "exports.handler = async () => 1;",
    'const fs = require("fs"); const os = require("node:os"); require("./a"); require("./lib/b.js");',
    "import { a } from './a.mjs';\nimport * as path from \"node:path\";\nimport './side.js';",
    'import arc, { http } from "@architect/functions"; const { x } = require("@architect/shared/x");',
    'const a = await import("./a.js"); require.resolve("./b.txt");',
    'export { a } from "./a.js"; export * from "./b.js";',
    'import { a } from "../a.js"; // Still inside: this file lies one folder deep.',
  ])("is not traced: %s", (code) => {
    expect(reaches(code, code.includes("../a.js") ? "lib/index.js" : "index.js")).toBe(false);
  });
});

describe("code that may reach out", () => {
  it.each([
    'const a = require("a");',
    "import a from 'a';",
    'import {\n  a,\n  b,\n} from "a";',
    'export { a } from "a";',
    'const a = await import("a/b.js");',
    "require(name);",
    "require(`./${name}`);",
    "const load = require; load('a');",
    'createRequire(import.meta.url)("a");',
    'require("../lib/a.js");',
    'fs.readFileSync(path.join(__dirname, "../../data.json"));',
    'require("..");',
    'fs.readFileSync("node_modules/a/data.json");',
    'require("#inner");',
  ])("is traced: %s", (code) => {
    expect(reaches(code)).toBe(true);
  });

  it("is told by how deep the file lies", () => {
    expect(reaches('require("../../a.js");', "lib/deep/index.js")).toBe(false);
    expect(reaches('require("../../a.js");', "lib/index.js")).toBe(true);
  });
});
