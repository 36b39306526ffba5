// What is wrong with a value by its schema, in words; and how text of a URL becomes values.
import { describe, expect, it } from "vitest";
import { Type, closed, fromText, problemsIn } from "../../../orchestrator/api/schema.ts";
import { API_PROBLEM_COUNT_MAX } from "../../../runtime-image/contract/limits.ts";

describe("what is wrong with a value", () => {
  it.each([
    [Type.Integer({ minimum: 1, maximum: 9 }), 10, "x: should be a whole number from 1 to 9, got 10"],
    [Type.String({ minLength: 1, maxLength: 3 }), "", 'x: should be text from 1 to 3 characters, got ""'],
    [Type.String({ pattern: "^a+$" }), "b", 'x: should be text that matches ^a+$, got "b"'],
    [Type.Union([Type.Literal("a"), Type.Literal("b")]), "c", 'x: should be one of a, b, got "c"'],
    [Type.Union([Type.String(), Type.Null()]), 1, "x: should be text or null, got 1"],
    [Type.Array(Type.String(), { maxItems: 1 }), ["a", "b"], 'x: should be a list of at most 1 items, got ["a","b"]'],
    [Type.String({ description: "a name" }), null, "x: should be a name, got null"],
    [Type.String({ writeOnly: true }), 5, "x: should be text, got something else"],
    [Type.Record(Type.String({ pattern: "^[A-Z]+$" }), Type.String()), { a: "1" }, "x.a: should have a name that matches ^[A-Z]+$"],
    [Type.Record(Type.String(), Type.Object({ n: Type.Number() })), { k: { n: "1" } }, 'x.k.n: should be a number, got "1"'],
  ])("is said with its path and what should be there: %j, %j", (schema, value, problem) => {
    expect(problemsIn(schema, value, "x")).toEqual([problem]);
  });

  it("is a field that nobody named, also one with a name that objects have by themselves", () => {
    const schema = Type.Object({ a: Type.Optional(Type.String()) });
    const value: unknown = JSON.parse('{"__proto__":1,"constructor":2,"a":"b"}');
    expect(problemsIn(schema, value, "")).toEqual(["__proto__: is not known; known are a", "constructor: is not known; known are a"]);
    expect(problemsIn(Type.Object({}, { additionalProperties: true }), value, "")).toEqual([]);
  });

  it("is bounded in number and length", () => {
    const found = problemsIn(
      Type.Array(Type.Integer()),
      Array.from({ length: 1_000 }, () => "y".repeat(1_000)),
      "x",
    );
    expect(found).toHaveLength(API_PROBLEM_COUNT_MAX);
    expect(found[0]?.length).toBeLessThan(200);
  });
});

describe("text of a URL", () => {
  const schema = Type.Object({ n: Type.Integer(), f: Type.Number(), b: Type.Boolean(), l: Type.Array(Type.String()), s: Type.String() });

  it("becomes what its schema asks for", () => {
    expect(fromText(schema, { n: "-7", f: "1.5", b: "0", l: "a", s: "12" })).toEqual({ n: -7, f: 1.5, b: false, l: ["a"], s: "12" });
  });

  it.each(["", " 1", "1e3", "0x10", "1_000", "NaN", "99999999999999999999"])("is no number where it is written as %j", (text) => {
    expect(problemsIn(schema, { ...fromText(schema, { n: text }), f: 1, b: true, l: [], s: "" }, "")).toEqual([
      `n: should be a whole number, got ${JSON.stringify(text)}`,
    ]);
  });
});

describe("a schema for others to read", () => {
  it("says that only named fields may be there, at every depth, unless it is open", () => {
    const schema = Type.Object({
      list: Type.Array(Type.Object({ a: Type.String() })),
      open: Type.Object({}, { additionalProperties: true }),
    });
    expect(closed(schema)).toMatchObject({
      additionalProperties: false,
      properties: { list: { items: { additionalProperties: false } }, open: { additionalProperties: true } },
    });
  });
});
