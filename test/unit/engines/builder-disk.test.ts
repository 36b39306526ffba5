// When a builder's disk is measured, and when its scripts are ended: decided by what is free and what was measured before.
import { tmpdir } from "node:os";
import { describe, expect, it } from "vitest";
import { type Measured, freeSpaceAt, nextLook } from "../../../orchestrator/engines/builder-disk.ts";
import {
  BUILDER_DISK_FREE_BYTES_MIN,
  BUILDER_DISK_FREE_ENTRY_COUNT_MIN,
  BUILDER_DISK_MEASURE_INTERVAL_MS,
} from "../../../runtime-image/contract/limits.ts";

const bytesMax = 1_000_000_000;
const plenty = { bytes: 50_000_000_000, entryCount: 1_000_000 };
const last: Measured = { heldBytes: 300_000_000, freeBytes: plenty.bytes, atMs: 1_000, tookMs: 10 };
const lookAt = (atMs: number, free: { bytes: number; entryCount: number | null } | null, before: Measured | null = last) =>
  nextLook(before, { free, atMs, bytesMax });
const after = (writtenBytes: number) => ({ ...plenty, bytes: plenty.bytes - writtenBytes });

describe("a look at a builder's disk", () => {
  it("measures first, and then only when it may hold too much", () => {
    expect(lookAt(0, plenty, null)).toBe("measure");
    expect(lookAt(1_250, after(0))).toBe("wait");
    expect(lookAt(1_250, after(699_000_000))).toBe("wait");
    expect(lookAt(1_250, after(701_000_000))).toBe("measure");
  });

  it("measures now and then besides: others may have deleted as much as it wrote", () => {
    expect(lookAt(1_000 + BUILDER_DISK_MEASURE_INTERVAL_MS - 1, after(-5_000_000_000))).toBe("wait");
    expect(lookAt(1_000 + BUILDER_DISK_MEASURE_INTERVAL_MS, after(-5_000_000_000))).toBe("measure");
  });

  it("leaves three times as long between two measurements as one takes", () => {
    const slow = { ...last, tookMs: 2_000 };
    expect(lookAt(8_900, after(900_000_000), slow)).toBe("wait");
    expect(lookAt(9_000, after(900_000_000), slow)).toBe("measure");
  });

  it("measures every second where nobody knows what is free", () => {
    expect(lookAt(1_999, null)).toBe("wait");
    expect(lookAt(2_000, null)).toBe("measure");
    expect(lookAt(2_000, plenty, { ...last, freeBytes: null })).toBe("measure");
  });

  it("calls it full when the machine's own disk nearly is, by bytes or by files, whoever filled it", () => {
    expect(lookAt(1_010, { ...plenty, bytes: BUILDER_DISK_FREE_BYTES_MIN - 1 })).toBe("full");
    expect(lookAt(1_010, { ...plenty, entryCount: BUILDER_DISK_FREE_ENTRY_COUNT_MIN - 1 })).toBe("full");
    expect(lookAt(1_250, { ...plenty, entryCount: null })).toBe("wait"); // Some file systems make room for files as they come.
  });
});

describe("what is free", () => {
  it("is known of a folder that is there, and of no other", async () => {
    expect((await freeSpaceAt(tmpdir()))?.bytes).toBeGreaterThan(0);
    expect(await freeSpaceAt("/nowhere/at/all")).toBeNull();
  });
});
