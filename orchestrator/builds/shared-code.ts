// Shared code as it ships: src/shared becomes a package in every function that sees it, its TypeScript compiled file by file.
import { join, relative, sep } from "node:path";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import type { AppSource, SharedPackage, SharedSource } from "../apps/app-source.ts";
import { isInside } from "../apps/folders.ts";
import { findSources, readSources } from "./collect.ts";
import { compileFiles, compiledPath, isTypeScript, syntaxProblems } from "./compile.ts";
import { assertSize } from "./size.ts";
import { nearestPackage } from "./packages.ts";

export interface SharedCode {
  readonly source: SharedSource;
  readonly files: readonly SharedFile[];
}

export interface SharedFile {
  readonly path: string; // Inside the package.
  readonly bytes: Uint8Array;
  readonly isExecutable: boolean;
  readonly absolute: string | null; // Where these very bytes lie; null where they were made here.
}

export async function readSharedCode(app: AppSource): Promise<ReadonlyMap<SharedPackage, SharedCode>> {
  const read = await Promise.all(app.shared.map(async (source) => ({ source, files: await filesOf(source, app) })));
  return new Map(read.map((code) => [code.source.packageName, code]));
}

/** How an import of a file of shared code is written, wherever it ends up; null for any other file. */
export function importOfShared(absolute: string, sources: readonly SharedSource[]): string | null {
  const source = sources.find(({ folder }) => isInside(folder, absolute));
  return source === undefined ? null : `${source.packageName}/${compiledPath(slashed(relative(source.folder, absolute)))}`;
}

/** Imports of compiled files by the names of their sources, which Node does not find: the place, and the name that it finds. */
export function sourceNameProblems(
  files: readonly { readonly path: string; readonly bytes: Uint8Array }[],
  shared: ReadonlyMap<string, Pick<SharedCode, "files">>,
): string[] {
  return files.flatMap(({ path, bytes }) => {
    const imported = [...Buffer.from(bytes).toString("utf8").matchAll(IMPORT_OF_SOURCE)];
    return imported.flatMap(([, packageName = "", inner = ""]) => {
      const written = compiledPath(inner);
      const names = shared.get(packageName)?.files.map((file) => file.path) ?? [];
      if (names.includes(inner) || !names.includes(written)) return [];
      return [`${path}: imports "${packageName}/${inner}"; JavaScript finds it as "${packageName}/${written}"`];
    });
  });
}

const IMPORT_OF_SOURCE =
  /(?:\bfrom|\bimport|\brequire|\bimport\s*\(|\brequire\s*\()\s*["'`](@architect\/(?:shared|views))\/([^"'`\n]+\.[cm]?tsx?)["'`]/g;

async function filesOf(source: SharedSource, app: AppSource): Promise<SharedFile[]> {
  const place = { name: slashed(relative(app.folder, source.folder)), folder: source.folder };
  const found = await findSources(place, app.folder);
  assertSize(
    place.name,
    found.map((file) => ({ ...file, path: `${place.name}/${file.path}` })),
    app.settings.functionBytesMax,
  );
  const read = await readSources(found);
  const problems = await syntaxProblems(read.map(({ path, bytes }) => ({ path: `${place.name}/${path}`, bytes })));
  const packaged = await nearestPackage(source.folder, app.folder);
  const packageType = packaged?.fields["type"];
  const sources = read.filter((file) => isTypeScript(file.path));
  const compiled =
    problems.length > 0 || sources.length === 0
      ? null
      : await compileFiles(
          sources.map((file) => file.absolute),
          { appFolder: app.folder, packageType, importOf: importWithin(source, app), sharedFolder: sharedFolderOf(app) },
        );
  const all = [...problems, ...(compiled?.kind === "failed" ? compiled.problems : [])];
  if (all.length > 0)
    throw new PlatformError("FUNCTION_INVALID", {
      detail: `${place.name} has a mistake.`,
      problems: all,
      remedy: "Mend the line that is named.",
    });
  const outputs = compiled?.kind === "compiled" ? compiled.output : new Map<string, Uint8Array>();
  const files = read.map(({ path, absolute, bytes, isExecutable }): SharedFile => {
    const output = outputs.get(absolute);
    return output === undefined
      ? { path, bytes, isExecutable, absolute }
      : { path: compiledPath(path), bytes: output, isExecutable, absolute: null };
  });
  return packageType === undefined || packaged?.folder === source.folder ? files : [...files, typeFile(packageType)];
}

/** Below node_modules Node asks no folder above for it, so a package of its own says what the app's said. */
const typeFile = (type: unknown): SharedFile => ({
  path: "package.json",
  bytes: Buffer.from(`${JSON.stringify({ type })}\n`),
  isExecutable: false,
  absolute: null,
});

/** What lies beside the importing file stays beside it; what lies outside of all shared code becomes part of the file. */
function importWithin(source: SharedSource, app: AppSource): (absolute: string, importer: string) => string | null {
  return (absolute, importer) => {
    if (absolute.endsWith(".json")) return null;
    if (!isInside(source.folder, absolute)) return importOfShared(absolute, app.shared);
    const path = slashed(relative(join(importer, ".."), compiledPath(absolute)));
    return path.startsWith(".") ? path : `./${path}`;
  };
}

export const sharedFolderOf =
  (app: AppSource) =>
  (packageName: string): string | undefined =>
    app.shared.find((source) => source.packageName === packageName)?.folder;

const slashed = (path: string): string => path.split(sep).join("/");
