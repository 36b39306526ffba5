// A text as lines that keep their own ends, so that what an edit does not touch stays as it was, to the byte. Pure.

export interface Line {
  readonly text: string;
  readonly end: string; // "\n", "\r\n" or "\r"; "" where the text ends without one.
}

export const linesOf = (text: string): Line[] =>
  [...text.matchAll(/([^\r\n]*)(\r\n|\r|\n|$)/g)]
    .map(([, line = "", end = ""]) => ({ text: line, end }))
    .filter((line) => line.text !== "" || line.end !== "");

export const textOfLines = (lines: readonly Line[]): string => lines.map((line) => line.text + line.end).join("");

export const isBlank = (line: Line | undefined): boolean => line?.text.trim() === "";

/** With more lines before the one at this index. They end as their neighbours do. */
export function withLines(lines: readonly Line[], at: number, added: readonly string[]): Line[] {
  const before = lines.slice(0, at);
  const last = before.at(-1);
  const end = last !== undefined && last.end !== "" ? last.end : (lines[0]?.end ?? "") === "" ? "\n" : (lines[0]?.end ?? "");
  const more = added.map((text) => ({ text, end }));
  if (last?.end !== "") return [...before, ...more, ...lines.slice(at)];
  return [...before.slice(0, -1), { ...last, end }, ...more.slice(0, -1), ...more.slice(-1).map((line) => ({ ...line, end: "" }))];
}

/** Without these lines. A text that ended without a line's end still does. */
export function withoutLines(lines: readonly Line[], { from, to }: { readonly from: number; readonly to: number }): Line[] {
  const before = lines.slice(0, from);
  const last = before.at(-1);
  if (to < lines.length || last === undefined || lines.at(-1)?.end !== "") return [...before, ...lines.slice(to)];
  return [...before.slice(0, -1), { ...last, end: "" }];
}

export const withLine = (lines: readonly Line[], at: number, text: string): Line[] =>
  lines.map((line, index) => (index === at ? { ...line, text } : line));
