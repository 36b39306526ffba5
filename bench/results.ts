// RESULTS.md: one section per bench; a run replaces its own section and leaves the others.
import { readFile, writeFile } from "node:fs/promises";

const RESULTS = new URL("RESULTS.md", import.meta.url);
const HEAD =
  "# Measured\n\nWritten by `npm run bench`; every section says when, where and from which commit. Ratios hold better than figures.\n";
const ORDER = ["compare", "cold", "reload", "memory", "routes", "stores", "deploy", "apps"];

export async function saveSection(name: string, body: string): Promise<void> {
  const text = await readFile(RESULTS, "utf8").catch(() => HEAD);
  await writeFile(RESULTS, replaceSection(text, { name, body }));
}

/** Sections stand in a fixed order, whichever was written first. */
export function replaceSection(text: string, section: { readonly name: string; readonly body: string }): string {
  const sections = sectionsIn(text);
  sections.set(section.name, section.body.trim());
  const place = (name: string): number => (ORDER.includes(name) ? ORDER.indexOf(name) : ORDER.length);
  const ordered = [...sections].toSorted(([a], [b]) => place(a) - place(b));
  return `${[HEAD.trim(), ...ordered.map(([name, body]) => `${mark(name)}\n${body}\n${mark(`/${name}`)}`)].join("\n\n")}\n`;
}

const mark = (name: string): string => `<!-- ${name} -->`;

function sectionsIn(text: string): Map<string, string> {
  const found = text.matchAll(/<!-- (\w+) -->\n([\s\S]*?)\n<!-- \/\1 -->/g);
  return new Map([...found].map(([, name = "", body = ""]) => [name, body.trim()]));
}
