// What package.json files say: which kind of module a ".js" is, and which packages a folder asks for.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { isInside } from "../apps/folders.ts";

export type PackageFields = Readonly<Record<string, unknown>>;

/** Null where there is none, or none that can be read: the syntax check names one that is no JSON. */
export async function readPackage(folder: string): Promise<PackageFields | null> {
  const text = await readFile(join(folder, "package.json"), "utf8").catch(() => null);
  return text === null ? null : packageFields(text);
}

export function packageFields(text: string): PackageFields | null {
  try {
    const content: unknown = JSON.parse(text);
    return isRecord(content) ? content : null;
  } catch {
    return null;
  }
}

/** The nearest package.json from a folder upwards, inside the app. */
export async function nearestPackage(
  folder: string,
  appFolder: string,
): Promise<{ readonly folder: string; readonly fields: PackageFields } | null> {
  for (let current = folder; isInside(appFolder, current); current = join(current, "..")) {
    const fields = await readPackage(current);
    if (fields !== null) return { folder: current, fields };
  }
  return null;
}

// What Node itself reads of the package.json that a module belongs to. The rest may change without making a build another one.
const READ_BY_NODE = ["name", "type", "main", "imports", "exports"];

export function reducedPackage(fields: PackageFields): Uint8Array {
  const kept = Object.entries(fields).filter(([name]) => READ_BY_NODE.includes(name));
  return Buffer.from(`${JSON.stringify(Object.fromEntries(kept))}\n`);
}

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
