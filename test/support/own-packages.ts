// Gives a test app packages of this checkout, with everything that they need, as an install would: no network, no lock file.
import { existsSync, readFileSync } from "node:fs";
import { cp, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { CHECKOUT } from "./platform.ts";

interface PackageFile {
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const MODULES = join(CHECKOUT, "node_modules");

/** Copies packages into an app's node_modules and names them in its package.json. */
export async function providePackages(app: string, names: readonly string[]): Promise<void> {
  for (const folder of foldersOf(names)) await cp(folder, join(app, folder.slice(CHECKOUT.length)), { recursive: true });
  const dependencies = Object.fromEntries(names.map((name) => [name, packageIn(join(MODULES, name)).version]));
  await writeFile(join(app, "package.json"), JSON.stringify({ name: "with-packages", version: "1.0.0", private: true, dependencies }));
}

/** The folders of packages and of all that they depend on; what lies in another one's node_modules goes with that. */
function foldersOf(names: readonly string[]): string[] {
  const found = new Set<string>();
  const visit = (name: string, from: string): void => {
    const folder = resolvePackage(name, from);
    if (folder === null || found.has(folder)) return;
    found.add(folder);
    for (const needed of Object.keys(packageIn(folder).dependencies ?? {})) visit(needed, folder);
  };
  for (const name of names) visit(name, MODULES);
  return [...found].filter((folder) => folder.indexOf("/node_modules/", MODULES.length) === -1);
}

/** Where Node would find it: the nearest node_modules, going up to the checkout's. */
function resolvePackage(name: string, from: string): string | null {
  for (let folder = from; folder.length >= CHECKOUT.length; folder = dirname(folder)) {
    const candidate = join(folder, "node_modules", name);
    if (existsSync(join(candidate, "package.json"))) return candidate;
  }
  return null;
}

const packageIn = (folder: string): PackageFile => JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as PackageFile; // npm's own format.
