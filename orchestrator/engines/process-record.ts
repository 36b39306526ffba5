// What is written down of an instance beside its identity, so that a later orchestrator knows what it finds.
import { ENVIRONMENTS } from "../../runtime-image/contract/instance-manifest.ts";
import type { Environment } from "../../runtime-image/contract/instance-manifest.ts";
import type { DetachedState } from "../processes/detached.ts";
import type { Identity } from "../processes/identity.ts";
import type { InstanceSpec, ObservedInstance } from "./engine.ts";

export interface InstanceRecord {
  readonly instanceId: string;
  readonly appId: string;
  readonly environment: Environment;
  readonly functionName: string;
  readonly buildId: string;
  readonly configId: string;
  readonly runtimeHash: string;
  readonly uid: number | null; // Null: the orchestrator's own.
}

export interface KnownInstance {
  readonly identity: Identity;
  readonly startedEpochMs: number;
  readonly record: InstanceRecord;
}

export const recordOf = (spec: InstanceSpec, runtimeHash: string, uid: number | null): InstanceRecord => ({
  instanceId: spec.instanceId,
  appId: spec.appId,
  environment: spec.environment,
  functionName: spec.functionName,
  buildId: spec.buildId,
  configId: spec.configId,
  runtimeHash,
  uid,
});

/** Null where the state file is not, or not any more, one of an instance. */
export function knownInstance(state: DetachedState | null): KnownInstance | null {
  if (state === null || typeof state.extra !== "object" || state.extra === null) return null;
  const extra: Partial<Record<keyof InstanceRecord, unknown>> = state.extra;
  const { instanceId, appId, functionName, buildId, configId, runtimeHash, uid } = extra;
  const environment = ENVIRONMENTS.find((name) => name === extra.environment);
  if (typeof instanceId !== "string" || typeof appId !== "string" || environment === undefined) return null;
  if (typeof functionName !== "string" || typeof buildId !== "string" || typeof runtimeHash !== "string") return null;
  if (typeof uid !== "number" && uid !== null && uid !== undefined) return null;
  const known = { instanceId, appId, environment, functionName, buildId, runtimeHash, uid: uid ?? null };
  const record = { ...known, configId: typeof configId === "string" ? configId : "" }; // Written since instances have variables.
  return { identity: state.identity, startedEpochMs: state.startedEpochMs, record };
}

export const observed = ({ record, startedEpochMs }: KnownInstance, isRunning: boolean): ObservedInstance => ({
  instanceId: record.instanceId,
  appId: record.appId,
  environment: record.environment,
  functionName: record.functionName,
  buildId: record.buildId,
  configId: record.configId,
  state: isRunning ? "running" : "exited",
  startedEpochMs,
});
