// Slots of time: nothing is looked for too early, and everything that is due lies under few beginnings.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { beginningsOf, dueSlot, slotDigits, slotFor } from "../../../runtime-image/contract/expiry-slots.ts";
import {
  EXPIRY_MARGIN_MS,
  EXPIRY_SLOT_MS,
  EXPIRY_SWEEP_INTERVAL_MS,
  STORE_WAIT_TIMEOUT_MS,
} from "../../../runtime-image/contract/limits.ts";

const epochMs = fc.integer({ min: 0, max: 4_000_000_000_000 });

describe("a slot", () => {
  it("is due when what ends in it is over and was surely written, and no later than a slot after that", () => {
    fc.assert(
      fc.property(epochMs, epochMs, (expiresEpochMs, nowEpochMs) => {
        const slot = slotFor({ expiresEpochMs, nowEpochMs }) ?? Number.NaN;
        const readyEpochMs = Math.max(expiresEpochMs, nowEpochMs + EXPIRY_MARGIN_MS);
        expect(dueSlot(readyEpochMs - 1)).toBeLessThan(slot);
        expect(dueSlot(readyEpochMs + EXPIRY_SLOT_MS)).toBeGreaterThanOrEqual(slot);
      }),
    );
  });

  it("is there for an end long ago, and not for one in two thousand years", () => {
    expect(slotFor({ expiresEpochMs: -1e15, nowEpochMs: 0 })).toBe(EXPIRY_MARGIN_MS / EXPIRY_SLOT_MS);
    expect(slotFor({ expiresEpochMs: 63_000_000_000_000, nowEpochMs: 0 })).toBeNull();
    expect(slotFor({ expiresEpochMs: Infinity, nowEpochMs: 0 })).toBeNull();
  });

  it("leaves a minute's time for everything, and time for two writes that are tried again", () => {
    expect(EXPIRY_MARGIN_MS).toBeGreaterThan(2 * STORE_WAIT_TIMEOUT_MS);
    expect(EXPIRY_MARGIN_MS + EXPIRY_SLOT_MS + EXPIRY_SWEEP_INTERVAL_MS).toBeLessThan(60_000);
  });
});

describe("the beginnings of slots", () => {
  it("cover each slot of the range once, and none outside of it", () => {
    const slot = fc.integer({ min: 0, max: 5_000 });
    fc.assert(
      fc.property(slot, slot, (one, other) => {
        const [first, last] = [Math.min(one, other), Math.max(one, other)];
        const beginnings = beginningsOf({ first, last });
        for (let number = Math.max(0, first - 3); number <= last + 3; number += 1) {
          const coveredCount = beginnings.filter((beginning) => slotDigits(number).startsWith(beginning)).length;
          expect(coveredCount).toBe(number >= first && number <= last ? 1 : 0);
        }
      }),
      { numRuns: 30 },
    );
  });

  it("are few, also for all the time that ever was", () => {
    expect(beginningsOf({ first: 0, last: dueSlot(Date.UTC(2026, 10, 21)) }).length).toBeLessThan(121);
    expect(beginningsOf({ first: 178_000_001, last: 178_000_002 })).toEqual([slotDigits(178_000_001), slotDigits(178_000_002)]);
    expect(beginningsOf({ first: 0, last: 16 ** 8 - 1 })).toEqual([""]);
    expect(beginningsOf({ first: 2, last: 1 })).toEqual([]);
  });
});
