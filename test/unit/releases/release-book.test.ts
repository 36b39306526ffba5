// What is remembered of releases, and where an environment's pointer goes.
import { describe, expect, it } from "vitest";
import { type Pointer, type ReleaseOutcome, backTo, createReleaseBook, movedTo } from "../../../orchestrator/releases/release-book.ts";
import { memoryState } from "../../support/control-state.ts";
import { releaseFunction, releaseOf } from "../../support/releases.ts";

const origin = (deliveryId: string) => ({ by: "ann", commit: "c1", message: "m", deliveryId });
const release = releaseOf([releaseFunction()]);

describe("a book of releases", () => {
  it("keeps a release as it is, with where it came from", async () => {
    const book = createReleaseBook(memoryState(), "a1");
    await book.keep({ release, origin: origin("d1"), outcome: "green" });
    expect(await book.find(release.releaseId)).toEqual({ release, origin: origin("d1"), outcome: "green" });
    expect(await book.find("nothing")).toBeNull();
  });

  it.each<[ReleaseOutcome, ReleaseOutcome, ReleaseOutcome, string]>([
    ["green", "red", "green", "d1"],
    ["green", "superseded", "green", "d1"],
    ["green", "green", "green", "d2"],
    ["red", "green", "green", "d2"],
    ["superseded", "red", "red", "d2"],
  ])("says of one that was %s and is %s: %s, from %3$s", async (first, second, outcome, deliveryId) => {
    const book = createReleaseBook(memoryState(), "a1");
    await book.keep({ release, origin: origin("d1"), outcome: first });
    await book.keep({ release, origin: origin("d2"), outcome: second });
    expect(await book.find(release.releaseId)).toMatchObject({ outcome, origin: { deliveryId } });
  });

  it("knows what was written in the first days, which said less", async () => {
    const state = memoryState();
    const { site: _site, proxyUrls: _proxies, ...old } = release;
    await state.write(`release.a1.${release.releaseId}`, old);
    await state.write("deployment.a1.staging", { releaseId: release.releaseId });
    const book = createReleaseBook(state, "a1");
    expect(await book.deployed("staging")).toEqual(release);
    expect(await book.pointer("staging")).toEqual({ releaseId: release.releaseId, earlier: [] });
    expect(await book.list()).toMatchObject([{ outcome: "green", origin: { by: "up" } }]);
  });

  it("forgets an app wholly, and no other one", async () => {
    const state = memoryState();
    for (const appId of ["a1", "a11"]) {
      const book = createReleaseBook(state, appId);
      await book.keep({ release, origin: origin("d1"), outcome: "green" });
      await book.point("production", movedTo(release.releaseId));
    }
    await createReleaseBook(state, "a1").clear();
    expect(state.keys()).toEqual(["deployment.a11.production", `release.a11.${release.releaseId}`]);
  });
});

describe("the pointer of an environment", () => {
  const after = (...moves: ((before: Pointer | null) => Pointer)[]): Pointer | null =>
    moves.reduce<Pointer | null>((pointer, move) => move(pointer), null);

  it("remembers what was live before, each once in a row", () => {
    expect(after(movedTo("a"), movedTo("b"), movedTo("b"), movedTo("c"))).toEqual({ releaseId: "c", earlier: ["a", "b"] });
  });

  it("goes back step by step, and on from where it is", () => {
    expect(after(movedTo("a"), movedTo("b"), movedTo("c"), backTo("b"))).toEqual({ releaseId: "b", earlier: ["a"] });
    expect(after(movedTo("a"), movedTo("b"), movedTo("c"), backTo("a"))).toEqual({ releaseId: "a", earlier: [] });
    expect(after(movedTo("a"), movedTo("b"), backTo("a"), movedTo("c"))).toEqual({ releaseId: "c", earlier: ["a"] });
  });

  it("takes a release that was never live there as any other move", () => {
    expect(after(movedTo("a"), movedTo("b"), backTo("x"))).toEqual({ releaseId: "x", earlier: ["a", "b"] });
  });

  it("is bounded", async () => {
    const book = createReleaseBook(memoryState(), "a1");
    for (let index = 0; index < 60; index += 1) await book.point("staging", movedTo(`r${index}`));
    expect((await book.pointer("staging"))?.earlier).toHaveLength(50);
    expect((await book.pointer("staging"))?.earlier.at(-1)).toBe("r58");
  });
});
