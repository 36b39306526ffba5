// Archives that want to be somewhere else: each is refused by name, and nothing outside, or left behind inside, is ever theirs.
import { mkdir, readdir, realpath, rm, stat, symlink } from "node:fs/promises";
import { join } from "node:path";
import { inspect } from "node:util";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { SourceEntry } from "../../orchestrator/sources/write-source.ts";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { file, folder, link, type RawEntry, tarOf } from "../support/hostile-tar.ts";
import { createSourceWorld, pathsIn, type SourceWorld } from "../support/source-world.ts";

let world: SourceWorld;
beforeEach(async () => {
  world = await createSourceWorld();
});
afterEach(async () => world.remove());

const ABSOLUTE = `/tmp/orchestrator-evil-${process.pid}`;

const NEGATIVE = Buffer.alloc(12, 0xff).fill(0, 11);
const HOSTILE: readonly [what: string, entries: readonly RawEntry[], named: RegExp][] = [
  ["a path upwards", [file("../evil")], /^"\.\.\/evil" holds "\.\."/],
  ["a path upwards in the middle", [file("a/../../neighbour")], /holds "\.\."/],
  ["a path upwards with backslashes", [file("..\\evil")], /holds a backslash/],
  ["an absolute path", [file(ABSOLUTE)], /is an absolute path/],
  ["an absolute path in a pax header", [{ ...file("fine"), pax: { path: ABSOLUTE } }], /^"\/tmp\/.*" is an absolute path/],
  ["a path upwards in a pax header", [{ ...file("fine"), pax: { path: "../evil" } }], /^"\.\.\/evil"/],
  ["a path upwards in GNU's long name", [{ name: "././@LongLink", type: "L", content: "../evil\0" }, file("fine")], /^"\.\.\/evil"/],
  ["a file without a name", [file("")], /^"" has no name/],
  ["a folder upwards", [folder("..")], /holds "\.\."/],
  ["a file as the root", [file(".")], /is the root/],
  ["a link as the root", [link("./.", "/etc")], /holds|is the root|absolute/],
  ["an absolute link", [link("evil", "/etc/passwd")], /^"evil" is a link to an absolute path/],
  ["a link upwards", [link("evil", "../neighbour")], /^"evil" is a link that leads out/],
  ["a link upwards through itself by name", [link("evil", "../into/x")], /leads out/],
  ["a link upwards in a pax header", [{ ...link("evil", "fine"), pax: { linkpath: "../../etc/passwd" } }], /leads out/],
  ["a link without a target", [link("evil", "")], /^"evil" is a link to nothing/],
  ["a link with content", [{ ...link("evil", "a"), content: "x".repeat(600) }], /^"evil" is no plain file/],
  ["a file through a link to the outside", [link("a", ".."), file("a/neighbour", "evil")], /^"a" is a link that leads out/],
  ["a file through a link to the inside", [folder("b"), link("a", "b"), file("a/c")], /^"a\/c" leads through a link/],
  ["a file over a link", [link("a", "b"), file("a")], /^"a" is there twice/],
  ["a link over a folder", [file("a/b"), link("a", "c")], /^"a" is there twice/],
  ["links that only together lead out", [link("a/b/up", "../.."), link("evil", "a/b/up/../etc")], /^"evil" is a link that leads out/],
  ["the same in the other order", [link("evil", "a/b/up/../../etc"), link("a/b/up", "../..")], /^"evil" is a link that leads out/],
  ["a link to itself", [link("a", "a")], /leads back to itself/],
  ["a hard link to the outside", [{ name: "evil", type: "1", linkName: "/etc/passwd" }], /^"evil" is no plain file/],
  ["a hard link to the inside", [file("a"), { name: "evil", type: "1", linkName: "a" }], /^"evil" is no plain file/],
  ["a character device", [{ name: "null", type: "3" }], /^"null" is no plain file/],
  ["a block device", [{ name: "sda", type: "4" }], /^"sda" is no plain file/],
  ["a pipe", [{ name: "pipe", type: "6" }], /^"pipe" is no plain file/],
  ["a contiguous file", [{ name: "c", type: "7", content: "x" }], /^"c" is no plain file/],
  ["a sparse file of GNU", [{ name: "sparse", type: "S", content: "x" }], /^"sparse" is no plain file/],
  [
    "a sparse file of pax",
    [{ ...file("sparse"), pax: { "GNU.sparse.major": "1", "GNU.sparse.name": "../evil" } }],
    /^"sparse" is no plain/,
  ],
  ["a volume label", [{ name: "label", type: "V" }], /^"label" is no plain file/],
  ["a type that nobody knows", [{ name: "what", type: "!" }], /^"what" is no plain file/],
  ["a name with NUL in a pax header", [{ ...file("fine"), pax: { path: "a\0b" } }], /^"a\\u0000b" holds control characters/],
  ["a name with a line break", [file("a\nb")], /^"a\\nb" holds control characters/],
  ["a name that rewrites the terminal", [file("a\u001b[2K\rfine")], /^"a\\u001b\[2K\\rfine" holds control characters/],
  ["a name that is read backwards", [file("a\u202etxt.exe")], /^"a\\u202etxt\.exe" holds control characters/],
  ["a name that is no UTF-8", [{ name: Buffer.from([0x61, 0xff]), content: "" }], /is no valid Unicode/],
  ["a name that is too long", [{ ...file("fine"), pax: { path: "x".repeat(256) } }], /more than 255 bytes/],
  ["a path that is too long", [{ ...file("fine"), pax: { path: "x/".repeat(100_000) } }], /is longer than 1024 bytes/],
  ["too many folders in each other", [{ ...file("fine"), pax: { path: `${"x/".repeat(70)}y` } }], /more than 64 folders deep/],
  ["a hook of git", [{ ...file(".git/hooks/post-checkout"), mode: 0o755 }], /belongs to git's own folder/],
  ["the same for disks that ignore case", [file("sub/.GIT/config")], /belongs to git's own folder/],
  ["the same by its short name", [file("GIT~1/config")], /belongs to git's own folder/],
  ["a link into git's folder", [link("x", ".git/hooks")], /into git's own folder/],
  ["a file twice", [file("a"), file("a", "other")], /^"a" is there twice/],
  ["one name in two forms of Unicode", [file("\u00e9"), file("e\u0301")], /has the name of another entry/],
  ["a file as a folder", [file("a"), file("a/b")], /^"a\/b" leads through a file/],
  ["a file that says that it is a folder", [{ ...file("fine"), pax: { path: "a/" } }], /ends with "\/" and is no folder/],
  ["a size of petabytes", [{ name: "huge", size: Buffer.from([0x80, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0]) }], /^"huge" has \d+ bytes/],
  ["a size of petabytes in a pax header", [{ ...file("huge"), pax: { size: "1125899906842624" } }], /^"huge" has \d+ bytes/],
  ["a negative size", [{ name: "less", size: NEGATIVE }], /^The archive is no tar, or is damaged/],
  ["a negative size of a long name", [{ name: "x", type: "L", size: NEGATIVE }, file("a", "y".repeat(700))], /archive/],
  ["a size that is no number", [{ name: "what", size: Buffer.from("zzzzzzzzzzz ") }], /^The archive is no tar, or is damaged/],
];

describe("a hostile archive", () => {
  it.each(HOSTILE)("is refused for %s, by name, and leaves nothing", async (_what, entries, named) => {
    const around = [file("first", "y".repeat(2_000)), ...entries, file("last")];
    expect(await world.refusal(async () => world.unpack(tarOf(...around)))).toMatch(named);
    expect(await world.refusal(async () => world.unpack(gzipSync(tarOf(...entries))))).toMatch(named);
    await expect(stat(ABSOLUTE)).rejects.toThrow("ENOENT");
  });

  it("leaves a folder that was there as empty as it was", async () => {
    await mkdir(world.into);
    expect(await world.refusal(async () => world.unpack(tarOf(file("a/b"), link("c", "a"), file("../evil"))))).toMatch(/evil/);
    expect(await readdir(world.into)).toEqual([]);
  });
});

describe("a folder that someone else writes to meanwhile", () => {
  const plain = { isExecutable: false, bytes: Buffer.from("evil"), byteCount: 4 };

  it.each(["small", "large"])("is never left through a link that took the name of a %s file", async (size) => {
    const bytes = size === "small" ? plain.bytes : Buffer.alloc(100_000);
    async function* entries(): AsyncGenerator<SourceEntry> {
      await symlink("../neighbour", join(world.into, "a"));
      yield { ...plain, path: "a", kind: "file", bytes, byteCount: bytes.length };
    }
    const words = await world.refusal(async () => world.write(entries()));
    expect(words).toMatch(/^"a" is the name of another entry on a disk that does not tell them apart/);
  });

  it("keeps no link that leads out there", async () => {
    async function* entries(): AsyncGenerator<SourceEntry> {
      yield { ...plain, path: "a", kind: "link", linksTo: "b/passwd", bytes: null };
      await symlink("../../../etc", join(world.into, "b"));
    }
    const words = await world.refusal(async () => world.write(entries()));
    expect(words).toMatch(/^"a" is a link that leads out of the source/);
  });
});

describe("whatever comes", () => {
  const segment = fc.constantFrom("a", "b", "..", ".", "", "é", "e\u0301", ".git", "a\\b", "x\0", "into", "neighbour", "\ufffd");
  const path = fc
    .tuple(fc.constantFrom("", "", "", "./", "/", "../"), fc.array(segment, { minLength: 1, maxLength: 4 }))
    .map(([start, names]) => start + names.join("/"));
  const insidePath = fc.array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 3 }).map((names) => names.join("/"));
  const target = fc.array(fc.constantFrom("a", "b", "c", "..", "..", "."), { minLength: 1, maxLength: 6 }).map((names) => names.join("/"));
  const nasty: fc.Arbitrary<RawEntry> = fc.record({
    name: path,
    type: fc.constantFrom("0", "0", "5", "2", "1", "x", "L"),
    linkName: fc.oneof(target, path),
    content: fc.constant(""),
  });
  const plausible: fc.Arbitrary<RawEntry> = fc.oneof(
    { weight: 3, arbitrary: fc.record({ name: insidePath, type: fc.constant("2"), linkName: target }) },
    { weight: 1, arbitrary: fc.record({ name: insidePath, type: fc.constantFrom("0", "5") }) },
  );

  interface Outcome {
    readonly kind: "taken" | "refused";
    readonly problems: readonly string[]; // What must never be.
  }

  async function outcomeOf(archive: Buffer): Promise<Outcome> {
    const before = await world.outside();
    const cause: unknown = await world.unpack(archive).then(
      () => null,
      (failure: unknown) => failure,
    );
    const isSame = JSON.stringify(await world.outside()) === JSON.stringify(before);
    const written = await pathsIn(world.into).catch(() => null);
    const ends = await Promise.all((written ?? []).map(async (path) => realpath(path).catch(() => world.into)));
    await rm(world.into, { recursive: true, force: true });
    const problems = [
      ...(isSame ? [] : ["something outside has changed"]),
      ...(cause === null || (cause instanceof PlatformError && cause.code === "SOURCE_REFUSED")
        ? []
        : [`it failed with ${inspect(cause)}`]),
      ...(cause !== null && written !== null ? ["something was left behind"] : []),
      ...ends.filter((end) => !`${end}/`.startsWith(`${world.into}/`)).map((end) => `something leads to ${end}`),
    ];
    return { kind: cause === null ? "taken" : "refused", problems };
  }

  it("never escapes: nasty names in any order", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(nasty, { minLength: 1, maxLength: 6 }), async (entries) => {
        expect((await outcomeOf(tarOf(...entries))).problems).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  it("never escapes: links through links, of which many are taken", async () => {
    const counts = { taken: 0, refused: 0 };
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(plausible, { minLength: 1, maxLength: 6, selector: (entry) => entry.name }), async (entries) => {
        const { kind, problems } = await outcomeOf(tarOf(...entries));
        counts[kind] += 1;
        expect(problems).toEqual([]);
      }),
      { numRuns: 250 },
    );
    expect(counts.taken).toBeGreaterThan(30);
    expect(counts.refused).toBeGreaterThan(30);
  });

  it("is taken or refused, and nothing else: archives with damaged bytes", async () => {
    const whole = tarOf(
      folder("a/"),
      { ...file("a/b", "x".repeat(700)), pax: { path: "a/é", size: "700" } },
      link("c", "a"),
      { name: "././@LongLink", type: "L", content: `${"y".repeat(120)}\0` },
      file("z", "end"),
    );
    const value = fc.oneof(fc.nat(255), fc.constantFrom(0, 0x20, 0x2d, 0x37, 0x80, 0xff));
    const damage = fc.array(fc.tuple(fc.nat(), value), { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(whole, gzipSync(whole)), damage, fc.boolean(), async (base, changes, isRepaired) => {
        const archive = Buffer.from(base);
        for (const [at, byte] of changes) archive[at % archive.length] = byte;
        expect((await outcomeOf(isRepaired && base === whole ? withChecksums(archive) : archive)).problems).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });

  /** Sums that fit, so that the damage is not noticed by them alone. */
  function withChecksums(tar: Buffer): Buffer {
    for (let at = 0; at + 512 <= tar.length; at += 512) {
      const block = tar.subarray(at, at + 512);
      if (block.toString("latin1", 257, 262) !== "ustar") continue;
      block.fill(" ", 148, 156);
      block.write(
        `${block
          .reduce((sum, byte) => sum + byte, 0)
          .toString(8)
          .padStart(6, "0")}\0 `,
        148,
        "latin1",
      );
    }
    return tar;
  }
});
