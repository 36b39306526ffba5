// Decides which snapshot of an app is current: the newest that makes sense.
import { SNAPSHOT_VERSION, type AppSnapshot } from "../runtime-image/contract/snapshot.ts";

export type SnapshotNews =
  | { readonly kind: "changed"; readonly snapshot: AppSnapshot }
  | { readonly kind: "removed"; readonly appId: string }
  | { readonly kind: "ignored"; readonly reason: string };

export interface Snapshots {
  /** Null where the app was removed from the bucket. */
  take(appId: string, text: string | null): SnapshotNews;
  sequences(): Record<string, number>;
}

export function createSnapshots(): Snapshots {
  const current = new Map<string, number>(); // Sequences by app id.
  return {
    take(appId, text) {
      if (text === null) return current.delete(appId) ? { kind: "removed", appId } : { kind: "ignored", reason: "it was not known" };
      const snapshot = readSnapshot(text);
      if (snapshot === null || snapshot.appId !== appId) return { kind: "ignored", reason: "it is no snapshot of this version" };
      const known = current.get(appId);
      if (known !== undefined && snapshot.sequence <= known)
        return { kind: "ignored", reason: `its sequence ${snapshot.sequence} is not above ${known}` };
      current.set(appId, snapshot.sequence);
      return { kind: "changed", snapshot };
    },
    sequences: () => Object.fromEntries(current),
  };
}

function readSnapshot(text: string): AppSnapshot | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  return isSnapshot(value) ? value : null;
}

// The orchestrator writes it, of the same version; this catches what a broken write or another version would leave.
function isSnapshot(value: unknown): value is AppSnapshot {
  if (typeof value !== "object" || value === null) return false;
  const snapshot: Partial<Record<keyof AppSnapshot, unknown>> = value;
  const { deployment } = snapshot;
  return (
    snapshot.v === SNAPSHOT_VERSION &&
    typeof snapshot.appId === "string" &&
    Number.isSafeInteger(snapshot.sequence) &&
    Array.isArray(snapshot.hosts) &&
    typeof snapshot.isDefault === "boolean" &&
    typeof deployment === "object" &&
    deployment !== null &&
    "kind" in deployment &&
    (deployment.kind === "none" ||
      (deployment.kind === "live" && "functions" in deployment && Array.isArray(deployment.functions) && "broker" in deployment))
  );
}
