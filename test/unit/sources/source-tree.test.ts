// What may stand beside what in one source, and where its links end.
import { describe, expect, it } from "vitest";
import { SOURCE_LIMITS, type SourceLimits } from "../../../orchestrator/sources/entry-rules.ts";
import { createSourceTree, type EntryFacts } from "../../../orchestrator/sources/source-tree.ts";

const file = (path: string, byteCount = 0): EntryFacts => ({ path, kind: "file", byteCount });
const folder = (path: string): EntryFacts => ({ path, kind: "folder", byteCount: 0 });
const link = (path: string, linksTo: string): EntryFacts => ({ path, kind: "link", linksTo, byteCount: 0 });

/** The first problem: of an entry, or of links when all are there. */
function problemOf(entries: readonly EntryFacts[], limits: Partial<SourceLimits> = {}): string | null {
  const tree = createSourceTree({ ...SOURCE_LIMITS, ...limits });
  for (const entry of entries) {
    const placed = tree.add(entry);
    if (placed.kind === "refused") return `${entry.path} ${placed.problem}`;
  }
  const wrong = tree.wrongLink();
  return wrong === null ? null : `${wrong.path} ${wrong.problem}`;
}

describe("entries of one source", () => {
  it("are told which folders are to be made for them, from the outside in", () => {
    const tree = createSourceTree(SOURCE_LIMITS);
    expect(tree.add(file("./a/b/c", 3))).toEqual({ kind: "placed", path: "a/b/c", newFolders: ["a", "a/b"] });
    expect(tree.add(file("a/d", 4))).toEqual({ kind: "placed", path: "a/d", newFolders: [] });
    expect(tree.add(folder("a/"))).toEqual({ kind: "placed", path: "a", newFolders: [] });
    expect(tree.add(folder("e/f/"))).toEqual({ kind: "placed", path: "e/f", newFolders: ["e", "e/f"] });
    expect(tree.add(folder("./"))).toEqual({ kind: "placed", path: "", newFolders: [] });
    expect([tree.fileCount, tree.bytes]).toEqual([2, 7]);
  });

  it.each<[what: string, entries: EntryFacts[], problem: string]>([
    ["a file twice", [file("a"), file("a")], "a is there twice"],
    ["a file twice, once with a dot", [file("a"), file("./a")], "./a is there twice"],
    ["a folder twice", [folder("a"), folder("a/")], "a/ is there twice"],
    ["a link twice", [link("a", "b"), link("a", "c")], "a is there twice"],
    ["a file where a folder is", [file("a/b"), file("a")], "a is there twice, as a folder and as a file"],
    ["a link where a folder is", [folder("a"), link("a", "b")], "a is there twice, as a folder and as a link"],
    ["a folder where a file is", [file("a"), folder("a")], "a is there twice, as a file and as a folder"],
    ["a file below a file", [file("a"), file("a/b")], "a/b leads through a file of the same source"],
    ["a file through a link", [link("a", "b"), file("a/c")], "a/c leads through a link of the same source"],
    ["a folder through a link", [folder("b"), link("a", "b"), folder("a/c")], "a/c leads through a link of the same source"],
    ["a file over a link", [link("a", "b"), file("a")], "a is there twice, as a link and as a file"],
    ["one name in two forms", [file("\u00e9"), file("e\u0301")], "e\u0301 has the name of another entry, written with other bytes"],
    ["one folder in two forms", [file("\u00e9/a"), file("e\u0301/b")], "e\u0301/b has the name of another entry, written with other bytes"],
    [
      "a link in another form",
      [link("\u00e9", "x"), file("e\u0301/b")],
      "e\u0301/b has the name of another entry, written with other bytes",
    ],
    ["no valid size", [file("a", Number.NaN)], "a announces no valid size"],
    ["a negative size", [file("a", -1)], "a announces no valid size"],
    [
      "a device",
      [{ path: "a", kind: "other", byteCount: 0 }],
      "a is no plain file, folder or symbolic link, but a device, a pipe, a hard link or the like",
    ],
  ])("are refused for %s", (_what, entries, problem) => {
    expect(problemOf(entries)).toBe(problem);
  });

  it("may differ in case alone", () => {
    expect(problemOf([file("README"), file("readme"), file("Readme")])).toBeNull();
  });

  it.each<[what: string, limits: Partial<SourceLimits>, entries: EntryFacts[], problem: string | null]>([
    ["as many entries as may be", { entryCountMax: 2 }, [file("a"), file("b")], null],
    ["one entry too many", { entryCountMax: 2 }, [file("a"), file("b"), file("c")], "c is one too many: a source has at most 2 entries"],
    [
      "folders that are only named in paths",
      { entryCountMax: 2 },
      [file("a/b/c")],
      "a/b/c is one too many: a source has at most 2 entries",
    ],
    [
      "its root again and again",
      { entryCountMax: 2 },
      [folder("."), folder("."), folder(".")],
      ". is one too many: a source has at most 2 entries",
    ],
    ["as many bytes as may be", { bytesMax: 9 }, [file("a", 5), file("b", 4)], null],
    ["too many bytes", { bytesMax: 9 }, [file("a", 5), file("b", 5)], "b is too much: all files together may have 9 bytes"],
    ["too large a file", { fileBytesMax: 9 }, [file("a", 10)], "a has 10 bytes; a file of a source has at most 9"],
    ["too long names", { namesBytesMax: 5 }, [file("aaa"), file("bbb")], "bbb is one too many: all names together may have 5 bytes"],
    ["too long targets", { namesBytesMax: 5 }, [link("a", "bbbb")], "a is one too many: all names together may have 5 bytes"],
  ])("are counted: %s", (_what, limits, entries, problem) => {
    expect(problemOf(entries, limits)).toBe(problem);
  });
});

describe("links of one source", () => {
  it.each<[what: string, entries: EntryFacts[]]>([
    ["to a file", [link("a", "b"), file("b")]],
    ["to its own folder", [link("a/up", ".")]],
    ["to the root", [link("a/b/up", "../..")]],
    ["to what is not there", [link("a", "b/c/../d")]],
    ["through another", [link("a/b/up", "../.."), file("x"), link("c", "a/b/up/x")]],
    ["below a file", [file("a"), link("b", "a/../c")]],
    ["as many in a row as Linux follows", Array.from({ length: 40 }, (_, index) => link(`l${index}`, `l${index + 1}`))],
  ])("may lead %s", (_what, entries) => {
    expect(problemOf(entries)).toBeNull();
  });

  it.each<[what: string, entries: EntryFacts[], problem: RegExp]>([
    ["out", [link("a", "..")], /^a is a link that leads out/],
    ["out by another", [link("a/b/up", "../.."), link("evil", "a/b/up/../..")], /^evil is a link that leads out/],
    ["out by one that comes later", [link("evil", "a/b/up/../.."), link("a/b/up", "../..")], /^evil is a link that leads out/],
    ["out by two", [link("a/b/x", "../.."), link("a/b/y", "x/a/../a"), link("evil", "a/b/y/../../c")], /^evil is a link that leads out/],
    ["out by one to what is not there", [link("a/b/c", "../../x"), link("evil", "a/b/c/../..")], /^evil is a link that leads out/],
    ["to itself", [link("a", "a")], /^a is a link that leads back to itself/],
    ["to each other", [link("a", "b"), link("b", "./a")], /^a is a link that leads back to itself/],
    ["through itself", [link("a", "a/b")], /^a is a link that leads back to itself/],
    ["through too many", Array.from({ length: 45 }, (_, index) => link(`l${index}`, `l${index + 1}`)), /through more than 40 others/],
    [
      "through too many, since each doubles them",
      [link("l0", "."), ...Array.from({ length: 20 }, (_, index) => link(`l${index + 1}`, `l${index}/l${index}`))],
      /through more than 40 others/,
    ],
  ])("may not lead %s", (_what, entries, problem) => {
    expect(problemOf(entries)).toMatch(problem);
  });
});
