// What user code prints, as lines.
import { describe, expect, it } from "vitest";
import { LOG_LINE_BYTES_MAX } from "../../../runtime-image/contract/limits.ts";
import { decodePrintedLine, type PrintedLine } from "../../../runtime-image/contract/log-line.ts";
import { createLog, encodeLine } from "../../../runtime-image/runtime/log.ts";
import { createSharedState } from "../../../runtime-image/runtime/shared-state.ts";
import { until } from "../../support/until.ts";

const line = (text: string): PrintedLine => ({ epochMs: 1, level: "info", requestId: "r", text });

function collect(capacityOf: () => number = () => Number.MAX_SAFE_INTEGER) {
  const writes: string[] = [];
  const shared = createSharedState();
  const log = createLog(shared, {
    write(bytes, offset, length) {
      const taken = Math.min(length, capacityOf());
      if (taken > 0) writes.push(Buffer.from(bytes.subarray(offset, offset + taken)).toString());
      return taken;
    },
  });
  const texts = () =>
    writes
      .join("")
      .split("\n")
      .filter((text) => text !== "")
      .map((text) => decodePrintedLine(text)?.text);
  return { log, shared, writes, texts };
}

describe("a line", () => {
  it("keeps line ends inside its text, so that one call is one entry", () => {
    const encoded = encodeLine(line("a\nb\nc"));
    expect(encoded.split("\n")).toHaveLength(2);
    expect(decodePrintedLine(encoded.trimEnd())).toEqual(line("a\nb\nc"));
  });

  it.each([
    ["ASCII", "x"],
    ["characters of three bytes", "€"],
    ["surrogate pairs", "😀"],
    ["control characters, six bytes each in JSON", "\u0001"],
    ["quotes", '"'],
  ])("of too many bytes is cut within the limit and says so: %s", (_name, character) => {
    const encoded = encodeLine(line(character.repeat(200_000)));
    expect(Buffer.byteLength(encoded)).toBeLessThanOrEqual(LOG_LINE_BYTES_MAX);
    expect(Buffer.byteLength(encoded)).toBeGreaterThan(LOG_LINE_BYTES_MAX / 2);
    const decoded = decodePrintedLine(encoded.trimEnd());
    expect(decoded?.text).toContain(`… (cut: the line had ${Buffer.byteLength(character) * 200_000} bytes)`);
    expect(decoded?.text.isWellFormed()).toBe(true);
  });

  it("of just the right size is not cut", () => {
    const room = LOG_LINE_BYTES_MAX - Buffer.byteLength(encodeLine(line("")));
    expect(encodeLine(line("x".repeat(room)))).not.toContain("cut");
    expect(encodeLine(line("x".repeat(room + 1)))).toContain("cut");
  });
});

describe("the log", () => {
  it("writes the lines of one turn at once, in their order", async () => {
    const { log, writes, texts } = collect();
    for (const text of ["a", "b", "c"]) log.print("info", text, null);
    expect(writes).toHaveLength(0);
    await until(() => writes.length > 0, { timeoutMs: 1_000 });
    expect(writes).toHaveLength(1);
    expect(texts()).toEqual(["a", "b", "c"]);
  });

  it("leaves what is not written yet where the watchdog finds it", () => {
    const { log, shared, writes } = collect();
    log.print("warn", "unwritten", "r1");
    expect(writes).toHaveLength(0);
    const found = shared.logBytes.subarray(0, shared.logLength()).toString();
    expect(decodePrintedLine(found.trimEnd())).toMatchObject({ level: "warn", requestId: "r1", text: "unwritten" });
    log.flushNow();
    expect(shared.logLength()).toBe(0);
    expect(writes).toEqual([found]);
  });

  it("loses nothing to a reader that takes little at a time", async () => {
    const { log, texts } = collect(() => 7);
    log.print("info", "first", null);
    log.print("info", "second", null);
    await until(() => texts().at(-1) === "second", { timeoutMs: 5_000 });
    expect(texts()).toEqual(["first", "second"]);
  });

  it("writes more than its buffer holds without losing a line", () => {
    const { log, texts } = collect();
    const many = Array.from({ length: 50 }, (_, number) => `${number} ${"x".repeat(10_000)}`);
    for (const text of many) log.print("info", text, null);
    log.flushNow();
    expect(texts()).toEqual(many);
  });

  it("goes on when nobody reads, and gives up what it cannot keep", () => {
    const { log, shared } = collect(() => 0);
    for (let number = 0; number < 3; number += 1) log.print("info", "x".repeat(60_000), null);
    expect(shared.logLength()).toBeLessThan(131_072);
  });
});
