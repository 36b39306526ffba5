// Ctrl-C in the middle of a start: what was begun is taken back, and the command ends as if all was well.
import { spawn } from "node:child_process";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { dockerLeftoversOf, processesOf } from "../support/leftovers.ts";
import { INSTANCE_READY_TIMEOUT_MS } from "../../runtime-image/contract/limits.ts";
import { CHECKOUT, ENGINE_NAMES, freePort, handler, makeApp, startPlatform, writeFiles } from "../support/platform.ts";
import { until } from "../support/until.ts";

describe.each(ENGINE_NAMES)("a stop while the engine %s starts", (engine) => {
  it.each(["engine:", "broker:"])("takes everything back when it comes right after %s", async (word) => {
    const app = await makeApp({}, "examples/hello");
    const ports = [
      "--staging-port",
      `${await freePort()}`,
      "--production-port",
      `${await freePort()}`,
      "--api-port",
      `${await freePort()}`,
    ];
    const child = spawn(process.execPath, [join(CHECKOUT, "orchestrator/bin.mjs"), "up", app, "--engine", engine, ...ports], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    let printed = "";
    child.stdout.on("data", (part: Buffer) => (printed += part.toString()));
    child.stderr.on("data", (part: Buffer) => (printed += part.toString()));
    await until(() => printed.includes(word), { timeoutMs: 30_000, what: `it prints ${word}` });
    child.kill("SIGINT");
    await once(child, "exit");
    expect({ exitCode: child.exitCode, printed }).toMatchObject({
      exitCode: 0,
      printed: expect.stringContaining("nothing is left running") as unknown,
    });
    expect(await processesOf(app)).toEqual([]);
    expect(await dockerLeftoversOf(join(app, ".orchestrator"))).toEqual([]);
    await rm(app, { recursive: true, force: true });
  });
});

describe("a stop while a deploy waits for a function that hangs while it loads", () => {
  const HANGING = { "src/http/get-index/index.js": `while (true);\n${handler("return 2;")}` };

  it("does not wait for it in a first start", async () => {
    const app = await makeApp(HANGING);
    const ports: string[] = [];
    for (const flag of ["--staging-port", "--production-port", "--api-port"]) ports.push(flag, `${await freePort()}`);
    const child = spawn(process.execPath, [join(CHECKOUT, "orchestrator/bin.mjs"), "up", app, "--engine", "process", ...ports]);
    const hasInstance = async (): Promise<boolean> => (await processesOf(app)).some(({ command }) => command.includes("/runtime/"));
    await until(hasInstance, { timeoutMs: 30_000, what: "the instance that hangs" });
    const startMs = performance.now();
    child.kill("SIGINT");
    await once(child, "exit");
    expect(child.exitCode).toBe(0);
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
