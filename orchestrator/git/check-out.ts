// Reads a commit's tree as the entries of a source, byte for byte: no filter, no attribute and no setting of the tree has a say in it.
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { GIT_CALL_TIMEOUT_MS, SOURCE_PATH_BYTES_MAX } from "../../runtime-image/contract/limits.ts";
import { quoted, refusedEntry } from "../sources/refused.ts";
import { type SourceEntry, type SourceFacts, writeSource } from "../sources/write-source.ts";
import { type ByteReader, createByteReader } from "./byte-reader.ts";
import { type Git, type GitChild, gitFailed } from "./git-command.ts";

export interface CheckOutOptions {
  readonly into: string;
  readonly signal: AbortSignal;
}

export interface TreePlace {
  readonly repository: string;
  readonly quarantine?: string | undefined;
}

/** Throws COMMIT_NOT_FOUND, SOURCE_REFUSED with the entry's name, GIT_FAILED. */
export async function checkOutCommit(git: Git, place: TreePlace, commit: string, options: CheckOutOptions): Promise<SourceFacts> {
  const tree = await treeOf(git, place, commit);
  return writeSource(entriesOf(git, place, tree, options.signal), options);
}

export async function treeOf(git: Git, place: TreePlace, commit: string): Promise<string> {
  const { exitCode, output } = await git.run(["rev-parse", "--verify", "--quiet", `${checkedId(commit)}^{tree}`], {
    ...place,
    exitCodes: [0, 1, 128],
  });
  if (exitCode !== 0) throw commitNotFound(commit);
  return output.toString("latin1").trim();
}

/** What is no id would be read as the name of a ref, or as an option. */
export function checkedId(commit: string): string {
  if (!/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(commit)) throw commitNotFound(commit);
  return commit;
}

export const commitNotFound = (commit: string): PlatformError =>
  new PlatformError("COMMIT_NOT_FOUND", {
    detail: `${quoted(commit.slice(0, 64))}.`,
    remedy: "Name one by its whole id. One that a forced push replaced is gone after a while.",
  });

interface TreeRecord {
  readonly mode: string;
  readonly id: string;
  readonly path: string;
}

// Git shows no other modes than these, whatever stands in a tree.
const LINK_MODE = "120000";
const SUBMODULE_MODE = "160000";
const RECORD_BYTES_MAX = SOURCE_PATH_BYTES_MAX + 128;
const HEADER_BYTES_MAX = 200;
const ASKED_AHEAD_COUNT = 64; // One process answers in order: asked one by one, each file would cost a turn there and back.

/** One process lists, the other one reads what is listed; both go no further than the entries are taken. */
async function* entriesOf(git: Git, place: TreePlace, tree: string, signal: AbortSignal): AsyncGenerator<SourceEntry> {
  const call = { ...place, signal, timeoutMs: GIT_CALL_TIMEOUT_MS };
  const lister = await git.start(["ls-tree", "-r", "-z", "--full-tree", tree], call);
  const reader = await git.start(["cat-file", "--batch"], call).catch((cause: unknown) => {
    lister.kill();
    throw cause;
  });
  lister.input.end();
  try {
    const contents = createByteReader(reader.output[Symbol.asyncIterator]());
    for await (const record of askedFor(recordsOf(lister), reader)) yield* entryOf(record, contents);
    reader.input.end();
    await endsWell(reader, "cat-file");
  } catch (cause) {
    signal.throwIfAborted(); // Whatever broke, that is why.
    if (cause instanceof PlatformError) throw cause;
    reader.kill();
    throw new PlatformError("GIT_FAILED", { detail: `Reading the commit broke off: ${(await reader.ended).said}` }, { cause });
  } finally {
    lister.kill();
    reader.kill();
    await Promise.all([lister.ended, reader.ended]);
  }
}

async function* recordsOf(lister: GitChild): AsyncGenerator<TreeRecord> {
  const lines = createByteReader(lister.output[Symbol.asyncIterator]());
  for (;;) {
    const line = await lines.takeUntil(0, RECORD_BYTES_MAX).catch((cause: unknown) => {
      throw new PlatformError(
        "SOURCE_REFUSED",
        {
          detail: `A path of the commit has more than ${SOURCE_PATH_BYTES_MAX} bytes, or cannot be read.`,
          remedy: "Shorten it, and push again.",
        },
        { cause },
      );
    });
    if (line === null) break;
    yield recordOf(line);
  }
  await endsWell(lister, "ls-tree");
}

async function endsWell(child: GitChild, name: string): Promise<void> {
  const end = await child.ended;
  if (end.exitCode !== 0) throw gitFailed([name], end);
}

/** "100644 blob <id>\t<path>" */
export function recordOf(line: Buffer): TreeRecord {
  const tab = line.indexOf("\t");
  const [mode = "", , id = ""] = line.toString("latin1", 0, Math.max(tab, 0)).split(" ");
  const bytes = line.subarray(tab + 1);
  const path = bytes.toString();
  if (mode === SUBMODULE_MODE)
    throw new PlatformError("SOURCE_REFUSED", {
      detail: `${quoted(path)} is a submodule: its files are not part of what was pushed.`,
      remedy: "Commit its files instead (git rm --cached, then remove the .git in it), or install it as a package.",
    });
  if (Buffer.compare(Buffer.from(path), bytes) !== 0) throw refusedEntry(path, "has a name that is no valid UTF-8");
  return { mode, id, path };
}

/** The same records, each a while after its content was asked for. */
async function* askedFor(records: AsyncIterable<TreeRecord>, reader: GitChild): AsyncGenerator<TreeRecord> {
  const asked: TreeRecord[] = [];
  for await (const record of records) {
    reader.input.write(`${record.id}\n`); // At most so many lines are on their way, which a pipe holds.
    asked.push(record);
    if (asked.length < ASKED_AHEAD_COUNT) continue;
    const next = asked.shift();
    if (next !== undefined) yield next;
  }
  yield* asked;
}

/** Whatever the taker leaves of the bytes is read past. */
async function* entryOf({ mode, path }: TreeRecord, contents: ByteReader): AsyncGenerator<SourceEntry> {
  const byteCount = await contentBytes(path, contents);
  if (mode === LINK_MODE) {
    if (byteCount > SOURCE_PATH_BYTES_MAX) throw refusedEntry(path, `is a link to a path of more than ${SOURCE_PATH_BYTES_MAX} bytes`);
    const target = await contents.take(byteCount);
    if (Buffer.compare(Buffer.from(target.toString()), target) !== 0)
      throw refusedEntry(path, "is a link to a name that is no valid UTF-8");
    yield { path, kind: "link", isExecutable: false, linksTo: target.toString(), bytes: null, byteCount: 0 };
  } else {
    let left = byteCount;
    const pieces = async function* (): AsyncGenerator<Uint8Array> {
      while (left > 0) {
        const piece = await contents.takeSome(left);
        if (piece === null) throw new Error("git ended in the middle of a file");
        left -= piece.length;
        yield piece;
      }
    };
    yield { path, kind: "file", isExecutable: mode === "100755", bytes: pieces(), byteCount };
    for await (const _rest of pieces());
  }
  await contents.take(1); // A line end behind each content.
}

/** "<id> blob <byte count>" */
async function contentBytes(path: string, contents: ByteReader): Promise<number> {
  const header = (await contents.takeUntil(0x0a, HEADER_BYTES_MAX))?.toString("latin1") ?? "";
  const [, kind, byteCount] = header.split(" ");
  if (kind !== "blob") throw new PlatformError("GIT_FAILED", { detail: `The content of ${quoted(path)} is not there: ${quoted(header)}.` });
  return Number(byteCount);
}
