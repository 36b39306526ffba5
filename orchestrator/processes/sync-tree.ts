// Makes a folder of files that others wrote outlive a power failure.
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { mapAtOnce } from "../at-once.ts";
import { syncPath } from "./atomic-file.ts";

const SYNCS_AT_ONCE = 8; // Those that come together share the disk's flushes.

/** Everything in it, and itself; its own name is in the folder above. */
export async function syncTree(folder: string): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const pathsOf = (wanted: typeof entries): string[] => wanted.map(({ parentPath, name }) => join(parentPath, name));
  // Files first: a folder that names them is of no use without them. A link is nothing but a name.
  await mapAtOnce(pathsOf(entries.filter((entry) => entry.isFile())), SYNCS_AT_ONCE, syncPath);
  await mapAtOnce([folder, ...pathsOf(entries.filter((entry) => entry.isDirectory()))], SYNCS_AT_ONCE, syncPath);
}
