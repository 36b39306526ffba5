// Lines out of a stream of bytes.
import { describe, expect, it } from "vitest";
import { linesOf } from "../../../orchestrator/stores/lines.ts";

async function read(chunks: readonly (string | Uint8Array)[], lineBytesMax = 100): Promise<string[]> {
  const lines: string[] = [];
  const stream = (async function* () {
    yield* chunks;
  })();
  for await (const { number, bytes, isTooLong } of linesOf(stream, lineBytesMax))
    lines.push(`${number} ${isTooLong ? "too long" : bytes.toString()}`);
  return lines;
}

describe("lines", () => {
  it("are the same however the bytes are cut, also in the middle of a character", async () => {
    const bytes = Buffer.from("Māori\n\nWai'ale'ale\nlast");
    const expected = ["1 Māori", "2 ", "3 Wai'ale'ale", "4 last"];
    for (let size = 1; size <= bytes.length; size += 1) {
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) => bytes.subarray(index * size, (index + 1) * size));
      expect(await read(chunks)).toEqual(expected);
    }
  });

  it("end with the last line feed, and there are none in nothing", async () => {
    expect(await read(["a\n"])).toEqual(["1 a"]);
    expect(await read([])).toEqual([]);
    expect(await read(["\n"])).toEqual(["1 "]);
  });

  it("that are too long are said to be so, and the next one is read as if they had not been", async () => {
    expect(await read(["x".repeat(60), "x".repeat(60), "\nnext\n", "y".repeat(101)])).toEqual(["1 too long", "2 next", "3 too long"]);
    expect(await read(["x".repeat(100), "\n"])).toEqual([`1 ${"x".repeat(100)}`]);
  });
});
