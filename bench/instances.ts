// Finds the instances of a running platform from outside, and kills one.
import { environmentSettings } from "../orchestrator/config.ts";
import { parseDockerAddress } from "../orchestrator/docker/address.ts";
import { createDockerClient } from "../orchestrator/docker/client.ts";
import { LABELS } from "../orchestrator/docker/labels.ts";
import { findInstances } from "../orchestrator/engines/process-instances.ts";
import { layoutOf } from "../orchestrator/engines/process-layout.ts";
import { containersWith } from "./docker.ts";
import type { RunningPlatform } from "./rows/platform.ts";

export interface FoundInstance {
  readonly instanceId: string;
  readonly pid: number;
  readonly startedEpochMs: number; // When the engine began to start it.
  kill(): Promise<void>;
}

/** Those of staging that run. */
export async function instancesOf(platform: RunningPlatform, functionName: string): Promise<readonly FoundInstance[]> {
  return platform.engine === "docker" ? dockerInstances(platform, functionName) : processInstances(platform, functionName);
}

async function dockerInstances(platform: RunningPlatform, functionName: string): Promise<FoundInstance[]> {
  const docker = createDockerClient(parseDockerAddress(environmentSettings().dockerHost ?? undefined));
  const containers = await containersWith(`${LABELS.platform}=${platform.platformId}`);
  return containers
    .filter(({ labels }) => labels[LABELS.function] === functionName && labels[LABELS.environment] === "staging")
    .map(({ id, pid, labels }) => ({
      instanceId: labels[LABELS.instance] ?? "",
      pid,
      startedEpochMs: Number(labels[LABELS.created]),
      kill: () => docker.containers.kill(id, "SIGKILL"),
    }));
}

async function processInstances(platform: RunningPlatform, functionName: string): Promise<FoundInstance[]> {
  const found = await findInstances(layoutOf(platform.home));
  return found
    .filter(({ isRunning, record }) => isRunning && record.functionName === functionName && record.environment === "staging")
    .map(({ record, identity, startedEpochMs }) => ({
      instanceId: record.instanceId,
      pid: identity.pid,
      startedEpochMs,
      kill: async () => void process.kill(identity.pid, "SIGKILL"),
    }));
}
