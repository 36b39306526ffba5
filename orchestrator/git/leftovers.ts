// Removes from a repository what a git left that was killed: locks, for which every later push would fail, and objects that nobody took.
import { readdirSync } from "node:fs";
import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { GIT_CALL_TIMEOUT_MS } from "../../runtime-image/contract/limits.ts";

const LOCK_GRACE_MS = 30_000; // Git holds one for milliseconds, and whoever calls this is the only one who changes refs.
const LOCK = /\.lock$/;
const QUARANTINE = /^(?:tmp_objdir-)?incoming-/; // The longer name is that of newer ones.
const UNFINISHED_PACK = /^(?:tmp_|\.tmp-)/;

/** Only while nothing else changes the repository's refs. */
export async function removeLeftovers(repository: string, nowEpochMs: number): Promise<void> {
  const lockedBefore = nowEpochMs - LOCK_GRACE_MS;
  const begunBefore = nowEpochMs - 2 * GIT_CALL_TIMEOUT_MS; // Whatever still writes one has been ended long ago.
  await removeOld(repository, { names: LOCK, beforeEpochMs: lockedBefore });
  for (const folder of await foldersIn(join(repository, "refs"))) await removeOld(folder, { names: LOCK, beforeEpochMs: lockedBefore });
  await removeOld(join(repository, "objects", "pack"), { names: UNFINISHED_PACK, beforeEpochMs: begunBefore });
}

export interface Pushes {
  /** One is on its way from now on. */
  begin(repository: string): void;
  /** It is over, and its git has ended. */
  end(repository: string): Promise<void>;
}

/** Knows which repositories are pushed to: where no push is on its way any more, whatever lies in quarantine is of one that was killed. */
export function createPushes(): Pushes {
  const countOf = new Map<string, number>();
  return {
    begin: (repository) => void countOf.set(repository, (countOf.get(repository) ?? 0) + 1),
    async end(repository) {
      const count = (countOf.get(repository) ?? 1) - 1;
      if (count > 0) return void countOf.set(repository, count);
      countOf.delete(repository);
      const objects = join(repository, "objects");
      // Listed before anything else can begin; those of later pushes have other names.
      const left = namesIn(objects).filter((name) => QUARANTINE.test(name));
      for (const name of left) await rm(join(objects, name), { recursive: true, force: true });
    },
  };
}

/** Nothing where the repository was removed meanwhile. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** What was being made or removed when an earlier platform ended. */
export async function removeUnfinished(repositoriesFolder: string): Promise<void> {
  const names = (await readdir(repositoriesFolder).catch(() => [])).filter((name) => UNFINISHED_REPOSITORY.test(name));
  for (const name of names) await rm(join(repositoriesFolder, name), { recursive: true, force: true });
}

const UNFINISHED_REPOSITORY = /^\.(?:new|leaving)-/;

async function removeOld(folder: string, { names, beforeEpochMs }: { names: RegExp; beforeEpochMs: number }): Promise<void> {
  const found = (await readdir(folder).catch(() => [])).filter((name) => names.test(name));
  for (const name of found) {
    const path = join(folder, name);
    const facts = await stat(path).catch(() => null); // Its owner may just have removed it.
    if (facts !== null && facts.mtimeMs < beforeEpochMs) await rm(path, { recursive: true, force: true });
  }
}

async function foldersIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  return [folder, ...entries.filter((entry) => entry.isDirectory()).map((entry) => join(entry.parentPath, entry.name))];
}
