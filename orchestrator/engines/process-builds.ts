// Makes the folders that builds are, each once, however often and however many at once ask for it.
import type { BuildFile } from "./engine.ts";
import { holdsFiles, isThere, makeFolder } from "./process-folders.ts";

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
