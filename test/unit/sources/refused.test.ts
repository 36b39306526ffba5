// The words of a refusal: they name the entry, and a hostile name stays one line of plain text.
import { describe, expect, it } from "vitest";
import { quoted, refusedEntry } from "../../../orchestrator/sources/refused.ts";

describe("a refusal", () => {
  it.each([
    ["a b/é.txt", '"a b/é.txt"'],
    ['a"b', String.raw`"a\"b"`],
    ["a\nb\u001b[2J", String.raw`"a\nb\u001b[2J"`],
    ["a\u007f\u009b\u2028\u202egpj", String.raw`"a\u007f\u009b\u2028\u202egpj"`],
    ["\ud800", String.raw`"\ud800"`],
    ["x".repeat(300), `"${"x".repeat(200)}…"`],
  ])("shows %j as one line", (name, shown) => {
    expect(quoted(name)).toBe(shown);
  });

  it("names the entry and says what to do", () => {
    const { code, message, detail } = refusedEntry("../a", "leads out");
    expect([code, message]).toEqual(["SOURCE_REFUSED", 'The source cannot be taken. "../a" leads out.']);
    expect(detail.remedy).toMatch(/\.orchestratorignore/);
  });
});
