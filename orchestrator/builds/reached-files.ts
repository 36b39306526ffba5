// What functions reach beyond their own folders: lays the app out as its builds will be, and has it traced.
import { readdir } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import type { AppSource } from "../apps/app-source.ts";
import type { BuildFile } from "../engines/engine.ts";
import { isNeverShipped } from "./collect.ts";
import { type FunctionParts, packageFolder } from "./function-parts.ts";
import { isLibraryCopy } from "./library-stubs.ts";
import { type Modules, foldersAbove } from "./modules.ts";
import { packageFields, reducedPackage } from "./packages.ts";
import { type PackageMemory, createTracer } from "./trace.ts";
import { type Workspace, type WorkspaceEntry, withSurroundings } from "./workspace.ts";

export interface Reaching {
  readonly app: AppSource;
  readonly parts: readonly FunctionParts[]; // Of functions that may reach out.
  readonly modules: Modules;
  readonly workspace: Workspace;
  readonly memory: PackageMemory;
}

/** Per function, in their order, what ships besides its parts. */
export async function reachedFiles({ app, parts, modules, workspace, memory }: Reaching): Promise<readonly (readonly BuildFile[])[]> {
  const own = new Map<string, WorkspaceEntry>();
  for (const one of parts) for (const [path, entry] of await entriesOf(one, app, modules)) own.set(path, entry);
  const root = modules.of(app.folder);
  if (root !== null) own.set("node_modules", { kind: "link", target: root });
  const entries = await withSurroundings(own, {
    appFolder: app.folder,
    whole: parts.map(({ source }) => source.name),
    isLeftOut: (name) => isNeverShipped(name) || name === "node_modules",
  });
  await workspace.sync(entries);
  const tracer = createTracer(workspace, entries, memory);
  const reached: (readonly BuildFile[])[] = [];
  for (const { source, code, files } of parts) {
    const isPart = new Set(files.map((file) => file.path));
    const traced = await tracer.trace({ entries: code.map((file) => file.path), workingFolder: source.name, isIgnored: isLibraryCopy });
    reached.push(traced.filter((file) => !isPart.has(file.path)).map(withoutExtras));
  }
  return reached;
}

async function entriesOf({ source, files }: FunctionParts, app: AppSource, modules: Modules): Promise<Map<string, WorkspaceEntry>> {
  const entries = new Map<string, WorkspaceEntry>();
  for (const file of files)
    entries.set(file.path, file.absolute === null ? { kind: "file", bytes: file.bytes } : { kind: "link", target: file.absolute });
  const ownModules = modules.of(source.folder);
  if (ownModules !== null && source.folder !== app.folder)
    for (const [path, target] of await linksInto(ownModules, packageFolder(source, ""), entries))
      entries.set(path, { kind: "link", target });
  for (const name of source.packages) {
    const sharedModules = app.shared.filter((one) => one.packageName === name).map((one) => modules.of(one.folder))[0] ?? null;
    if (sharedModules !== null) entries.set(`${packageFolder(source, name)}/node_modules`, { kind: "link", target: sharedModules });
  }
  for (const folder of foldersAbove(source.folder, app.folder)) {
    const found = modules.of(folder);
    if (found !== null && folder !== app.folder)
      entries.set(`${relative(app.folder, folder).split(sep).join("/")}/node_modules`, { kind: "link", target: found });
  }
  return entries;
}

/** A function's node_modules package by package, because shared code takes a place in it. */
async function linksInto(modules: string, place: string, taken: ReadonlyMap<string, unknown>): Promise<[string, string][]> {
  const folder = place.replace(/\/$/, "");
  const isTaken = (path: string): boolean => [...taken.keys()].some((other) => other.startsWith(`${path}/`));
  if (!isTaken(folder)) return [[folder, modules]];
  const links: [string, string][] = [];
  for (const name of await readdir(modules)) {
    const path = `${folder}/${name}`;
    if (!isTaken(path)) links.push([path, join(modules, name)]);
    else
      for (const inner of await readdir(join(modules, name)))
        if (!isTaken(`${path}/${inner}`)) links.push([`${path}/${inner}`, join(modules, name, inner)]);
  }
  return links;
}

/** Of an app's own package.json files only what Node reads ships: the rest changes often, and may be nobody's business. */
function withoutExtras(file: BuildFile): BuildFile {
  if (!/(?:^|\/)package\.json$/.test(file.path) || file.path.includes("node_modules/")) return file;
  const fields = packageFields(Buffer.from(file.bytes).toString("utf8"));
  return fields === null ? file : { ...file, bytes: reducedPackage(fields) };
}
