// How a handler may be written, in each generation, over HTTP: module formats, styles, where modules come from, its context.
import { describe, expect, it } from "vitest";
import { type EngineName, handler } from "../support/platform.ts";
import { serveForSuite } from "../support/served-app.ts";
import { problemOf } from "../support/problems.ts";
import { until } from "../support/until.ts";

/** A handler that every generation understands. */
const says = (text: string): string => `({ statusCode: 200, headers: { "content-type": "text/plain" }, body: ${text} })`;

const TYPESCRIPT = `
  import type { Nothing } from "./types.ts";
  import { loudly } from "./loudly.ts";
type Event = Readonly<Record<string, unknown>>;
export const handler = async (event: Event, nothing?: Nothing) => ${says("loudly(`ts ${typeof event}` satisfies string)")};
`;

const STYLES = `
const answer = (text) => ${says("text")};
const styles = {
  sync: () => answer("sync"),
  async: async () => answer("async"),
  promise: () => new Promise((done) => setImmediate(() => done(answer("promise")))),
  callback: (event, context, callback) => callback(null, answer("callback")),
  "callback later": (event, context, callback) => { setTimeout(() => callback(null, answer("callback later")), 5); },
  "callback twice": (event, context, callback) => { callback(null, answer("callback twice")); callback(new Error("again")); },
  throws: () => { throw new TypeError("style: throws"); },
  rejects: async () => { throw new TypeError("style: rejects"); },
  "calls back an error": (event, context, callback) => callback(new TypeError("style: calls back an error")),
};
exports.handler = (event, context, callback) => styles[(event.pathParameters ?? event.params).style.replaceAll("_", " ")](event, context, callback);
`;

const CONTEXT = `
let aborted = null;
exports.handler = async (event, context) => {
  if (event.queryStringParameters?.wait === undefined) {
    const { awsRequestId, functionName, signal } = context;
    return ${says("JSON.stringify({ awsRequestId, functionName, remainingMs: context.getRemainingTimeInMillis(), isAborted: signal.aborted, aborted })")};
  }
  return new Promise(() => context.signal.addEventListener("abort", () => { aborted = context.signal.reason.name; }));
};
`;

const FROM = `
const own = require("own-package");
const root = require("root-package");
const both = require("both-package");
exports.handler = async () => ${says("[own, root, both].join(' ')")};
`;

const VIEWS = `
let views = "no views";
try { views = require("@architect/views/page"); } catch (error) { views = error.code; }
exports.handler = async () => ${says('[require("@architect/shared/greeting"), require("@architect/shared"), views].join(", ")')};
`;

const VARIABLES = `exports.handler = async () => ${says('[process.env.GREETING, process.env.PLACE, process.env.NODE_ENV].join(" ")')};\n`;

const packaged = (folder: string, name: string, exported: string): Record<string, string> => ({
  [`${folder}node_modules/${name}/package.json`]: JSON.stringify({ name, version: "1.0.0", main: "main.js" }),
  [`${folder}node_modules/${name}/main.js`]: `module.exports = ${JSON.stringify(exported)};\n`,
});

const APP = {
  "app.arc": `@app
contract-modules

@http
get /cjs
get /cjs-file
get /esm-file
get /esm-package
get /await
get /ts
get /default
get /styles/:style
get /context
get /from
get /views
post /views
any /views-too
get /variables
get /no-variables
`,
  ".env": "GREETING=hello\n@staging\nPLACE=staging\n@production\nPLACE=production\n",
  "src/http/get-variables/index.js": VARIABLES,
  "src/http/get-no_variables/index.js": VARIABLES,
  "src/http/get-no_variables/config.arc": "@arc\nenv false\n",
  "src/http/get-cjs/index.js": `exports.handler = async () => ${says('"cjs " + typeof require')};\n`,
  "src/http/get-cjs_file/index.cjs": `exports.handler = async () => ${says('"cjs file " + __filename.split("/").pop()')};\n`,
  "src/http/get-esm_file/index.mjs": `import { sep } from "node:path";\nexport const handler = async () => ${says('"esm file " + typeof require + sep')};\n`,
  "src/http/get-esm_package/index.js": `import { word } from "./word.js";\nexport async function handler() { return ${says("word")}; }\n`,
  "src/http/get-esm_package/word.js": 'export const word = "esm package";\n',
  "src/http/get-esm_package/package.json": '{ "type": "module" }\n',
  "src/http/get-await/index.mjs": `const word = await Promise.resolve("awaited");\nexport const handler = async () => ${says("word")};\n`,
  "src/http/get-ts/index.ts": TYPESCRIPT,
  "src/http/get-ts/loudly.ts": "export function loudly(text: string): string {\n  return text.toUpperCase();\n}\n",
  "src/http/get-ts/types.ts": "export interface Nothing {\n  readonly nothing?: never;\n}\n",
  "src/http/get-default/index.mjs": `export default { handler: async () => ${says('"default"')} };\n`,
  "src/http/get-styles-000style/index.js": STYLES,
  "src/http/get-context/index.js": CONTEXT,
  "src/http/get-context/config.arc": "@aws\ntimeout 1\n",
  "src/http/get-from/index.js": FROM,
  ...packaged("src/http/get-from/", "own-package", "own"),
  ...packaged("src/http/get-from/", "both-package", "the function's"),
  ...packaged("", "both-package", "the root's"),
  ...packaged("", "root-package", "root"),
  "package.json": JSON.stringify({ name: "contract-modules", version: "1.0.0", private: true }),
  "src/http/get-views/index.js": VIEWS,
  "src/http/post-views/index.js": VIEWS,
  "src/http/any-views_too/index.js": VIEWS,
  "src/shared/greeting.js": 'module.exports = "hello";\n',
  "src/shared/index.js": 'module.exports = "shared index";\n',
  "src/views/page.js": 'module.exports = "a page of " + require("@architect/shared/greeting");\n',
};

// Loading a handler is the same work in every generation, so that each of them is played on one engine, and each engine is used.
describe.each<[generation: string, engine: EngineName]>([
  ["current", "docker"],
  ["legacy", "process"],
  ["simple", "docker"],
  ["current", "process"],
])("a handler of the generation %s on engine %s", (generation, engine) => {
  const { get } = serveForSuite(APP, { engine, flags: ["--no-watch", "--generation", generation] });

  it.each([
    ["CommonJS", "/cjs", "cjs function"],
    ["CommonJS in a .cjs file", "/cjs-file", "cjs file index.cjs"],
    ["an ES module in an .mjs file", "/esm-file", "esm file undefined/"],
    ["an ES module by its package.json", "/esm-package", "esm package"],
    ["an ES module that awaits at its top", "/await", "awaited"],
    ["TypeScript, with files beside it", "/ts", "TS OBJECT"],
    ["an ES module whose default export holds the handler", "/default", "default"],
  ])("may be %s", async (_what, path, text) => {
    expect(await get(path)).toMatchObject({ status: 200, text });
  });

  it.each(["sync", "async", "promise", "callback", "callback later", "callback twice"])("may answer in the style: %s", async (style) => {
    expect(await get(`/styles/${style.replaceAll(" ", "_")}`)).toMatchObject({ status: 200, text: style });
  });

  it.each(["throws", "rejects", "calls back an error"])("that %s is a 500, and the next request is not affected", async (style) => {
    const detail = expect.stringContaining(`TypeError: style: ${style}`) as unknown;
    expect(problemOf(await get(`/styles/${style.replaceAll(" ", "_")}`))).toMatchObject({ status: 500, code: "HANDLER_THREW", detail });
    expect((await get("/styles/sync")).status).toBe(200);
  });

  it("finds its own packages first, then the app's", async () => {
    expect((await get("/from")).text).toBe("own root the function's");
  });

  it("finds src/shared in every function, and src/views in those that answer GET or any method", async () => {
    expect((await get("/views")).text).toBe("hello, shared index, a page of hello");
    expect((await get("/views-too")).text).toBe("hello, shared index, a page of hello");
    expect((await get("/views", { method: "POST" })).text).toBe("hello, shared index, MODULE_NOT_FOUND");
  });

  it("gets the variables of .env that its environment has, unless its own @arc says that it does without", async () => {
    expect((await get("/variables")).text).toBe("hello staging staging");
    expect((await get("/no-variables")).text).toBe("  staging");
  });

  it("gets a context with its request's id, its name and its time", async () => {
    const answer = await get("/context");
    const context = JSON.parse(answer.text) as Record<string, unknown>; // CONTEXT writes it.
    expect(context).toMatchObject({ awsRequestId: answer.headers["x-request-id"], functionName: "src/http/get-context", isAborted: false });
    expect(context["remainingMs"]).toSatisfy((remainingMs: number) => remainingMs > 0 && remainingMs <= 1_000);
  });

  it("has its signal aborted at its timeout, when the visitor gets a 504", async () => {
    const wait = async () => problemOf(await get("/context?wait"));
    expect(await wait()).toMatchObject({ status: 504, code: "HANDLER_TIMED_OUT" });
    const isAborted = async (): Promise<boolean> =>
      (JSON.parse((await get("/context")).text) as { aborted: string | null }).aborted === "TimeoutError";
    // On a busy machine an instance may be replaced in between, and what it remembered with it.
    await until(async () => (await isAborted()) || ((await wait()).status === 504 && (await isAborted())), { timeoutMs: 20_000 });
  });
});

describe("generations side by side", () => {
  const served = serveForSuite(
    {
      "app.arc": "@app\nside-by-side\n\n@aws\napigateway rest\n\n@http\nget /\n\n@json\nget /api/data\n\n@html\nget /page\n",
      "src/http/get-index/index.js": handler("return { body: JSON.stringify({ httpMethod: request.httpMethod, path: request.path }) };"),
      "src/json/get-api-data/index.js":
        'const { json } = require("@architect/functions");\nexports.handler = json.get((req, res) => res({ json: { method: req.method } }));\n',
      "src/html/get-page/index.js":
        'const { html } = require("@architect/functions");\nexports.handler = html.get((req, res) => res({ html: `<p>${req.method}` }));\n',
      "public/app.css": "p { color: red }\n",
    },
    { engine: "process", flags: ["--no-watch"] },
  );

  it.each([
    ["/", /^application\/json/, '{"httpMethod":"GET","path":"/"}'],
    ["/api/data", /^application\/json/, '{"method":"get"}'],
    ["/page", /^text\/html/, "<p>get"],
    ["/_static/app.css", /^text\/css/, "p { color: red }\n"],
    ["/app.css", /^application\/json/, '{"httpMethod":"GET","path":"/app.css"}'],
  ])("answer %s each in its own way", async (path, type, text) => {
    const answer = await served.get(path);
    expect(answer).toMatchObject({ status: 200, text });
    expect(answer.headers["content-type"]).toMatch(type);
  });
});

describe("an app that wants raw JSON", () => {
  const served = serveForSuite(
    {
      "app.arc": "@app\nraw-json\n\n@orchestrator\nraw-json true\n\n@http\npost /\n",
      "src/http/post-index/index.js": handler("const { body, isBase64Encoded } = request; return { got: { body, isBase64Encoded } };"),
    },
    { engine: "process", flags: ["--no-watch"] },
  );

  it.each([
    ["application/json", '{"a":"ä"}', { body: '{"a":"ä"}', isBase64Encoded: false }],
    ["text/plain", "plain", { body: Buffer.from("plain").toString("base64"), isBase64Encoded: true }],
  ])("gets a body of %s as it should", async (type, body, got) => {
    const answer = await served.get("/", { method: "POST", headers: { "content-type": type }, body });
    expect(JSON.parse(answer.text)).toEqual({ got });
  });
});
