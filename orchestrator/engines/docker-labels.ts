// The names and labels of everything that we make in a Docker engine: by them it is found again, and by them it is removed.
import { createHash } from "node:crypto";
import type { Environment } from "../../runtime-image/contract/instance-manifest.ts";
import type { InstanceSpec, ObservedInstance } from "./engine.ts";
import { LABELS } from "../docker/labels.ts";
import type { ListedContainer } from "../docker/api.ts";

/** "build", "install", "builder" and "helper" live for a while only; "image" is what several platforms share. */
export type Role = "instance" | "build" | "install" | "builder" | "helper" | "network" | "image";

export interface Platform {
  readonly platformId: string;
  readonly homeLabel: string;
}

export const labelsOf = (platform: Platform, role: Role): Record<string, string> => ({
  [LABELS.platform]: platform.platformId,
  [LABELS.home]: platform.homeLabel,
  [LABELS.role]: role,
});

/** What finds a platform's things again, all or those of one role; its home may have moved since they were made. */
export const selectorOf = ({ platformId }: Platform, role?: Role): Record<string, string> => ({
  [LABELS.platform]: platformId,
  ...(role !== undefined && { [LABELS.role]: role }),
});

export const instanceLabels = (platform: Platform, spec: InstanceSpec, createdEpochMs: number): Record<string, string> => ({
  ...labelsOf(platform, "instance"),
  [LABELS.app]: spec.appId,
  [LABELS.environment]: spec.environment,
  [LABELS.function]: spec.functionName,
  [LABELS.build]: spec.buildId,
  [LABELS.config]: spec.configId,
  [LABELS.instance]: spec.instanceId,
  [LABELS.created]: String(createdEpochMs),
});

/** Null for a container that is no instance, or that was never started. */
export function observedInstance(container: ListedContainer): ObservedInstance | null {
  const isRunning = ["running", "paused", "restarting"].includes(container.state);
  if (!isRunning && container.state !== "exited" && container.state !== "dead") return null;
  const { labels } = container;
  const instanceId = labels[LABELS.instance];
  const environment = labels[LABELS.environment];
  if (instanceId === undefined || (environment !== "staging" && environment !== "production")) return null;
  return {
    instanceId,
    environment,
    appId: labels[LABELS.app] ?? "",
    functionName: labels[LABELS.function] ?? "",
    buildId: labels[LABELS.build] ?? "",
    configId: labels[LABELS.config] ?? "",
    state: isRunning ? "running" : "exited",
    startedEpochMs: Number(labels[LABELS.created] ?? 0),
  };
}

export const instanceContainerName = (platformId: string, instanceId: string): string => `orchestrator-${platformId}-${instanceId}`;
export const networkName = (platformId: string, environment: Environment): string => `orchestrator-${platformId}-${environment}`;

export const installNetworkName = (platformId: string): string => `orchestrator-${platformId}-install`;

/** At most 15 characters, the kernel's limit for an interface; hashed, because a platform's id may be longer. */
export const bridgeName = (platformId: string, environment: Environment | "install"): string =>
  `orc-${shortHash(platformId)}-${environment.slice(0, 1)}`;

export const shortHash = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 8);
