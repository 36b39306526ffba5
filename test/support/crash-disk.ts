// A small filesystem of its own below a folder, which can be filled to the last byte and emptied again. Needs root, on Linux.
import { execFile } from "node:child_process";
import { mkdir, open, rm, statfs, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

export interface SmallDisk {
  /** Takes all the room but for so much; 0: to the last byte. */
  fill(leftBytes: number): Promise<void>;
  makeRoom(): Promise<void>;
  unmount(): Promise<void>;
}

const BLOCK_BYTES = 4_096;

/** Without root no filesystem can be mounted; where every suite must run, that is a failure and not a reason. */
export const mayMount = process.getuid?.() === 0 || process.env["CI"] !== undefined;

/** A new filesystem in an image that lies beside the folder. Fails with the system's own words where mounting is not possible. */
export async function mountNewImage(folder: string, bytes: number): Promise<string> {
  const image = `${folder}.ext4`;
  await mkdir(folder, { recursive: true });
  await writeFile(image, "");
  await truncate(image, bytes);
  await run("mkfs.ext4", ["-q", "-m", "0", image]); // No blocks are kept for root: full means full for everyone.
  await mountImage(image, folder);
  return image;
}

export const mountImage = async (image: string, folder: string): Promise<void> => void (await run("mount", ["-o", "loop", image, folder]));

export async function mountSmallDisk(folder: string, bytes: number): Promise<SmallDisk> {
  const image = await mountNewImage(folder, bytes);
  const ballast = join(folder, "ballast");
  return {
    fill: async (leftBytes) => writeUntilFull(ballast, leftBytes === 0 ? Infinity : (await freeBytesOf(folder)) - leftBytes),
    makeRoom: () => rm(ballast, { force: true }),
    unmount: async () => {
      await run("umount", [folder]);
      await rm(image, { force: true });
    },
  };
}

async function freeBytesOf(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

async function writeUntilFull(path: string, byteCount: number): Promise<void> {
  const file = await open(path, "a");
  try {
    for (let written = 0; written < byteCount; written += BLOCK_BYTES) await file.write(Buffer.alloc(BLOCK_BYTES, 1));
  } catch (error) {
    const isFull = error instanceof Error && "code" in error && error.code === "ENOSPC";
    if (!isFull) throw error;
  } finally {
    await file.close();
  }
}
