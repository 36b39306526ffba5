// What ignore files leave out of a folder that is sent, and what is left out whatever they say.
import { describe, expect, it } from "vitest";
import { createIgnoreRules, isAlwaysLeftOut } from "../../../orchestrator/sources/ignore-files.ts";

interface Texts {
  readonly root?: string;
  readonly own?: string;
  readonly nested?: Readonly<Record<string, string>>; // By folder, from the outside in.
}

/** As a walk asks: every folder on the way first. */
function isSent(path: string, { root = "", own = "", nested = {} }: Texts): boolean {
  let rules = createIgnoreRules({ gitignore: root, ownIgnore: own });
  const segments = path.split("/");
  for (const index of segments.keys()) {
    const here = segments.slice(0, index + 1).join("/");
    if (rules.ignores(index < segments.length - 1 ? `${here}/` : here)) return false;
    const text = nested[here];
    if (text !== undefined) rules = rules.within(here, text);
  }
  return true;
}

describe("ignore files", () => {
  it.each<[texts: Texts, sent: string[], leftOut: string[]]>([
    [{}, [".env", "a/b", "node.js"], []],
    [{ root: "*.log\n!keep.log" }, ["keep.log", "a/keep.log", "a.LOG"], ["x.log", "a/b/x.log"]],
    [{ root: "/dist\nbuild/" }, ["a/dist", "build"], ["dist", "dist/a", "build/x", "a/build/x"]],
    [{ root: ".env" }, [".env.example"], [".env", "a/.env"]],
    [{ root: "\ufeff# a comment\r\na.txt\r\n\r\n" }, ["# a comment", "b.txt"], ["a.txt"]],
    [{ root: "a/*\n!a/b" }, ["a/b", "a/b/c"], ["a/c"]],
    [{ root: "a\n!a/b" }, [], ["a/b"]], // Git does not look into a folder that is left out.
    [{ root: "*.txt", nested: { a: "!keep.txt" } }, ["a/keep.txt", "a/b/keep.txt"], ["keep.txt", "a/other.txt"]],
    [{ nested: { a: "/x\ny\nb/z\nlogs/" } }, ["x", "a/b/x", "y", "a/c/b/z"], ["a/x", "a/y", "a/c/y", "a/b/z", "a/logs/1", "a/c/logs/1"]],
    [{ nested: { a: "x\n", "a/b": "!x\n" } }, ["a/b/x", "a/b/c/x"], ["a/x", "a/c/x"]],
    [{ nested: { "a[1]*?": "x" } }, ["a1/x"], ["a[1]*?/x", "a[1]*?/b/x"]],
    [{ nested: { "!a": "x", "#b": "x" } }, ["x"], ["!a/x", "#b/x"]],
    [{ nested: { a: "\\!x\n\\#y\n**/z\nw/**" } }, ["a/x", "z"], ["a/!x", "a/#y", "a/z", "a/b/z", "a/w/1"]],
    [{ own: "secrets/\n*.psd" }, ["psd"], ["secrets/a", "a/b.psd"]],
    [{ root: "dist/\n.env", own: "!dist/\n!.env" }, ["dist/a.js", ".env"], []],
    [{ root: "dist/*", own: "!dist/a.js" }, ["dist/a.js"], ["dist/b.js"]],
    [{ root: "*", own: "!a/\n!a/b" }, ["a/b"], ["a/c", "b"]],
    [{ nested: { a: "x" }, own: "!a/x" }, ["a/x"], []],
    [{ nested: { a: "!x" }, own: "x" }, [], ["a/x"]], // The own file has the last word.
  ])("%j", (texts, sent, leftOut) => {
    const paths = [...sent, ...leftOut];
    expect(paths.filter((path) => isSent(path, texts))).toEqual(sent);
  });

  it("stay the same however often they are asked", () => {
    const rules = createIgnoreRules({ gitignore: "*.log", ownIgnore: "!1.log" });
    const answers = Array.from({ length: 25_000 }, (_, index) => rules.ignores(`${index % 3}.log`));
    expect(answers.every((isIgnored, index) => isIgnored === (index % 3 !== 1))).toBe(true);
  });
});

describe("what is always left out", () => {
  it.each([".git", "node_modules", ".orchestrator", ".GIT"])("holds %s", (name) => expect(isAlwaysLeftOut(name)).toBe(true));
  it.each([".env", ".gitignore", ".orchestratorignore", "node_modules2", "src"])("does not hold %s", (name) =>
    expect(isAlwaysLeftOut(name)).toBe(false),
  );
});
