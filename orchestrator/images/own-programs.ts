// The programs that scripts expect beside Node, out of this machine, with the libraries that they load: a shell and what its lines call.
import { execFile } from "node:child_process";
import { readFile, realpath } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { TarEntry } from "./tar.ts";

/** "env" above all: the first line of nearly every command of a package asks for it. */
export const PROGRAMS = (
  "sh bash env cat cp mv rm mkdir rmdir ln ls chmod touch mktemp head tail sort uniq wc tr cut tee expr seq date sleep true false test " +
  "basename dirname pwd readlink realpath uname id nproc printf echo grep sed awk find xargs cmp diff tar gzip gunzip zcat which"
).split(" ");
const FOLDERS = ["/usr/bin", "/bin"];
export const LIST_LIBRARIES = "ldd";
const LDD_TIMEOUT_MS = 20_000;

interface Program {
  readonly name: string;
  readonly file: string; // Where it really is: several may be one.
}

/** What this machine has of them. `isThere` tells which files the image has already. */
export async function* ownProgramEntries(names: readonly string[], isThere: (path: string) => boolean): AsyncGenerator<TarEntry> {
  const programs = (await Promise.all(names.map(findProgram))).filter((program) => program !== null);
  const libraries = (await librariesOf(programs.map(({ file }) => file))).filter((path) => !isThere(path));
  const folders = new Set(["bin", "usr", "usr/bin", ...libraries.flatMap((path) => foldersOf(path))]);
  for (const path of [...folders].toSorted()) yield { kind: "folder", path, mode: 0o755 };
  for (const path of libraries) yield { kind: "file", path: path.slice(1), mode: 0o755, bytes: await readFile(path) };
  const placed = new Map<string, string>();
  for (const { name, file } of programs) {
    const place = placed.get(file);
    if (place !== undefined) yield { kind: "link", path: `usr/bin/${name}`, target: place };
    else yield { kind: "file", path: `usr/bin/${name}`, mode: 0o755, bytes: await readFile(file) };
    placed.set(file, place ?? name);
    yield { kind: "link", path: `bin/${name}`, target: `../usr/bin/${name}` };
  }
}

export async function findProgram(name: string): Promise<Program | null> {
  for (const folder of FOLDERS) {
    const file = await realpath(join(folder, name)).catch(() => null);
    if (file !== null) return { name, file };
  }
  return null;
}

/** By what the machine's own loader says. Where there is no ldd, only programs run that need no more than Node does. */
async function librariesOf(files: readonly string[]): Promise<string[]> {
  const printed = await new Promise<string>((resolve) =>
    // It ends with an error when one of the files is linked statically, and has told of the others then.
    execFile(LIST_LIBRARIES, files, { timeout: LDD_TIMEOUT_MS }, (_error, output) => resolve(output)),
  );
  return [...new Set([...printed.matchAll(/(?:^|\s)(\/\S+) \(0x[0-9a-f]+\)/g)].map(([, path = ""]) => path))];
}

/** From the outermost on, without the root. */
function foldersOf(path: string): string[] {
  const folders: string[] = [];
  for (let folder = dirname(path); basename(folder) !== ""; folder = dirname(folder)) folders.unshift(folder.slice(1));
  return folders;
}
