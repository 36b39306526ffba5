// Text of others on a terminal: nothing in it acts there, and it is as wide as it may be.
import { describe, expect, it } from "vitest";
import { columnsOf, cutText, plainText } from "../../../orchestrator/commands/plain-text.ts";

describe("plainText", () => {
  it.each([
    ["colours", "\u001b[31mred\u001b[0m", "red"],
    ["cursor moves", "a\u001b[2J\u001b[1;1Hb", "ab"],
    ["titles and links", "\u001b]0;mine\u0007x\u001b]8;;http://a.example\u0007y\u001b]8;;\u0007", "xy"],
    ["an escape sequence without an end", "a\u001b[", "a["],
    ["bells and backspaces", "a\u0007b\u0008c\u007f", "abc"],
    ["control characters of eight bits", "a\u009bb\u0085c", "abc"],
    ["marks that turn text around", "a\u202eb\u2066c\u200fd\ufeff", "abcd"],
    ["half a character", "a\ud800b", "ab"],
    ["tabs", "a\tb", "a  b"],
    ["a progress bar, down to what it showed last", "10 %\r20 %\r100 %\r", "100 %"],
    ["breaks of lines, down to the last one", "one\ntwo\u2028three\n", "twothree"],
  ])("takes out %s", (_what, text, expected) => {
    expect(plainText(text)).toBe(expected);
  });

  it("leaves letters of every script, and emoji", () => {
    expect(plainText("né 日本 한국 عربي 👍")).toBe("né 日本 한국 عربي 👍");
  });

  it("takes no more than a line's length of a line without end", () => {
    expect(plainText("x".repeat(100_000))).toHaveLength(4_000);
  });
});

describe("cutText", () => {
  it("leaves what fits, and marks where it cut", () => {
    expect([cutText("12345", 5), cutText("123456", 5), cutText("", 5)]).toEqual(["12345", "1234…", ""]);
  });

  it("counts wide characters as two columns, and accents as none", () => {
    expect(columnsOf("日本👍")).toBe(6);
    expect(columnsOf("e\u0301")).toBe(1);
    expect([cutText("日本語", 6), cutText("日本語", 5), cutText("日本語", 4)]).toEqual(["日本語", "日本…", "日…"]);
  });

  it.each([0, -3])("leaves nothing in %i columns", (columnCount) => {
    expect(cutText("abc", columnCount)).toBe("");
  });

  it("is never wider than asked", () => {
    for (let columnCount = 0; columnCount < 20; columnCount += 1)
      expect(columnsOf(cutText("né 日本 한국 👍👍 abc def", columnCount))).toBeLessThanOrEqual(columnCount);
  });
});
