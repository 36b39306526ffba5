// The snapshots of one environment: written by the orchestrator, read by that environment's gateways.
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { SNAPSHOT_VERSION, type AppSnapshot } from "../../runtime-image/contract/snapshot.ts";
import type { Bucket, Entry } from "./connection.ts";

/** What a caller decides; version and sequence are the store's. */
export type SnapshotContent = Omit<AppSnapshot, "v" | "sequence">;

export interface SnapshotStore {
  /** Returns the sequence that gateways will report once they serve from it. */
  publish(content: SnapshotContent): Promise<number>;
  read(appId: string): Promise<AppSnapshot | null>;
  remove(appId: string): Promise<void>;
}

const WRITE_ATTEMPT_COUNT_MAX = 5; // A second writer exists only while one orchestrator takes over from another.

export function createSnapshotStore(bucket: Bucket): SnapshotStore {
  return {
    publish: async (content) => {
      for (let attempt = 1; attempt <= WRITE_ATTEMPT_COUNT_MAX; attempt += 1) {
        const current = await bucket.get(content.appId);
        const snapshot: AppSnapshot = { ...content, v: SNAPSHOT_VERSION, sequence: nextSequence(current) };
        const revision = await bucket.put(content.appId, Buffer.from(JSON.stringify(snapshot)), {
          expectedRevision: current?.revision ?? 0,
        });
        if (revision !== null) return snapshot.sequence;
      }
      throw new PlatformError("NATS_FAILED", {
        detail: `The snapshot of ${content.appId} changed under ${WRITE_ATTEMPT_COUNT_MAX} writes.`,
      });
    },
    read: async (appId) => snapshotIn(await bucket.get(appId)),
    remove: (appId) => bucket.remove(appId),
  };
}

/** Moves forward, also after a removal: revisions of a bucket only grow, and no sequence was ever above its revision. */
export function nextSequence(current: Entry | null): number {
  if (current === null) return 1;
  return Math.max(snapshotIn(current)?.sequence ?? 0, current.revision) + 1;
}

/** Null for what is removed, and for what no orchestrator of this version wrote. */
export function snapshotIn(entry: Entry | null): AppSnapshot | null {
  if (entry === null || entry.bytes === null) return null;
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(entry.bytes).toString("utf8"));
  } catch {
    return null;
  }
  if (typeof value !== "object" || value === null) return null;
  const snapshot: Partial<Record<keyof AppSnapshot, unknown>> = value;
  if (snapshot.v !== SNAPSHOT_VERSION || !Number.isSafeInteger(snapshot.sequence)) return null;
  return value as AppSnapshot; // Its version says that this module wrote it.
}
