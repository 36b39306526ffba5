// How an instance ends: by an error that nobody caught, by a signal, by its watchdog; and the places it can run in.
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { execFile } from "node:child_process";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildRuntimeBundle } from "../../orchestrator/images/runtime-bundle.ts";
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

describe("ending", () => {
  const uncaught = `
    const { EventEmitter } = require("node:events");
    exports.handler = async (event) => {
      const never = new Promise(() => {});
      if (event.rawPath === "/timer") { setTimeout(() => { throw new Error("from a timer"); }, 30); return never; }
      if (event.rawPath === "/promise") { (async () => { await null; throw new Error("from a promise"); })(); return never; }
      if (event.rawPath === "/emitter") { setImmediate(() => new EventEmitter().emit("error", new Error("from an emitter"))); return never; }
      if (event.rawPath === "/slow") await require("node:timers/promises").setTimeout(300);
      return { body: "done" };
    };`;

  for (const source of ["timer", "promise", "emitter"])
    it(`fails only the request whose ${source} threw outside of its handler, then retires`, async () => {
      const runtime = await rig.start({ files: index(uncaught) });
      await runtime.ready();
      const slow = runtime.request({ path: "/slow" });
      const failed = await runtime.request({ path: `/${source}`, id: "guilty" });
      expect(failed.header).toMatchObject({
        kind: "failed",
        code: "HANDLER_THREW",
        message: expect.stringMatching(new RegExp(`outside of its handler: Error: from an? ${source}`)) as string,
      });
      expect(textOf(await slow)).toBe("done");
      expect(await runtime.exited()).toEqual({ code: 1, signal: null });
      expect(runtime.events.at(-1)).toMatchObject({ kind: "retiring" });
      expect(runtime.lines.filter((line) => line.requestId === "guilty")).toHaveLength(1);
    });

  it("loses nothing that was delivered when it is told to stop", async () => {
    const code =
      'exports.handler = async (event) => { await require("node:timers/promises").setTimeout(50); return { body: event.rawPath }; }';
    const runtime = await rig.start({ files: index(code) });
    await runtime.ready();
    const requests = Array.from({ length: 32 }, (_, number) => runtime.request({ path: `/${number}` }));
    await until(async () => (await runtime.ping()).requestCount === 32, { timeoutMs: 5_000 });
    runtime.signal("SIGTERM");
    const answers = await Promise.all(requests);
    expect(answers.map(textOf)).toEqual(answers.map((_, number) => `/${number}`));
    expect(await runtime.exited()).toEqual({ code: 0, signal: null });
  });

  it("writes what was printed before user code ends the process, and says how many requests that cost", async () => {
    const runtime = await rig.start({ files: index("exports.handler = () => { console.log('last words'); process.exit(3); }") });
    await runtime.ready();
    void runtime.request().catch(() => undefined);
    expect(await runtime.exited()).toEqual({ code: 3, signal: null });
    expect(runtime.lines.map((line) => line.text)).toEqual([
      "last words",
      "The function ended its process with exit code 3, 1 of its requests unanswered.",
    ]);
  });

  it("ends a process whose event loop is blocked, after its last lines, while pings are answered to the end", async () => {
    const runtime = await rig.start({
      files: index("exports.handler = () => { console.log('before the loop'); for (;;); }"),
      manifest: { timeoutMs: 1_000 },
    });
    await runtime.ready();
    void runtime.request({ timeoutMs: 1_000 }).catch(() => undefined);
    // The very first request blocks: the watchdog comes up beside it.
    const pingTimeoutMs = 200;
    await until(async () => (await runtime.ping(pingTimeoutMs).catch(() => null))?.requestCount === 1, { timeoutMs: 1_000 });
    expect((await runtime.ping(pingTimeoutMs)).state).toBe("ready");
    expect(await runtime.exited()).toEqual({ code: null, signal: "SIGKILL" });
    expect(runtime.lines.map((line) => line.text)).toEqual([
      "before the loop",
      expect.stringMatching(/^The event loop was blocked for \d+ ms/) as string,
    ]);
  });

  // Needs root: only root may make a process number 1 of its own.
  it.runIf(process.getuid?.() === 0)(
    "ends a blocked process that is number 1 of its container, where the kernel ignores its own SIGKILL",
    async () => {
      const runtime = await rig.start({
        files: index("exports.handler = () => { console.log(process.pid); for (;;); }"),
        manifest: { timeoutMs: 500 },
        wrapper: ["unshare", "--pid", "--fork", "--kill-child"],
      });
      await runtime.ready();
      void runtime.request({ timeoutMs: 500 }).catch(() => undefined);
      const { code, signal } = await runtime.exited();
      expect(signal ?? code).not.toBe(0);
      expect(runtime.lines.map((line) => line.text)).toEqual(["1", expect.stringContaining("The event loop was blocked") as string]);
    },
  );

  it("spares a process that was frozen as a whole", async () => {
    const runtime = await rig.start({ files: index("exports.handler = () => 'alive'"), manifest: { timeoutMs: 500 } });
    await runtime.ready();
    await runtime.request({ timeoutMs: 500 });
    const frozenMs = performance.now();
    runtime.signal("SIGSTOP");
    await until(() => performance.now() - frozenMs > 3_000, { timeoutMs: 10_000 });
    runtime.signal("SIGCONT");
    expect(textOf(await runtime.request())).toBe("alive");
    const thawedMs = performance.now();
    await until(() => performance.now() - thawedMs > 1_500, { timeoutMs: 10_000 });
    expect(textOf(await runtime.request())).toBe("alive");
  });

  it("ends a process that uses more memory than it may", async () => {
    const code =
      "const kept = []; exports.handler = async () => { setInterval(() => kept.push(Buffer.alloc(20_000_000, 1)), 20); return 'growing'; }";
    const runtime = await rig.start({ files: index(code), manifest: { watchMemory: true, memoryBytesMax: 250_000_000 } });
    await runtime.ready();
    await runtime.request();
    expect(await runtime.exited()).toEqual({ code: null, signal: "SIGKILL" });
    expect(runtime.lines.at(-1)?.text).toMatch(/^The instance used \d+ MB of memory, more than the 250 MB it may/);
  });
});

describe("places", () => {
  it("serves after the broker was away", async () => {
    const runtime = await rig.start({ files: index("exports.handler = () => 'still here'") });
    await runtime.ready();
    await rig.restartBroker();
    // Its watchdog, which answers pings, may be back a moment before it is.
    const answered = async (): Promise<boolean> =>
      runtime.request().then(
        (answer) => textOf(answer) === "still here",
        () => false,
      );
    await until(answered, { timeoutMs: 10_000, what: "it serves again" });
    expect((await runtime.ping()).state).toBe("ready");
  });

  it("runs under Node's permission model with nothing but its own files", async () => {
    const code = `const fs = require("node:fs"); const path = require("node:path");
      exports.handler = () => {
        const attempts = { tmp: () => fs.writeFileSync(path.join(process.env.OWN_TMP, "a"), "a"), passwd: () => fs.readFileSync("/etc/passwd"), spawn: () => require("node:child_process").execSync("id") };
        return Object.fromEntries(Object.entries(attempts).map(([name, attempt]) => { try { attempt(); return [name, "done"]; } catch (error) { return [name, error.code]; } }));
      };`;
    const own = await mkdtemp(path.join(tmpdir(), "runtime-own-"));
    const runtime = await rig.start({
      files: index(code),
      manifest: { timeoutMs: 1_000 },
      variables: { OWN_TMP: own },
      nodeArguments: ({ runtime, folder }) => [
        "--permission",
        "--allow-worker",
        `--allow-fs-read=${runtime}`,
        `--allow-fs-read=${folder}`,
        `--allow-fs-read=${own}`,
        `--allow-fs-write=${own}`,
      ],
    });
    await runtime.ready();
    expect(JSON.parse(textOf(await runtime.request()))).toEqual({ tmp: "done", passwd: "ERR_ACCESS_DENIED", spawn: "ERR_ACCESS_DENIED" });
    expect((await runtime.ping()).state).toBe("ready");
    await rm(own, { recursive: true });
  });

  it("fills a compile cache without any network or manifest", async () => {
    const home = await mkdtemp(path.join(tmpdir(), "runtime-warm-"));
    const { writeFile } = await import("node:fs/promises");
    for (const file of (await buildRuntimeBundle()).files) await writeFile(path.join(home, file.path), file.bytes);
    await promisify(execFile)(process.execPath, [path.join(home, "main.js"), "--warm"], {
      env: { NODE_COMPILE_CACHE: path.join(home, "cache") },
    });
    const cached = await readdir(path.join(home, "cache"), { recursive: true });
    expect(cached.length).toBeGreaterThanOrEqual(3);
    await rm(home, { recursive: true });
  });
});
