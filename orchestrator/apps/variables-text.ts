// Reads the text of a file with environment variables, line by line. Pure; what it finds wrong never shows a value.
import type { Environment } from "../../runtime-image/contract/instance-manifest.ts";

export type VariableSection = Environment | "testing" | "every";

export interface VariableLine {
  readonly section: VariableSection;
  readonly key: string;
  readonly value: string;
  readonly line: number; // From 1.
}

export interface VariablesText {
  readonly lines: readonly VariableLine[];
  readonly problems: readonly string[]; // "line 3: …"
}

/** KEY=value, with comments, quotes and "export "; below @testing, @staging or @production also "KEY value". */
export function parseEnvText(text: string): VariablesText {
  return parseLines(text, "every", (line, section) => {
    const header = /^@(\S+)\s*(?:#.*)?$/.exec(line.trimStart());
    if (header !== null) return { kind: "section", section: SECTIONS[header[1] ?? ""] ?? null };
    const assignment =
      /^\s*(?:export\s+)?([^\s=]+)\s*=[^\S\n]*/.exec(line) ?? (section === "every" ? null : /^\s*(\S+)[^\S\n]+/.exec(line));
    return assignment === null ? { kind: "wrong" } : { kind: "variable", key: assignment[1] ?? "", valueAt: assignment[0].length };
  });
}

/** The originals' preferences: below @env the name of an environment, and below that, indented, "KEY value". */
export function parsePreferencesText(text: string): VariablesText {
  return parseLines(text, null, (line, section) => {
    if (line.startsWith("@")) return { kind: "section", section: /^@env\s*(?:#.*)?$/.test(line) ? "every" : "elsewhere" };
    if (section === null) return { kind: "other" };
    if (!/^\s/.test(line)) return { kind: "section", section: SECTIONS[line.replace(/#.*/, "").trim()] ?? null };
    const pair = /^\s+(\S+)[^\S\n]+/.exec(line);
    return pair === null ? { kind: "wrong" } : { kind: "variable", key: pair[1] ?? "", valueAt: pair[0].length };
  });
}

const SECTIONS: Readonly<Record<string, VariableSection>> = { testing: "testing", staging: "staging", production: "production" };

type Line =
  | { readonly kind: "section"; readonly section: VariableSection | "elsewhere" | null } // Null: there is no such section.
  | { readonly kind: "variable"; readonly key: string; readonly valueAt: number }
  | { readonly kind: "wrong" | "other" };

type Recognise = (line: string, section: VariableSection | null) => Line;

function parseLines(text: string, first: VariableSection | null, recognise: Recognise): VariablesText {
  const source = text.replace(/^\uFEFF/, "").replaceAll(/\r\n?/g, "\n");
  const lines: VariableLine[] = [];
  const problems: string[] = [];
  let section = first;
  let at = 0;
  for (let line = 1; at < source.length; line += 1) {
    const end = endOfLine(source, at);
    const content = source.slice(at, end);
    const found: Line = /^\s*(#|$)/.test(content) ? { kind: "other" } : recognise(content, section);
    let next = end + 1;
    let lineCount = 1;
    if (found.kind === "wrong") problems.push(`line ${line}: should be KEY=value`);
    else if (found.kind === "section") {
      if (found.section === null) problems.push(`line ${line}: should name testing, staging or production`);
      section = found.section === "elsewhere" ? null : found.section;
    } else if (found.kind === "variable" && section !== null) {
      const value = readValue(source, at + found.valueAt);
      if (value.problem !== null) problems.push(`line ${line}: ${value.problem}`);
      else lines.push({ section, key: found.key, value: value.text, line });
      next = value.end + 1;
      lineCount = source.slice(at, value.end).split("\n").length;
    }
    line += lineCount - 1;
    at = next;
  }
  return { lines, problems };
}

interface Value {
  readonly text: string;
  readonly end: number; // Of its last line.
  readonly problem: string | null;
}

/** A value in quotes may go over several lines; one without ends before a comment. */
function readValue(source: string, at: number): Value {
  const lineEnd = endOfLine(source, at);
  const quote = source[at] ?? "";
  if (!`"'\``.includes(quote) || quote === "") {
    const text = source.slice(at, lineEnd).replace(/(^|\s)#.*/, "");
    return { text: text.trim(), end: lineEnd, problem: null };
  }
  const close = closingQuote(source, at + 1, quote);
  if (close < 0) return { text: "", end: lineEnd, problem: `the quote ${quote} is never closed` };
  const end = endOfLine(source, close);
  const isAlone = /^\s*(#.*)?$/.test(source.slice(close + 1, end));
  const inner = source.slice(at + 1, close);
  return { text: quote === '"' ? unescaped(inner) : inner, end, problem: isAlone ? null : `something follows the closing ${quote}` };
}

function closingQuote(source: string, from: number, quote: string): number {
  for (let index = from; index < source.length; index += 1) {
    if (source[index] === quote) return index;
    if (quote === '"' && source[index] === "\\") index += 1;
  }
  return -1;
}

const ESCAPES: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", '"': '"', "\\": "\\" };

const unescaped = (text: string): string => text.replaceAll(/\\(.)/g, (whole, letter: string) => ESCAPES[letter] ?? whole);

const endOfLine = (source: string, at: number): number => {
  const end = source.indexOf("\n", at);
  return end < 0 ? source.length : end;
};
