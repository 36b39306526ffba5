// A builder of the engine "process" does what every builder does.
import { randomBytes } from "node:crypto";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { readFile, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll } from "vitest";

import { createProcessEngine } from "../../orchestrator/engines/process-engine.ts";
import { layoutOf } from "../../orchestrator/engines/process-layout.ts";
import { buildRuntimeBundle } from "../../orchestrator/images/runtime-bundle.ts";
import { builderBehaviour } from "./builder-behaviour.ts";

const home = mkdtempSync(join(tmpdir(), "process-builder-"));
chmodSync(home, 0o711); // So that builders can have users of their own where this runs as root.
const platformId = `conform-${randomBytes(4).toString("hex")}`; // User ids go by it, and a builder ends all that run as its own.
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** What was started in a builder has its folder in its environment. */
async function processesOf(folder: string): Promise<string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const environments = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/environ`, "latin1").catch(() => "")));
  return pids.filter((_, index) => environments[index]?.includes(folder));
}

builderBehaviour(
  "process",
  () => createProcessEngine({ home, platformId, nodePath: process.execPath, runtimeBundle: buildRuntimeBundle }),
  {
    exempt: {
      "number of processes": "nothing bounds it; all of them are found and ended",
      ...(process.getuid?.() !== 0 && { "other builders": "without root they all run as the user who started the platform" }),
    },
    leftovers: async () => {
      const { builders } = layoutOf(home);
      return [...(await readdir(builders).catch(() => [])), ...(await processesOf(builders))];
    },
  },
);
