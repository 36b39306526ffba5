// npm's cache in the home: one that has grown too large is begun anew, while nobody uses it.
import { renameSync } from "node:fs";
import { join } from "node:path";

import { NPM_CACHE_BYTES_MAX } from "../../runtime-image/contract/limits.ts";
import type { Removed } from "./engine.ts";
import { heldBytesOf, removeTree } from "./process-trees.ts";

export interface NpmCache {
  readonly folder: string;
  /** The answer ends the use. */
  use(): () => void;
  /** Removes it where it is too large and not in use. */
  bound(): Promise<Removed>;
}

const NOTHING: Removed = { count: 0, bytes: 0 };

export function createNpmCache(home: string, bytesMax = NPM_CACHE_BYTES_MAX): NpmCache {
  const folder = join(home, "npm-cache");
  const old = join(home, "npm-cache-old");
  const uses = new Set<symbol>();
  return {
    folder,
    use() {
      const own = Symbol("use");
      uses.add(own);
      return () => void uses.delete(own);
    },
    async bound() {
      await removeTree(old); // An orchestrator that was killed may have left it.
      const bytes = await heldBytesOf(folder);
      if (bytes <= bytesMax || uses.size > 0) return NOTHING;
      renameSync(folder, old); // At once, so that no use can begin in between.
      await removeTree(old);
      return { count: 1, bytes };
    },
  };
}
