// Picks the engine: docker where one answers, otherwise processes, unless the owner said which.
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { buildRuntimeBundle } from "../images/runtime-bundle.ts";
import { DEFAULT_NODE_IMAGE, type Progress } from "../images/node-base.ts";
import type { EngineChoice } from "../config.ts";
import { type DockerAddress, describeDockerAddress } from "../docker/address.ts";
import { createDockerClient } from "../docker/client.ts";
import { createDockerEngine } from "./docker-engine.ts";
import type { Engine } from "./engine.ts";
import { createProcessEngine } from "./process-engine.ts";

export interface EngineParts {
  readonly choice: EngineChoice;
  readonly home: string;
  readonly platformId: string;
  readonly docker: DockerAddress;
  readonly progress: Progress;
}

export interface ChosenEngine {
  readonly engine: Engine;
  readonly reason: string | null; // Why it is not docker, where nobody asked for anything else.
}

export async function chooseEngine(parts: EngineParts): Promise<ChosenEngine> {
  if (parts.choice === "process") return { engine: processEngine(parts), reason: null };
  if (parts.choice === "docker") return { engine: dockerEngine(parts), reason: null };
  try {
    await createDockerClient(parts.docker).engineInfo();
  } catch (cause) {
    if (!(cause instanceof PlatformError)) throw cause;
    const where = describeDockerAddress(parts.docker);
    return {
      engine: processEngine(parts),
      reason: `no Docker engine answers at ${where}, so functions run as restricted Node processes: for your own code on your own machine, not a wall`,
    };
  }
  return { engine: dockerEngine(parts), reason: null };
}

/** What base images are made from, also without any platform running. */
export const imageOptions = { nodeImage: DEFAULT_NODE_IMAGE, runtimeBundle: buildRuntimeBundle };

const dockerEngine = (parts: EngineParts): Engine =>
  createDockerEngine({
    platformId: parts.platformId,
    homeLabel: parts.home,
    docker: parts.docker,
    progress: parts.progress,
    ...imageOptions,
  });

const processEngine = (parts: EngineParts): Engine =>
  createProcessEngine({ home: parts.home, platformId: parts.platformId, nodePath: process.execPath, runtimeBundle: buildRuntimeBundle });
