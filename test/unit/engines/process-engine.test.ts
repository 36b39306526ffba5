// What the process engine does on the machine itself; what every engine does is in the conformance suite. No broker is needed here.
import { chmod, mkdir, mkdtemp, readdir, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import type { Engine, InstanceSpec } from "../../../orchestrator/engines/engine.ts";
import { createProcessEngine } from "../../../orchestrator/engines/process-engine.ts";
import { buildRuntimeBundle } from "../../../orchestrator/images/runtime-bundle.ts";
import { readState, startDetached } from "../../../orchestrator/processes/detached.ts";
import { isAlive } from "../../../orchestrator/processes/identity.ts";
import { until } from "../../support/until.ts";

vi.setConfig({ testTimeout: 40_000, hookTimeout: 20_000 }); // Each starts processes, on a machine that may be busy.
const IS_ROOT = process.getuid?.() === 0;
let project: string;
let home: string;
let engine: Engine;

beforeEach(async () => {
  project = await realpath(await mkdtemp(join(tmpdir(), "process-engine-test-")));
  await chmod(project, 0o711); // As a home has to be for instances to have users of their own.
  home = join(project, "home");
  engine = makeEngine();
});
afterEach(async () => {
  await engine.prepare();
  await engine.dispose();
  await rm(project, { recursive: true, force: true });
});

const makeEngine = (): Engine =>
  createProcessEngine({ home, platformId: "unit", nodePath: process.execPath, runtimeBundle: buildRuntimeBundle });

const specOf = (instanceId: string, buildId: string): InstanceSpec => {
  const labels = { instanceId, appId: "a1", environment: "staging", functionName: "src/http/get-index" } as const;
  const broker = { url: "nats://127.0.0.1:9", jwt: "none", seed: "none" }; // Nothing answers there: an instance tries for 20 s.
  const manifest = {
    v: 1,
    ...labels,
    appName: "app",
    generation: "current",
    timeoutMs: 1_000,
    concurrency: 1,
    rawJson: false,
    bareQuery: false,
    sessionSecret: "5e".repeat(32),
    memoryBytesMax: 256_000_000,
    broker,
  } as const;
  const limits = { memoryBytesMax: 256_000_000, cpuCountMax: 1, pidCountMax: 64, tmpBytesMax: 1_000_000 };
  return { ...labels, buildId, configId: "c0f1", manifest, variables: {}, limits };
};
async function start(instanceId: string, code: string): Promise<void> {
  const buildId = `build${instanceId}`;
  await engine.build({
    buildId,
    functionName: "src/http/get-index",
    files: [{ path: "src/http/get-index/index.js", bytes: Buffer.from(code), isExecutable: false }],
  });
  await engine.start(specOf(instanceId, buildId));
}
async function firstLine(instanceId: string): Promise<string> {
  const lines: string[] = [];
  const over = new AbortController();
  const following = engine.followLogs(instanceId, { sinceEpochMs: 0, signal: over.signal }, ({ text }) => lines.push(text));
  await until(() => lines.length > 0, { timeoutMs: 10_000 });
  over.abort();
  await following;
  return lines[0] ?? "";
}

describe("prepare", () => {
  it("removes what an earlier run left half made or dead, and ends what it never wrote down", async () => {
    await engine.prepare();
    await Promise.all(
      ["builds/.making-b9-x", "instances/dead", "tmp/dead", "tmp/stray", "runtime/oldhash"].map((path) => mkdir(join(home, path))),
    );
    const stray = await startDetached({
      command: process.execPath,
      args: ["-e", "setInterval(() => {}, 1000)", "--", `--allow-fs-write=${join(home, "tmp/stray")}`],
      env: {},
      cwd: home,
      logFile: join(project, "stray.log"),
      stateFile: join(project, "stray.json"),
    });
    await makeEngine().prepare();
    expect(await isAlive(stray)).toBe(false);
    expect(await Promise.all(["builds", "instances", "tmp"].map((folder) => readdir(join(home, folder))))).toEqual([
      ["package.json"],
      [],
      [],
    ]);
    expect(await readdir(join(home, "runtime"))).not.toContain("oldhash");
  });

  it("leaves a running instance alone, however often it is repeated", async () => {
    await engine.prepare();
    await start("i1", "exports.handler = () => {}");
    await engine.prepare();
    await makeEngine().prepare();
    expect((await engine.list()).map(({ instanceId, state }) => `${instanceId} ${state}`)).toEqual(["i1 running"]);
  });

  it("says which folder it cannot use", async () => {
    await writeFile(home, "a file");
    await expect(engine.prepare()).rejects.toMatchObject({ code: "HOME_UNUSABLE", detail: { detail: home } });
    await rm(home);
  });

  it("says that this Node is too old where it lacks a flag", async () => {
    const old = join(project, "old-node");
    await writeFile(old, "#!/bin/sh\nexit 9\n", { mode: 0o755 });
    const other = createProcessEngine({ home, platformId: "unit", nodePath: old, runtimeBundle: buildRuntimeBundle });
    await expect(other.prepare()).rejects.toMatchObject({ code: "ENGINE_FAILED" });
  });
});

describe("an instance", () => {
  it("is read as CommonJS where nothing says otherwise, also when the home lies in a project of ES modules", async () => {
    await writeFile(join(project, "package.json"), '{ "type": "module" }');
    await engine.prepare();
    await start("i1", "process.stdout.write(typeof require + '\\n'); exports.handler = () => {}");
    expect(await firstLine("i1")).toBe("function");
  });

  it("is refused where its build is missing, and where it exists already", async () => {
    await engine.prepare();
    await expect(engine.start(specOf("i1", "nothing"))).rejects.toMatchObject({ code: "ENGINE_FAILED" });
    expect(await readdir(join(home, "instances"))).toEqual([]);
    await start("i1", "exports.handler = () => {}");
    await expect(engine.start(specOf("i1", "buildi1"))).rejects.toMatchObject({ code: "ENGINE_FAILED" });
    expect(await engine.list()).toHaveLength(1);
  });

  it("cannot be named so that a folder elsewhere would be removed", async () => {
    await engine.prepare();
    await expect(engine.stop("../builds", { graceMs: 0 })).rejects.toMatchObject({ code: "ENGINE_FAILED" });
    await expect(engine.stop("..", { graceMs: 0 })).rejects.toMatchObject({ code: "ENGINE_FAILED" });
  });

  it("is reported as out of memory when its heap is full", async () => {
    await engine.prepare();
    const exits: unknown[] = [];
    const over = new AbortController();
    engine.watchExits((exit) => exits.push(exit), over.signal);
    await start("i1", "const all = []; for (;;) all.push(new Array(10_000).fill({}))");
    await until(() => exits.length > 0, { timeoutMs: 30_000 });
    over.abort();
    expect(exits).toEqual([{ instanceId: "i1", exitCode: 134, outOfMemory: true }]);
  });

  it.runIf(IS_ROOT)(
    "runs as a user of its own, who can signal neither the orchestrator nor another instance (only root can give users)",
    async () => {
      await engine.prepare();
      await start("i1", "process.stdout.write(process.getuid() + '\\n'); exports.handler = () => {}");
      const victim = await readState(join(home, "instances/i1/state.json"));
      const pids = JSON.stringify([process.pid, victim?.identity.pid]);
      const tryAll = `${pids}.map((pid) => { try { process.kill(pid, 0); return "yes"; } catch (error) { return error.code; } })`;
      await start(
        "i2",
        `process.stdout.write(JSON.stringify([process.getuid(), process.getgroups(), ${tryAll}]) + "\\n"); exports.handler = () => {}`,
      );
      const firstUid = Number(await firstLine("i1"));
      expect(firstUid).toBeGreaterThan(1_879_048_191);
      expect(await firstLine("i2")).toBe(JSON.stringify([firstUid + 1, [firstUid + 1], ["EPERM", "EPERM"]]));
      expect(engine.description).toContain("each runs as a user of its own");
    },
  );

  it.runIf(IS_ROOT)(
    "runs as the orchestrator's user where the home is closed to others, and the engine says so (root only: others have no choice)",
    async () => {
      await chmod(project, 0o700);
      await engine.prepare();
      await start("i1", "process.stdout.write(process.getuid() + '\\n'); exports.handler = () => {}");
      expect(await firstLine("i1")).toBe("0");
      expect(engine.description).toContain("all run as the user who started the platform");
    },
  );
});
