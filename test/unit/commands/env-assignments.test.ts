// What `env set` reads from its arguments, and how it names what is wrong without repeating a value.
import { describe, expect, it } from "vitest";
import { parseAssignments, withoutLastBreak } from "../../../orchestrator/commands/env-assignments.ts";

describe("arguments of env set", () => {
  it("are names and values, which may hold anything", () => {
    expect(parseAssignments(["A=1", "URL=http://x.example/?a=b", "EMPTY=", "LINES=a\nb", "SPACE= x "])).toEqual({
      values: { A: "1", URL: "http://x.example/?a=b", EMPTY: "", LINES: "a\nb", SPACE: " x " },
      nameFromInput: null,
      problems: [],
    });
  });

  it("name the one whose value comes from standard input", () => {
    expect(parseAssignments(["A=1", "KEY=-"])).toEqual({ values: { A: "1" }, nameFromInput: "KEY", problems: [] });
    expect(parseAssignments(["A=--"])).toEqual({ values: { A: "--" }, nameFromInput: null, problems: [] });
  });

  it("have all their problems told, and no value", () => {
    const { problems } = parseAssignments(["GOOD=1", "FORGOTTEN", "p4ss/word", "GOOD=hunter2", "A=-", "B=-"]);
    expect(problems).toEqual([
      "FORGOTTEN: should be KEY=value, or KEY=- for a value from standard input",
      "argument 3: should be KEY=value, or KEY=- for a value from standard input",
      "GOOD: is given twice",
      "only one value can come from standard input, got 2",
    ]);
  });
});

describe("a value from standard input", () => {
  it.each([
    ["x\n", "x"],
    ["x\r\n", "x"],
    ["x", "x"],
    ["x\n\n", "x\n"],
    ["a\nb\n", "a\nb"],
    ["\n", ""],
  ])("loses one line break at its end: %j", (text, value) => {
    expect(withoutLastBreak(text)).toBe(value);
  });
});
