// Which installs are kept: those that were used last, so many of them, for however long an orchestrator runs.
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { InstallRequest } from "../../../orchestrator/builds/install-request.ts";
import { createInstaller, type Installer } from "../../../orchestrator/builds/installs.ts";
import type { InstallOrder } from "../../../orchestrator/engines/engine.ts";
import { BUILD_GRACE_MS, INSTALL_COUNT_KEPT } from "../../../runtime-image/contract/limits.ts";

let folder = "";
const clock = { now: 0, nowEpochMs: () => clock.now };
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "installs-kept-"));
  clock.now = Date.now();
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

const BYTES = 50_000;

/** What npm would do, or fail to do; which packages they are is no matter here. */
async function install({ into, files }: InstallOrder): Promise<{ exitCode: number }> {
  if (files.has("broken")) return { exitCode: 1 };
  await mkdir(join(into, "node_modules"));
  await writeFile(join(into, "node_modules", "package.js"), Buffer.alloc(BYTES));
  return { exitCode: 0 };
}

const newInstaller = (): Installer =>
  createInstaller({
    folder,
    engine: { kind: "process", install },
    findNpm: async () => ({ folder: "/npm", userConfig: "", extraCaCerts: null }),
    clock,
  });

const request = (hash: string, isBroken = false): InstallRequest => ({
  folder: "/app",
  name: "the app's folder",
  files: new Map(isBroken ? [["broken", new Uint8Array()]] : []),
  hasLock: false,
  allowsScripts: false,
  hash,
  ownPackages: [],
});
const hashOf = (index: number): string => `${index}`.padStart(4, "0");
const kept = async (): Promise<string[]> =>
  (await readdir(folder)).filter((name) => !name.endsWith(".log")).map((name) => name.slice(0, 4));

async function installMany(installer: Installer, count: number, msBetween: number): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    await installer.install(request(hashOf(index)), () => undefined);
    clock.now += msBetween;
  }
}

describe("installs", () => {
  it("go when they are the longest unused of many, also in an orchestrator that has used them all", async () => {
    await installMany(newInstaller(), INSTALL_COUNT_KEPT + 5, BUILD_GRACE_MS);
    expect((await kept()).toSorted()).toEqual(Array.from({ length: INSTALL_COUNT_KEPT }, (_, index) => hashOf(index + 5)));
  });

  it("stay when they were used again, and come back where they were removed", async () => {
    const installer = newInstaller();
    await installMany(installer, INSTALL_COUNT_KEPT, BUILD_GRACE_MS);
    await installer.install(request(hashOf(0)), () => undefined);
    await installer.install(request("more"), () => undefined);
    expect(await kept()).toContain(hashOf(0));
    expect(await kept()).not.toContain(hashOf(1));
    expect(existsSync(join(await installer.install(request(hashOf(1)), () => undefined), "package.js"))).toBe(true);
  });

  it("stay for as long as a plan may still read them, however many there are", async () => {
    await installMany(newInstaller(), INSTALL_COUNT_KEPT + 5, 1);
    expect(await kept()).toHaveLength(INSTALL_COUNT_KEPT + 5);
    expect(await newInstaller().collect()).toEqual({ count: 0, bytes: 0 });
    clock.now += BUILD_GRACE_MS;
    const { count, bytes } = await newInstaller().collect(); // The next orchestrator's.
    expect(count).toBe(5);
    expect(bytes).toBeGreaterThanOrEqual(5 * BYTES);
    expect(await kept()).toHaveLength(INSTALL_COUNT_KEPT);
  });

  it("are whole when they are asked for at the moment in which they are removed", async () => {
    const installer = newInstaller();
    await installMany(installer, INSTALL_COUNT_KEPT + 10, 1);
    clock.now += BUILD_GRACE_MS;
    const old = Array.from({ length: 10 }, (_, index) => hashOf(index));
    const [, ...places] = await Promise.all([
      installer.collect(),
      ...old.map(async (hash) => installer.install(request(hash), () => undefined)),
    ]);
    for (const place of places) expect(existsSync(join(place, "package.js"))).toBe(true);
  });

  it("that failed leave their logs, and no more of them than of installs", async () => {
    await mkdir(folder, { recursive: true });
    for (let index = 0; index < INSTALL_COUNT_KEPT + 3; index += 1) {
      const log = join(folder, `${hashOf(index)}-24-linux-x64-process.log`);
      await writeFile(log, "npm failed\n");
      await utimes(log, index, index);
    }
    const installer = newInstaller();
    await expect(installer.install(request("fail", true), () => undefined)).rejects.toMatchObject({ code: "INSTALL_FAILED" });
    await installer.collect();
    const logs = await readdir(folder);
    expect(logs).toHaveLength(INSTALL_COUNT_KEPT);
    expect(logs.some((name) => name.startsWith("fail"))).toBe(true);
    expect(logs.some((name) => name.startsWith(hashOf(0)))).toBe(false);
  });

  it("do not begin any more once it is closed", async () => {
    const installer = newInstaller();
    await installer.close();
    await expect(installer.install(request("late"), () => undefined)).rejects.toMatchObject({ code: "NOT_RUNNING" });
    expect(await readdir(folder)).toEqual([]);
  });

  it("are nothing to collect where nothing was ever installed", async () => {
    await rm(folder, { recursive: true });
    expect(await newInstaller().collect()).toEqual({ count: 0, bytes: 0 });
    await mkdir(folder);
  });
});
