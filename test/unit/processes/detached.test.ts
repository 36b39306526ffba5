// What becomes of detached processes: they outlive who started them, are found again, and only the very same one is ever signalled.
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { readState, startDetached, stopProcess, waitForEnd } from "../../../orchestrator/processes/detached.ts";
import type { StartedProcess } from "../../../orchestrator/processes/detached.ts";
import { isAlive, processIdentity, processesWithArgument } from "../../../orchestrator/processes/identity.ts";
import { until } from "../../support/until.ts";

const FOREVER = "setInterval(() => {}, 1000); process.stdout.write('up\\n');";
const DEAF = `process.on("SIGTERM", () => {}); ${FOREVER}`;

let folder: string;
let started: StartedProcess[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "detached-test-"));
  started = [];
});
afterEach(async () => {
  await Promise.all(started.map((one) => stopProcess(one, { graceMs: 0 })));
  await rm(folder, { recursive: true, force: true });
});

async function start(code: string, more: { env?: Record<string, string>; extra?: unknown; args?: string[] } = {}): Promise<StartedProcess> {
  const one = await startDetached({
    command: process.execPath,
    args: ["-e", code, "--", ...(more.args ?? [])],
    env: more.env ?? {},
    cwd: folder,
    logFile: join(folder, "log"),
    stateFile: join(folder, "state.json"),
    extra: more.extra,
  });
  started.push(one);
  return one;
}
const log = (): Promise<string> => readFile(join(folder, "log"), "utf8");
const isUp = async (): Promise<boolean> => (await log()).includes("up");

describe("a detached process", () => {
  it("is found again from its state file, which only its owner may read", async () => {
    const one = await start(FOREVER, { extra: { port: 4222 } });
    const state = await readState(join(folder, "state.json"));
    expect(state?.identity).toEqual({ pid: one.pid, startedAt: one.startedAt });
    expect(state?.extra).toEqual({ port: 4222 });
    expect(await isAlive({ pid: one.pid, startedAt: one.startedAt })).toBe(true);
    expect((await stat(join(folder, "state.json"))).mode & 0o777).toBe(0o600);
  });

  it("lives on when the process that started it is killed", async () => {
    const module = join(import.meta.dirname, "../../../orchestrator/processes/detached.ts");
    const code = `const { startDetached } = await import(${JSON.stringify(module)});
      await startDetached({ command: process.execPath, args: ["-e", ${JSON.stringify(FOREVER)}], env: {}, cwd: ${JSON.stringify(folder)},
        logFile: ${JSON.stringify(join(folder, "log"))}, stateFile: ${JSON.stringify(join(folder, "state.json"))} });
      setInterval(() => {}, 1000);`;
    const parent = spawn(process.execPath, ["--input-type=module", "-e", code], { stdio: "ignore" });
    await until(async () => (await readState(join(folder, "state.json"))) !== null, { timeoutMs: 10_000 });
    parent.kill("SIGKILL");
    await once(parent, "exit");
    const identity = (await readState(join(folder, "state.json")))?.identity ?? { pid: 0, startedAt: "" };
    expect(await isAlive(identity)).toBe(true);
    await stopProcess(identity, { graceMs: 2_000 });
    expect(await processIdentity(identity.pid)).toBe(null);
  });

  it("inherits nothing of the environment", async () => {
    process.env["DETACHED_TEST_SECRET"] = "s3cret";
    await start("console.log(JSON.stringify(process.env)); " + FOREVER, { env: { GIVEN: "yes" } });
    delete process.env["DETACHED_TEST_SECRET"];
    await until(isUp, { timeoutMs: 5_000 });
    expect(JSON.parse((await log()).split("\n")[0] ?? "")).toEqual({ GIVEN: "yes" });
  });

  it("tells of its exit code, and of a signal as a shell would", async () => {
    expect(await (await start("process.exit(7)")).exited).toEqual({ exitCode: 7 });
    const one = await start(FOREVER);
    process.kill(one.pid, "SIGKILL");
    expect(await one.exited).toEqual({ exitCode: 137 });
    await waitForEnd(one, { signal: AbortSignal.timeout(1_000) });
  });

  it("ends on SIGTERM within its grace and by SIGKILL after it", async () => {
    const polite = await start(FOREVER);
    await stopProcess(polite, { graceMs: 5_000 });
    expect(await polite.exited).toEqual({ exitCode: 143 });
    await writeFile(join(folder, "log"), "");
    const deaf = await start(DEAF);
    await until(isUp, { timeoutMs: 5_000 });
    await stopProcess(deaf, { graceMs: 100 });
    expect(await deaf.exited).toEqual({ exitCode: 137 });
  });

  it("is never signalled by way of a pid that belongs to another process now", async () => {
    const other = await start(FOREVER);
    const reused = { pid: other.pid, startedAt: "another boot/1" };
    expect(await isAlive(reused)).toBe(false);
    await stopProcess(reused, { graceMs: 0 });
    expect(await isAlive(other)).toBe(true);
  });

  it("is refused with the reason where the command does not exist", async () => {
    const missing = {
      command: join(folder, "nothing"),
      args: [],
      env: {},
      cwd: folder,
      logFile: join(folder, "log"),
      stateFile: join(folder, "state.json"),
    };
    await expect(startDetached(missing)).rejects.toThrow("ENOENT");
    expect(await readState(join(folder, "state.json"))).toBe(null);
  });

  it("is found by one of its arguments, whole, where nothing was written down", async () => {
    const one = await start(FOREVER, { args: [`--mark=${folder}`] });
    expect((await processesWithArgument(`--mark=${folder}`)).map(({ pid }) => pid)).toEqual([one.pid]);
    expect(await processesWithArgument(`--mark=${folder.slice(0, -1)}`)).toEqual([]);
  });
});

describe("an identity", () => {
  it("is none for groups, for pids that are free and for what is no pid", async () => {
    expect(await Promise.all([0, -1, Number.NaN, 2 ** 30].map(processIdentity))).toEqual([null, null, null, null]);
  });

  it("is none for a process that exited and was not looked at by its parent", async () => {
    // The shell starts a child that ends at once, then becomes a program that never waits for it.
    const parent = spawn("/bin/sh", ["-c", "sleep 0.2 & echo $!; exec sleep 20"], { stdio: ["ignore", "pipe", "ignore"] });
    try {
      const pid = await new Promise<number>((resolve) => parent.stdout.once("data", (line) => resolve(Number(String(line)))));
      const state = async (): Promise<string> => (await promisify(execFile)("ps", ["-o", "stat=", "-p", String(pid)])).stdout;
      await until(async () => (await state()).startsWith("Z"), { timeoutMs: 5_000 });
      expect(await processIdentity(pid)).toBe(null);
    } finally {
      parent.kill("SIGKILL");
    }
  });

  it("survives names of processes with spaces and brackets", async () => {
    const { startOfStat } = await import("../../../orchestrator/processes/identity.ts");
    const fields = "S 1 10 10 0 -1 4194560 5 0 0 0 1 2 0 0 20 0 1 0 7777 1000 20";
    expect(startOfStat(`10 (a) Z (b)) ${fields}`, "boot")).toBe("boot/7777");
    expect(startOfStat(`10 (x) Z${fields.slice(1)}`, "boot")).toBe(null);
  });
});
