// A Store in memory, for tests of what is built on one: the same behaviour as the real one, without a broker.
import { RevisionConflict, type BucketName, type Store, type StoredValue } from "../../runtime-image/library/bridge.ts";

export function createMemoryStore(): Store {
  const buckets: Record<BucketName, Map<string, StoredValue>> = { sessions: new Map(), data: new Map() };
  let lastRevision = 0;
  return {
    get: async (bucket, key) => {
      const stored = buckets[bucket].get(key);
      return stored === undefined ? null : { bytes: Uint8Array.from(stored.bytes), revision: stored.revision };
    },
    put: async (bucket, key, bytes, { expectedRevision } = {}) => {
      const current = buckets[bucket].get(key)?.revision ?? 0;
      if (expectedRevision !== undefined && expectedRevision !== current)
        throw new RevisionConflict(`${key} has revision ${current}, not ${expectedRevision}`);
      lastRevision += 1;
      buckets[bucket].set(key, { bytes: Uint8Array.from(bytes), revision: lastRevision });
      return lastRevision;
    },
    remove: async (bucket, key, { expectedRevision } = {}) => {
      const current = buckets[bucket].get(key)?.revision;
      if (expectedRevision === undefined || expectedRevision === current) buckets[bucket].delete(key);
    },
    list: async (bucket, { prefix, after, limit }) =>
      [...buckets[bucket].keys()]
        .filter((key) => key.startsWith(prefix) && (after === null || key > after))
        .toSorted() // Keys are ASCII, so this is the order of their bytes.
        .slice(0, limit),
    count: async (bucket, prefix) => [...buckets[bucket].keys()].filter((key) => key.startsWith(prefix)).length,
  };
}
