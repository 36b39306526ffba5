// The control state in memory, with the rules of the broker's: revisions move forward, and a write may ask for one.
import type { ControlState } from "../../orchestrator/releases/release-book.ts";

export interface MemoryState extends ControlState {
  readonly keys: () => string[];
}

export function memoryState(): MemoryState {
  const entries = new Map<string, { value: unknown; revision: number }>();
  let revision = 0;
  return {
    keys: () => [...entries.keys()].toSorted(),
    read: async (key) => entries.get(key) ?? null,
    async write(key, value, { expectedRevision } = {}) {
      if (expectedRevision !== undefined && (entries.get(key)?.revision ?? 0) !== expectedRevision) return null;
      revision += 1;
      entries.set(key, { value: structuredClone(value), revision });
      return revision;
    },
    remove: async (key) => void entries.delete(key),
    list: async (prefix) => [...entries].filter(([key]) => key.startsWith(`${prefix}.`)).map(([key, { value }]) => ({ key, value })),
  };
}
