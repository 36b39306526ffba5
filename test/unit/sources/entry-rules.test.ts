// Which paths and targets a source may have, decided on their text alone.
import { describe, expect, it } from "vitest";
import { type EntryKind, isGitName, placeOf, targetProblem } from "../../../orchestrator/sources/entry-rules.ts";

describe("a path of a source", () => {
  it.each<[path: string, kind: EntryKind, segments: string[]]>([
    ["a", "file", ["a"]],
    ["a/b.js", "file", ["a", "b.js"]],
    ["./a/b", "file", ["a", "b"]],
    ["././a", "link", ["a"]],
    ["a/", "folder", ["a"]],
    [".", "folder", []],
    ["./", "folder", []],
    ["././", "folder", []],
    ["...", "file", ["..."]],
    ["..a/b..", "file", ["..a", "b.."]],
    [".gitignore", "file", [".gitignore"]],
    [".github/x", "file", [".github", "x"]],
    ["a b/é 👩‍💻.txt", "file", ["a b", "é 👩‍💻.txt"]],
    ["$(x)&;'\"*?", "file", ["$(x)&;'\"*?"]],
    ["~/x", "file", ["~", "x"]],
    ["C:/x", "file", ["C:", "x"]],
    ["__proto__/constructor", "file", ["__proto__", "constructor"]],
  ])("%j of a %s is taken", (path, kind, segments) => {
    expect(placeOf(path, kind)).toEqual({ kind: "inside", segments });
  });

  it.each<[path: string, kind: EntryKind, problem: string]>([
    ["", "file", "has no name"],
    ["/", "folder", "is an absolute path"],
    ["/etc/passwd", "file", "is an absolute path"],
    ["//a", "file", "is an absolute path"],
    [".//a", "file", 'holds "//"'],
    ["..", "folder", 'holds ".." as a folder\'s name'],
    ["../a", "file", 'holds ".." as a folder\'s name'],
    ["./../a", "file", 'holds ".." as a folder\'s name'],
    ["a/../b", "file", 'holds ".." as a folder\'s name'],
    ["a/..", "folder", 'holds ".." as a folder\'s name'],
    ["a/./b", "file", 'holds "." as a folder\'s name'],
    ["a//b", "file", 'holds "//"'],
    ["a//", "folder", 'holds "//"'],
    ["a/", "file", 'ends with "/" and is no folder'],
    ["a/", "link", 'ends with "/" and is no folder'],
    [".", "file", "is the root of the source, and no folder"],
    ["./", "link", "is the root of the source, and no folder"],
    ["..\\a", "file", "holds a backslash"],
    ["a\0b", "file", "holds control characters"],
    ["a\nb", "file", "holds control characters"],
    ["a\rb", "file", "holds control characters"],
    ["a\tb", "file", "holds control characters"],
    ["\u001b[31m", "file", "holds control characters"],
    ["a\u007f", "file", "holds control characters"],
    ["a\u0085", "file", "holds control characters"],
    ["a\u2028b", "file", "holds control characters"],
    ["a\u202egpj.exe", "file", "holds control characters"],
    ["a\ud800", "file", "is no valid Unicode"],
    ["a\ufffd", "file", "is no valid Unicode"],
    [".git/config", "file", "belongs to git's own folder"],
    ["a/.git", "link", "belongs to git's own folder"],
    ["a/.GiT/hooks/x", "file", "belongs to git's own folder"],
  ])("%j of a %s is refused", (path, kind, problem) => {
    expect(placeOf(path, kind)).toEqual({ kind: "refused", problem });
  });
});

describe("the length of a path", () => {
  it.each<[what: string, path: string, problem: string | null]>([
    ["255 bytes of one name", "x".repeat(255), null],
    ["256 bytes of one name", "x".repeat(256), "holds a name of more than 255 bytes"],
    ["256 bytes of 128 letters", "é".repeat(128), "holds a name of more than 255 bytes"],
    ["1,024 bytes", `${"x".repeat(203)}/`.repeat(5) + "xxxx", null],
    ["1,025 bytes", `${"x".repeat(203)}/`.repeat(5) + "xxxxx", "is longer than 1024 bytes"],
    ["64 names", "a/".repeat(63) + "a", null],
    ["65 names", "a/".repeat(64) + "a", "is more than 64 folders deep"],
  ])("is bounded: %s", (_what, path, problem) => {
    const place = placeOf(path, "file");
    expect(place.kind === "refused" ? place.problem : null).toBe(problem);
    const isTooLong = problem === "is longer than 1024 bytes";
    expect(targetProblem([], path)).toBe(isTooLong ? "is a link whose target is longer than 1024 bytes" : null);
  });
});

describe("a name of git's own", () => {
  it.each([".git", ".GIT", "git~1", "GIT~1", ".g\u200cit", ".git ", ".git.", ".git . .", ".git::$INDEX_ALLOCATION", ".git\u200d"])(
    "is %j",
    (name) => expect(isGitName(name)).toBe(true),
  );

  it.each(["git", ".gitignore", ".gitattributes", ".github", "a.git", "git~2", ".git1", ".git.x"])("is not %j", (name) =>
    expect(isGitName(name)).toBe(false),
  );
});

describe("the target of a link", () => {
  it.each([
    ["", "a.js"],
    ["", "."],
    ["a", ".."],
    ["a/b", "../../c"],
    ["a", "../a/../b"],
    ["a", "./x//y/"],
  ])("in %j may be %j", (folder, target) => {
    expect(targetProblem(folder === "" ? [] : folder.split("/"), target)).toBeNull();
  });

  it.each([
    ["", "", "is a link to nothing"],
    ["", "..", "is a link that leads out of the source"],
    ["a", "../..", "is a link that leads out of the source"],
    ["a", "../../into/x", "is a link that leads out of the source"],
    ["a", "b/../../../c", "is a link that leads out of the source"],
    ["", "/etc/passwd", "is a link to an absolute path"],
    ["", "..\\x", "is a link whose target holds a backslash"],
    ["", "a\nb", "is a link whose target holds control characters"],
    ["", "a\ud800", "is a link whose target is no valid Unicode"],
    ["", ".git/hooks", "is a link into git's own folder"],
  ])("in %j may not be %j", (folder, target, problem) => {
    expect(targetProblem(folder === "" ? [] : folder.split("/"), target)).toBe(problem);
  });
});
