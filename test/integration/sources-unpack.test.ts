// Archives that someone sent, whole and broken: what is inside is written with its bytes, and of half a one nothing is.
import { randomBytes } from "node:crypto";
import { mkdir, readFile, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { gzipSync } from "node:zlib";
import { pack } from "tar-stream";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { joinChunks } from "../../orchestrator/sources/join-chunks.ts";
import { unpackArchive } from "../../orchestrator/sources/unpack.ts";
import { entryBytes, file, folder, link, tarOf } from "../support/hostile-tar.ts";
import { createSourceWorld, snapshot, type SourceWorld } from "../support/source-world.ts";
import { until } from "../support/until.ts";

let world: SourceWorld;
beforeEach(async () => {
  world = await createSourceWorld();
});
afterEach(async () => world.remove());

describe("an honest archive", () => {
  const ENTRIES = [
    folder("./"),
    folder("./src/"),
    file("./src/a.js", "text"),
    { ...file("./bin/run", "#!"), mode: 0o4755 },
    { ...file("./secret", "s"), mode: 0o600 },
    { ...folder("./tmp/"), mode: 0o1777 },
    link("./latest", "src/a.js"),
    link("./src/up", ".."),
  ];
  const WRITTEN = [
    "bin/ 755",
    "bin/run 755 #!",
    "latest -> src/a.js",
    "secret 644 s",
    "src/ 755",
    "src/a.js 644 text",
    "src/up -> ..",
    "tmp/ 755",
  ];

  it.each<[what: string, archive: Buffer]>([
    ["plain", tarOf(...ENTRIES)],
    ["gzipped", gzipSync(tarOf(...ENTRIES))],
    ["gzipped in pieces", Buffer.concat([gzipSync(tarOf(...ENTRIES).subarray(0, 1_000)), gzipSync(tarOf(...ENTRIES).subarray(1_000))])],
    ["with the padding that GNU tar adds", Buffer.concat([tarOf(...ENTRIES), Buffer.alloc(10_240)])],
    ["with one block of zeros only", tarOf(...ENTRIES).subarray(0, -512)],
  ])("is written, %s, with plain modes whatever it asks for", async (_what, archive) => {
    expect(await world.unpack(archive)).toEqual({ fileCount: 3, bytes: 7 });
    expect(await snapshot(world.into)).toEqual(WRITTEN);
  });

  it("is written byte by byte as it arrives", async () => {
    const bytes = gzipSync(tarOf(...ENTRIES));
    const archive = Readable.from(
      Array.from(bytes, (byte) => Buffer.from([byte])),
      { objectMode: false },
    );
    await world.unpack(archive);
    expect(await snapshot(world.into)).toEqual(WRITTEN);
  });

  it.each([0o000, 0o022, 0o077])("has the same modes whatever the umask, also in a folder that was there: %i", async (mask) => {
    const earlier = process.umask(mask);
    try {
      await world.unpack(tarOf(...ENTRIES));
      expect(await snapshot(world.into)).toEqual(WRITTEN);
      await rm(world.into, { recursive: true });
      await mkdir(world.into);
      await world.unpack(tarOf(...ENTRIES));
      expect(await snapshot(world.into)).toEqual(WRITTEN);
    } finally {
      process.umask(earlier);
    }
  });

  it("may hold nothing", async () => {
    expect(await world.unpack(tarOf())).toEqual({ fileCount: 0, bytes: 0 });
    expect(await snapshot(world.into)).toEqual([]);
  });

  it("may have names and targets that only pax can hold, and large files", async () => {
    const long = `${"é".repeat(100)}/${"y".repeat(220)}`;
    const large = randomBytes(3_000_000);
    const tar = pack();
    tar.entry({ name: long }, "long");
    tar.entry({ name: "link", type: "symlink", linkname: long });
    tar.entry({ name: "large" }, large);
    tar.finalize();
    const facts = await world.unpack(Buffer.from(await joinChunks(tar as AsyncIterable<Buffer>)));
    expect(facts).toEqual({ fileCount: 2, bytes: 3_000_004 });
    expect(await readFile(join(world.into, "link"), "utf8")).toBe("long");
    expect(large.equals(await readFile(join(world.into, "large")))).toBe(true);
  });

  it("keeps its wrapping folder", async () => {
    await world.unpack(tarOf(file("app-1.0/a", "")));
    expect(await snapshot(world.into)).toEqual(["app-1.0/ 755", "app-1.0/a 644 "]);
  });

  it("is only written to a folder that is empty and no link", async () => {
    await mkdir(world.into);
    await writeFile(join(world.into, "there"), "before");
    await expect(world.unpack(tarOf(file("a")))).rejects.toThrow(/empty folder/);
    await symlink("../../etc", join(world.top, "home/sources/link"));
    const through = { into: join(world.top, "home/sources/link"), signal: AbortSignal.timeout(5_000) };
    await expect(unpackArchive(Readable.from([tarOf(file("a"))]), through)).rejects.toThrow(/empty folder/);
    expect(await readdir(join(world.top, "etc"))).toEqual(["passwd"]);
    expect(await readFile(join(world.top, "home/sources/into/there"), "utf8")).toBe("before");
  });
});

describe("a broken archive", () => {
  const WHOLE = tarOf(file("a", "text"), file("b", "x".repeat(5_000)), file("c"));
  it.each<[what: string, archive: Buffer, words: RegExp]>([
    ["empty", Buffer.alloc(0), /^The archive is empty/],
    ["one byte", Buffer.from([0x1f]), /^The archive is no tar, or is damaged/],
    ["no tar at all", Buffer.from("PK\u0003\u0004 this is a zip ".repeat(100)), /^The archive is no tar, or is damaged/],
    ["tar that stops in a file", WHOLE.subarray(0, 3_000), /^The archive is no tar, or is damaged/],
    ["tar that stops in a header", WHOLE.subarray(0, 1_100), /^The archive is no tar, or is damaged/],
    ["tar that stops between two files", WHOLE.subarray(0, 1_024), /^The archive ends before its end mark/],
    [
      "tar that stops after a name",
      Buffer.concat([entryBytes(file("a")), entryBytes({ name: "x", type: "x", content: "12 path=abc\n" })]),
      /ends before its end mark/,
    ],
    ["tar whose last file ends with zeros, and nothing after it", entryBytes(file("a", Buffer.alloc(2_048))), /ends before its end mark/],
    ["tar with a wrong checksum", Buffer.from(WHOLE).fill("z", 1_024, 1_030), /^The archive is no tar, or is damaged/],
    ["tar with something after its end", Buffer.concat([WHOLE, Buffer.alloc(512, "junk")]), /^The archive is no tar, or is damaged/],
    ["gzip that stops", gzipSync(WHOLE).subarray(0, -10), /^The archive ends too soon/],
    ["gzip of a tar that stops", gzipSync(WHOLE.subarray(0, 1_024)), /^The archive ends before its end mark/],
    ["gzip that is damaged", Buffer.concat([gzipSync(WHOLE).subarray(0, 30), Buffer.alloc(100, 0xee)]), /^The archive is damaged/],
    ["gzip with a wrong checksum", Buffer.concat([gzipSync(WHOLE).subarray(0, -8), Buffer.alloc(8)]), /^The archive is damaged/],
    ["gzip in gzip", gzipSync(gzipSync(WHOLE)), /^The archive is no tar, or is damaged/],
  ])("is refused when it is %s", async (_what, archive, words) => {
    expect(await world.refusal(async () => world.unpack(archive))).toMatch(words);
  });

  it("is refused when its connection breaks, also before its first byte", async () => {
    const archive = new PassThrough();
    const unpacking = world.refusal(async () => world.unpack(archive));
    archive.write(tarOf(file("a")).subarray(0, 700));
    await until(() => archive.readableLength === 0, { timeoutMs: 5_000 });
    archive.destroy(new Error("aborted"));
    expect(await unpacking).toMatch(/^The archive broke off after 700 bytes/);
    const early = new PassThrough();
    const unpackingNothing = async (): Promise<unknown> => {
      const facts = world.unpack(early);
      early.destroy(new Error("aborted"));
      return facts;
    };
    expect(await world.refusal(unpackingNothing)).toMatch(/^The archive broke off after 0 bytes/);
  });

  it.each<[what: string, start: Buffer]>([
    ["a hostile entry", tarOf(file("../a"))],
    ["a hostile entry, gzipped", gzipSync(tarOf(file("../a")))],
    ["bytes that are no tar", Buffer.alloc(2_000, "junk")],
    ["bytes that are no gzip", Buffer.concat([gzipSync("").subarray(0, 10), Buffer.alloc(2_000, 0xff)])],
  ])("is refused at once for %s while more may come, and its connection stays open for the answer", async (_what, start) => {
    const archive = new PassThrough();
    archive.write(start);
    expect(await world.refusal(async () => world.unpack(archive))).not.toBe("");
    expect(archive.destroyed).toBe(false);
  });

  it("is given up when the signal fires, however long it says nothing", async () => {
    const before = await snapshot(world.top);
    const stopping = new AbortController();
    const archive = new PassThrough();
    archive.write(tarOf(file("a", "x".repeat(100_000))).subarray(0, 50_000));
    const unpacking = unpackArchive(archive, { into: world.into, signal: stopping.signal });
    await until(() => archive.readableLength === 0, { timeoutMs: 5_000 });
    stopping.abort(new Error("that is enough"));
    await expect(unpacking).rejects.toThrow("that is enough");
    expect(await snapshot(world.top)).toEqual(before);
  });
});
