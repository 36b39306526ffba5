// Tokens: what is kept of them, who holds which role, and writers that come first.
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { newToken, tokenOf } from "../../../orchestrator/api/access.ts";
import { ROLES, mayDo } from "../../../orchestrator/api/roles.ts";
import { type TokenState, openTokenBook } from "../../../orchestrator/api/tokens.ts";

const clock = { nowEpochMs: () => 1_000 };

/** Control state with one value. */
function memoryState(): TokenState & { value: unknown; beforeWrite: () => void } {
  let revision = 0;
  return {
    value: null,
    beforeWrite: () => undefined,
    async read() {
      return revision === 0 ? null : { value: JSON.parse(JSON.stringify(this.value)), revision };
    },
    async write(value, expectedRevision) {
      this.beforeWrite();
      if (expectedRevision !== revision) return null;
      this.value = value;
      revision += 1;
      return revision;
    },
  };
}

describe("tokens", () => {
  it("are kept as hashes only", async () => {
    const state = memoryState();
    const book = await openTokenBook({ homeToken: newToken(), state, clock });
    const token = await book.create("ci", "deploy");
    expect(token).toMatch(/^[0-9a-f]{64}$/);
    const hash = createHash("sha256").update(Buffer.from(token, "hex")).digest("hex");
    expect(state.value).toEqual({ v: 1, tokens: [{ name: "ci", role: "deploy", createdEpochMs: 1_000, hash }] });
    expect(JSON.stringify(book.list())).not.toContain(hash);
  });

  it("tell their holders apart, also after a restart, and are nobody's once they are removed", async () => {
    const state = memoryState();
    const homeToken = newToken();
    const book = await openTokenBook({ homeToken, state, clock });
    const [ci, looker] = [await book.create("ci", "deploy"), await book.create("looker", "read")];
    const again = await openTokenBook({ homeToken, state, clock });
    expect([homeToken, ci, looker, newToken()].map((token) => again.callerOf(token))).toEqual([
      { tokenName: "home", role: "admin" },
      { tokenName: "ci", role: "deploy" },
      { tokenName: "looker", role: "read" },
      null,
    ]);
    await again.remove("ci");
    expect(again.callerOf(ci)).toBeNull();
    expect((await openTokenBook({ homeToken, state, clock })).callerOf(ci)).toBeNull();
  });

  it("have names of their own; the home's is not given away and not removed", async () => {
    const book = await openTokenBook({ homeToken: newToken(), state: memoryState(), clock });
    await book.create("ci", "deploy");
    await expect(book.create("ci", "admin")).rejects.toMatchObject({ code: "API_INPUT_INVALID" });
    await expect(book.create("home", "read")).rejects.toMatchObject({ code: "API_INPUT_INVALID" });
    await expect(book.remove("home")).rejects.toMatchObject({ code: "API_INPUT_INVALID" });
    await expect(book.remove("nobody")).rejects.toMatchObject({ code: "API_NOT_FOUND" });
  });

  it("survive a writer that comes in between", async () => {
    const state = memoryState();
    const homeToken = newToken();
    const [one, other] = [await openTokenBook({ homeToken, state, clock }), await openTokenBook({ homeToken, state, clock })];
    let isFirst = true;
    const between: Promise<string>[] = [];
    state.beforeWrite = () => {
      if (isFirst) {
        isFirst = false;
        between.push(other.create("second", "read"));
      }
    };
    await one.create("first", "read");
    await Promise.all(between);
    const names = (await openTokenBook({ homeToken, state, clock })).list().map((token) => token.name);
    expect(names.toSorted()).toEqual(["first", "home", "second"]);
  });

  it("are read from a bearer header of the right form and no other", () => {
    const token = newToken();
    expect(tokenOf({ authorization: `Bearer ${token}` })).toBe(token);
    for (const authorization of [undefined, "", token, `Basic ${token}`, `Bearer ${token}0`, "Bearer xyz", `Bearer ${token} `])
      expect(tokenOf(authorization === undefined ? {} : { authorization })).toBeNull();
  });
});

describe("a role", () => {
  it("may do what the ones before it may, and no more", () => {
    const table = ROLES.map((role) => ROLES.map((least) => mayDo(role, least)));
    expect(table).toEqual([
      [true, false, false],
      [true, true, false],
      [true, true, true],
    ]);
  });
});
