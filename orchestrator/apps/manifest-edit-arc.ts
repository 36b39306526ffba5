// Puts a route into the lines of an .arc manifest, or takes one out. Pure.
import { type KindOfRoute, isSameRoute, routesOfPiece } from "./manifest-piece.ts";
import { nameOf } from "./routes.ts";
import { type Line, isBlank, linesOf, textOfLines, withLine, withLines, withoutLines } from "./text-lines.ts";

/** Texts with the route, the one that reads best first. Which of them says what it should is for the caller to find out. */
export function arcWithRoute(text: string, route: KindOfRoute): string[] {
  const lines = linesOf(text);
  const section = sectionOf(lines, route.kind);
  const line = nameOf(route);
  if (section === null) return [textOfLines(withLines(lines, lines.length, ["", `@${route.kind}`, line]))];
  const last = section.items.at(-1);
  const at = last === undefined ? section.at + 1 : last.to;
  const indent = section.items.map((item) => (item.isOnPragmaLine ? "" : indentOf(item.text)))[0] ?? "";
  // The blank line sets a pragma that stood there empty apart from one that was made for the route, which leaves with it.
  return [[indent + line], [line], ["", line]].map((added) => textOfLines(withLines(lines, at, added)));
}

/** Texts without the route, the best one first. */
export function arcWithoutRoute(text: string, route: KindOfRoute): string[] {
  const lines = linesOf(text);
  const section = sectionOf(lines, route.kind);
  for (const item of section?.items ?? []) {
    const routes = routesOfPiece(`@${route.kind}\n${item.text}\n`, "arc");
    if (section === null || !routes.some((one) => isSameRoute(one, route))) continue;
    const edits = routes.length > 1 ? withoutMethod(lines, item, route) : withoutItem(lines, section, item);
    return edits.map(textOfLines);
  }
  return [];
}

interface Section {
  readonly at: number; // The pragma's own line.
  readonly items: readonly Item[];
}

interface Item {
  readonly from: number;
  readonly to: number; // The line behind its last one.
  readonly text: string;
  readonly isOnPragmaLine: boolean;
}

function sectionOf(lines: readonly Line[], kind: string): Section | null {
  const at = lines.findIndex((line) => pragmaOf(line) === kind);
  if (at < 0) return null;
  const next = lines.findIndex((line, index) => index > at && pragmaOf(line) !== null);
  return { at, items: itemsOf(lines, at, next < 0 ? lines.length : next) };
}

const pragmaOf = (line: Line): string | null => /^\s*@([\w-]+)/.exec(line.text)?.[1] ?? null;
const indentOf = (text: string): string => /^[ \t]*/.exec(text)?.[0] ?? "";

/** As the format's parser sees them: a line, or a single word with the indented lines below it. */
function itemsOf(lines: readonly Line[], at: number, end: number): Item[] {
  const items: Item[] = [];
  const [, inline] = ON_PRAGMA_LINE.exec(lines[at]?.text ?? "")?.slice(1) ?? [];
  if (inline !== undefined) items.push({ from: at, to: at + 1, text: inline, isOnPragmaLine: true });
  for (const [offset, { text }] of lines.slice(at + 1, end).entries()) {
    const index = at + 1 + offset;
    if (text.trim() === "" || text.trim().startsWith("#")) continue;
    const above = items.at(-1);
    const isBelowHead = above !== undefined && !above.isOnPragmaLine && /^(?:\t| {2})/.test(text) && isHead(above.text);
    if (isBelowHead) items.splice(-1, 1, { ...above, to: index + 1, text: `${above.text}\n${text}` });
    else items.push({ from: index, to: index + 1, text, isOnPragmaLine: false });
  }
  return items;
}

const ON_PRAGMA_LINE = /^(@[\w-]+)[ \t]+([^#\s].*)$/;

const isHead = (text: string): boolean => {
  const [first = ""] = text.split("\n");
  return /^\s*\S+\s*$/.test(first.replace(/#.*$/, ""));
};

function withoutItem(lines: readonly Line[], { at, items }: Section, item: Item): Line[][] {
  if (item.isOnPragmaLine) return [withLine(lines, at, (lines[at]?.text ?? "").replace(ON_PRAGMA_LINE, "$1"))];
  const isAlone = items.length === 1 && item.to === lines.length && /^@[\w-]+$/.test(lines[at]?.text ?? "");
  const edits = [withoutLines(lines, item)];
  if (isAlone && item.from === at + 1 && isBlank(lines[at - 1])) edits.unshift(withoutLines(lines, { from: at - 1, to: item.to }));
  if (isAlone && item.from === at + 2 && isBlank(lines[at + 1])) edits.unshift(withoutLines(lines, { from: at + 1, to: item.to }));
  return edits;
}

/** Of a block with several methods: a line of its own, or a word of a line. */
function withoutMethod(lines: readonly Line[], item: Item, { method }: KindOfRoute): Line[][] {
  const word = new RegExp(`[ \\t]+["'\`]?${method}["'\`]?(?=\\s|#|$)`, "i");
  const edits: Line[][] = [];
  for (let index = item.from + 1; index < item.to; index += 1) {
    const text = lines[index]?.text ?? "";
    if (word.test(text)) edits.push(withoutLines(lines, { from: index, to: index + 1 }), withLine(lines, index, text.replace(word, "")));
  }
  return edits;
}
