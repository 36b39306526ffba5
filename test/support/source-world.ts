// A small part of a disk around the folder that a source is written to: what must not change, and what was refused with which words.
import assert from "node:assert/strict";
import { lstat, mkdir, mkdtemp, readFile, readdir, readlink, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { Readable } from "node:stream";
import { SOURCE_LIMITS, type SourceLimits } from "../../orchestrator/sources/entry-rules.ts";
import { unpackArchive } from "../../orchestrator/sources/unpack.ts";
import { type SourceEntry, type SourceFacts, writeSource } from "../../orchestrator/sources/write-source.ts";
import { PlatformError } from "../../runtime-image/contract/errors.ts";

const TIMEOUT_MS = 20_000;

interface Bounds {
  readonly limits?: Partial<SourceLimits>;
  readonly archiveBytesMax?: number;
}

export interface SourceWorld {
  readonly top: string;
  readonly into: string; // Is not there yet; "../neighbour" beside it and "../../../etc/passwd" are.
  unpack(archive: Readable | Buffer, bounds?: Bounds): Promise<SourceFacts>;
  write(entries: AsyncIterable<SourceEntry>, limits?: Partial<SourceLimits>): Promise<SourceFacts>;
  /** What it was refused with. Throws when it was taken, failed otherwise, or has changed anything at all. */
  refusal(act: () => Promise<unknown>): Promise<string>;
  /** Everything outside of the folder that is written to, as lines of text. */
  outside(): Promise<string[]>;
  remove(): Promise<void>;
}

export async function createSourceWorld(): Promise<SourceWorld> {
  const top = await realpath(await mkdtemp(join(tmpdir(), "orchestrator-sources-")));
  const into = join(top, "home/sources/into");
  await mkdir(join(top, "home/sources"), { recursive: true });
  await mkdir(join(top, "etc"));
  await writeFile(join(top, "etc/passwd"), "secret");
  await writeFile(join(top, "home/sources/neighbour"), "mine");
  const bounded = (limits: Partial<SourceLimits> = {}) => ({
    into,
    signal: AbortSignal.timeout(TIMEOUT_MS),
    limits: { ...SOURCE_LIMITS, ...limits },
  });
  return {
    top,
    into,
    unpack: async (archive, { limits, ...more } = {}) =>
      unpackArchive(Buffer.isBuffer(archive) ? Readable.from([archive], { objectMode: false }) : archive, { ...bounded(limits), ...more }),
    write: async (entries, limits) => writeSource(entries, bounded(limits)),
    async refusal(act) {
      const before = await snapshot(top);
      const cause: unknown = await act().then(
        (facts) => assert.fail(`it was taken: ${JSON.stringify(facts)}`),
        (failure: unknown) => failure,
      );
      if (!(cause instanceof PlatformError)) throw cause;
      assert.deepEqual(await snapshot(top), before, "something has changed on the disk");
      assert.equal(cause.code, "SOURCE_REFUSED");
      return cause.detail.detail ?? "";
    },
    outside: async () => snapshot(top, into),
    remove: async () => rm(top, { recursive: true }),
  };
}

/** Every path below a folder, one folder left out; links are not followed. */
export async function pathsIn(root: string, leaveOut: string | null = null): Promise<string[]> {
  const found = await readdir(root, { withFileTypes: true });
  const kept = found.filter(({ name }) => join(root, name) !== leaveOut);
  const below = kept.map(async (one) => (one.isDirectory() ? pathsIn(join(root, one.name), leaveOut) : []));
  return [...kept.map(({ name }) => join(root, name)), ...(await Promise.all(below)).flat()].toSorted();
}

/** Names, kinds, modes and contents. */
export async function snapshot(root: string, leaveOut: string | null = null): Promise<string[]> {
  const lines: string[] = [];
  for (const path of await pathsIn(root, leaveOut)) {
    const facts = await lstat(path);
    const name = relative(root, path);
    const mode = (facts.mode & 0o7777).toString(8);
    if (facts.isSymbolicLink()) lines.push(`${name} -> ${await readlink(path)}`);
    else lines.push(facts.isFile() ? `${name} ${mode} ${await readFile(path, "utf8")}` : `${name}/ ${mode}`);
  }
  return lines;
}
