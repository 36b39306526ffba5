// Time in slots of some seconds, as hex digits of a fixed number, so that everything due lies under a few beginnings.
import { EXPIRY_MARGIN_MS, EXPIRY_SLOT_MS } from "./limits.ts";

const DIGIT_COUNT = 8;
const SLOT_COUNT = 16 ** DIGIT_COUNT; // Enough for the next thousand years.

/**
 * The slot to look in for what ends then: the first that begins when it is over. Not one that may be swept before the document itself
 * is written. Null for an end that nobody will live to see.
 */
export function slotFor({ expiresEpochMs, nowEpochMs }: { readonly expiresEpochMs: number; readonly nowEpochMs: number }): number | null {
  const slot = Math.ceil(Math.max(expiresEpochMs, nowEpochMs + EXPIRY_MARGIN_MS) / EXPIRY_SLOT_MS);
  return slot < SLOT_COUNT ? slot : null;
}

/** The last slot whose documents are over. */
export const dueSlot = (nowEpochMs: number): number => Math.floor(nowEpochMs / EXPIRY_SLOT_MS);

export const slotDigits = (slot: number): string => slot.toString(16).padStart(DIGIT_COUNT, "0");

/** The fewest beginnings under which the slots from the first to the last lie, and no others, in order. */
export function beginningsOf({ first, last }: { readonly first: number; readonly last: number }): string[] {
  const beginnings: string[] = [];
  let slot = first;
  while (slot <= last) {
    let size = 1;
    while (slot % (size * 16) === 0 && slot + size * 16 - 1 <= last) size *= 16;
    beginnings.push(slotDigits(slot).slice(0, DIGIT_COUNT - Math.log2(size) / 4));
    slot += size;
  }
  return beginnings;
}
