// Makes a new app in a folder. Never touches one that holds something.
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { starterFiles } from "../apps/starter.ts";

export interface NewApp {
  readonly appName: string;
  readonly folder: string; // Absolute.
  readonly files: readonly string[]; // Relative to the folder, in the order in which they are worth reading.
}

export async function initApp(path: string): Promise<NewApp> {
  const folder = resolve(path);
  await claimFolder(folder);
  const appName = appNameOf(folder);
  const files = starterFiles(appName);
  for (const [file, text] of files) {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await writeFile(join(folder, file), text, { flag: "wx" }); // Whatever came to be there meanwhile stays.
  }
  return { appName, folder, files: files.map(([file]) => file) };
}

/** A folder's name as a manifest takes it: lower-case letters, digits and dashes, a letter first, 63 characters at most. */
export function appNameOf(folder: string): string {
  const plain = basename(folder)
    .normalize("NFKD")
    .replaceAll(/\p{Mark}/gu, "")
    .toLowerCase();
  const dashed = plain.replaceAll(/[^a-z0-9]+/g, "-").replace(/^[-0-9]+/, "");
  return dashed.slice(0, 63).replace(/-+$/, "") || "app";
}

async function claimFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true });
    if ((await readdir(folder)).length === 0) return;
  } catch (cause) {
    const detail = `${folder} cannot be made or read: ${cause instanceof Error ? cause.message : String(cause)}.`;
    throw new PlatformError(
      "INIT_REFUSED",
      { detail, remedy: "Name a folder that you may write to: orchestrator init <folder>." },
      { cause },
    );
  }
  throw new PlatformError("INIT_REFUSED", {
    detail: `${folder} is not empty.`,
    remedy: "Name a new or an empty folder: orchestrator init <folder>. To serve what is there: orchestrator up <folder>.",
  });
}
