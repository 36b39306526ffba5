// What a push is to whoever delivers it: its refs, its source, a terminal to print to, and the verdict that is asked of it.
import type { SourceFacts } from "../sources/write-source.ts";
import type { CheckOutOptions } from "./check-out.ts";
import type { CommitFacts } from "./commit-facts.ts";

export interface PushReceiver {
  /**
   * Runs while the pushed objects are still in quarantine, one push at a time for each app. Rejecting it, or throwing, leaves every ref
   * as it was. What is printed goes to the pushing terminal, line by line.
   */
  received(push: ReceivedPush): Promise<PushVerdict>;
}

export interface RefUpdate {
  readonly ref: string; // "refs/heads/main"
  readonly oldCommit: string | null;
  readonly newCommit: string | null; // Of an annotated tag, the tag's own id. Null: the ref is deleted.
  readonly peeledCommit: string | null; // The commit that it leads to; null where that is none.
}

export interface ReceivedPush {
  readonly appId: string;
  readonly by: string;
  readonly defaultBranch: string;
  readonly updates: readonly RefUpdate[];
  checkOut(commit: string, options: CheckOutOptions): Promise<SourceFacts>; // Sees what is in quarantine.
  describe(commit: string): Promise<CommitFacts>;
  print(line: string): void;
  readonly signal: AbortSignal; // The pusher went away, or the platform stops.
}

export type PushVerdict = { readonly kind: "accepted" } | { readonly kind: "rejected"; readonly reason: string };
