// TypeScript in functions and in shared code, run as it ships.
import { afterEach, describe, expect, it } from "vitest";
import { type BuiltApp, type Files, fakePackage, makeBuiltApp, pathsOf } from "../../support/built-app.ts";

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

describe("a function in TypeScript", () => {
  it.each(["ts", "mts"])("runs as index.%s with enums, types and imports with and without extension", async (extension) => {
    const app = await appOf({
      [`${NAME}/index.${extension}`]: `
        import { type Shape, area } from "./lib/area.ts";
        import { Colour } from "./lib/colour";
        import { twice } from "../../lib/twice.js";
        const shape: Shape = { width: 2, height: 3 };
        export const handler = async (): Promise<unknown> => [area(shape), Colour.Red, twice(4)];`,
      [`${NAME}/lib/area.ts`]:
        "export interface Shape { width: number; height: number } export const area = (s: Shape) => s.width * s.height;",
      [`${NAME}/lib/colour.ts`]: 'export enum Colour { Red = "red" }',
      "src/lib/twice.ts": "export function twice(value: number): number { return value * 2; }",
    });
    expect(await app.run(NAME)).toEqual([6, "red", 8]);
  });

  it("runs as CommonJS where it is written so, and may require() where it is an ES module", async () => {
    const app = await appOf({
      [`${NAME}/index.cts`]: 'const { a } = require("./a.cts"); exports.handler = async (): Promise<string> => a;',
      [`${NAME}/a.cts`]: 'exports.a = "common" as string;',
      "src/http/get-mixed/index.ts":
        'import { b } from "./b"; const os = require("node:os"); export const handler = () => b + typeof os.EOL;',
      "src/http/get-mixed/b.ts": 'export const b: string = "mixed ";',
    });
    expect(await app.run(NAME)).toBe("common");
    expect(await app.run("src/http/get-mixed")).toBe("mixed string");
  });

  it("leaves packages and JavaScript where they are, so that they find the files beside them", async () => {
    const app = await appOf({
      [`${NAME}/index.ts`]: 'import a from "a"; import read from "./lib/read.cjs"; export const handler = () => [a, read()];',
      [`${NAME}/lib/read.cjs`]: 'module.exports = () => require("fs").readFileSync(__dirname + "/text.txt", "utf8");',
      [`${NAME}/lib/text.txt`]: "beside",
      ...fakePackage(".", "a", "module.exports = __dirname.split('/').pop();"),
    });
    expect(await app.run(NAME)).toEqual(["a", "beside"]);
  });

  it.each([
    ["index.mjs", 'import { a } from "@architect/shared/lib/a.ts"; export const handler = () => a;'],
    ["index.js", 'const { a } = require("@architect/shared/lib/a.ts"); exports.handler = () => a;'],
    ["index.cjs", 'exports.handler = () => import( "@architect/shared/lib/a.ts" );'],
  ])("is named as the mistake where %s asks for shared TypeScript by its source's name", async (file, code) => {
    const app = await appOf({ [`${NAME}/${file}`]: code, "src/shared/lib/a.ts": "export const a: number = 1;" });
    await expect(app.plan()).rejects.toMatchObject({
      code: "FUNCTION_INVALID",
      detail: {
        problems: [`${NAME}/${file}: imports "@architect/shared/lib/a.ts"; JavaScript finds it as "@architect/shared/lib/a.js"`],
      },
    });
  });

  it("sees shared code in TypeScript and in JavaScript, with its own packages", async () => {
    const app = await appOf({
      [`${NAME}/index.ts`]: `
        import greet, { Mood } from "@architect/shared/greet";
        import { layout } from "@architect/views/layout.ts";
        import plain from "@architect/shared/plain";
        export const handler = () => layout(greet(Mood.Good) + plain);`,
      "src/shared/greet.ts":
        'import { name } from "./name"; import mark from "mark"; export enum Mood { Good = "good" } export default (m: Mood): string => m + " " + name + mark;',
      "src/shared/name.ts": 'export const name: string = "friend";',
      "src/shared/plain.js": 'module.exports = " plain";',
      "src/views/layout.ts":
        'import { name } from "@architect/shared/name.ts"; export const layout = (text: string) => `<${name}>${text}`;',
      ...fakePackage("src/shared", "mark", 'module.exports = "!";'),
    });
    expect(await app.run(NAME)).toBe("<friend>good friend! plain");
  });

  it("has the lines of the TypeScript in its stacks", async () => {
    const app = await appOf({
      [`${NAME}/index.ts`]:
        'interface Much {\n  a: string;\n}\nimport { fail } from "./fail.ts";\nexport const handler = () => fail({ a: "x" } as Much);\n',
      [`${NAME}/fail.ts`]:
        "type One = { a: string };\n\n\nexport function fail(one: One): unknown {\n  return new Error(one.a).stack?.split('\\n').slice(1, 3);\n}\n",
    });
    const stack = JSON.stringify(await app.run(NAME));
    expect(stack).toMatch(/get-index\/fail\.ts:5:10/);
    expect(stack).toMatch(/get-index\/index\.ts:5:30/);
  });

  it("is refused with the place of a mistake, also of an import that leads nowhere", async () => {
    const app = await appOf({ [`${NAME}/index.ts`]: 'export const handler = () => 1;\nimport { a } from "./nowhere";\na();\n' });
    await expect(app.plan()).rejects.toMatchObject({
      code: "FUNCTION_INVALID",
      detail: { problems: [expect.stringMatching(/^src\/http\/get-index\/index\.ts:2:19: Could not resolve "\.\/nowhere"/) as unknown] },
    });
  });

  it("is not compiled where a handler in JavaScript lies beside it", async () => {
    const app = await appOf({
      [`${NAME}/index.ts`]: "export const handler = () => 1;",
      [`${NAME}/index.js`]: "exports.handler = () => 2;",
    });
    expect(await app.run(NAME)).toBe(2);
    expect(pathsOf(await app.planned(NAME))).not.toContain(`${NAME}/index.mjs`);
  });
});

describe("shared code in TypeScript", () => {
  it("can be required and imported by functions in JavaScript", async () => {
    const app = await appOf({
      [`${NAME}/index.js`]: 'const { a } = require("@architect/shared/a"); exports.handler = () => a;',
      "src/http/get-module/index.mjs": 'import { a } from "@architect/shared/a.js"; export const handler = () => a;',
      "src/shared/a.ts": 'import { b } from "./deep/b"; export const a: string = `a${b}`;',
      "src/shared/deep/b.ts": 'import data from "../data.json"; export const b: string = data.text;',
      "src/shared/data.json": '{"text":"b"}',
    });
    expect(await app.run(NAME)).toBe("ab");
    expect(await app.run("src/http/get-module")).toBe("ab");
  });

  it("follows the module type of its package", async () => {
    const app = await appOf({
      [`${NAME}/index.js`]: 'const { a } = require("@architect/shared/a"); exports.handler = () => a;',
      "src/shared/package.json": '{"type":"commonjs"}',
      "src/shared/a.ts": 'import { b } from "./b.ts"; export const a: string = b + typeof require;',
      "src/shared/b.ts": 'export const b: string = "b ";',
    });
    expect(await app.run(NAME)).toBe("b function");
  });
});
