// What a power cut leaves on the disk is enough: documents and sessions, the builds that answer, and the packages they are made from.
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { makeFolder } from "../../orchestrator/engines/process-folders.ts";
import { syncTree } from "../../orchestrator/processes/sync-tree.ts";
import { cutPower } from "../crash/power-cuts.ts";
import { mayMount } from "../support/crash-disk.ts";
import { mountPowerDisk } from "../support/crash-power.ts";

const CUT_COUNT = 2;
const DISK_BYTES = 50_000_000;
const TEXT = "module.exports = 1;\n".repeat(1_000);

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
      const packages = join(disk, "packages");
      await mkdir(join(packages, "node_modules/one"), { recursive: true });
      await writeFile(join(packages, "node_modules/one/index.js"), TEXT);
      await syncTree(packages);
      await writeFile(join(disk, "unsynced.js"), TEXT);
      await power.keep();
      await power.comeBack();
      expect(await readFile(join(disk, "build/src/http/get-index/index.js"), "utf8")).toBe(TEXT);
      expect(await readFile(join(packages, "node_modules/one/index.js"), "utf8")).toBe(TEXT);
      expect(await readFile(join(disk, "unsynced.js"), "utf8").catch(() => "")).toBe(""); // Or this proves nothing.
    } finally {
      await power.unmount();
      await rm(disk, { recursive: true, force: true });
    }
  });
});
