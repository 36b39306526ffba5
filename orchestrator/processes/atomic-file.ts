// Writes a file so that a reader, also one after a power failure, finds the old bytes or the new ones and nothing between.
import { randomBytes } from "node:crypto";
import { open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";

export async function writeFileAtomic(path: string, bytes: string | Uint8Array, mode: number): Promise<void> {
  const temporaryPath = `${path}.${randomBytes(6).toString("hex")}.tmp`;
  try {
    await writeAndSync(temporaryPath, bytes, mode);
    await rename(temporaryPath, path);
  } catch (error) {
    await rm(temporaryPath, { force: true });
    throw error;
  }
  await syncPath(dirname(path)); // Without it a power failure may forget the new name.
}

async function writeAndSync(path: string, bytes: string | Uint8Array, mode: number): Promise<void> {
  const file = await open(path, "wx", mode);
  try {
    await file.chmod(mode); // The umask may have taken bits away.
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Makes what is in a file last, or the names in a folder. */
export async function syncPath(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
