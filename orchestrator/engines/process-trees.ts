// Measures, gives away and removes folders as a whole, whatever scripts have written into them.
import { rmSync } from "node:fs";
import { chmod, lchown, lstat, opendir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";

const LSTAT_AT_ONCE = 64;
const STAT_BLOCK_BYTES = 512; // Whatever the file system's own blocks are.

/** With everything in it; links themselves, not what they lead to. */
export async function giveTo(uid: number, path: string): Promise<void> {
  await lchown(path, uid, uid);
  if ((await lstat(path)).isDirectory()) for await (const { name } of await opendir(path)) await giveTo(uid, join(path, name));
}

/** On the disk, each file once, however many names it has. */
export async function heldBytesOf(folder: string): Promise<number> {
  const folders = [folder];
  const seen = new Set<number>();
  let bytes = 0;
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    const place = next;
    const names = await readdir(place).catch(() => []); // Removed or closed meanwhile: scripts are at work here.
    for (let start = 0; start < names.length; start += LSTAT_AT_ONCE) {
      const part = names.slice(start, start + LSTAT_AT_ONCE).map((name) => join(place, name));
      const found = await Promise.all(part.map((path) => lstat(path).catch(() => null)));
      for (const [index, facts] of found.entries()) {
        if (facts === null || (facts.nlink > 1 && !facts.isDirectory() && seen.has(facts.ino))) continue;
        if (facts.nlink > 1) seen.add(facts.ino);
        bytes += facts.blocks * STAT_BLOCK_BYTES;
        if (facts.isDirectory()) folders.push(part[index] ?? place);
      }
    }
  }
  return bytes;
}

/** Scripts may have closed folders, which stops whoever is not root, or piled them up until no path reaches the innermost. */
export async function removeTree(folder: string): Promise<void> {
  try {
    await rm(folder, { recursive: true, force: true });
  } catch {
    await openFolders(folder).catch(() => undefined); // As far as paths reach.
    rmSync(folder, { recursive: true, force: true }); // Only this one goes from folder to folder; it holds everything up meanwhile.
  }
}

async function openFolders(folder: string): Promise<void> {
  await chmod(folder, 0o700);
  for (const entry of await readdir(folder, { withFileTypes: true })) if (entry.isDirectory()) await openFolders(join(folder, entry.name));
}
