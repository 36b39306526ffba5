// Whether code may reach what does not lie in its own folder, told by its text alone, so that most functions need no tracing. Pure.
import { isBuiltin } from "node:module";

const MENTIONS = /\b(?:require|import)\b|node_modules/g;
// import x from "y", import "y", export … from "y" (its "from" is what counts), import("y"), require("y") and require.resolve("y").
const STATIC =
  /\b(?:import\s+(?:type\s+)?(?:[\w$*{}\s,]+?\s+from\s*)?|import\s*\(\s*|require(?:\.resolve)?\s*\(\s*)(?:"([^"\n]*)"|'([^'\n]*)'|`([^`$\n]*)`)/g;
const REEXPORT = /\bexport\s+(?:type\s+)?[\w$*{}\s,]+?\s+from\s*(?:"([^"\n]*)"|'([^'\n]*)')/g;
const UPWARDS = /["'`](?:\.\/)?((?:\.\.\/)*\.\.)(?=["'`/])/g;

export interface CodePlace {
  readonly path: string; // Relative to the folder that ships as a whole.
  readonly isKnown: (specifier: string) => boolean; // A package that is there without being looked for.
}

/** True unless every mention of a module is one that stays inside, is Node's own, or is known. */
export function mayReachOut(code: string, { path, isKnown }: CodePlace): boolean {
  const depth = path.split("/").length - 1;
  for (const [, climb = ""] of code.matchAll(UPWARDS)) if (climb.split("/").length > depth) return true;
  const stays = (specifier: string): boolean => specifier.startsWith(".") || isBuiltin(specifier) || isKnown(specifier);
  let mentionCount = [...code.matchAll(MENTIONS)].length;
  for (const [, double, single, template] of code.matchAll(STATIC)) {
    if (!stays(double ?? single ?? template ?? "")) return true;
    mentionCount -= 1;
  }
  for (const [, double, single] of code.matchAll(REEXPORT)) if (!stays(double ?? single ?? "")) return true;
  return mentionCount > 0;
}
