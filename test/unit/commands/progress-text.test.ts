// What a progress bar says.
import { describe, expect, it } from "vitest";
import { bytesText } from "../../../orchestrator/bytes-text.ts";
import { progressText } from "../../../orchestrator/commands/progress-text.ts";

describe("a progress bar", () => {
  it("fills up, and never beyond its end", () => {
    const at = (doneCount: number): string => progressText({ label: "writing", doneCount, totalCount: 200, note: "x" });
    expect(at(0)).toBe(`writing [${".".repeat(24)}]   0 % x`);
    expect(at(100)).toBe(`writing [${"#".repeat(12)}${".".repeat(12)}]  50 % x`);
    expect(at(300)).toBe(`writing [${"#".repeat(24)}] 100 % x`);
  });

  it("shows no bar where the end is not known", () => {
    expect(progressText({ label: "imported", doneCount: 5, totalCount: null, note: "5 documents" })).toBe("imported 5 documents");
    expect(progressText({ label: "imported", doneCount: 0, totalCount: 0, note: "" })).toBe("imported ");
  });

  it("counts bytes in units of a thousand", () => {
    expect([999, 1_000, 2_345_678, 12_340_000_000].map(bytesText)).toEqual(["999 B", "1.0 KB", "2.3 MB", "12.3 GB"]);
  });
});
