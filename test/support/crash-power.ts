// A filesystem of its own below a folder, from which power can be taken: what was not written through to the disk is gone. Needs root, on Linux.
import { execFile } from "node:child_process";
import { copyFile, readFile, rename, rm } from "node:fs/promises";
import { basename } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { mountImage, mountNewImage } from "./crash-disk.ts";

const run = promisify(execFile);

export interface PowerDisk {
  /** Keeps what is on the disk in this moment, as an image of it. Nobody may write meanwhile: whoever does must be stopped before. */
  keep(): Promise<void>;
  /** Puts what was kept in the place of the filesystem, which comes back as after a power cut. */
  comeBack(): Promise<void>;
  unmount(): Promise<void>;
}

const QUIET_MS = 50; // What was on its way to the disk is there by then.
const ATTEMPTS_MAX = 100;

/**
 * The image is the disk. What the filesystem has not sent to it lies in the kernel's memory only, so that a copy of the image is what a
 * power cut would leave: with the journal, and with everything lost that nobody waited for.
 */
export async function mountPowerDisk(folder: string, bytes: number): Promise<PowerDisk> {
  const image = await mountNewImage(folder, bytes);
  const kept = `${folder}.kept.ext4`;
  return {
    async keep() {
      for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
        const before = await writesTo(image);
        await delay(QUIET_MS);
        await copyFile(image, kept);
        if ((await writesTo(image)) === before) return;
      }
      throw new Error(`something writes to ${folder} all the time`);
    },
    async comeBack() {
      await run("umount", ["--lazy", folder]);
      await rename(kept, image);
      await mountImage(image, folder);
    },
    async unmount() {
      await run("umount", [folder]);
      await rm(image, { force: true });
      await rm(kept, { force: true });
    },
  };
}

/** How many writes the disk has seen, and how many are on their way to it. */
async function writesTo(image: string): Promise<string> {
  const { stdout } = await run("losetup", ["--noheadings", "--output", "NAME", "--associated", image]);
  const fields = (await readFile(`/sys/block/${basename(stdout.trim())}/stat`, "utf8")).trim().split(/\s+/);
  return `${fields[4]} written, ${fields[8]} on their way`;
}
