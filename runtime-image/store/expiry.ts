// Announces documents that end: an entry under the slot of time in which to look for them, written before the document itself.
import { randomBytes } from "node:crypto";
import { PlatformError } from "../contract/errors.ts";
import { slotDigits, slotFor } from "../contract/expiry-slots.ts";
import { EXPIRY_PREFIX } from "../contract/subjects.ts";
import { RevisionConflict } from "../library/bridge.ts";
import type { StoreRequests } from "./requests.ts";
import { spread, subjectOf } from "./subjects.ts";
import type { KeyRanges } from "./walk.ts";

export interface ExpiringDocument {
  readonly key: string;
  readonly expiresEpochMs: number;
  readonly expectedRevision: number | undefined;
}

export interface Announced {
  readonly note: string; // To be noted beside the document: whoever takes it away takes its entry away too.
  readonly entryRevision: number;
  /** Waits for the write that was announced. One that was refused needs no entry. */
  unlessRefused(writing: Promise<number>): Promise<number>;
}

const ENTRY_BYTES = 8; // Each entry has a subject of its own, whatever ends in the same slot.

/**
 * An entry says where to look, the document says whether it is over: so a document that was announced and never written, or written
 * anew meanwhile, costs a look. Null for an end beyond all slots.
 */
export async function announce(requests: StoreRequests, document: ExpiringDocument): Promise<Announced | null> {
  const { key, expiresEpochMs, expectedRevision = 0 } = document;
  const slot = slotFor({ expiresEpochMs, nowEpochMs: Date.now() });
  if (slot === null) return null;
  const known = expectedRevision === 0 ? null : await entryOfRevision(requests, document);
  if (known !== null) return { ...known, unlessRefused: (writing) => writing };
  const subject = entrySubject(slotDigits(slot) + randomBytes(ENTRY_BYTES).toString("hex"));
  const entryRevision = await requests.write({ subject, bytes: Buffer.from(key, "utf8") });
  return {
    note: `${expiresEpochMs} ${entryRevision}`,
    entryRevision,
    unlessRefused: async (writing) => {
      try {
        return await writing;
      } catch (thrown) {
        if (isRefusal(thrown)) await requests.erase("data", entryRevision).catch(() => undefined); // Who looks there finds nothing.
        throw thrown;
      }
    },
  };
}

/** A counter keeps the entry it has. As it replaces just that revision, nobody can take the entry away before. */
async function entryOfRevision(requests: StoreRequests, { key, expiresEpochMs, expectedRevision }: ExpiringDocument) {
  const current = await requests.lastOf("data", subjectOf("data", key));
  if (current?.revision !== expectedRevision) throw new RevisionConflict("another write came first");
  const known = noteIn(current?.note ?? "");
  return known?.expiresEpochMs === expiresEpochMs ? { note: current?.note ?? "", entryRevision: known.entryRevision } : null;
}

const isRefusal = (thrown: unknown): boolean =>
  thrown instanceof RevisionConflict || (thrown instanceof PlatformError && thrown.code === "STORE_FULL");

interface ExpiryNote {
  readonly expiresEpochMs: number;
  readonly entryRevision: number;
}

/** Null where there is none. */
export function noteIn(text: string): ExpiryNote | null {
  if (text === "") return null;
  const [expiresEpochMs = Number.NaN, entryRevision = Number.NaN] = text.split(" ").map(Number);
  return Number.isFinite(expiresEpochMs) && entryRevision > 0 ? { expiresEpochMs, entryRevision } : null;
}

/** The name of an entry: the digits of its slot, and its own. */
export const entrySubject = (name: string): string => `${EXPIRY_PREFIX}${spread(name)}.-`;
const nameIn = (subject: string): string => subject.slice(EXPIRY_PREFIX.length, -1).replaceAll(".", "");

/** Entries, for those who look what is due. */
export function entryRanges(requests: StoreRequests): KeyRanges {
  const below = (beginning: string): string => `${EXPIRY_PREFIX}${beginning === "" ? "" : `${spread(beginning)}.`}>`;
  return {
    count: (beginning) => requests.countOf("data", below(beginning)),
    names: async (beginning) => (await requests.subjectsOf("data", below(beginning))).map(nameIn).toSorted(),
    samples: async (beginning) => {
      const [first, last] = await Promise.all([requests.firstOf("data", below(beginning)), requests.lastOf("data", below(beginning))]);
      return first === null || last === null ? null : [nameIn(first.subject), nameIn(last.subject)];
    },
    exists: async (name) => (await requests.lastOf("data", entrySubject(name))) !== null,
  };
}
