// The engine "process" does what every engine does.
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll } from "vitest";

import { createProcessEngine } from "../../orchestrator/engines/process-engine.ts";
import { layoutOf } from "../../orchestrator/engines/process-layout.ts";
import { buildRuntimeBundle } from "../../orchestrator/images/runtime-bundle.ts";
import { readState } from "../../orchestrator/processes/detached.ts";
import { engineBehaviour } from "./engine-behaviour.ts";

const home = mkdtempSync(join(tmpdir(), "process-engine-"));
chmodSync(home, 0o711); // So that instances can have users of their own where this runs as root.
const layout = layoutOf(home);
afterAll(() => rmSync(home, { recursive: true, force: true }));

const entriesOf = (folder: string): Promise<string[]> => readdir(folder).catch(() => []);

engineBehaviour(
  "process",
  () => createProcessEngine({ home, platformId: "conformance", nodePath: process.execPath, runtimeBundle: buildRuntimeBundle }),
  {
    exempt: {},
    async kill(instanceId) {
      const state = await readState(layout.instance(instanceId).stateFile);
      if (state === null) throw new Error(`${instanceId} has no state file`);
      process.kill(state.identity.pid, "SIGKILL");
    },
    leftovers: async () => [...(await entriesOf(layout.instances)), ...(await entriesOf(layout.temporary))],
  },
);
