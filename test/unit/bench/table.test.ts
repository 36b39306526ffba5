// How results are laid out and kept.
import { describe, expect, it } from "vitest";
import { replaceSection } from "../../../bench/results.ts";
import { median, percentile } from "../../../bench/stats.ts";
import { markdownTable, short, times, whole } from "../../../bench/table.ts";

describe("markdownTable", () => {
  it("lines up text on the left and numbers on the right", () => {
    const columns = [
      { title: "row", cell: (row: [string, number]) => row[0], align: "left" as const },
      { title: "n", cell: (row: [string, number]) => whole(row[1]) },
    ];
    expect(
      markdownTable(columns, [
        ["one", 1],
        ["thousands", 12_345],
      ]),
    ).toBe(["| row       |      n |", "| --------- | -----: |", "| one       |      1 |", "| thousands | 12,345 |"].join("\n"));
  });

  it("keeps a pipe and a line break inside their cell", () => {
    expect(
      markdownTable([{ title: "x", cell: (text: string) => text, align: "left" }], ["a|b\nc"])
        .split("\n")
        .at(-1),
    ).toBe("| a\\|b c |");
  });
});

describe("numbers", () => {
  it("show three digits that say something", () => {
    expect([0.1234, 1.234, 12.34, 123.4].map(short)).toEqual(["0.123", "1.23", "12.3", "123"]);
  });

  it("are a dash where there are none", () => {
    expect([whole(Number.NaN), short(Number.NaN), times(1, undefined), times(1, 0)]).toEqual(["–", "–", "–", "–"]);
  });

  it("say how many times another one they are", () => {
    expect(times(12_000, 10_000)).toBe("1.20×");
  });
});

describe("percentile", () => {
  it("is the middle value, or lies between the two middle ones", () => {
    expect([median([3, 1, 2]), median([4, 1, 3, 2])]).toEqual([2, 2.5]);
  });

  it("reaches from the smallest to the largest", () => {
    expect([percentile([5, 1, 9], 0), percentile([5, 1, 9], 100)]).toEqual([1, 9]);
  });

  it("is no number without values", () => {
    expect(median([])).toBeNaN();
  });
});

describe("replaceSection", () => {
  const both = replaceSection(replaceSection("", { name: "cold", body: "## Cold start\n\nfirst figures" }), {
    name: "compare",
    body: "## Side by side",
  });

  it("keeps the sections in their order, whichever was written first", () => {
    expect(both.indexOf("## Side by side")).toBeLessThan(both.indexOf("## Cold start"));
  });

  it("replaces a section and leaves the others", () => {
    const text = replaceSection(both, { name: "cold", body: "## Cold start\n\nsecond figures" });
    expect([text.includes("first figures"), text.includes("second figures"), text.includes("## Side by side")]).toEqual([
      false,
      true,
      true,
    ]);
  });

  it("writes the same text when nothing changed", () => {
    expect(replaceSection(both, { name: "compare", body: "## Side by side" })).toBe(both);
  });
});
