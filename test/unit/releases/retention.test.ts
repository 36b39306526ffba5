// Which releases are forgotten, and which never.
import { describe, expect, it } from "vitest";
import type { KnownRelease } from "../../../orchestrator/releases/release-book.ts";
import { releasesToForget } from "../../../orchestrator/releases/retention.ts";
import { releaseOf } from "../../support/releases.ts";

const DAY_MS = 86_400_000;
const NOW_EPOCH_MS = 100 * DAY_MS;

/** The first is the newest. */
const known = (count: number, { daysBetween, isDelivered }: { daysBetween: number; isDelivered: boolean }): KnownRelease[] =>
  Array.from({ length: count }, (_, index) => ({
    release: releaseOf([], { releaseId: `r${index}`, createdEpochMs: NOW_EPOCH_MS - index * daysBetween * DAY_MS }),
    origin: { by: "ann", commit: null, message: null, deliveryId: isDelivered ? `shop-${index}` : null },
    outcome: "green",
  }));
const forgotten = (releases: readonly KnownRelease[], pointers: { releaseId: string; earlier: string[] }[] = []): string[] =>
  releasesToForget(releases, { pointers, nowEpochMs: NOW_EPOCH_MS });

describe("releases that are forgotten", () => {
  it("are none of the latest twenty, however old", () => {
    expect(forgotten(known(20, { daysBetween: 4, isDelivered: true }))).toEqual([]);
  });

  it("are none that were delivered in the last two weeks, up to a hundred", () => {
    expect(forgotten(known(100, { daysBetween: 0.1, isDelivered: true }))).toEqual([]);
    expect(forgotten(known(102, { daysBetween: 0.1, isDelivered: true }))).toEqual(["r100", "r101"]);
    expect(forgotten(known(22, { daysBetween: 1, isDelivered: true }))).toEqual(["r20", "r21"]);
  });

  it("are saves of a watched folder sooner: only the latest twenty stay", () => {
    expect(forgotten(known(22, { daysBetween: 0.001, isDelivered: false }))).toEqual(["r20", "r21"]);
  });

  it("are never live anywhere, nor what an environment can go back to at once", () => {
    const releases = known(60, { daysBetween: 1, isDelivered: true });
    const earlier = Array.from({ length: 15 }, (_, index) => `r${55 - index}`);
    const gone = forgotten(releases, [{ releaseId: "r59", earlier }]);
    expect(gone).not.toContain("r59");
    for (const releaseId of earlier.slice(-10)) expect(gone).not.toContain(releaseId);
    expect(gone).toContain("r55");
  });
});
