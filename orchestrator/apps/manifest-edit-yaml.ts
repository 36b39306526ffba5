// Puts a route into the lines of a YAML manifest, or takes one out, where it is written in blocks as most are. Pure.
import { type KindOfRoute, isSameRoute, routesOfPiece } from "./manifest-piece.ts";
import { type Line, isBlank, linesOf, textOfLines, withLine, withLines, withoutLines } from "./text-lines.ts";

/** Texts with the route, the one that reads best first. Which of them says what it should is for the caller to find out. */
export function yamlWithRoute(text: string, route: KindOfRoute): string[] {
  const lines = linesOf(text);
  const section = sectionOf(lines, route.kind);
  const method = route.method.toLowerCase();
  const field = `${method}: ${route.path}`;
  const edits = ((): Line[][] => {
    if (section === null) return [withLines(lines, lines.length, ["", `${route.kind}:`, `  - ${field}`])];
    const last = section.items.at(-1);
    // The other indentation sets a list that stood there empty apart from one that was made for the route, which leaves with it.
    if (last === undefined) return ["  - ", "- "].map((dash) => withLines(lines, section.at + 1, [dash + field]));
    const { indent } = section;
    if (last.isDashed) return [withLines(lines, last.to, [`${indent}- ${field}`])];
    return [[indent + field], [`${indent}${route.path}:`, `${indent}  method: ${method}`]].map((added) => withLines(lines, last.to, added));
  })();
  return edits.map(textOfLines);
}

/** Texts without the route, the best one first. */
export function yamlWithoutRoute(text: string, route: KindOfRoute): string[] {
  const lines = linesOf(text);
  const section = sectionOf(lines, route.kind);
  for (const item of section?.items ?? []) {
    const written = lines.slice(item.from, item.to).map((line) => line.text);
    const routes = routesOfPiece(`${route.kind}:\n${written.join("\n")}\n`, "yaml");
    if (section === null || !routes.some((one) => isSameRoute(one, route))) continue;
    const edits = routes.length > 1 ? withoutPart(lines, item, route) : withoutItem(lines, section, item);
    return edits.map(textOfLines);
  }
  return [];
}

interface Section {
  readonly at: number; // The key's own line.
  readonly indent: string; // Of its items.
  readonly items: readonly Item[];
}

interface Item {
  readonly from: number;
  readonly to: number; // The line behind its last one.
  readonly isDashed: boolean;
}

/** Null also where the key's value begins on its own line: that is no block. */
function sectionOf(lines: readonly Line[], kind: string): Section | null {
  const key = new RegExp(`^(["']?)${kind}\\1:[ \\t]*(?:#.*)?$`);
  const at = lines.findIndex((line) => key.test(line.text));
  if (at < 0) return null;
  const next = lines.findIndex((line, index) => index > at && /^(?:[^\s#-]|---|\.\.\.)/.test(line.text));
  const inside = lines.slice(at + 1, next < 0 ? lines.length : next).map((line, offset) => ({ text: line.text, index: at + 1 + offset }));
  const written = inside.filter(({ text }) => text.trim() !== "" && !text.trim().startsWith("#"));
  const indent = /^ */.exec(written[0]?.text ?? "")?.[0] ?? "";
  const items: Item[] = [];
  for (const { text, index } of written) {
    const own = text.slice(indent.length);
    const above = items.at(-1);
    if (above !== undefined && (own.startsWith(" ") || (above.isDashed && !own.startsWith("-"))))
      items.splice(-1, 1, { ...above, to: index + 1 });
    else items.push({ from: index, to: index + 1, isDashed: /^-(?:\s|$)/.test(own) });
  }
  return { at, indent, items };
}

function withoutItem(lines: readonly Line[], { at, items }: Section, item: Item): Line[][] {
  const edits = [withoutLines(lines, item)];
  const wasMadeForIt =
    items.length === 1 &&
    item.from === at + 1 &&
    item.to === lines.length &&
    /^\w+:$/.test(lines[at]?.text ?? "") &&
    /^ {2}- /.test(lines[item.from]?.text ?? "") &&
    isBlank(lines[at - 1]);
  return wasMadeForIt ? [withoutLines(lines, { from: at - 1, to: item.to }), ...edits] : edits;
}

/** Of an item with several routes: a line of its own, or a word of a list. */
function withoutPart(lines: readonly Line[], item: Item, { method }: KindOfRoute): Line[][] {
  const words = [new RegExp(`,\\s*["']?${method}["']?(?=\\s*[\\],])`, "i"), new RegExp(`["']?\\b${method}["']?\\s*,\\s*`, "i")];
  const edits: Line[][] = [];
  for (let index = item.from; index < item.to; index += 1) {
    const text = lines[index]?.text ?? "";
    if (!text.toLowerCase().includes(method.toLowerCase())) continue;
    edits.push(withoutLines(lines, { from: index, to: index + 1 }));
    for (const word of words) if (word.test(text)) edits.push(withLine(lines, index, text.replace(word, "")));
  }
  return edits;
}
