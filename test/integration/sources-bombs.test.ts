// Archives that are small and become large: they stop at a limit, on the disk and in memory.
import { randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { SourceLimits } from "../../orchestrator/sources/entry-rules.ts";
import type { SourceEntry } from "../../orchestrator/sources/write-source.ts";
import { entryBytes, file, folder, type RawEntry, tarOf } from "../support/hostile-tar.ts";
import { createSourceWorld, type SourceWorld } from "../support/source-world.ts";

let world: SourceWorld;
beforeEach(async () => {
  world = await createSourceWorld();
});
afterEach(async () => world.remove());

describe("a bomb", () => {
  it.each<[what: string, entries: RawEntry[], limits: Partial<SourceLimits>, words: RegExp]>([
    [
      "a file too large",
      [file("a", Buffer.alloc(1_001))],
      { fileBytesMax: 1_000 },
      /^"a" has 1001 bytes; a file of a source has at most 1000/,
    ],
    ["files too large together", [file("a", Buffer.alloc(900)), file("b", Buffer.alloc(200))], { bytesMax: 1_000 }, /^"b" is too much/],
    ["too many entries", [file("a"), file("b"), file("c")], { entryCountMax: 2 }, /^"c" is one too many/],
    ["too many folders in few paths", [file("a/b/c/d")], { entryCountMax: 3 }, /is one too many/],
    ["too many names for the root", [folder("./"), folder("./"), folder("./")], { entryCountMax: 2 }, /is one too many/],
  ])("is refused: %s", async (_what, entries, limits, words) => {
    expect(await world.refusal(async () => world.unpack(gzipSync(tarOf(...entries)), { limits }))).toMatch(words);
  });

  it.each<[what: string, chunk: Buffer]>([
    ["zeros", Buffer.alloc(1_000_000)],
    [
      "headers that only announce",
      Buffer.concat(Array.from({ length: 900 }, () => entryBytes({ name: "x", type: "x", content: "9 a=bcde\n" }))),
    ],
  ])("of endless %s stops where it would become too large, whatever it was when it came", async (_what, chunk) => {
    let askedCount = 0;
    function* endless(): Generator<Buffer> {
      for (; askedCount < 10_000; askedCount += 1) yield gzipSync(chunk); // Pieces of gzip after each other are one.
    }
    const words = await world.refusal(async () =>
      world.unpack(Readable.from(endless(), { objectMode: false }), { archiveBytesMax: 10_000_000 }),
    );
    expect(words).toMatch(/^The archive is larger than 10000000 bytes, or becomes so/);
    expect(askedCount).toBeLessThan(200);
  });

  it("that comes uncompressed stops as well", async () => {
    const archive = tarOf(file("a", randomBytes(20_000)));
    expect(await world.refusal(async () => world.unpack(archive, { archiveBytesMax: 10_000 }))).toMatch(/is larger than 10000 bytes/);
  });

  it("of a million entries is given up at the limit, with little memory", async () => {
    let askedCount = 0;
    let heapMost = 0;
    const heapBefore = process.memoryUsage().heapUsed;
    async function* million(): AsyncGenerator<SourceEntry> {
      for (; askedCount < 1_000_000; askedCount += 1) {
        if (askedCount % 1_000 === 0) heapMost = Math.max(heapMost, process.memoryUsage().heapUsed - heapBefore);
        yield { path: `d${askedCount % 50}/f${askedCount}`, kind: "file", isExecutable: false, bytes: null, byteCount: 0 };
      }
    }
    expect(await world.refusal(async () => world.write(million(), { entryCountMax: 5_000 }))).toMatch(/is one too many/);
    expect(askedCount).toBeLessThanOrEqual(5_000);
    expect(heapMost).toBeLessThan(100_000_000);
  });

  it("of files whose size is a lie is refused by name", async () => {
    const lying = (bytes: SourceEntry["bytes"], byteCount: number): Promise<unknown> => {
      async function* entries(): AsyncGenerator<SourceEntry> {
        yield { path: "liar", kind: "file", isExecutable: false, bytes, byteCount };
      }
      return world.write(entries());
    };
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (;;) yield Buffer.alloc(1_000);
    }
    expect(await world.refusal(async () => lying(Buffer.alloc(11), 10))).toMatch(/^"liar" is longer than the 10 bytes that were announced/);
    expect(await world.refusal(async () => lying(Buffer.alloc(9), 10))).toMatch(/^"liar" ends after 9 of 10 bytes/);
    expect(await world.refusal(async () => lying(null, 10))).toMatch(/^"liar" ends after 0 of 10 bytes/);
    expect(await world.refusal(async () => lying(endless(), 10))).toMatch(/^"liar" is longer than the 10 bytes/);
    expect(await world.refusal(async () => lying(endless(), 100_000))).toMatch(/^"liar" is longer than the 100000 bytes/);
  });
});
