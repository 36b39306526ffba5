// Schemas as they are written down, the JSON that others read, and what fits them.
import { describe, expect, expectTypeOf, it } from "vitest";
import { type Static, Type, fits } from "../../../orchestrator/api/json-schema.ts";

const PLACE = Type.Object({ name: Type.String({ maxLength: 3 }), age: Type.Optional(Type.Integer({ minimum: 0 })) });

describe("a schema", () => {
  it("reads as JSON Schema", () => {
    const schema = Type.Object({
      kind: Type.Enum(["a", "b"], { description: "which" }),
      only: Type.Optional(Type.Literal("x")),
      list: Type.Array(Type.Union([Type.Boolean(), Type.Null()]), { maxItems: 2 }),
      by: Type.Record(Type.String({ pattern: "^[a-z]$" }), Type.Unknown()),
    });
    expect(JSON.parse(JSON.stringify(schema))).toEqual({
      type: "object",
      required: ["kind", "list", "by"],
      properties: {
        kind: { enum: ["a", "b"], description: "which" },
        only: { type: "string", const: "x" },
        list: { type: "array", items: { anyOf: [{ type: "boolean" }, { type: "null" }] }, maxItems: 2 },
        by: { type: "object", patternProperties: { "^[a-z]$": {} } },
      },
    });
  });

  it("stands for the type of what fits it", () => {
    expectTypeOf<Static<typeof PLACE>>().toEqualTypeOf<{ name: string; age?: number }>();
    const list = Type.Array(Type.Union([Type.Enum(["a", "b"]), Type.Null()]));
    expectTypeOf<Static<typeof list>>().toEqualTypeOf<("a" | "b" | null)[]>();
    const record = Type.Record(Type.String(), Type.Unknown());
    expectTypeOf<Static<typeof record>>().toEqualTypeOf<Record<string, unknown>>();
    expect(fits(record, {})).toBe(true);
  });
});

describe("a value", () => {
  const either = Type.Union([PLACE, Type.Null()]);
  const named = Type.Record(Type.String({ pattern: "^[a-z]$" }), Type.Number());
  const fitting: readonly [schema: Parameters<typeof fits>[0], value: unknown][] = [
    [either, null],
    [either, { name: "abc" }],
    [either, { name: "abc", age: 0, more: true }],
    [either, { name: "😀😀😀" }],
    [named, { a: 1.5, A: "any" }],
    [Type.Array(either), []],
    [Type.Unknown(), undefined],
    [Type.Integer({ maximum: 3 }), 3],
  ];
  it.each(fitting)("fits: %j, %j", (schema, value) => {
    expect(fits(schema, value)).toBe(true);
  });

  const wrong: readonly [schema: Parameters<typeof fits>[0], value: unknown][] = [
    [either, undefined],
    [either, []],
    [either, {}],
    [either, { name: "abcd" }],
    [either, { name: "abc", age: -1 }],
    [either, { name: "abc", age: "1" }],
    [named, { a: "1" }],
    [named, []],
    [Type.Array(either, { minItems: 1 }), []],
    [Type.Array(either), [null, 1]],
    [Type.Integer(), 1.5],
    [Type.Number(), Number.NaN],
    [Type.Boolean(), "true"],
    [Type.Literal("a"), "b"],
    [Type.Enum(["a"]), "b"],
    [Type.String({ pattern: "^a+$" }), "ab"],
  ];
  it.each(wrong)("does not fit: %j, %j", (schema, value) => {
    expect(fits(schema, value)).toBe(false);
  });
});
