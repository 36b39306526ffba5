// A site that was planned: its index and the contents that it needs, not written yet.
import type { SiteIndex, SiteSnapshot } from "../../runtime-image/contract/snapshot.ts";

export interface PlannedSite {
  readonly snapshot: SiteSnapshot;
  readonly index: SiteIndex;
  readonly contents: ReadonlyMap<string, Uint8Array>; // By content id.
  readonly staticNames: StaticNames | null; // Null where files are not fingerprinted.
}

/** From the name that people write to the name with the fingerprint: "css/site.css" → "css/site-0123456789.css". */
export type StaticNames = Readonly<Record<string, string>>;

/** What functions find as static.json in their shared code; null where there is none. */
export const staticMap = (site: PlannedSite | null): StaticNames | null => site?.staticNames ?? null;
