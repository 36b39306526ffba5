// Carries the edit of a route out in an app's folder: never outside of it, never over what has come to be there meanwhile.
import { randomBytes } from "node:crypto";
import { link, mkdir, readFile, rm, rmdir, stat, unlink, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { writeFileAtomic } from "../processes/atomic-file.ts";
import { entryAt, realFolderProblem } from "./real-places.ts";
import { SCRIPT_ENTRIES } from "./function-entries.ts";
import { handlerAt } from "./route-place.ts";

export interface RouteEdit {
  readonly writes: readonly RouteWrite[];
  readonly removals: readonly string[]; // Files, and folders that were empty already.
  readonly message: string; // For a commit: one line, "Add POST /api/submit".
}

export interface RouteWrite {
  readonly path: string; // In the app, with "/".
  readonly text: string;
  readonly replaces?: string; // What the file holds now; without it, the file is a new one.
}

/** Looks at everything before it writes the first byte. The handler comes before what names it, so that no build finds a route without one. */
export async function applyRouteEdit(folder: string, edit: RouteEdit): Promise<void> {
  const appFolder = resolve(folder);
  for (const path of [...edit.writes.map((write) => write.path), ...edit.removals]) await assertReal(appFolder, path);
  for (const write of edit.writes) await assertAsExpected(appFolder, write);
  for (const { path, text, replaces } of edit.writes)
    if (replaces === undefined) await writeNew(join(appFolder, path), text);
    else await writeFileAtomic(join(appFolder, path), text, (await stat(join(appFolder, path))).mode & 0o777);
  for (const path of edit.removals) await remove(appFolder, path);
}

async function assertReal(appFolder: string, path: string): Promise<void> {
  const problem = await realFolderProblem(appFolder, dirname(path));
  if (problem !== null) throw refused(`${problem}.`, "Put a real folder there, or edit the app's source by hand.");
}

async function assertAsExpected(appFolder: string, { path, replaces }: RouteWrite): Promise<void> {
  const absolute = join(appFolder, path);
  if (replaces === undefined) {
    const there = SCRIPT_ENTRIES.includes(basename(path)) ? await handlerAt(dirname(absolute)) : null;
    if (there !== null || (await entryAt(absolute)) !== "none") throw taken(join(dirname(path), there ?? basename(path)));
  } else if ((await entryAt(absolute)) !== "file" || (await readFile(absolute, "utf8")) !== replaces)
    throw refused(`${path} was changed meanwhile.`, "Try again.");
}

/** Whole from its first moment, and never in the place of another. */
async function writeNew(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const partial = `${path}.${randomBytes(6).toString("hex")}.tmp`;
  await writeFile(partial, text, { flag: "wx", flush: true });
  try {
    await link(partial, path);
  } catch (cause) {
    if (codeOf(cause) === "EEXIST") throw taken(path);
    if (!HAS_NO_LINKS.has(codeOf(cause))) throw cause;
    await writeFile(path, text, { flag: "wx", flush: true });
  } finally {
    await rm(partial, { force: true });
  }
}

const HAS_NO_LINKS: ReadonlySet<string> = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"]); // File systems such as exFAT.

/** And the folders that it leaves empty, up to the one that functions lie in: git knows none. */
async function remove(appFolder: string, path: string): Promise<void> {
  const absolute = join(appFolder, path);
  const entry = await entryAt(absolute);
  if (entry === "folder") await rmdir(absolute).catch(unlessFull);
  else if (entry !== "none") await unlink(absolute);
  const parts = path.split("/");
  for (let count = parts.length - 1; count > FUNCTIONS_DEPTH; count -= 1)
    await rmdir(join(appFolder, ...parts.slice(0, count))).catch(unlessFull);
}

const FUNCTIONS_DEPTH = 2; // src/http

function unlessFull(cause: unknown): void {
  if (!["ENOTEMPTY", "EEXIST", "ENOENT"].includes(codeOf(cause))) throw cause;
}

const codeOf = (cause: unknown): string => (cause instanceof Error && "code" in cause ? String(cause.code) : "");

const refused = (detail: string, remedy: string): PlatformError => new PlatformError("ROUTE_INVALID", { detail, remedy });

const taken = (path: string): PlatformError =>
  new PlatformError("ROUTE_TAKEN", { detail: `${path} came to be there meanwhile, and is kept.`, remedy: "Look at it, then try again." });
