// The crash proof's own judge must see every loss that is planted for it, and none where there is none.
import { describe, expect, it } from "vitest";
import { CrashModel } from "../../support/crash-model.ts";
import { chanceOf } from "../../support/crash-random.ts";

const NONE = { values: new Map<string, string>(), counters: new Map<string, number>() };
const found = (values: Record<string, string>): typeof NONE => ({ ...NONE, values: new Map(Object.entries(values)) });
const counted = (counters: Record<string, number>): typeof NONE => ({ ...NONE, counters: new Map(Object.entries(counters)) });

/** A write that was acknowledged. */
function write(model: CrashModel, place: string, value: string | null): void {
  model.begin([{ place, value }]);
  model.acknowledged([{ place, value }]);
}

const kinds = (model: CrashModel, what: typeof NONE): string[] => model.check(what).map((loss) => loss.kind);

describe("the model of the crash proof, on documents and sessions", () => {
  it("finds nothing where everything is as it was acknowledged", () => {
    const model = new CrashModel();
    write(model, "a", "1");
    write(model, "b", "1");
    write(model, "b", null);
    expect(model.check(found({ a: "1" }))).toEqual([]);
  });

  it("sees an acknowledged write that is gone, and one that an older value has replaced", () => {
    const model = new CrashModel();
    write(model, "a", "1");
    write(model, "a", "2");
    expect(kinds(model, NONE)).toEqual(["lost"]);
    expect(kinds(model, found({ a: "1" }))).toEqual(["lost"]);
  });

  it("sees a destroyed value that is back, and one that nobody wrote", () => {
    const model = new CrashModel();
    write(model, "a", "1");
    write(model, "a", null);
    expect(kinds(model, found({ a: "1" }))).toEqual(["returned"]);
    expect(kinds(model, found({ b: "1" }))).toEqual(["unknown"]);
  });

  it("takes either end of a write of which nobody knows whether it was carried out", () => {
    const model = new CrashModel();
    write(model, "a", "1");
    model.begin([{ place: "a", value: "2" }]);
    expect(model.check(found({ a: "1" }))).toEqual([]);
    expect(model.check(found({ a: "2" }))).toEqual([]);
    expect(kinds(model, NONE)).toEqual(["lost"]);
  });

  it("holds on to what was once read", () => {
    const model = new CrashModel();
    write(model, "a", "1");
    model.begin([{ place: "a", value: "2" }]);
    expect(model.check(found({ a: "2" }))).toEqual([]);
    expect(kinds(model, found({ a: "1" }))).toEqual(["lost"]);
  });

  it("takes either end of a destruction that may have been carried out, and no third one", () => {
    const model = new CrashModel();
    write(model, "a", "1");
    model.begin([{ place: "a", value: null }]);
    expect(model.check(found({ a: "1" }))).toEqual([]);
    expect(kinds(model, found({ a: "0" }))).toEqual(["lost"]);
    expect(model.check(NONE)).toEqual([]);
    expect(kinds(model, found({ a: "1" }))).toEqual(["returned"]);
  });

  it("expects nothing of a write that never left", () => {
    const model = new CrashModel();
    write(model, "a", "1");
    model.begin([{ place: "a", value: "2" }]);
    model.unsent([{ place: "a", value: "2" }]);
    expect(model.isOpen("a")).toBe(false);
    expect(kinds(model, found({ a: "2" }))).toEqual(["lost"]);
  });

  it("lets parts of an open batch be there and others not", () => {
    const model = new CrashModel();
    const changes = [
      { place: "a", value: "1" },
      { place: "b", value: "1" },
    ];
    model.begin(changes);
    expect(model.check(found({ b: "1" }))).toEqual([]);
    expect(model.check(found({ a: "1", b: "1" }))).toEqual([]);
    model.acknowledged(changes);
    expect(kinds(model, found({ a: "1" }))).toEqual(["lost"]);
  });

  it("refuses a second write where one is open", () => {
    const model = new CrashModel();
    model.begin([{ place: "a", value: "1" }]);
    expect(() => model.begin([{ place: "a", value: "2" }])).toThrow("still open");
  });
});

describe("the model of the crash proof, on counters", () => {
  const incremented = (results: readonly number[], openCount: number): CrashModel => {
    const model = new CrashModel();
    for (const result of results) {
      model.beginIncrement("c");
      model.acknowledgedIncrement("c", result);
    }
    for (let count = 0; count < openCount; count += 1) model.beginIncrement("c");
    return model;
  };

  it("takes everything from what was acknowledged to that and what may have been carried out", () => {
    for (const value of [3, 4, 5]) expect(incremented([1, 2, 3], 2).check(counted({ c: value }))).toEqual([]);
    for (const value of [2, 6]) expect(kinds(incremented([1, 2, 3], 2), counted({ c: value }))).toEqual(["count"]);
    expect(kinds(incremented([1], 0), NONE)).toEqual(["count"]);
  });

  it("never goes back behind what was once seen", () => {
    const model = incremented([1, 2], 2);
    expect(model.check(counted({ c: 4 }))).toEqual([]);
    expect(kinds(model, counted({ c: 3 }))).toEqual(["count"]);
    expect(kinds(incremented([5], 9), counted({ c: 4 }))).toEqual(["count"]);
  });

  it("sees two increments that were told the same number", () => {
    expect(kinds(incremented([1, 2, 2], 0), counted({ c: 3 }))).toEqual(["count"]);
  });

  it("counts no increment that never left", () => {
    const model = incremented([1], 1);
    model.unsentIncrement("c");
    expect(kinds(model, counted({ c: 2 }))).toEqual(["count"]);
  });
});

describe("chance", () => {
  it("is the same for the same seed, another for another, and stays in its bounds", () => {
    const numbers = (seed: number): number[] => {
      const chance = chanceOf(seed);
      return Array.from({ length: 200 }, () => chance.below(10));
    };
    expect(numbers(1)).toEqual(numbers(1));
    expect(numbers(1)).not.toEqual(numbers(2));
    expect(new Set(numbers(3))).toEqual(new Set([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]));
    expect(chanceOf(4).shuffled(["a", "b", "c"]).toSorted()).toEqual(["a", "b", "c"]);
  });
});
