// A folder as one commit in git's fast-import format: its files byte for byte, whatever .gitattributes or .gitignore lie among them.
import { constants } from "node:fs";
import { open, readdir, readlink } from "node:fs/promises";
import { join } from "node:path";
import { SOURCE_BYTES_MAX, SOURCE_DEPTH_MAX, SOURCE_ENTRY_COUNT_MAX, SOURCE_FILE_BYTES_MAX } from "../../runtime-image/contract/limits.ts";
import { placeOf } from "../sources/entry-rules.ts";
import { refusedEntry } from "../sources/refused.ts";
import { shown } from "./commit-facts.ts";

export interface NewCommit {
  readonly folder: string;
  readonly parent: string | null;
  readonly message: string;
  readonly by: string;
  readonly epochMs: number;
  readonly ref: string; // Needed by the format. It is gone when the stream is over.
}

const MARK = ":1";
const BY_LENGTH_MAX = 100;
const MESSAGE_LENGTH_MAX = 4_000;
const MAIL = "orchestrator@localhost"; // Git wants one; names of tokens have none.
const NO_COMMIT = "0".repeat(40);

/** Answered with two lines: the commit's id, and its tree's. */
export async function* commitStream(commit: NewCommit): AsyncGenerator<string | Uint8Array> {
  yield commitHead(commit);
  yield* folderStream(commit.folder);
  yield `\nget-mark ${MARK}\nls ${MARK} ""\nreset ${commit.ref}\nfrom ${NO_COMMIT}\n\ndone\n`;
}

export function commitHead({ ref, parent, message, by, epochMs }: NewCommit): string {
  const name = shown(by, BY_LENGTH_MAX).replaceAll(/[<>]/g, "");
  const person = `${name} <${MAIL}> ${Math.floor(epochMs / 1_000)} +0000`;
  const text = message.slice(0, MESSAGE_LENGTH_MAX).replaceAll("\0", "");
  const from = parent === null ? "" : `from ${parent}\n`;
  return `commit ${ref}\nmark ${MARK}\nauthor ${person}\ncommitter ${person}\ndata ${Buffer.byteLength(text)}\n${text}\n${from}deleteall\n`;
}

export function parseAnswer(output: string): { readonly commit: string; readonly tree: string } | null {
  const [, commit, tree] = /^([0-9a-f]{40}|[0-9a-f]{64})\n040000 tree ([0-9a-f]{40}|[0-9a-f]{64})\t\n$/.exec(output) ?? [];
  return commit === undefined || tree === undefined ? null : { commit, tree };
}

/** What the format asks of a path: as a string of C, since it might begin or end with anything. */
export const quotedPath = (path: string): string => `"${path.replaceAll(/["\\]/g, "\\$&").replaceAll("\n", "\\n")}"`;

interface Sum {
  entryCount: number;
  bytes: number;
}

async function* folderStream(folder: string): AsyncGenerator<string | Uint8Array> {
  const sum: Sum = { entryCount: 0, bytes: 0 };
  const folders = [""];
  for (let current = folders.pop(); current !== undefined; current = folders.pop()) {
    const entries = await unchanged(current, readdir(join(folder, current), { withFileTypes: true, encoding: "buffer" }));
    for (const entry of entries) {
      const name = entry.name.toString();
      if (name.toLowerCase() === ".git") continue; // Another repository's own folder, or a file that names one.
      const path = current === "" ? name : `${current}/${name}`;
      sum.entryCount += 1;
      const problem = nameProblem(path, entry.name) ?? (sum.entryCount > SOURCE_ENTRY_COUNT_MAX ? TOO_MANY : null);
      if (problem !== null) throw refusedEntry(path, problem);
      if (entry.isDirectory()) folders.push(path);
      else if (entry.isFile()) yield* fileStream(join(folder, path), path, sum);
      else if (entry.isSymbolicLink()) yield* linkStream(join(folder, path), path);
      else throw refusedEntry(path, "is no plain file, folder or symbolic link");
    }
  }
}

const TOO_MANY = `is one too many: a source has at most ${SOURCE_ENTRY_COUNT_MAX} entries`;

/** The rules of every other source: what could not be checked out again is not taken in. */
function nameProblem(path: string, name: Buffer): string | null {
  if (Buffer.compare(Buffer.from(name.toString()), name) !== 0) return "has a name that is no valid UTF-8";
  if (path.split("/").length > SOURCE_DEPTH_MAX) return `is more than ${SOURCE_DEPTH_MAX} folders deep`;
  const place = placeOf(path, "file");
  return place.kind === "refused" ? place.problem : null;
}

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;

async function* fileStream(file: string, path: string, sum: Sum): AsyncGenerator<string | Uint8Array> {
  // Non-blocking: what became a pipe meanwhile would be waited for, for ever.
  const handle = await unchanged(path, open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  try {
    const facts = await handle.stat();
    if (!facts.isFile()) throw refusedEntry(path, CHANGED);
    if (facts.size > SOURCE_FILE_BYTES_MAX)
      throw refusedEntry(path, `has ${facts.size} bytes; a file of a source has at most ${SOURCE_FILE_BYTES_MAX}`);
    sum.bytes += facts.size;
    if (sum.bytes > SOURCE_BYTES_MAX) throw refusedEntry(path, `is too much: a source has at most ${SOURCE_BYTES_MAX} bytes`);
    yield `M ${(facts.mode & 0o100) === 0 ? "100644" : "100755"} inline ${quotedPath(path)}\ndata ${facts.size}\n`;
    let left = facts.size;
    while (left > 0) {
      const { bytesRead, buffer } = await handle.read({ buffer: Buffer.allocUnsafe(Math.min(left, PIECE_BYTES_MAX)) });
      if (bytesRead === 0) throw refusedEntry(path, CHANGED);
      left -= bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
    yield "\n";
  } finally {
    await handle.close();
  }
}

const PIECE_BYTES_MAX = 262_144;
const CHANGED = "changed while it was read";

/** What was listed a moment ago cannot be missing, or of another kind, otherwise. */
async function unchanged<Value>(path: string, reading: Promise<Value>): Promise<Value> {
  return reading.catch((cause: unknown) => {
    const code = cause instanceof Error && "code" in cause ? cause.code : "";
    throw path !== "" && (code === "ENOENT" || code === "ENOTDIR" || code === "ELOOP") ? refusedEntry(path, CHANGED, cause) : cause;
  });
}

async function* linkStream(file: string, path: string): AsyncGenerator<string | Uint8Array> {
  const target = await unchanged(path, readlink(file, { encoding: "buffer" }));
  yield `M 120000 inline ${quotedPath(path)}\ndata ${target.length}\n`;
  yield target;
  yield "\n";
}
