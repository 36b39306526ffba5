// How bytes of a log file become lines.
import { describe, expect, it } from "vitest";

import { createLineCutter } from "../../../orchestrator/engines/process-lines.ts";
import { LOG_LINE_BYTES_MAX } from "../../../runtime-image/contract/limits.ts";
import { encodePrintedLine } from "../../../runtime-image/contract/log-line.ts";

const texts = (lines: readonly { text: string }[]): string[] => lines.map(({ text }) => text);

describe("a line cutter", () => {
  it("gives the same lines wherever the bytes are split, within a character too", () => {
    const bytes = Buffer.from("één\n\nπ=3\nrest");
    for (let split = 0; split <= bytes.length; split += 1) {
      const cutter = createLineCutter("stdout");
      const lines = [...cutter.push(bytes.subarray(0, split), 1), ...cutter.push(bytes.subarray(split), 2), ...cutter.rest(3)];
      expect(texts(lines)).toEqual(["één", "", "π=3", "rest"]);
    }
  });

  it("takes the time from a line that a runtime printed, and the given one for any other", () => {
    const printed = encodePrintedLine({ epochMs: 77, level: "info", requestId: null, text: "hello" });
    const lines = createLineCutter("stderr").push(Buffer.from(`${printed}raw\n`), 5);
    expect(lines).toEqual([
      { stream: "stderr", text: printed.trimEnd(), epochMs: 77 },
      { stream: "stderr", text: "raw", epochMs: 5 },
    ]);
  });

  it("cuts a line without end once, says so, and goes on behind its line break", () => {
    const cutter = createLineCutter("stdout");
    const endless = Buffer.alloc(LOG_LINE_BYTES_MAX, "x");
    const lines = [endless, endless, endless, Buffer.from("x\nnext\n")].flatMap((bytes) => cutter.push(bytes, 1));
    expect(texts(lines)).toEqual([`${"x".repeat(LOG_LINE_BYTES_MAX)} … (cut)`, "next"]);
    expect(cutter.rest(1)).toEqual([]);
  });

  it("keeps a line of exactly the limit whole", () => {
    const cutter = createLineCutter("stdout");
    expect(texts(cutter.push(Buffer.from(`${"y".repeat(LOG_LINE_BYTES_MAX)}\n`), 1))).toEqual(["y".repeat(LOG_LINE_BYTES_MAX)]);
  });
});
