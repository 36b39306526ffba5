// Rules about what stands in a file: its first line, its length, and who may read the environment, print, or wait. Each returns its problems.
import type { SourceTree } from "./source-tree.ts";

const PRODUCT = /^(?:runtime-image|gateway|orchestrator)\//;
// Programs, or files that hold one as text, that run in a container or as a hook of git: neither our environment nor our console.
const HELPER = /^orchestrator\/(?:engines\/docker-packet-filter|git\/push-hook)\.ts$|^orchestrator\/images\/add-git\.mjs$/;
const LINE_COUNT_MAX = 400; // One idea fits in far less.

export function missingFirstSentences(tree: SourceTree): string[] {
  return [...tree].flatMap(([file, text]) => {
    const [first = "", ...rest] = text.replace(/^#!.*\n/, "").split("\n");
    const block = [
      first,
      ...rest.slice(
        0,
        Math.max(
          0,
          rest.findIndex((line) => !line.startsWith("//")),
        ),
      ),
    ].join(" ");
    const isSentence = /^\/\/ \S.{14,}/.test(first) && /[.:!?]["')]?(?:\s|$)/.test(block);
    return isSentence ? [] : [`${file} does not begin with a sentence on what it is for`];
  });
}

export const tooLongFiles = (tree: SourceTree): string[] =>
  [...tree].flatMap(([file, text]) => {
    const lineCount = text.trimEnd().split("\n").length;
    return lineCount <= LINE_COUNT_MAX ? [] : [`${file} has ${lineCount} lines; at most ${LINE_COUNT_MAX}`];
  });

export const environmentReaders = (tree: SourceTree): string[] =>
  placesOf(tree, {
    what: /\bprocess\.env\b/,
    in: PRODUCT,
    exceptIn: either(/(?:^|\/)config\.ts$/, HELPER),
    problem: "reads the environment outside a config file",
  });

export const consoleWriters = (tree: SourceTree): string[] =>
  placesOf(tree, {
    what: /\bconsole\.\w+\(|\bprocess\.(?:stdout|stderr)\.write\(/,
    in: PRODUCT,
    exceptIn: either(/(?:^|\/)log\.ts$|^orchestrator\/bin\.mjs$/, HELPER), // bin.mjs must speak on a Node that cannot load log.ts.
    problem: "writes to the console outside log.ts",
  });

/** Waiting for a time instead of a condition. Pauses between two looks at a condition belong to until.ts. */
export const sleepers = (tree: SourceTree): string[] =>
  placesOf(tree, {
    what: /\bawait\s+(?:sleep|delay|pause|wait|setTimeout)\(\s*[\d_]|new Promise(?:<\w+>)?\(\s*\(?(\w+)\)?\s*=>\s*(?:void\s+)?(?:\{\s*)?setTimeout\(\s*(?:\(\)\s*=>\s*)?\1\b/,
    in: /^test\//,
    exceptIn: /^test\/support\/until\.ts$|^test\/tidy\/|^test\/conformance\/engine-functions\.ts$/, // The last holds functions as text, slow ones too.
    problem: "waits for a time instead of a condition",
  });

const either = (...patterns: readonly RegExp[]): RegExp => new RegExp(patterns.map((pattern) => pattern.source).join("|"));

interface Pattern {
  readonly what: RegExp;
  readonly in: RegExp;
  readonly exceptIn: RegExp;
  readonly problem: string;
}

function placesOf(tree: SourceTree, pattern: Pattern): string[] {
  return [...tree].flatMap(([file, text]) => {
    if (!pattern.in.test(file) || pattern.exceptIn.test(file)) return [];
    return text.split("\n").flatMap((line, index) => {
      const code = line.replace(/^\s*(?:\/\/|\*|\/\*).*$/, "").replace(/\s\/\/ .*$/, "");
      return pattern.what.test(code) ? [`${file}:${index + 1} ${pattern.problem}`] : [];
    });
  });
}

/** Limits that nothing outside their own file mentions: what has a number and no use binds nobody. */
export function unusedLimits(tree: SourceTree, limitsFile: string): string[] {
  const names = [...(tree.get(limitsFile) ?? "").matchAll(/^export const (\w+)/gm)].map((match) => match[1] ?? "");
  const others = [...tree].filter(([file]) => PRODUCT.test(file) && file !== limitsFile).map(([, text]) => text);
  return names
    .filter((name) => !others.some((text) => new RegExp(`\\b${name}\\b`).test(text)))
    .map((name) => `${limitsFile}: nothing uses ${name}`);
}
