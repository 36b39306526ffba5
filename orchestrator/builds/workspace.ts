// A folder in which an app lies as its builds will: made of links to what is there and of the few files that were made here.
import { mkdir, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

/** What lies at a path of the workspace. */
export type WorkspaceEntry =
  | { readonly kind: "link"; readonly target: string } // Absolute.
  | { readonly kind: "file"; readonly bytes: Uint8Array };

export type WorkspaceEntries = ReadonlyMap<string, WorkspaceEntry>; // By path, relative, with "/".

export interface Workspace {
  readonly folder: string;
  /** Makes it hold these entries and nothing else. */
  sync(entries: WorkspaceEntries): Promise<void>;
}

export function createWorkspace(folder: string): Workspace {
  let known: WorkspaceEntries | null = null; // Null: nobody knows what an earlier orchestrator left.
  return {
    folder,
    async sync(entries) {
      const before = known ?? new Map<string, WorkspaceEntry>();
      if (known === null) await rm(folder, { recursive: true, force: true });
      known = null; // What is left half done is begun anew.
      await mkdir(folder, { recursive: true, mode: 0o700 });
      for (const [path, entry] of before) if (!isSame(entry, entries.get(path))) await rm(join(folder, path), { force: true });
      for (const [path, entry] of entries) if (!isSame(entry, before.get(path))) await make(join(folder, path), entry);
      known = entries;
    },
  };
}

function isSame(one: WorkspaceEntry, other: WorkspaceEntry | undefined): boolean {
  if (other === undefined) return false;
  if (one.kind === "link") return other.kind === "link" && one.target === other.target;
  return other.kind === "file" && Buffer.compare(one.bytes, other.bytes) === 0;
}

async function make(path: string, entry: WorkspaceEntry): Promise<void> {
  const write = async (): Promise<void> => (entry.kind === "link" ? symlink(entry.target, path) : writeFile(path, entry.bytes));
  try {
    await write();
  } catch {
    // Its folder is not there yet, or an empty one of an entry that was removed stands in its place.
    await mkdir(dirname(path), { recursive: true });
    await rm(path, { recursive: true, force: true });
    await write();
  }
}

/**
 * Adds links to whatever else lies in the folders that lead to the entries, so that a path out of a function's folder leads to
 * what it leads to in the app.
 */
export async function withSurroundings(
  entries: WorkspaceEntries,
  { appFolder, whole, isLeftOut }: { appFolder: string; whole: readonly string[]; isLeftOut: (name: string) => boolean },
): Promise<WorkspaceEntries> {
  const all = new Map(entries);
  const folders = new Set([...entries.keys()].flatMap(foldersOf));
  const isInWhole = (path: string): boolean => whole.some((inner) => path === inner || path.startsWith(`${inner}/`));
  for (const folder of folders) {
    if (folder !== "" && isInWhole(folder)) continue; // Every entry of such a folder is named already.
    const names = await readdir(join(appFolder, folder)).catch(() => []); // Some exist in the workspace only.
    for (const name of names) {
      const path = folder === "" ? name : `${folder}/${name}`;
      if (isLeftOut(name) || all.has(path) || folders.has(path)) continue;
      all.set(path, { kind: "link", target: join(appFolder, path) });
    }
  }
  return all;
}

/** "a/b/c.js" → "", "a", "a/b" */
function foldersOf(path: string): string[] {
  const segments = path.split("/").slice(0, -1);
  return ["", ...segments.map((_, index) => segments.slice(0, index + 1).join("/"))];
}
