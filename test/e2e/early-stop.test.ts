// Ctrl-C in the middle of a start: what was begun is taken back, and the command ends as if all was well.
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { dockerLeftoversOf, processesOf } from "../support/leftovers.ts";
import { INSTANCE_READY_TIMEOUT_MS } from "../../runtime-image/contract/limits.ts";
import { beginUp, ENGINE_NAMES, handler, makeApp, startPlatform, writeFiles } from "../support/platform.ts";
import { until } from "../support/until.ts";

describe.each(ENGINE_NAMES)("a stop while the engine %s starts", (engine) => {
  it.each(["engine:", "broker:"])("takes everything back when it comes right after %s", async (word) => {
    const app = await makeApp({}, "examples/hello");
    const { child, texts, finished } = await beginUp(app, engine);
    await until(() => texts.stdout.includes(word), { timeoutMs: 30_000, what: `it prints ${word}` });
    child.kill("SIGINT");
    expect(await finished).toMatchObject({ exitCode: 0, stdout: expect.stringContaining("nothing is left running") as unknown });
    expect(await processesOf(app)).toEqual([]);
    expect(await dockerLeftoversOf(join(app, ".orchestrator"))).toEqual([]);
    await rm(app, { recursive: true, force: true });
  });
});

describe("a stop while a deploy waits for a function that hangs while it loads", () => {
  const HANGING = { "src/http/get-index/index.js": `while (true);\n${handler("return 2;")}` };

  it("does not wait for it in a first start", async () => {
    const app = await makeApp(HANGING);
    const { child, finished } = await beginUp(app, "process");
    const hasInstance = async (): Promise<boolean> => (await processesOf(app)).some(({ command }) => command.includes("/runtime/"));
    await until(hasInstance, { timeoutMs: 30_000, what: "the instance that hangs" });
    const startMs = performance.now();
    child.kill("SIGINT");
    expect((await finished).exitCode).toBe(0);
    expect(performance.now() - startMs).toBeLessThan(INSTANCE_READY_TIMEOUT_MS / 2);
    expect(await processesOf(app)).toEqual([]);
    await rm(app, { recursive: true, force: true });
  });

  it("does not wait for it, and does not put it live", async () => {
    const app = await makeApp({ "src/http/get-index/index.js": handler("return 1;") });
    const platform = await startPlatform({ app, engine: "process" });
    const instanceCount = async (): Promise<number> =>
      (await processesOf(platform.home)).filter(({ command }) => command.includes("main.js")).length;
    const before = await instanceCount();
    await writeFiles(app, HANGING);
    await until(async () => (await instanceCount()) > before, { timeoutMs: 20_000, what: "the instance that hangs" });
    const startMs = performance.now();
    expect(await platform.stop()).toBe(0);
    expect(performance.now() - startMs).toBeLessThan(INSTANCE_READY_TIMEOUT_MS / 2);
    expect(platform.events.filter(({ text }) => /reloaded|DEPLOY_FAILED/.test(text ?? ""))).toEqual([]);
    expect(await processesOf(platform.home)).toEqual([]);
    await rm(app, { recursive: true, force: true });
  });
});

describe("a stop after whoever read the output is gone", () => {
  it("still leaves nothing running", async () => {
    const app = await makeApp({}, "examples/hello");
    const platform = await startPlatform({ app, engine: "process" });
    platform.process.stdout?.destroy();
    platform.process.stderr?.destroy();
    expect(await platform.stop()).toBe(0);
    expect(await processesOf(platform.home)).toEqual([]);
    await rm(app, { recursive: true, force: true });
  });
});
