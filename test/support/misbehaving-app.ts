// An app whose functions do what functions should not: throw, exit, block, leak, answer twice, never answer, fail to load.

const CALM = `
const recurse = (depth) => recurse(depth + 1) + 1;
const ways = {
  throws: () => { throw new Error("a bad day"); },
  rejects: async () => { throw new TypeError("a worse day"); },
  "rejects later": () => new Promise((_, fail) => setTimeout(() => fail(new Error("a late day")), 20)),
  "throws text": () => { throw "just text"; },
  "throws undefined": () => { throw undefined; },
  "throws what cannot be printed": () => { throw { toString() { throw new Error("no"); }, [Symbol.for("nodejs.util.inspect.custom")]() { throw new Error("no"); } }; },
  recurses: () => recurse(0),
  "recurses later": async () => recurse(0),
  "answers a circle": () => { const body = {}; body.body = body; return body; },
  "answers a proxy that throws": () => new Proxy({}, { get() { throw new Error("trapped"); } }),
  "never answers": () => new Promise(() => {}),
  fine: () => ({ body: "fine" }),
};
exports.handler = (request) => ways[request.queryStringParameters.way]();
`;

const TWICE = `
exports.handler = (request, context, callback) => {
  callback(null, { body: "first" });
  callback(null, { body: "second" });
  callback(new Error("third"));
  return Promise.resolve({ body: "fourth" });
};
`;

const CHATTY = `
exports.handler = async () => {
  for (let line = 0; line < 5_000; line += 1) console.log("x".repeat(1_000));
  console.log("y".repeat(1_000_000));
  console.log("the end");
  return { body: "said it" };
};
`;

/** Tells which of its lives it is in, so that a test sees when another instance took over. */
const FATAL = `
const { setTimeout: work } = require("node:timers/promises");
const life = Math.random().toString(36);
const kept = [];
const ways = {
  live: () => ({ body: life }),
  "takes its time": async () => { console.log("taking my time"); await work(600); return { body: life }; },
  "throws in a timer": () => new Promise(() => setTimeout(() => { throw new Error("in a timer"); }, 10)),
  "throws in a timer after its answer": () => { setTimeout(() => { throw new Error("afterwards"); }, 50); return { body: life }; },
  "forgets a rejection": async () => { Promise.reject(new Error("forgotten")); await work(600); return { body: life }; },
  "forgets a rejection after its answer": async () => { Promise.reject(new Error("forgotten")); return { body: life }; },
  "exits with 0": () => process.exit(0),
  "exits with 1": () => process.exit(1),
  aborts: () => process.abort(),
  "stops itself": async () => { process.kill(process.pid, "SIGTERM"); await work(300); return { body: life }; },
  blocks: () => { for (;;) {} },
  "fills buffers": async () => { for (let count = 0; count < 300; count += 1) { kept.push(Buffer.alloc(8_000_000, 1)); await new Promise(setImmediate); } return { body: life }; },
  "fills the heap": async () => { for (let count = 0; count < 300; count += 1) { kept.push(new Array(1_000_000).fill(0).map((_, index) => index + 0.5)); await new Promise(setImmediate); } return { body: life }; },
};
exports.handler = (request) => ways[request.queryStringParameters.way]();
`;

const SLOW = `
exports.handler = async ({ queryStringParameters: { ms, id = "" } }) => {
  console.log("slow began");
  await require("node:timers/promises").setTimeout(Number(ms));
  return { body: id };
};
`;

const ECHO = `
exports.handler = async (request) => ({ headers: { "content-type": "application/octet-stream" }, body: request.body, isBase64Encoded: request.isBase64Encoded });
`;

export const BROKEN = "src/http/get-broken";
export const NEIGHBOUR = "src/http/get-index";

/** Each may die of something, so that what one does is not held against another. */
export const FATAL_ROUTES = ["timer", "rejection", "exit", "crash", "block", "memory"] as const;
export type FatalRoute = (typeof FATAL_ROUTES)[number];

export const MISBEHAVING_APP = {
  "app.arc": `@app\nmisbehaviour\n\n@http\nget /\nget /broken\nget /calm\nget /twice\nget /chatty\nget /slow\npost /echo\n${FATAL_ROUTES.map((name) => `any /${name}\n`).join("")}`,
  [`${NEIGHBOUR}/index.js`]: 'exports.handler = async () => ({ body: "neighbour" });\n',
  [`${BROKEN}/index.js`]: 'throw new Error("no luck at load");\n',
  "src/http/get-calm/index.js": CALM,
  "src/http/get-calm/config.arc": "@aws\ntimeout 1\n",
  "src/http/get-twice/index.js": TWICE,
  "src/http/get-chatty/index.js": CHATTY,
  "src/http/get-slow/index.js": SLOW,
  "src/http/post-echo/index.js": ECHO,
  ...Object.fromEntries(FATAL_ROUTES.map((name) => [`src/http/any-${name}/index.js`, FATAL])),
  "src/http/any-block/config.arc": "@aws\ntimeout 1\n",
  "src/http/any-memory/config.arc": "@aws\nmemory 128\n",
};
