// The types of the runtime library: where they are written, and that code which uses the library right checks against them.
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { writeTypes } from "../../../orchestrator/commands/types.ts";
import { LIBRARY_EXPORTS } from "../../../runtime-image/contract/library-packages.ts";

const run = promisify(execFile);
const TSC = resolve("node_modules/.bin/tsc");
const SETTINGS = {
  compilerOptions: {
    strict: true,
    noEmit: true,
    allowJs: true,
    checkJs: true,
    module: "nodenext",
    target: "es2024",
    lib: ["es2024", "dom"],
    types: [],
  },
};

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "orchestrator-types-"));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

/** What the type checker says of a function of an app with the library's types. */
async function check(code: string, file = "index.ts"): Promise<string> {
  await writeTypes(folder);
  await mkdir(join(folder, "src/http/get-index"), { recursive: true });
  await writeFile(join(folder, "src/http/get-index", file), code);
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify(SETTINGS));
  try {
    return (await run(process.execPath, [TSC, "-p", folder])).stdout;
  } catch (thrown) {
    return String((thrown as { stdout?: string }).stdout); // How execFile tells of a process that failed.
  }
}

describe("orchestrator types", () => {
  it("replaces an older version of its file", async () => {
    await writeFile(join(folder, "orchestrator.d.ts"), "old");
    expect(await writeTypes(folder)).toBe(join(folder, "orchestrator.d.ts"));
    expect(await readFile(join(folder, "orchestrator.d.ts"), "utf8")).toContain('declare module "@orchestrator/functions"');
  });

  it("refuses a folder that is not there", async () => {
    await expect(writeTypes(join(folder, "nowhere"))).rejects.toMatchObject({ code: "USAGE" });
  });
});

// Each test starts a type checker.
describe("the library's types", { timeout: 60_000 }, () => {
  it("accept a handler of each generation, and every wrapper", async () => {
    expect(await check(SAMPLE)).toBe("");
  });

  it("accept CommonJS as the originals' apps were written", async () => {
    expect(await check(OLD_SAMPLE, "index.js")).toBe("");
  });

  it("name every export of every package", async () => {
    const code = Object.entries(LIBRARY_EXPORTS).flatMap(([name, { names }], index) => [
      `import all${index} from "${name}";`,
      ...names.map((one) => `import { ${one} as ${one}${index} } from "${name}"; void ${one}${index}; void all${index}["${one}"];`),
    ]);
    expect(await check(code.join("\n"))).toBe("");
  });

  it.each([
    ["an answer with a status that is no number", `export const handler: Handler = async () => ({ statusCode: "200" });`],
    ["a path that is no text", `http.helpers.static(7);`],
    ["a status that a JSON route cannot have", `json.get((_req, res) => res({ json: {}, status: 201 }));`],
    ["a JSON route with neither json nor location", `json.get((_req, res) => res({ session: {} }));`],
  ])("complain about %s", async (_name, code) => {
    expect(await check(`import { http, json, type Handler } from "@orchestrator/functions";\nvoid http; void json;\n${code}`)).toMatch(
      /error TS\d+/,
    );
  });
});

const SAMPLE = `
import arc, { http, json, html, css, type Handler, type LegacyHandler, type SimpleHandler } from "@orchestrator/functions";
import * as architect from "@architect/functions";
import data, { get, set, page } from "@begin/data";

export const current: Handler = async (request, context) => ({
  statusCode: 200,
  headers: { "x-left": context.getRemainingTimeInMillis(), "x-path": request.rawPath },
  body: request.queryStringParameters?.["name"] ?? "",
});
export const whole: Handler = () => ({ ok: true });
export const legacy: LegacyHandler = async (request) => ({ statusCode: 200, body: request.body ?? request.httpMethod });
export const simple: SimpleHandler = async ({ body, params }) => ({ type: "text/plain", status: 201, body: String(body["a"]) + params["b"] });

export const express = http(
  (request, _res, next) => (request.session["user"] === undefined ? next(new Error("who?")) : next()),
  (_request, res) => res({ html: "<p>", session: { count: 1 }, cookie: ["a=1"] }),
);
export const chain = arc.http.async(
  async (request) => (request.body.name ? request : { location: "/login" }),
  async (request) => ({ json: { path: request.path }, cacheControl: "private" }),
);
export const form = html.post(html.csrf, (request, res) => res({ html: request._static("/a.css") + request.csrf }));
export const list = json.get(async (request, res) => res({ json: { id: request.params["id"] }, status: 404 }), (_request, res) => res(new Error("no")));
export const sheet = css.get((_request, res) => res({ css: "a{}" }));
export const files = architect.proxy.public({ spa: true, alias: { "/a": "/b" } });

interface Note { text: string; likes: number }
export async function notes(): Promise<string> {
  const saved = await set<Note>({ table: "notes", text: "hi", likes: 0 });
  const again = await get<Note>({ table: "notes", key: saved.key });
  const first = await data.get<Note>({ table: "notes", limit: 25 });
  for await (const some of page<Note>({ table: "notes" })) void some.length;
  await data.incr({ table: "notes", key: saved.key, prop: "likes" });
  await data.destroy([{ table: "notes", key: saved.key }]);
  const cookie: string = await http.session.write({ a: 1 });
  return (again?.text ?? "") + first.cursor + cookie + http.csrf.create() + String(http.csrf.verify("x")) + (await data.count({ table: "notes" }));
}
`;

const OLD_SAMPLE = `
const arc = require("@architect/functions");
const data = require("@begin/data");
const parse = arc.http.helpers.bodyParser;

/** @type {import("@architect/functions").Handler} */
exports.handler = async function todo(req) {
  const session = await arc.http.session.read(req);
  const item = await data.set({ table: "todos", account: session.account, ...parse(req) });
  return { statusCode: 302, headers: { location: arc.http.helpers.url("/"), "set-cookie": await arc.http.session.write({ last: item.key }) } };
};
/** @type {import("@orchestrator/functions").Handler} */
exports.other = async (request) => ({ statusCode: 200, body: request.rawPath });
`;
