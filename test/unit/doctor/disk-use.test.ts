// How much room a home takes: by part, bounded, and honest about what it did not see.
import { execFileSync } from "node:child_process";
import { chmod, link, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createDiskMeasure, type DiskPartName, type DiskReport, measureDisk } from "../../../orchestrator/doctor/disk-use.ts";
import type { DiskUse } from "../../../orchestrator/engines/engine.ts";

let home = "";
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "disk-use-"));
});
afterEach(async () => {
  await rm(home, { recursive: true });
});

async function put(path: string, bytes: number): Promise<void> {
  await mkdir(dirname(join(home, path)), { recursive: true });
  await writeFile(join(home, path), Buffer.alloc(bytes, 1));
}
const partOf = ({ parts }: DiskReport, name: DiskPartName) => parts.find(({ part }) => part === name);
const USE: DiskUse = { buildCount: 3, buildBytes: 30, imageBytes: 300, freeBytes: 3_000 };

describe("the room that a home takes", () => {
  it("is told by part, and all parts together are what du says", async () => {
    await put("broker/store/a", 100_000);
    await put("installs/k/node_modules/x/index.js", 50_000);
    await put("builds/b1/index.js", 40_000);
    await put("runtime/r1/main.js", 30_000);
    await put("api-token", 64);
    const report = await measureDisk({ home, engine: null });
    expect(partOf(report, "broker")?.bytes).toBeGreaterThanOrEqual(100_000);
    expect(partOf(report, "broker")).toMatchObject({ fileCount: 1, isWhole: true });
    expect(partOf(report, "builds")?.bytes).toBeGreaterThanOrEqual(70_000);
    expect(partOf(report, "other")).toMatchObject({ fileCount: 1 });
    expect(partOf(report, "sites")).toMatchObject({ bytes: 0, fileCount: 0 });
    const ownBytes = 4_096; // Of the home's folder itself.
    const [du = ""] = execFileSync("du", ["--summarize", "--block-size=1", home], { encoding: "utf8" }).split("\t");
    expect(Math.abs(report.bytes - Number(du))).toBeLessThanOrEqual(ownBytes);
    expect(report).toMatchObject({ home, isWhole: true, engine: null });
    expect(report.freeBytes).toBeGreaterThan(0);
  });

  it("counts a file once whatever names it has, and a link as a link", async () => {
    await put("installs/a/file", 1_000_000);
    await mkdir(join(home, "work"));
    await link(join(home, "installs/a/file"), join(home, "installs/a/again"));
    await symlink(join(home, "installs/a/file"), join(home, "work/link"));
    await symlink("/", join(home, "work/root"));
    const report = await measureDisk({ home, engine: null });
    expect(report.bytes).toBeGreaterThanOrEqual(1_000_000);
    expect(report.bytes).toBeLessThan(1_200_000);
  });

  it("stops at its bounds and says which parts are not whole", async () => {
    await Promise.all(Array.from({ length: 300 }, async (_, index) => put(`installs/${index % 3}/file-${index}`, 1)));
    await put("api-token", 64);
    const report = await measureDisk({ home, engine: null, bounds: { entryCountMax: 100, timeoutMs: 60_000 } });
    expect(partOf(report, "installs")).toMatchObject({ isWhole: false });
    expect(partOf(report, "installs")?.fileCount).toBeLessThan(300);
    expect(partOf(report, "other")).toMatchObject({ fileCount: 1, isWhole: true });
    expect(report.isWhole).toBe(false);
    expect((await measureDisk({ home, engine: null, bounds: { entryCountMax: 1_000, timeoutMs: -1 } })).isWhole).toBe(false);
  });

  // Root may look everywhere.
  it.each(process.getuid?.() === 0 ? [] : ["where it may not look"])("says so %s", async () => {
    // Root may look everywhere, so that it cannot be shown there.
    await put("keys/secret", 10);
    await chmod(join(home, "keys"), 0o000);
    expect(await measureDisk({ home, engine: null })).toMatchObject({ isWhole: false });
    await chmod(join(home, "keys"), 0o700);
  });

  it("is nothing where there is no home", async () => {
    expect(await measureDisk({ home: join(home, "none"), engine: null })).toMatchObject({ bytes: 0, isWhole: true, freeBytes: null });
  });
});

describe("what an engine keeps elsewhere", () => {
  it("is told as the engine tells it", async () => {
    const report = await measureDisk({ home, engine: { kind: "docker", diskUse: async () => USE } });
    expect(report.engine).toEqual({ kind: "docker", ...USE });
  });

  it("is left out where the engine fails, or is still counting when the time is over", async () => {
    const failing = { kind: "docker", diskUse: async () => Promise.reject(new Error("away")) } as const;
    expect((await measureDisk({ home, engine: failing })).engine).toBeNull();
    const slow = { kind: "docker", diskUse: async () => new Promise<DiskUse>(() => undefined) } as const;
    const startMs = performance.now();
    expect((await measureDisk({ home, engine: slow, bounds: { entryCountMax: 100, timeoutMs: 50 } })).engine).toBeNull();
    expect(performance.now() - startMs).toBeLessThan(5_000);
  });

  it("is asked for once by all who ask at the same time", async () => {
    let count = 0;
    const disk = createDiskMeasure({
      home,
      engine: {
        kind: "docker",
        async diskUse() {
          count += 1;
          return USE;
        },
      },
    });
    const [one, other] = await Promise.all([disk(), disk()]);
    expect(one).toBe(other);
    expect(count).toBe(1);
    expect(await disk()).not.toBe(one);
  });
});
