// The tokens of the management API: who holds which role. Of those made later only hashes are kept, in the control state.
import { createHash, timingSafeEqual } from "node:crypto";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { API_TOKEN_COUNT_MAX } from "../../runtime-image/contract/limits.ts";
import type { Clock } from "../clock.ts";
import { newToken } from "./access.ts";
import { type Caller, ROLES, type Role } from "./roles.ts";

export interface TokenBook {
  /** Null for a token that nobody holds. */
  callerOf(token: string): Caller | null;
  list(): readonly TokenFacts[];
  /** The token itself, which cannot be had again. */
  create(name: string, role: Role): Promise<string>;
  remove(name: string): Promise<void>;
}

export interface TokenFacts {
  readonly name: string;
  readonly role: Role;
  readonly createdEpochMs: number | null; // Null for the token of the home, which is as old as its file.
}

/** One value with a revision; a write at another revision than the expected one does nothing and says null. */
export interface TokenState {
  read(): Promise<{ readonly value: unknown; readonly revision: number } | null>;
  write(value: unknown, expectedRevision: number): Promise<number | null>;
}

interface TokenRecord extends TokenFacts {
  readonly hash: string; // SHA-256 of the token's 32 bytes, hex.
}

export const HOME_TOKEN_NAME = "home"; // Of the token in the home's file, which may do everything.
export const TOKEN_NAME = /^[a-z0-9][a-z0-9-]{0,31}$/;
const TRY_COUNT_MAX = 5;

export const hashOf = (token: string): Buffer => createHash("sha256").update(Buffer.from(token, "hex")).digest();

export async function openTokenBook(parts: {
  readonly homeToken: string;
  readonly state: TokenState;
  readonly clock: Clock;
}): Promise<TokenBook> {
  const home: TokenRecord = { name: HOME_TOKEN_NAME, role: "admin", createdEpochMs: null, hash: hashOf(parts.homeToken).toString("hex") };
  // Kept in memory, so that tokens are good while the broker is away. No other orchestrator works on this home.
  let records = recordsIn((await parts.state.read())?.value);

  /** Decides on what is there now, and again where another write came first. */
  const change = async (decide: (now: readonly TokenRecord[]) => readonly TokenRecord[]): Promise<void> => {
    for (let attempt = 0; attempt < TRY_COUNT_MAX; attempt += 1) {
      const entry = await parts.state.read();
      const next = decide(recordsIn(entry?.value));
      if ((await parts.state.write({ v: 1, tokens: next }, entry?.revision ?? 0)) === null) continue;
      records = next;
      return;
    }
    throw new PlatformError("INTERNAL", { detail: "Others change the tokens all the time." });
  };

  return {
    callerOf(token) {
      const hash = hashOf(token);
      let caller: Caller | null = null;
      // All of them are compared, each in constant time: how long it takes says nothing.
      for (const one of [home, ...records])
        if (timingSafeEqual(Buffer.from(one.hash, "hex"), hash)) caller = { tokenName: one.name, role: one.role };
      return caller;
    },
    list: () => [home, ...records].map(({ name, role, createdEpochMs }) => ({ name, role, createdEpochMs })),
    async create(name, role) {
      const token = newToken();
      const record = { name, role, createdEpochMs: parts.clock.nowEpochMs(), hash: hashOf(token).toString("hex") };
      await change((now) => {
        if (name === HOME_TOKEN_NAME || now.some((one) => one.name === name))
          throw refused(`name: should be a new one; there is a token called "${name}"`, `Remove it first: orchestrator token rm ${name}`);
        if (now.length >= API_TOKEN_COUNT_MAX) throw refused(`name: there are ${API_TOKEN_COUNT_MAX} tokens, and no more can be`);
        return [...now, record];
      });
      return token;
    },
    async remove(name) {
      if (name === HOME_TOKEN_NAME)
        throw refused(
          `name: "${name}" is the token that this platform's own commands use`,
          "To have another one: stop the orchestrator, delete the file api-token in its home, start it again.",
        );
      await change((now) => {
        if (!now.some((one) => one.name === name))
          throw new PlatformError("API_NOT_FOUND", { detail: `There is no token called "${name}".`, remedy: "See: orchestrator token ls" });
        return now.filter((one) => one.name !== name);
      });
    },
  };
}

const refused = (problem: string, remedy?: string): PlatformError =>
  new PlatformError("API_INPUT_INVALID", { problems: [problem], ...(remedy === undefined ? {} : { remedy }) });

function recordsIn(value: unknown): readonly TokenRecord[] {
  if (typeof value !== "object" || value === null || !("tokens" in value) || !Array.isArray(value.tokens)) return [];
  return value.tokens.filter(isRecord);
}

function isRecord(value: unknown): value is TokenRecord {
  if (typeof value !== "object" || value === null) return false;
  const record: Partial<Record<keyof TokenRecord, unknown>> = value;
  return (
    typeof record.name === "string" &&
    ROLES.some((role) => role === record.role) &&
    typeof record.hash === "string" &&
    /^[0-9a-f]{64}$/.test(record.hash)
  );
}
