// What of a folder has to be installed, and what that depends on: the same request, the same packages.
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import type { AppSource } from "../apps/app-source.ts";
import { LIBRARY_PACKAGES } from "./library-stubs.ts";
import { type PackageFields, isRecord, packageFields } from "./packages.ts";

export interface InstallRequest {
  readonly folder: string; // Absolute; it is never written to.
  readonly name: string; // For messages: "src/http/get-index", or "the app's folder".
  readonly files: ReadonlyMap<string, Uint8Array>; // What npm is given: package.json, perhaps a lock and an .npmrc.
  readonly hasLock: boolean;
  readonly allowsScripts: boolean;
  readonly hash: string; // Of everything above but the folder.
  readonly ownPackages: readonly string[]; // What it asks for that lies in the app itself: npm is not given those.
}

const LOCK_FILES = ["npm-shrinkwrap.json", "package-lock.json"];
// What npm goes by. Other fields may change without a new install; scripts count only where they may run.
const READ_BY_NPM = [
  "name",
  "version",
  "dependencies",
  "optionalDependencies",
  "peerDependencies",
  "peerDependenciesMeta",
  "devDependencies",
  "bundleDependencies",
  "bundledDependencies",
  "overrides",
  "engines",
  "os",
  "cpu",
  "libc",
];

/** Null where nothing has to be installed. */
export async function installRequest(folder: string, app: AppSource): Promise<InstallRequest | null> {
  const text = await textOf(join(folder, "package.json"));
  const fields = text === null ? null : packageFields(text);
  if (fields === null || !asksForPackages(fields)) return null;
  const files = new Map<string, Uint8Array>();
  const lock = await firstOf(folder, LOCK_FILES);
  const npmrc = await firstOf(folder, [".npmrc"]);
  if (lock !== null) files.set(lock.name, lock.bytes);
  if (npmrc !== null) files.set(npmrc.name, npmrc.bytes);
  const { allowsInstallScripts: allowsScripts } = app.settings;
  files.set("package.json", Buffer.from(JSON.stringify(packageFor(fields, { hasLock: lock !== null, allowsScripts }))));
  const name = relative(app.folder, folder).split(sep).join("/");
  const hash = createHash("sha256").update(`${allowsScripts}\n`);
  for (const [path, bytes] of files) hash.update(`${path} ${bytes.length}\n`).update(bytes);
  return {
    folder,
    name: name === "" ? "the app's folder" : name,
    files,
    hasLock: lock !== null,
    allowsScripts,
    hash: hash.digest("hex").slice(0, 32),
    ownPackages: [...packagesByPath(fields), ...(fields["workspaces"] === undefined ? [] : ['"workspaces"'])],
  };
}

/** Those that a package.json asks for by their path. */
export function packagesByPath(fields: PackageFields): string[] {
  const asked = Object.entries({ ...recordAt(fields, "optionalDependencies"), ...recordAt(fields, "dependencies") });
  return asked.filter(([, version]) => /^(?:file|link|workspace|portal):|^\.{0,2}\//.test(String(version))).map(([name]) => name);
}

function asksForPackages(fields: PackageFields): boolean {
  const names = ["dependencies", "optionalDependencies"].flatMap((field) => Object.keys(recordAt(fields, field)));
  return names.some((name) => !LIBRARY_PACKAGES.includes(name)); // Those are in every instance, and their copies would not ship.
}

function packageFor(fields: PackageFields, { hasLock, allowsScripts }: { hasLock: boolean; allowsScripts: boolean }): PackageFields {
  const names = allowsScripts ? [...READ_BY_NPM, "scripts"] : READ_BY_NPM;
  const kept = Object.fromEntries(Object.entries(fields).filter(([name]) => names.includes(name)));
  if (hasLock) return kept; // "npm ci" wants it to agree with the lock.
  for (const field of ["dependencies", "optionalDependencies"])
    if (kept[field] !== undefined)
      kept[field] = Object.fromEntries(Object.entries(recordAt(fields, field)).filter(([name]) => !LIBRARY_PACKAGES.includes(name)));
  delete kept["devDependencies"];
  return kept;
}

const recordAt = (fields: PackageFields, name: string): Record<string, unknown> => {
  const value = fields[name];
  return isRecord(value) ? value : {};
};

async function firstOf(folder: string, names: readonly string[]): Promise<{ readonly name: string; readonly bytes: Uint8Array } | null> {
  for (const name of names) {
    const bytes = await readFile(join(folder, name)).catch(() => null);
    if (bytes !== null) return { name, bytes };
  }
  return null;
}

const textOf = (path: string): Promise<string | null> => readFile(path, "utf8").catch(() => null);
