// The engine "docker" does what every engine does.
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

import { afterAll } from "vitest";

import { parseDockerAddress } from "../../orchestrator/docker/address.ts";
import { createDockerEngine } from "../../orchestrator/engines/docker-engine.ts";
import { LABELS } from "../../orchestrator/docker/labels.ts";
import { instanceContainerName } from "../../orchestrator/engines/docker-labels.ts";
import type { Engine } from "../../orchestrator/engines/engine.ts";
import { buildRuntimeBundle } from "../../orchestrator/images/runtime-bundle.ts";
import { engineBehaviour } from "./engine-behaviour.ts";

const platformId = `conform-${randomBytes(3).toString("hex")}`;
const home = mkdtempSync(join(tmpdir(), "engine-home-")); // Images whose home is gone are removed by whatever tests end beside these.
const docker = async (...args: string[]): Promise<string> => (await promisify(execFile)("docker", args)).stdout;

/** A machine without Docker fails here, with what to do; nothing is skipped. */
function makeEngine(): Engine {
  const engine = createDockerEngine({
    platformId,
    homeLabel: home,
    docker: parseDockerAddress(process.env["DOCKER_HOST"]),
    nodeImage: null,
    progress: () => undefined,
    runtimeBundle: buildRuntimeBundle,
  });
  return {
    ...engine,
    description: "", // A spread would read it now.
    async prepare() {
      await docker("version").catch((cause: unknown) => {
        throw new Error("Docker does not answer, and these tests need it: run ./setup --docker", { cause });
      });
      await engine.prepare();
    },
  };
}

// Builds outlive an engine, but not these tests. One that another platform's container uses meanwhile stays, and is that platform's.
afterAll(async () => {
  const images = await docker("image", "ls", "--filter", `label=${LABELS.platform}=${platformId}`, "--format", "{{.Repository}}:{{.Tag}}");
  for (const image of images.split("\n").filter((line) => line !== "")) await docker("image", "rm", image).catch(() => undefined);
  rmSync(home, { recursive: true, force: true });
});

engineBehaviour("docker", makeEngine, {
  exempt: {
    "child processes": "a container bounds them by number; what they may do is what the container may",
    "threads that leave the sandbox": "the sandbox is the container, which no thread leaves",
  },
  kill: async (instanceId) => void (await docker("kill", "--signal", "KILL", instanceContainerName(platformId, instanceId))),
  leftovers: async () => {
    const filter = ["--filter", `label=${LABELS.platform}=${platformId}`, "--quiet"];
    const found = await Promise.all([
      docker("ps", "--all", ...filter),
      docker("network", "ls", ...filter),
      docker("volume", "ls", ...filter),
    ]);
    return found.flatMap((ids) => ids.split("\n").filter((id) => id !== ""));
  },
});
