// Requests that are wrong or meant badly, over HTTP, on both engines: each gets its documented status and code, and the next one is not affected.
// What functions do wrong is in misbehaviour.test.ts; sizes, framing and request lines are in contract-routing.test.ts.
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { connect } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type Answer, ENGINE_NAMES, type RunningPlatform, type SendOptions, makeApp, startPlatform } from "../support/platform.ts";
import { problemOf } from "../support/problems.ts";
import { exchange, readAnswers } from "../support/raw-http.ts";

/** What a function sees of names that could change its objects, merged as careless code merges. */
const SEEN = `
const seen = (what) => {
  const merged = {};
  for (const name in what) merged[name] = what[name];
  const copied = Object.assign({}, what);
  return { type: typeof what, fine: what && what.fine, isAdmin: Boolean(({}).isAdmin || merged.isAdmin || copied.isAdmin || (what && what.isAdmin)) };
};
`;
const LIBRARY = 'const { http, json } = require("@architect/functions");\n';

const CURRENT_APP = {
  "app.arc":
    "@app\nbad-requests\n\n@http\nget /neighbour\npost /parsed\npost /async\npost /express\nget /query\n\n@json\nget /route\npost /route\n",
  "secret.txt": "SECRET of the app's folder",
  "public/page.txt": "a page",
  "public/deep/er.txt": "deeper",
  "src/http/get-neighbour/index.js": 'exports.handler = async () => ({ body: "neighbour" });\n',
  "src/http/post-parsed/index.js": `${LIBRARY}${SEEN}exports.handler = async (request) => seen(http.helpers.bodyParser(request));\n`,
  "src/http/post-async/index.js": `${LIBRARY}${SEEN}exports.handler = http.async(async (request) => ({ json: seen(request.body) }));\n`,
  "src/http/post-express/index.js": `${LIBRARY}${SEEN}exports.handler = http((request, respond) => respond({ json: seen(request.body) }));\n`,
  "src/http/get-query/index.js": `${SEEN}exports.handler = async (request) => seen(request.queryStringParameters);\n`,
  "src/json/post-route/index.js": `${LIBRARY}${SEEN}exports.handler = json.post((request, respond) => respond({ json: seen(request.body) }));\n`,
  "src/json/get-route/index.js": `${LIBRARY}${SEEN}exports.handler = json.get((request, respond) => respond({ json: seen(request.query) }));\n`,
};

const SIMPLE_APP = {
  "app.arc": "@app\nbad-requests-simple\n\n@generation simple\n\n@http\nget /neighbour\nget /query\npost /body\n",
  "src/http/get-neighbour/index.js": 'exports.handler = async () => ({ body: "neighbour" });\n',
  "src/http/get-query/index.js": `${SEEN}exports.handler = async (request) => ({ type: "application/json", body: JSON.stringify(seen(request.query)) });\n`,
  "src/http/post-body/index.js": `${SEEN}exports.handler = async (request) => ({ type: "application/json", body: JSON.stringify(seen(request.body)) });\n`,
};

const PARSERS = ["/parsed", "/async", "/express", "/route"];
const MALFORMED = { status: 400, code: "BODY_MALFORMED" };

const sent = (type: string, body: string | Buffer): SendOptions => ({ method: "POST", headers: { "content-type": type }, body });
const MULTIPART = "multipart/form-data; boundary=line";

const BROKEN_JSON: readonly (readonly [string, string | Buffer])[] = [
  ["that breaks off", '{"a":'],
  ["with a comma too many", '{"a":1,}'],
  ["that is a word", "hello"],
  ["in single quotes", "{'a':1}"],
  ["followed by more", '{"a":1} {"b":2}'],
  ["that is no text", Buffer.from([0xff, 0xfe, 0x00, 0x80])],
  ["nested deeper than a stack is deep, and never closed", "[".repeat(200_000)],
];

const BROKEN_MULTIPART: readonly (readonly [string, string, string])[] = [
  ["without a boundary in its type", "multipart/form-data", '--line\r\ncontent-disposition: form-data; name="a"\r\n\r\n1\r\n--line--\r\n'],
  ["whose boundary never comes", MULTIPART, '--other\r\ncontent-disposition: form-data; name="a"\r\n\r\n1\r\n--other--\r\n'],
  ["that breaks off in a part", MULTIPART, '--line\r\ncontent-disposition: form-data; name="a"\r\n\r\nhalf of'],
  ["that breaks off in a part's headers", MULTIPART, "--line\r\ncontent-dispos"],
  ["that is something else", MULTIPART, '{"a":1}'],
];

const EVIL_JSON = [
  '{"fine":"yes","__proto__":{"isAdmin":true}}',
  '{"fine":"yes","\\u005f_proto__":{"isAdmin":true}}',
  '{"fine":"yes","constructor":{"prototype":{"isAdmin":true}}}',
];
const EVIL_FORMS = [
  "fine=yes&__proto__=x",
  "__proto__[isAdmin]=true&fine=yes",
  "__proto__.isAdmin=true&fine=yes&constructor[prototype][isAdmin]=true",
  "fine=yes&%5F%5Fproto%5F%5F=x&__proto__=y&__proto__=z",
  "fine=yes&toString=x&hasOwnProperty=x&valueOf=x",
];
const EVIL_PARTS = ["__proto__", "__proto__[isAdmin]", "constructor", "hasOwnProperty"]
  .map((name) => `--line\r\ncontent-disposition: form-data; name="${name}"\r\n\r\nx\r\n`)
  .join("");

/** Targets that should lead out of the folder of static files, or into it by another way. */
const CLIMBING = [
  "/_static/../secret.txt",
  "/_static/%2e%2e/secret.txt",
  "/_static/..%2fsecret.txt",
  "/_static/..%2Fsecret.txt",
  "/_static/..%5csecret.txt",
  "/_static/..\\secret.txt",
  "/_static/deep/../../secret.txt",
  "/_static/deep/..%2f..%2fsecret.txt",
  "/_static/.%00./secret.txt",
  "/_static/....//secret.txt",
  "/_static//secret.txt",
  "/_static/%252e%252e/secret.txt",
  "/_static/secret.txt%00.html",
  "/_static/page.txt%00",
  "/_static/%00",
  "/_static/page.txt/",
  "/_static/page.txt/../page.txt",
  "/_static/deep%2fer.txt",
  "/_static/./page.txt",
  "/_static//etc/passwd",
  "/_static/%2fetc/passwd",
  "/_static/..%2f..%2f..%2f..%2f..%2f..%2fetc/passwd",
  "/../secret.txt",
  "/..%2fsecret.txt",
  "/%2e%2e/secret.txt",
  "/secret.txt",
  "/app.arc",
  "//secret.txt",
  "/deep/../../secret.txt",
  "/page.txt%00",
  "/__proto__",
  "/_static/__proto__",
  "/_static/constructor",
  "/_static/toString",
];

describe.each(ENGINE_NAMES)("bad requests on engine %s", (engine) => {
  const folders: string[] = [];
  let platform: RunningPlatform;
  let simple: RunningPlatform;
  let slow: Readonly<Record<SlowName, Promise<SlowEnd>>>;

  beforeAll(async () => {
    folders.push(await makeApp(CURRENT_APP), await makeApp(SIMPLE_APP));
    const [current = "", second = ""] = folders;
    platform = await startPlatform({ app: current, engine, flags: ["--no-watch"] });
    simple = await startPlatform({ app: second, engine, flags: ["--no-watch"] });
    slow = startSlowClients(platform.ports.staging);
  });

  afterEach(async () => {
    for (const each of [platform, simple]) {
      const { status, text } = await each.get("staging", "/neighbour");
      if (status !== 200 || text !== "neighbour") throw new Error(`the neighbour answered ${status} ${text}`);
    }
  });

  afterAll(async () => {
    await Promise.all([platform.stop(), simple.stop()]);
    for (const folder of folders) await rm(folder, { recursive: true, force: true });
  });

  const get = async (path: string, options?: SendOptions): Promise<Answer> => platform.get("staging", path, options);
  const seenIn = (answer: Answer): unknown => {
    expect(answer.status).toBe(200);
    return JSON.parse(answer.text) as unknown;
  };

  /** JSON routes answer their errors themselves, with a message; for all others it is the gateway's problem. */
  const refusalOf = async (path: string, options: SendOptions): Promise<{ status: number; code: string }> => {
    const answer = await get(path, options);
    if (path !== "/route") return problemOf(answer);
    expect(JSON.parse(answer.text)).toMatchObject({ message: expect.stringMatching(/JSON|multipart/) as unknown });
    return { status: answer.status, code: MALFORMED.code };
  };

  describe("JSON", () => {
    it.each(BROKEN_JSON)("%s: 400 from every parser", async (_what, body) => {
      for (const path of PARSERS) expect([path, await refusalOf(path, sent("application/json", body))]).toMatchObject([path, MALFORMED]);
      expect(problemOf(await simple.get("staging", "/body", sent("application/json", body)))).toMatchObject(MALFORMED);
    });

    it("that is fine is taken by the same functions", async () => {
      for (const path of PARSERS)
        expect([path, seenIn(await get(path, sent("application/json", '{"fine":"yes"}')))]).toMatchObject([path, { fine: "yes" }]);
      expect(seenIn(await simple.get("staging", "/body", sent("application/json", '{"fine":"yes"}')))).toMatchObject({ fine: "yes" });
    });

    it.each(EVIL_JSON)("with a name that could change an object does not: %s", async (body) => {
      for (const path of PARSERS)
        expect([path, seenIn(await get(path, sent("application/json", body)))]).toMatchObject([path, { fine: "yes", isAdmin: false }]);
      expect(seenIn(await simple.get("staging", "/body", sent("application/json", body)))).toMatchObject({ fine: "yes", isAdmin: false });
    });
  });

  describe("a form", () => {
    it.each(EVIL_FORMS)("or query with names that could change an object does not: %s", async (form) => {
      for (const path of PARSERS)
        expect([path, seenIn(await get(path, sent("application/x-www-form-urlencoded", form)))]).toMatchObject([
          path,
          { fine: "yes", isAdmin: false },
        ]);
      for (const path of ["/query", "/route"])
        expect([path, seenIn(await get(`${path}?${form}`))]).toMatchObject([path, { fine: "yes", isAdmin: false }]);
      const ofSimple = await simple.get("staging", "/body", sent("application/x-www-form-urlencoded", form));
      expect(seenIn(ofSimple)).toMatchObject({ fine: "yes", isAdmin: false });
      expect(seenIn(await simple.get("staging", `/query?${form}`))).toMatchObject({ fine: "yes", isAdmin: false });
    });

    it.each(BROKEN_MULTIPART)("in parts, %s: 400 from every parser", async (_what, type, body) => {
      for (const path of PARSERS) expect([path, await refusalOf(path, sent(type, body))]).toMatchObject([path, MALFORMED]);
    });

    it("in parts with names that could change an object does not", async () => {
      const body = `${EVIL_PARTS}--line\r\ncontent-disposition: form-data; name="fine"\r\n\r\nyes\r\n--line--\r\n`;
      for (const path of PARSERS)
        expect([path, seenIn(await get(path, sent(MULTIPART, body)))]).toMatchObject([path, { fine: "yes", isAdmin: false }]);
    });

    it("of a hundred thousand fields, or parts, is answered, and soon", async () => {
      const startMs = performance.now();
      const fields = await get("/parsed", sent("application/x-www-form-urlencoded", `${"a=1&".repeat(100_000)}fine=yes`));
      const parts = await get(
        "/parsed",
        sent(MULTIPART, `${'--line\r\ncontent-disposition: form-data; name="a"\r\n\r\n\r\n'.repeat(50_000)}--line--\r\n`),
      );
      for (const { status } of [fields, parts]) expect([200, 400]).toContain(status);
      expect(performance.now() - startMs).toBeLessThan(9_000);
    });
  });

  describe("a path to a static file", () => {
    it.each(CLIMBING)("%s finds nothing", async (target) => {
      const [answer] = await exchange(platform.ports.staging, `GET ${target} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n`);
      expect(answer?.body).not.toMatch(/SECRET|root:|a page|deeper/);
      const problem = problemOf({ status: answer?.status ?? 0, headers: answer?.headers ?? {}, text: answer?.body ?? "" });
      expect(problem).toMatchObject({ status: 404, code: "ROUTE_NOT_FOUND" });
    });

    it("that is fine finds its file", async () => {
      for (const path of ["/_static/page.txt", "/page.txt", "/_static/%70age.txt"]) expect((await get(path)).text).toBe("a page");
      expect((await get("/_static/deep/er.txt")).text).toBe("deeper");
    });
  });

  it.each([
    ["OPTIONS * HTTP/1.1\r\nhost: a", 400, "TARGET_MALFORMED"],
    ["GET neighbour HTTP/1.1\r\nhost: a", 400, "REQUEST_MALFORMED"],
    ["GET ftp://a/neighbour HTTP/1.1\r\nhost: a", 400, "TARGET_MALFORMED"],
    ["GET a:80 HTTP/1.1\r\nhost: a", 400, "REQUEST_MALFORMED"],
    ["GET http:///neighbour HTTP/1.1\r\nhost: a", 400, "TARGET_MALFORMED"],
    ["GET /neighbour% HTTP/1.1\r\nhost: a", 400, "TARGET_MALFORMED"],
    ["GET /neighbour%c0%af HTTP/1.1\r\nhost: a", 400, "TARGET_MALFORMED"],
    ["GET http://a/_static/..%2fsecret.txt HTTP/1.1\r\nhost: a", 404, "ROUTE_NOT_FOUND"],
    ["GET /neighbour HTTP/1.1\r\nhost: a\r\nexpect: a miracle", 417, "EXPECTATION_FAILED"],
  ])("%j: %i %s", async (head, status, code) => {
    const [answer] = await exchange(platform.ports.staging, `${head}\r\nconnection: close\r\n\r\n`);
    const problem = problemOf({ status: answer?.status ?? 0, headers: answer?.headers ?? {}, text: answer?.body ?? "" });
    expect(problem).toMatchObject({ status, code });
  });

  it("an absolute target finds what its path names", async () => {
    const [answer] = await exchange(
      platform.ports.staging,
      "GET http://elsewhere.test/neighbour HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n",
    );
    expect(answer).toMatchObject({ status: 200, body: "neighbour" });
  });

  describe("a client", () => {
    it.each(SLOW_NAMES)("%s: 408, while others are answered", async (name) => {
      const { answers, tookMs, withinMs } = await slow[name];
      expect(answers).toHaveLength(1);
      const [answer] = answers;
      expect(problemOf({ status: answer?.status ?? 0, headers: answer?.headers ?? {}, text: answer?.body ?? "" })).toMatchObject({
        status: 408,
        code: "REQUEST_TIMED_OUT",
      });
      expect(answer?.headers["connection"]).toBe("close");
      expect(tookMs).toBeLessThan(withinMs);
    });

    it("that leaves in the middle of a form leaves nothing behind", async () => {
      for (let count = 0; count < 20; count += 1) {
        const socket = connect({ host: "127.0.0.1", port: platform.ports.staging });
        await once(socket, "connect");
        await new Promise((done) =>
          socket.write(`POST /async HTTP/1.1\r\nhost: a\r\ncontent-type: ${MULTIPART}\r\ncontent-length: 5000000\r\n\r\n--line\r\n`, done),
        );
        socket.resetAndDestroy();
      }
      expect((await get("/neighbour")).status).toBe(200);
    });
  });
});

const SLOW_NAMES = [
  "that sends its headers a byte per second",
  "that sends its body a byte per second",
  "whose chunks never end",
  "that announces more than it sends",
] as const;
type SlowName = (typeof SLOW_NAMES)[number];

interface SlowEnd {
  readonly answers: ReturnType<typeof readAnswers>;
  readonly tookMs: number;
  readonly withinMs: number;
}

const HEADERS_WITHIN_MS = 13_000; // 10 s, looked at once per second, on a busy machine.
const REQUEST_WITHIN_MS = 35_000; // 30 s likewise.
const GIVE_UP_MS = 45_000;

/** They begin at once, and take as long as the limits let them; the other tests run meanwhile. */
function startSlowClients(port: number): Readonly<Record<SlowName, Promise<SlowEnd>>> {
  const post = "POST /parsed HTTP/1.1\r\nhost: a\r\n";
  return {
    "that sends its headers a byte per second": drip(port, {
      first: "GET /neighbour HTTP/1.1\r\nhost: a\r\nx-a: ",
      again: "a",
      withinMs: HEADERS_WITHIN_MS,
    }),
    "that sends its body a byte per second": drip(port, {
      first: `${post}content-length: 1000\r\n\r\n`,
      again: "a",
      withinMs: REQUEST_WITHIN_MS,
    }),
    "whose chunks never end": drip(port, {
      first: `${post}transfer-encoding: chunked\r\n\r\n`,
      again: "1\r\na\r\n",
      withinMs: REQUEST_WITHIN_MS,
    }),
    "that announces more than it sends": drip(port, {
      first: `${post}content-length: 1000\r\n\r\nonly this`,
      again: null,
      withinMs: REQUEST_WITHIN_MS,
    }),
  };
}

interface Dripping {
  readonly first: string;
  readonly again: string | null;
  readonly withinMs: number;
}

async function drip(port: number, { first, again, withinMs }: Dripping): Promise<SlowEnd> {
  const startMs = performance.now();
  const socket = connect({ host: "127.0.0.1", port, noDelay: true });
  let received = "";
  socket.on("data", (part: Buffer) => void (received += part.toString("latin1")));
  socket.on("error", () => undefined); // What came before it counts.
  socket.write(first);
  const pace = again === null ? undefined : setInterval(() => socket.writable && socket.write(again), 1_000);
  const giveUp = setTimeout(() => socket.destroy(), GIVE_UP_MS);
  await new Promise((resolve) => socket.once("close", resolve));
  clearInterval(pace);
  clearTimeout(giveUp);
  return { answers: readAnswers(received), tookMs: performance.now() - startMs, withinMs };
}
