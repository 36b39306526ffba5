// The bundled runtime in a process of its own, on a real broker with the permissions that instances have.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Generation, InstanceManifest } from "../../runtime-image/contract/instance-manifest.ts";
import { ANSWER_CHUNK_BYTES } from "../../runtime-image/contract/limits.ts";
import { startRig, type Received, type Rig } from "../support/runtime-rig.ts";
import { until } from "../support/until.ts";

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
});
afterAll(async () => {
  await rig.stop();
});

const textOf = (received: Received): string => Buffer.from(received.body).toString();
const index = (code: string): Record<string, string> => ({ "index.js": code });

describe("loading", () => {
  it("says ready and answers with what the handler returned", async () => {
    const runtime = await rig.start({
      files: index(
        "exports.handler = async (event) => ({ statusCode: 201, headers: { 'X-Kind': 'a' }, body: `${event.rawPath}${event.rawQueryString} ${event.body}` });",
      ),
    });
    await runtime.ready();
    const answer = await runtime.request({ path: "/a%20b", query: "c=d", body: "hello", method: "POST" });
    expect(answer.header).toEqual({
      v: 1,
      kind: "whole",
      status: 201,
      headers: ["X-Kind", "a", "content-type", "text/plain; charset=utf-8"],
      bodyBytes: 19,
    });
    expect(textOf(answer)).toBe("/a%20b?c=d aGVsbG8=");
  });

  it("runs in the function's folder, in UTC, with the variables that handlers know and without its manifest", async () => {
    const code = `exports.handler = async () => ({ cwd: process.cwd(), zone: new Date(2020, 0, 1).getTimezoneOffset(), env: process.env })`;
    const runtime = await rig.start({ files: index(code), variables: { OWN: "value", TZ: "Asia/Tokyo" } });
    await runtime.ready();
    const seen: unknown = JSON.parse(textOf(await runtime.request()));
    expect(seen).toMatchObject({
      cwd: runtime.folder,
      zone: 0,
      env: {
        OWN: "value",
        TZ: "UTC",
        NODE_ENV: "staging",
        ARC_ENV: "staging",
        ARC_APP_NAME: "rig app",
        AWS_LAMBDA_FUNCTION_NAME: "src/http/get-index",
        LAMBDA_TASK_ROOT: runtime.folder,
      },
    });
    expect(JSON.stringify(seen)).not.toContain("ORCHESTRATOR_INSTANCE");
  });

  it("loads an ES module that awaits at its top, and TypeScript", async () => {
    const awaiting = await rig.start({
      files: { "index.mjs": "const word = await Promise.resolve('awaited'); export const handler = async () => ({ body: word });" },
    });
    const typed = await rig.start({
      files: { "index.ts": "export const handler = async (event: { rawPath: string }) => ({ body: event.rawPath as string });" },
    });
    await Promise.all([awaiting.ready(), typed.ready()]);
    expect(textOf(await awaiting.request())).toBe("awaited");
    expect(textOf(await typed.request({ path: "/typed" }))).toBe("/typed");
  });

  it("says which export is missing, on its event subject and on stderr, and exits with 1", async () => {
    const runtime = await rig.start({ files: index("exports.handle = () => 1; exports.other = 2;") });
    expect(await runtime.exited()).toEqual({ code: 1, signal: null });
    expect(runtime.events).toMatchObject([
      { kind: "failed", code: "HANDLER_MISSING", message: 'index.js exports no handler; it exports "handle", "other".' },
    ]);
    expect(runtime.stderr()).toContain("HANDLER_MISSING");
  });

  it("says where a module throws while it loads, relative to its folder", async () => {
    const runtime = await rig.start({
      files: { "index.js": "require('./lib/broken.js')", "lib/broken.js": "\nthrow new TypeError('not today');" },
    });
    expect(await runtime.exited()).toEqual({ code: 1, signal: null });
    expect(runtime.events).toMatchObject([
      {
        kind: "failed",
        code: "HANDLER_LOAD_FAILED",
        message: "TypeError: not today",
        stack: expect.stringContaining("lib/broken.js:2") as string,
      },
    ]);
    expect(runtime.events.map((event) => (event.kind === "failed" ? event.stack : ""))[0]).not.toContain(runtime.folder);
  });

  it("says what a module's own beginnings rejected with, before anything was asked of it", async () => {
    const runtime = await rig.start({ files: index("Promise.reject(new Error('no database')); exports.handler = () => 1;") });
    expect(await runtime.exited()).toEqual({ code: 1, signal: null });
    expect(runtime.events).toMatchObject([{ kind: "failed", code: "HANDLER_LOAD_FAILED", message: "Error: no database" }]);
  });

  it("names everything that is wrong with its manifest", async () => {
    const runtime = await rig.start({ files: index(""), manifest: { timeoutMs: -1, folder: "relative" } });
    expect(await runtime.exited()).toEqual({ code: 1, signal: null });
    expect(runtime.stderr()).toContain('folder: should be an absolute path, got "relative"');
    expect(runtime.stderr()).toContain("timeoutMs: should be a positive integer, got -1");
  });
});

describe("answering", () => {
  const many = `
    exports.handler = (event, context, callback) => {
      switch (event.rawPath) {
        case "/callback": setTimeout(() => callback(null, { statusCode: 202, body: "called back" }), 5); return;
        case "/callback-error": callback(new RangeError("called back")); return;
        case "/twice": callback(null, "first"); callback(null, "second"); return;
        case "/sync": return { body: "sync" };
        case "/promise": return Promise.resolve({ body: "promised" });
        case "/throw": throw new TypeError("thrown at once");
        case "/reject": return Promise.reject(new Error("rejected"));
        case "/odd": throw "a string";
        case "/invalid": return { statusCode: "200" };
        case "/head": return { body: "x".repeat(200000) };
        case "/signal": return new Promise((resolve) => { context.signal.addEventListener("abort", () => { console.log("aborted:", context.signal.reason.name); resolve("late"); }); });
        case "/remaining": return { ms: context.getRemainingTimeInMillis() };
        case "/body": event.body = JSON.stringify({ a: 1 }); return { copied: { ...event }, json: JSON.parse(JSON.stringify(event)) };
      }
    };`;

  it("takes every style of handler", async () => {
    const runtime = await rig.start({ files: index(many) });
    await runtime.ready();
    expect(textOf(await runtime.request({ path: "/callback" }))).toBe("called back");
    expect(textOf(await runtime.request({ path: "/sync" }))).toBe("sync");
    expect(textOf(await runtime.request({ path: "/promise" }))).toBe("promised");
    expect(textOf(await runtime.request({ path: "/twice" }))).toBe("first");
    await until(() => runtime.lines.some((line) => line.level === "warn" && line.text.includes("answered more than once")), {
      timeoutMs: 5_000,
    });
    const remaining = JSON.parse(textOf(await runtime.request({ path: "/remaining", timeoutMs: 5_000 }))) as { ms: number };
    expect(remaining.ms).toBeGreaterThan(4_000);
    expect(remaining.ms).toBeLessThanOrEqual(5_000);
  });

  it("lets an assigned body clear the base64 flag in every copy of the event", async () => {
    const runtime = await rig.start({ files: index(many) });
    await runtime.ready();
    const answer = await runtime.request({ path: "/body", method: "POST", body: "original" });
    expect(JSON.parse(textOf(answer))).toMatchObject({
      copied: { body: '{"a":1}', isBase64Encoded: false },
      json: { body: '{"a":1}', isBase64Encoded: false },
    });
  });

  it("fails a request whose handler throws, rejects or answers wrongly, says why, and serves the next", async () => {
    const runtime = await rig.start({ files: index(many) });
    await runtime.ready();
    const failures = {
      "/throw": {
        kind: "failed",
        code: "HANDLER_THREW",
        message: "TypeError: thrown at once",
        stack: expect.stringContaining("index.js:") as string,
      },
      "/reject": { kind: "failed", code: "HANDLER_THREW", message: "Error: rejected" },
      "/callback-error": { kind: "failed", code: "HANDLER_THREW", message: "RangeError: called back" },
      "/odd": { kind: "failed", code: "HANDLER_THREW", message: "a string" },
      "/invalid": {
        kind: "failed",
        code: "HANDLER_ANSWER_INVALID",
        message: expect.stringContaining('statusCode should be an integer from 200 to 599, got the string "200"') as string,
      },
    };
    for (const [path, failure] of Object.entries(failures))
      expect((await runtime.request({ path, id: path })).header).toMatchObject(failure);
    expect(textOf(await runtime.request({ path: "/sync" }))).toBe("sync");
    await until(() => runtime.lines.filter((line) => line.level === "error").length === 5, { timeoutMs: 5_000 });
    expect(runtime.lines.map((line) => line.requestId)).toEqual(Object.keys(failures));
  });

  it("aborts the signal at the deadline and drops what comes later, with one line that says so", async () => {
    const runtime = await rig.start({ files: index(many) });
    await runtime.ready();
    let isAnswered = false;
    const markAnswered = () => {
      isAnswered = true;
    };
    void runtime.request({ path: "/signal", id: "late", timeoutMs: 150 }).then(markAnswered, () => undefined); // Nobody answers it.
    await until(() => runtime.lines.length === 2, { timeoutMs: 5_000 });
    expect(runtime.lines.map((line) => [line.level, line.requestId, line.text])).toEqual([
      ["info", "late", "aborted: TimeoutError"],
      ["warn", "late", "The handler answered after its deadline: the answer was dropped."],
    ]);
    expect((await runtime.ping()).requestCount).toBe(0);
    expect(textOf(await runtime.request({ path: "/sync" }))).toBe("sync");
    expect(isAnswered).toBe(false);
  });

  it("answers HEAD with the true length, no body and nothing held", async () => {
    const runtime = await rig.start({ files: index(many) });
    await runtime.ready();
    const answer = await runtime.request({ path: "/head", method: "HEAD" });
    expect(answer.header).toMatchObject({ kind: "whole", bodyBytes: 200_000 });
    expect(answer.body).toHaveLength(0);
  });

  it("keeps the requests apart that it works on at once", async () => {
    const code =
      'exports.handler = async (event) => { await require("node:timers/promises").setTimeout(Math.random() * 20); console.log(event.rawPath); return { body: event.rawPath }; }';
    const runtime = await rig.start({ files: index(code) });
    await runtime.ready();
    const paths = Array.from({ length: 64 }, (_, number) => `/${number}`);
    const answers = await Promise.all(paths.map((path) => runtime.request({ path, id: path })));
    expect(answers.map(textOf)).toEqual(paths);
    await until(() => runtime.lines.length === 64, { timeoutMs: 5_000 });
    expect(runtime.lines.every((line) => line.text === line.requestId)).toBe(true);
  });
});

describe("every generation", () => {
  const startFor = async (generation: Generation, code: string, fields: Partial<InstanceManifest> = {}) => {
    const runtime = await rig.start({ files: index(code), manifest: { generation, ...fields } });
    await runtime.ready();
    return runtime;
  };
  const jsonOf = (received: Received): unknown => JSON.parse(textOf(received));
  const POST = {
    method: "POST",
    path: "/shop/choc%20chip",
    query: "a=1&a=2",
    route: "POST /shop/:item",
    params: { item: "choc chip" },
    headers: ["Host", "shop.localhost:3000", "Content-Type", "application/json", "X-Mine", "1"],
    body: '{"note":"hi"}',
  };
  const BASE64 = Buffer.from(POST.body).toString("base64");

  it("current gets payload version 2.0, and raw JSON where the app wants it", async () => {
    const echo = "exports.handler = async ({ version, body, isBase64Encoded }) => [version, body, isBase64Encoded];";
    const encoded = await startFor("current", echo);
    expect(jsonOf(await encoded.request(POST))).toEqual(["2.0", BASE64, true]);
    const raw = await startFor("current", echo, { rawJson: true, bareQuery: false });
    expect(jsonOf(await raw.request(POST))).toEqual(["2.0", POST.body, false]);
  });

  it("legacy gets payload version 1.0 and answers with several values of a header", async () => {
    const runtime = await startFor(
      "legacy",
      "exports.handler = async (event) => ({ statusCode: 201, multiValueHeaders: { 'Set-Cookie': ['a=1', 'b=2'] }, body: JSON.stringify(event) });",
    );
    const answer = await runtime.request(POST);
    expect(answer.header).toMatchObject({
      status: 201,
      headers: ["Set-Cookie", "a=1", "Set-Cookie", "b=2", "content-type", "application/json; charset=utf-8"],
    });
    expect(jsonOf(answer)).toMatchObject({
      version: "1.0",
      httpMethod: "POST",
      resource: "/shop/{item}",
      headers: { "X-Mine": "1" },
      queryStringParameters: { a: "2" },
      pathParameters: { item: "choc chip" },
      body: BASE64,
      isBase64Encoded: true,
    });
  });

  it("simple gets a parsed body and answers in a few words; malformed JSON never reaches its handler", async () => {
    const runtime = await startFor(
      "simple",
      "exports.handler = async ({ method, params, query, body }) => { console.log('called'); return { status: 201, type: 'text/html', cors: true, cookie: 'a=1', body: JSON.stringify({ method, params, query, body }) }; };",
    );
    const answer = await runtime.request(POST);
    expect(jsonOf(answer)).toEqual({ method: "post", params: { item: "choc chip" }, query: { a: "2" }, body: { note: "hi" } });
    expect(answer.header).toMatchObject({
      status: 201,
      headers: expect.arrayContaining(["text/html", "set-cookie", "access-control-allow-methods", "POST, OPTIONS"]) as string[],
    });
    const refused = await runtime.request({ ...POST, body: '{"note":' });
    expect(refused.header).toEqual({
      v: 1,
      kind: "failed",
      code: "BODY_MALFORMED",
      message: expect.stringContaining("not the JSON that its content type promises") as string,
    });
    expect(textOf(await runtime.request({ ...POST, body: "{}" }))).toContain('"body":{}');
    await until(() => runtime.lines.length === 3, { timeoutMs: 5_000 });
    expect(runtime.lines.map((line) => line.level)).toEqual(["info", "warn", "info"]);
  });

  it.each(["json", "html"] as const)("%s gets payload version 1.0 with lower-case header names", async (generation) => {
    const runtime = await startFor(generation, "exports.handler = async (event) => ({ statusCode: 200, body: JSON.stringify(event) });");
    expect(jsonOf(await runtime.request(POST))).toMatchObject({
      version: "1.0",
      httpMethod: "POST",
      headers: { "content-type": "application/json", "x-mine": "1" },
      multiValueHeaders: { "x-mine": ["1"] },
      body: BASE64,
    });
  });
});

describe("the library", () => {
  const LIBRARY = 'globalThis[Symbol.for("orchestrator:library")]()';

  it("is loaded when user code first asks for it, and is the same one every time", async () => {
    const code = `
      const isLoaded = () => Object.keys(require.cache).some((file) => file.endsWith("library.js"));
      const before = isLoaded();
      const library = ${LIBRARY};
      exports.handler = () => ({ statusCode: 200, body: JSON.stringify({ before, after: isLoaded(), same: library === ${LIBRARY}, names: Object.keys(library).toSorted() }) });`;
    const runtime = await rig.start({ files: index(code) });
    await runtime.ready();
    expect(JSON.parse(textOf(await runtime.request()))).toEqual({ before: false, after: true, same: true, names: ["data", "functions"] });
  });

  it("blames the caller for a body that it cannot parse, and the next request is not affected", async () => {
    const code = `const { http } = ${LIBRARY}.functions; exports.handler = async (event) => ({ body: JSON.stringify(http.helpers.bodyParser(event)) });`;
    const runtime = await rig.start({ files: index(code) });
    await runtime.ready();
    const post = { method: "POST", headers: ["content-type", "application/json"] };
    const refused = await runtime.request({ ...post, body: '{"note":' });
    expect(refused.header).toEqual({ v: 1, kind: "failed", code: "BODY_MALFORMED", message: expect.any(String) as string });
    expect(textOf(await runtime.request({ ...post, body: '{"note":1}' }))).toBe('{"note":1}');
    await until(() => runtime.lines.length === 1, { timeoutMs: 5_000 });
    expect(runtime.lines[0]).toMatchObject({ level: "warn" });
  });

  it("is told which app and environment it is in, and which request its caller belongs to", async () => {
    const code = `
      const bridge = globalThis[Symbol.for("orchestrator:bridge")];
      const outside = bridge.currentRequest();
      exports.handler = async () => {
        const { environment, appName, secret } = bridge;
        await new Promise((resolve) => setImmediate(resolve));
        const { id, method, path, scheme } = bridge.currentRequest();
        return { statusCode: 200, body: JSON.stringify({ environment, appName, secret, outside, request: { id, method, path, scheme } }) };
      };`;
    const runtime = await rig.start({ files: index(code) });
    await runtime.ready();
    const answer = await runtime.request({ id: "r1", method: "PUT", path: "/a%20b", scheme: "https" });
    expect(JSON.parse(textOf(answer))).toEqual({
      environment: "staging",
      appName: "rig app",
      secret: "5e".repeat(32),
      outside: null,
      request: { id: "r1", method: "PUT", path: "/a%20b", scheme: "https" },
    });
  });
});

describe("large answers", () => {
  it("holds them back, serves any window of them, and forgets them when told", async () => {
    const code = "exports.handler = async () => ({ isBase64Encoded: true, body: Buffer.alloc(1000000, 'abcdefg').toString('base64') })";
    const runtime = await rig.start({ files: index(code) });
    await runtime.ready();
    const { header, body } = await runtime.request();
    if (header.kind !== "held") throw new Error(`expected it to be held, got ${header.kind}`);
    expect(header.bodyBytes).toBe(1_000_000);
    expect(body).toHaveLength(0);

    const chunks: Uint8Array[] = [];
    for (let offset = 0; offset < header.bodyBytes; offset += 3 * ANSWER_CHUNK_BYTES) {
      const chunkCount = Math.min(3, Math.ceil((header.bodyBytes - offset) / ANSWER_CHUNK_BYTES));
      chunks.push(...(await runtime.pull({ streamId: header.streamId, offset, chunkCount })).map((chunk) => chunk.body));
    }
    expect(Buffer.concat(chunks).equals(Buffer.alloc(1_000_000, "abcdefg"))).toBe(true);

    runtime.signal("SIGTERM");
    await until(() => runtime.events.some((event) => event.kind === "retiring"), { timeoutMs: 5_000 });
    expect(await runtime.pull({ streamId: header.streamId, offset: 0, chunkCount: 1 })).toHaveLength(1);
    // Only letting it go ends the instance: it stays for whoever still pulls.
    void runtime.pull({ streamId: header.streamId, offset: 0, chunkCount: 0 }).catch(() => undefined);
    expect(await runtime.exited()).toEqual({ code: 0, signal: null });
  });

  it("says gone for a stream that it does not hold", async () => {
    const runtime = await rig.start({ files: index("exports.handler = () => 1") });
    await runtime.ready();
    const [answer] = await runtime.pull({ streamId: "nothing", offset: 0, chunkCount: 1 });
    expect(answer?.header).toEqual({ v: 1, kind: "gone" });
  });
});
