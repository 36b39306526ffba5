// A site that was planned: its index and the contents that it needs, not written yet.
import type { SiteIndex, SiteSnapshot } from "../../runtime-image/contract/snapshot.ts";

export interface PlannedSite {
  readonly snapshot: SiteSnapshot;
  readonly index: SiteIndex;
  readonly contents: ReadonlyMap<string, Uint8Array>; // By content id.
}
