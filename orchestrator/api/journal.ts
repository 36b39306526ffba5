// What lately became of the platform: a bounded list of state changes in memory, for streams of events and for those who missed some.
import type { Environment } from "../../runtime-image/contract/instance-manifest.ts";
import { API_EVENT_COUNT_KEPT } from "../../runtime-image/contract/limits.ts";
import type { Clock } from "../clock.ts";

export const CHANGE_KINDS = ["deployed", "promoted", "rolled-back", "deploy-failed", "failure", "replaced", "trouble"] as const;

export interface StateChange {
  readonly kind: (typeof CHANGE_KINDS)[number];
  readonly app?: string; // Its name.
  readonly environment: Environment;
  readonly functionName?: string;
  readonly releaseId?: string;
  readonly text: string; // One sentence for people.
}

export interface JournalEntry extends StateChange {
  readonly id: string;
  readonly epochMs: number;
}

export interface Journal {
  add(change: StateChange): void;
  /** Those after that id, oldest first; none where it is null. Null where some of them are no longer known. */
  after(id: string | null): readonly JournalEntry[] | null;
  follow(hear: (entry: JournalEntry) => void): () => void;
}

export function createJournal(clock: Clock): Journal {
  const run = clock.nowEpochMs().toString(36); // Ids of an earlier orchestrator are known to be others.
  const kept: JournalEntry[] = [];
  const followers = new Set<(entry: JournalEntry) => void>();
  let count = 0;
  return {
    add(change) {
      count += 1;
      const entry = { id: `${run}-${count}`, epochMs: clock.nowEpochMs(), ...change };
      kept.push(entry);
      if (kept.length > API_EVENT_COUNT_KEPT) kept.shift();
      for (const follower of followers) follower(entry);
    },
    after(id) {
      if (id === null) return [];
      const [, number] = new RegExp(`^${run}-(\\d{1,15})$`).exec(id) ?? [];
      if (number === undefined || Number(number) < count - kept.length) return null;
      return kept.slice(kept.length - Math.max(0, count - Number(number)));
    },
    follow(hear) {
      followers.add(hear);
      return () => followers.delete(hear);
    },
  };
}
