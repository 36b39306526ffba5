// Makes the folders that builds are, each once, however often and however many at once ask for it; and tells which there are.
import { readdir, stat } from "node:fs/promises";

import type { BuildFile, ExistingBuild } from "./engine.ts";
import { holdsFiles, isThere, makeFolder } from "./process-folders.ts";
import type { Layout } from "./process-layout.ts";
import { heldBytesOf } from "./process-trees.ts";

export interface Builds {
  make(folder: string, files: readonly BuildFile[]): Promise<{ readonly reused: boolean }>;
}

export function createBuilds(): Builds {
  const verified = new Set<string>();
  const making = new Map<string, Promise<{ reused: boolean }>>();

  const make = async (folder: string, files: readonly BuildFile[]): Promise<{ reused: boolean }> => {
    // Compared byte by byte once in the life of an orchestrator: what a power failure left of it is not taken for a build.
    const reused = verified.has(folder) ? await isThere(folder) : await holdsFiles(folder, files);
    if (!reused) await makeFolder(folder, files);
    verified.add(folder);
    return { reused };
  };

  return {
    make(folder, files) {
      const running = making.get(folder);
      if (running !== undefined) return running.then(() => ({ reused: true }));
      const made = make(folder, files).finally(() => making.delete(folder));
      making.set(folder, made);
      return made;
    },
  };
}

export async function existingBuilds(layout: Layout): Promise<readonly ExistingBuild[]> {
  const entries = await readdir(layout.builds, { withFileTypes: true });
  const builds: ExistingBuild[] = [];
  for (const { name: buildId } of entries.filter((entry) => entry.isDirectory() && /^[A-Za-z0-9_-]+$/.test(entry.name))) {
    const facts = await stat(layout.build(buildId)).catch(() => null); // Removed meanwhile.
    if (facts !== null) builds.push({ buildId, bytes: await heldBytesOf(layout.build(buildId)), madeEpochMs: Math.floor(facts.mtimeMs) });
  }
  return builds;
}
