// Finding a function's handler in every module format, and saying what is wrong when there is none.
import { mkdtemp, mkdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { findHandler, loadHandler } from "../../../runtime-image/runtime/load-handler.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "load-handler-"));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

async function load(files: Record<string, string>) {
  for (const [name, content] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    await writeFile(path.join(folder, name), content);
  }
  return loadHandler(folder);
}

describe("loadHandler", () => {
  it.each([
    ["CommonJS", { "index.js": "exports.handler = () => 'ok'" }],
    ["CommonJS by its ending", { "index.cjs": "module.exports = { handler: () => 'ok' }" }],
    ["an ES module by its ending", { "index.mjs": "export const handler = () => 'ok'" }],
    ["an ES module by its package", { "index.js": "export function handler() { return 'ok' }", "package.json": '{"type":"module"}' }],
    ["an ES module's default object", { "index.mjs": "export default { handler: () => 'ok' }" }],
    ["TypeScript", { "index.ts": "export const handler = (): string => 'ok'" }],
    [
      "its own modules",
      { "index.js": "exports.handler = require('own').handler", "node_modules/own/index.js": "exports.handler = () => 'ok'" },
    ],
  ])("takes the handler of %s", async (_name, files) => {
    const loaded = await load(files);
    expect(loaded.kind === "loaded" ? loaded.handler({}, {}, () => undefined) : loaded).toBe("ok");
  });

  it("says which files it looked for", async () => {
    expect(await load({ "main.js": "" })).toMatchObject({
      kind: "failed",
      code: "HANDLER_MISSING",
      message: "The folder has none of index.mjs, index.cjs, index.js, index.ts.",
    });
  });

  it.each([
    ["a missing module", { "index.js": "require('./nowhere')" }, "Cannot find module './nowhere'"],
    ["a syntax error in CommonJS", { "index.js": "exports.handler = (" }, "SyntaxError"],
    ["a syntax error in an ES module", { "index.mjs": "export const handler = (" }, "SyntaxError"],
    ["a value that is no error", { "index.js": "throw { reason: 'none' }" }, "{ reason: 'none' }"],
  ])("says why it fails: %s", async (_name, files, message) => {
    const loaded = await load(files);
    expect(loaded).toMatchObject({ kind: "failed", code: "HANDLER_LOAD_FAILED", message: expect.stringContaining(message) as string });
    expect(JSON.stringify(loaded)).not.toContain(folder);
  });
});

describe("findHandler", () => {
  it.each([
    [{}, "index.js exports no handler; it exports nothing."],
    [{ handle: 1, Handler: 2 }, 'index.js exports no handler; it exports "handle", "Handler".'],
    [{ handler: "a" }, "index.js exports a handler that is no function but a string."],
    [{ default: { handler: {} } }, "index.js exports a handler that is no function but an object."],
    [() => 1, 'index.js exports no handler; it exports a function; the contract asks for an export called "handler".'],
    [null, "index.js exports no handler; it exports null."],
    [Object.fromEntries(Array.from({ length: 12 }, (_, number) => [`e${number}`, 1])), "and 2 more"],
  ])("explains %o", (loaded, message) => {
    expect(findHandler(loaded, "index.js")).toMatchObject({
      kind: "failed",
      code: "HANDLER_MISSING",
      message: expect.stringContaining(message) as string,
    });
  });
});
