// What a power cut leaves on the disk is enough: documents and sessions, the builds that answer, and the packages they are made from.
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createInstaller } from "../../orchestrator/builds/installs.ts";
import type { InstallOrder } from "../../orchestrator/engines/engine.ts";
import { makeFolder } from "../../orchestrator/engines/process-folders.ts";
import { cutPower } from "../crash/power-cuts.ts";
import { mayMount } from "../support/crash-disk.ts";
import { mountPowerDisk } from "../support/crash-power.ts";

const CUT_COUNT = 2;
const DISK_BYTES = 50_000_000;
const TEXT = "module.exports = 1;\n".repeat(1_000);

/** Installs one package, as npm would write it; the answer is the folder of packages. */
async function installOne(folder: string): Promise<string> {
  await mkdir(folder);
  const install = async ({ into }: InstallOrder): Promise<{ exitCode: number }> => {
    await mkdir(join(into, "node_modules/one"), { recursive: true });
    await writeFile(join(into, "node_modules/one/index.js"), TEXT);
    return { exitCode: 0 };
  };
  const findNpm = async () => ({ folder: "/npm", userConfig: "", extraCaCerts: null });
  const request = { folder: "/app", name: "it", files: new Map(), hasLock: false, allowsScripts: false, hash: "0001", ownPackages: [] };
  return createInstaller({ folder, engine: { kind: "process", install }, findNpm }).install(request, () => undefined);
}

describe("after a power cut", () => {
  it.runIf(mayMount)("everything that was acknowledged is there, and what was live answers", async () => {
    const said: string[] = [];
    const losses = await cutPower({ engine: "process", seed: 1, clientCount: 4, say: (text) => void said.push(text), cutCount: CUT_COUNT });
    expect(losses).toEqual([]);
    expect(said).toHaveLength(CUT_COUNT);
  });

  it.runIf(mayMount)("a build is whole and so are packages, and what nobody waited for is not there", async () => {
    const disk = await mkdtemp(join(tmpdir(), "orchestrator-power-"));
    const power = await mountPowerDisk(disk, DISK_BYTES);
    try {
      await makeFolder(join(disk, "build"), [{ path: "src/http/get-index/index.js", bytes: Buffer.from(TEXT) }]);
      const packages = await installOne(join(disk, "installs"));
      await writeFile(join(disk, "unsynced.js"), TEXT);
      await power.keep();
      await power.comeBack();
      expect(await readFile(join(disk, "build/src/http/get-index/index.js"), "utf8")).toBe(TEXT);
      expect(await readFile(join(packages, "one/index.js"), "utf8")).toBe(TEXT);
      expect(await readFile(join(disk, "unsynced.js"), "utf8").catch(() => "")).toBe(""); // Or this proves nothing.
    } finally {
      await power.unmount();
      await rm(disk, { recursive: true, force: true });
    }
  });
});
