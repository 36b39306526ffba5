// Where static files and pages are: the paths that handlers write into their answers.
import { readFileSync } from "node:fs";
import path from "node:path";

const MAP = "node_modules/@architect/shared/static.json"; // In the function's folder: from a file's name to its fingerprinted one.

let fingerprints: Readonly<Record<string, unknown>> | null = null;

/** "/_static/<path>", with the fingerprinted name where the app's files have one. An unknown file keeps its name. */
export function staticPath(file: string): string {
  const name = file.replace(/^\/+/, "");
  fingerprints ??= readMap();
  const fingerprinted = Object.hasOwn(fingerprints, name) ? fingerprints[name] : undefined;
  return `/_static/${typeof fingerprinted === "string" ? fingerprinted : name}`;
}

function readMap(): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(readFileSync(path.join(process.cwd(), MAP), "utf8"));
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    return {}; // Most apps have none.
  }
}

/** Every environment has a host of its own, so a path needs no prefix. */
export const pathOf = (to: unknown): unknown => to;
