// What variables there are after a change, and which changes are refused with what words.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type SetVariables,
  type VariablesNow,
  changeProblems,
  changeVariables,
  isSame,
  mergeVariables,
  valuesOf,
} from "../../../orchestrator/variables/change.ts";

const OLD = { changedEpochMs: 1, changedBy: "old" };
const NEW = { changedEpochMs: 2, changedBy: "new" };
const setOf = (values: Record<string, string>): SetVariables =>
  new Map(Object.entries(values).map(([name, value]) => [name, { value, ...OLD }]));
const stagingWith = (values: Record<string, string>, folder: Record<string, string> = {}): VariablesNow => ({
  environment: "staging",
  folder,
  set: setOf(values),
});

describe("what functions see", () => {
  it("is the folder's variables, and over them those that were set", () => {
    expect(mergeVariables({ A: "folder", B: "folder" }, { B: "set", C: "set" })).toEqual({ A: "folder", B: "set", C: "set" });
  });

  it("is a set value even where it is empty", () => {
    expect(mergeVariables({ A: "folder" }, { A: "" })).toEqual({ A: "" });
  });

  it("is the folder's value again after the set one was removed", () => {
    const after = changeVariables(setOf({ A: "set" }), { set: {}, remove: ["A"] }, NEW);
    expect(mergeVariables({ A: "folder" }, valuesOf(after))).toEqual({ A: "folder" });
  });
});

describe("a change", () => {
  it("sets, replaces and removes, and leaves the others as they were", () => {
    const before = setOf({ A: "1", B: "2", C: "3" });
    const after = changeVariables(before, { set: { B: "two", D: "4" }, remove: ["C"] }, NEW);
    expect(Object.fromEntries(after)).toEqual({ A: { value: "1", ...OLD }, B: { value: "two", ...NEW }, D: { value: "4", ...NEW } });
    expect(valuesOf(before)).toEqual({ A: "1", B: "2", C: "3" });
  });

  it("keeps the date of a value that is set again", () => {
    const before = setOf({ A: "1" });
    const after = changeVariables(before, { set: { A: "1" }, remove: [] }, NEW);
    expect(after.get("A")).toEqual({ value: "1", ...OLD });
    expect(isSame(before, after)).toBe(true);
  });

  it("that is taken back leaves the same values", () => {
    const values = fc.dictionary(fc.constantFrom("A", "B", "C", "D"), fc.string(), { noNullPrototype: true });
    fc.assert(
      fc.property(values, values, (before, change) => {
        const start = setOf(before);
        const added = Object.keys(change).filter((name) => !Object.hasOwn(before, name));
        const there = changeVariables(start, { set: change, remove: [] }, NEW);
        expect(isSame(changeVariables(there, { set: before, remove: added }, NEW), start)).toBe(true);
      }),
    );
  });
});

describe("what is wrong with a change", () => {
  const SECRET = "hunter2";
  const RULE = "the key should be capital letters, digits and _, beginning with a letter";
  it.each<[string, string, string]>([
    ["lower", SECRET, RULE],
    [SECRET, "", RULE],
    ["", SECRET, RULE],
    ["__proto__", SECRET, RULE],
    ["PATH", SECRET, "PATH is read by Node, the shell or the platform itself; choose another name"],
    ["ORCHESTRATOR_INSTANCE", SECRET, "ORCHESTRATOR_INSTANCE is read by Node, the shell or the platform itself; choose another name"],
    ["NODE_ENV", SECRET, "NODE_ENV is always the environment's name"],
    ["A", `${SECRET}\0`, "the value of A holds a NUL character"],
    ["A", SECRET.repeat(586), "the value of A has 4102 bytes; 4096 are allowed"],
  ])("is told without a value: %j", (key, value, problem) => {
    const problems = changeProblems({ set: Object.fromEntries([[key, value]]), remove: [] }, [stagingWith({})]);
    expect(problems).toEqual([problem]);
    expect(problems.join()).not.toContain(SECRET);
  });

  it("is told all at once", () => {
    const change = { set: { a: "1", PATH: "2", GOOD: "3", TWICE: "4" }, remove: ["MISSING", "TWICE", "oh no", "IN_FOLDER"] };
    expect(changeProblems(change, [stagingWith({ TWICE: "x" }, { IN_FOLDER: "y" })])).toEqual([
      RULE,
      "PATH is read by Node, the shell or the platform itself; choose another name",
      "TWICE cannot be set and removed at once",
      "MISSING is not set on staging",
      "a name to remove is none",
      "IN_FOLDER comes from the app's folder; take it out of its .env",
    ]);
  });

  it("is that it changes nothing", () => {
    expect(changeProblems({ set: {}, remove: [] }, [stagingWith({})])).toEqual([
      "there should be at least one variable to set or to remove",
    ]);
  });

  it("is nothing where a removed name is set in one environment of two", () => {
    const production: VariablesNow = { environment: "production", folder: {}, set: setOf({}) };
    expect(changeProblems({ set: {}, remove: ["A"] }, [stagingWith({ A: "1" }), production])).toEqual([]);
    expect(changeProblems({ set: {}, remove: ["B"] }, [stagingWith({ A: "1" }), production])).toEqual([
      "B is not set on staging or production",
    ]);
  });

  it("is that there would be more than 256, the folder's counted and none twice", () => {
    const many = (prefix: string, count: number): Record<string, string> =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}${index}`, ""]));
    const now = stagingWith(many("S", 100), { ...many("F", 155), S0: "" });
    expect(changeProblems({ set: { S1: "x", NEW_ONE: "" }, remove: [] }, [now])).toEqual([]);
    expect(changeProblems({ set: { NEW_ONE: "", NEW_TWO: "" }, remove: [] }, [now])).toEqual([
      "staging would have 257 variables; 256 are allowed",
    ]);
    expect(changeProblems({ set: { NEW_ONE: "", NEW_TWO: "" }, remove: ["S1"] }, [now])).toEqual([]);
  });
});
