// Where the function of a new route goes: whether that place is free, whether a handler is there already, and in which module style it is written.
import { open } from "node:fs/promises";
import { join } from "node:path";
import type { FunctionSource } from "./app-source.ts";
import { inApp } from "./folders.ts";
import { candidatesOf } from "./function-folders.ts";
import { SCRIPT_ENTRIES, TYPED_ENTRIES } from "./function-entries.ts";
import type { KindOfRoute } from "./manifest-piece.ts";
import type { ManifestRoute } from "./manifest-routes.ts";
import { isRecord } from "./pragmas.ts";
import { entryAt, realFolderProblem } from "./real-places.ts";
import { nameOf } from "./routes.ts";

export interface Surroundings {
  readonly appFolder: string;
  readonly routes: readonly ManifestRoute[];
  readonly functions: readonly FunctionSource[]; // Those that were found.
}

/** Relative to the app's folder. New routes have one name only: no dash or dot of theirs could be spelled otherwise. */
export const placeOf = (route: KindOfRoute): string => candidatesOf({ ...route, source: null })[0] ?? "";

/** As a sentence; null where a function may be put there. */
export async function placeProblem(place: string, { appFolder, routes, functions }: Surroundings): Promise<string | null> {
  const holder =
    functions.find((fn) => fn.folder === inApp(appFolder, place)) ??
    routes.find((route) => inApp(appFolder, candidatesOf(route)[0] ?? "") === inApp(appFolder, place));
  if (holder !== undefined) return `its folder would be ${place}, which is that of "${nameOf(holder)}"`;
  return realFolderProblem(appFolder, place);
}

/** The file that a handler is in; null where there is none. */
export async function handlerAt(folder: string): Promise<string | null> {
  for (const name of [...SCRIPT_ENTRIES, ...TYPED_ENTRIES]) if ((await entryAt(join(folder, name))) !== "none") return name;
  return null;
}

/** Whether handlers of this app are ES modules: by the nearest package.json or else by most of those that are there. */
export async function writesModules(place: string, { appFolder, functions }: Surroundings): Promise<boolean> {
  const parts = place.split("/");
  for (let count = parts.length; count >= 0; count -= 1) {
    const type = await packageType(join(appFolder, ...parts.slice(0, count)));
    if (type === "module") return true;
    if (type !== null) break;
  }
  const styles = await Promise.all(functions.slice(0, HANDLERS_LOOKED_AT).map(async (fn) => isModuleIn(fn.folder)));
  return styles.filter((isModule) => isModule === true).length > styles.filter((isModule) => isModule === false).length;
}

const HANDLERS_LOOKED_AT = 50;

/** Null where no package.json is there, or none that says it. */
async function packageType(folder: string): Promise<string | null> {
  try {
    const content: unknown = JSON.parse(await beginningOf(join(folder, "package.json")));
    return isRecord(content) && typeof content["type"] === "string" ? content["type"] : null;
  } catch {
    return null; // Whoever reads it for a build says what is wrong with it.
  }
}

/** Null where there is no handler. */
async function isModuleIn(folder: string): Promise<boolean | null> {
  const entry = await handlerAt(folder);
  if (entry === null) return null;
  if (entry !== "index.js") return !entry.endsWith(".cjs") && !entry.endsWith(".cts");
  return /^(?:export|import)\b/m.test(await beginningOf(join(folder, entry)).catch(() => ""));
}

async function beginningOf(path: string): Promise<string> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(BYTES_LOOKED_AT), 0, BYTES_LOOKED_AT, 0);
    return buffer.toString("utf8", 0, bytesRead);
  } finally {
    await file.close();
  }
}

const BYTES_LOOKED_AT = 100_000;
