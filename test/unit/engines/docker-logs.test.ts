// Docker's framed log stream, read into lines.
import { describe, expect, it } from "vitest";
import { sinceText } from "../../../orchestrator/engines/docker-follow.ts";
import { createLogReader } from "../../../orchestrator/engines/docker-logs.ts";
import type { LogLine } from "../../../orchestrator/engines/engine.ts";
import { LOG_LINE_BYTES_MAX } from "../../../runtime-image/contract/limits.ts";

const time = (nanoseconds: number) => `2026-01-02T03:04:05.${String(nanoseconds).padStart(9, "0")}Z`;

function frame(stream: 1 | 2, text: string, nanoseconds = 1): Buffer {
  const body = Buffer.from(`${time(nanoseconds)} ${text}`);
  const header = Buffer.alloc(8);
  header[0] = stream;
  header.writeUInt32BE(body.length, 4);
  return Buffer.concat([header, body]);
}

function read(chunks: readonly Buffer[], after = ""): LogLine[] {
  const lines: LogLine[] = [];
  const reader = createLogReader((line) => lines.push(line), { after });
  for (const chunk of chunks) reader.push(chunk);
  reader.end();
  return lines;
}

describe("reading Docker's log stream", () => {
  it("tells the streams apart and gives every line its time", () => {
    expect(read([frame(1, "one\n", 7_000_000), frame(2, "two\n", 8_000_000)])).toEqual([
      { stream: "stdout", text: "one", epochMs: Date.parse("2026-01-02T03:04:05.007Z") },
      { stream: "stderr", text: "two", epochMs: Date.parse("2026-01-02T03:04:05.008Z") },
    ]);
  });

  it("reads the same lines however the bytes are cut", () => {
    const bytes = Buffer.concat([frame(1, "grüße\n"), frame(2, "two\n"), frame(1, "\n")]);
    const byteByByte = [...bytes].map((byte) => Buffer.from([byte]));
    expect(read(byteByByte)).toEqual(read([bytes]));
    expect(read([bytes]).map((line) => line.text)).toEqual(["grüße", "two", ""]);
  });

  it("joins the pieces of a line that Docker cut, also between lines of the other stream", () => {
    expect(read([frame(1, "long ", 1), frame(2, "other\n", 2), frame(1, "line\n", 3)]).map((line) => line.text)).toEqual([
      "other",
      "long line",
    ]);
  });

  it("cuts a line that is longer than any line may be, and says so", () => {
    const [line] = read([...Array.from({ length: 6 }, () => frame(1, "x".repeat(16_384))), frame(1, "end\n")]);
    expect(line?.text.startsWith("x".repeat(LOG_LINE_BYTES_MAX))).toBe(true);
    expect(line?.text).toContain("cut");
    expect(line?.text.length).toBeLessThan(LOG_LINE_BYTES_MAX + 50);
  });

  it("hands out a last line without a line end", () => {
    expect(read([frame(1, "half")]).map((line) => line.text)).toEqual(["half"]);
  });

  it("skips what was read before a reconnection", () => {
    expect(read([frame(1, "old\n", 1), frame(1, "new\n", 2)], time(1)).map((line) => line.text)).toEqual(["new"]);
  });

  it("asks Docker for a moment with all its digits", () => {
    expect(sinceText("", 1_700_000_000_045)).toBe("1700000000.045000000");
    expect(sinceText("2023-11-14T22:13:20.123456789Z", 0)).toBe("1700000000.123456789");
  });
});
