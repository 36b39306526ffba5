// Finding, measuring and ending what a builder started as processes, without a user id of its own.
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createFamily, descendants } from "../../../orchestrator/engines/process-family.ts";
import { processTable, rowOfStatus, tableByPs } from "../../../orchestrator/engines/process-table.ts";
import { processIdentity } from "../../../orchestrator/processes/identity.ts";
import { until } from "../../support/until.ts";

vi.setConfig({ testTimeout: 30_000 });
let home = "";
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "process-family-"));
});
afterEach(() => rm(home, { recursive: true, force: true }));

const row = (pid: number, parentPid: number) => ({ pid, parentPid, uid: 0, memoryBytes: 0 });

/** Starts a process that starts another, detached, tells its pid and perhaps ends. */
async function startTwo(then: string, keep: string): Promise<{ readonly pid: number; readonly innerPid: number }> {
  const inner = `spawn(process.execPath, ["-e", ${JSON.stringify(keep)}], { detached: true, stdio: "ignore" })`;
  const code = `const { spawn } = require("node:child_process"); const child = ${inner}; child.unref(); console.log(child.pid); ${then}`;
  const child = spawn(process.execPath, ["-e", code], { env: { HOME: home }, detached: true, stdio: ["ignore", "pipe", "inherit"] });
  let printed = "";
  child.stdout.on("data", (bytes: Buffer) => (printed += bytes.toString()));
  await until(() => printed.includes("\n"), { timeoutMs: 10_000 });
  if (child.pid === undefined) throw new Error("it was started");
  return { pid: child.pid, innerPid: Number(printed) };
}

describe("a family of processes", () => {
  it("is ended as a whole, with who went away into a session of its own", async () => {
    const { pid, innerPid } = await startTwo("setInterval(() => {}, 1_000);", "setInterval(() => {}, 1_000);");
    const family = createFamily({ nodePath: process.execPath, uid: null, home });
    await family.add(pid);
    await family.end();
    expect(await Promise.all([processIdentity(pid), processIdentity(innerPid)])).toEqual([null, null]);
    await family.end(); // Of nobody is fine.
  });

  it("is found by its environment where its parents ended before anyone had looked", async () => {
    const { pid, innerPid } = await startTwo("", "setInterval(() => {}, 1_000);");
    await until(async () => (await processIdentity(pid)) === null, { timeoutMs: 10_000 });
    const stranger = createFamily({ nodePath: process.execPath, uid: null, home: `${home}-other` });
    await stranger.end();
    expect(await processIdentity(innerPid)).not.toBeNull();
    await createFamily({ nodePath: process.execPath, uid: null, home }).end();
    expect(await processIdentity(innerPid)).toBeNull();
  });

  it("counts the memory of all of them together", async () => {
    const hungry = "globalThis.kept = Buffer.alloc(100_000_000, 1); setInterval(() => {}, 1_000);";
    const { pid } = await startTwo("setInterval(() => {}, 1_000);", hungry);
    const family = createFamily({ nodePath: process.execPath, uid: null, home });
    await family.add(pid);
    await until(async () => (await family.memoryBytes()) > 100_000_000, { timeoutMs: 10_000 });
    expect(await family.memoryBytes()).toBeLessThan(400_000_000);
    await family.end();
    expect(await family.memoryBytes()).toBe(0);
  });

  it("is who was there first and all below, in whatever order they are listed", () => {
    const rows = [row(9, 5), row(5, 3), row(3, 1), row(4, 1), row(1, 0)];
    expect(descendants(rows, new Set([3])).map(({ pid }) => pid)).toEqual([9, 5, 3]);
    expect(descendants(rows, new Set([77]))).toEqual([]);
  });
});

describe("the table of processes", () => {
  it("is read from what the kernel says of each", () => {
    const text =
      "Name:\tnode a\nState:\tS (sleeping)\nTgid:\t7\nPid:\t7\nPPid:\t3\nUid:\t10\t11\t12\t13\nRssAnon:\t  40 kB\nRssShmem:\t  2 kB\n";
    expect(rowOfStatus(text)).toEqual({ pid: 7, parentPid: 3, uid: 10, memoryBytes: 42 * 1_024 });
    expect(rowOfStatus(text.replace("S (sleeping)", "Z (zombie)"))).toBeNull();
    expect(rowOfStatus("")).toBeNull();
  });

  it("is the same where only ps tells it", async () => {
    const facts = (rows: Awaited<ReturnType<typeof processTable>>) => {
      const own = rows.find(({ pid }) => pid === process.pid);
      return own && { parentPid: own.parentPid, uid: own.uid, isLarge: own.memoryBytes > 10_000_000 };
    };
    const expected = { parentPid: process.ppid, uid: process.getuid?.(), isLarge: true };
    expect(facts(await processTable())).toEqual(expected);
    expect(facts(await tableByPs())).toEqual(expected);
  });
});
