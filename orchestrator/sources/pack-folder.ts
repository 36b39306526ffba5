// Packs a folder of the owner's machine as a gzipped tar that streams. Whatever the platform would refuse is said before a byte is sent.
import { open, realpath, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { addAbortSignal, Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip, constants as zlib } from "node:zlib";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { SOURCE_LIMITS } from "./entry-rules.ts";
import { joinChunks } from "./join-chunks.ts";
import { asRefused, type ListedEntry, listFolder, READ_ONLY } from "./list-folder.ts";
import { quoted } from "./refused.ts";
import { writeTar } from "./tar.ts";
import type { SourceEntry } from "./write-source.ts";

export interface PackedFolder {
  readonly archive: Readable; // Opens nothing before it is read. Fails with SOURCE_REFUSED when a file changes meanwhile.
  readonly fileCount: number;
  readonly bytes: number; // Of the files, before they are compressed.
}

export async function packFolder(folder: string, { signal }: { readonly signal: AbortSignal }): Promise<PackedFolder> {
  const root = await realFolder(resolve(folder));
  const { entries, fileCount, bytes } = await listFolder(root, { signal, limits: SOURCE_LIMITS });
  const archive = Readable.from(gzip(writeTar(withContents(root, entries, signal))), { objectMode: false });
  return { archive: addAbortSignal(signal, archive), fileCount, bytes };
}

async function realFolder(folder: string): Promise<string> {
  const facts = await stat(folder).catch(() => null);
  if (facts?.isDirectory() === true) return realpath(folder);
  throw new PlatformError("APP_FOLDER_INVALID", { detail: `${folder} is no folder.`, remedy: "Name the folder that holds the app." });
}

/** The fastest level: what is large is mostly compressed already, and lines are faster than the better levels. */
async function* gzip(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const zip = createGzip({ level: zlib.Z_BEST_SPEED, chunkSize: READ_BYTES });
  const feeding = pipeline(chunks, zip);
  feeding.catch(() => undefined); // Its reader hears of a failure.
  try {
    yield* zip as AsyncIterable<Buffer>; // Without an encoding it gives buffers.
  } finally {
    zip.destroy();
    await feeding.catch(() => undefined); // The file that it read is closed then.
  }
}

const READ_BYTES = 65_536;

async function* withContents(
  root: string,
  entries: readonly ListedEntry[],
  signal: AbortSignal,
): AsyncGenerator<SourceEntry, void, undefined> {
  for (const entry of entries) {
    signal.throwIfAborted();
    if (entry.kind !== "file") yield { ...entry, bytes: null };
    else if (entry.byteCount > READ_BYTES) yield { ...entry, bytes: contentOf(root, entry) };
    else yield { ...entry, bytes: await joinChunks(contentOf(root, entry)) };
  }
}

async function* contentOf(root: string, { path, byteCount }: ListedEntry): AsyncGenerator<Uint8Array, void, undefined> {
  const file = await open(join(root, path), READ_ONLY).catch((cause: unknown) => {
    throw asRefused(path, cause);
  });
  try {
    const before = await file.stat();
    if (!before.isFile() || before.size !== byteCount) throw changed(path);
    for (let position = 0; position < byteCount;) {
      const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(Math.min(READ_BYTES, byteCount - position)));
      if (bytesRead === 0) throw changed(path);
      position += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
    const after = await file.stat();
    if (after.size !== byteCount || after.mtimeMs !== before.mtimeMs) throw changed(path);
  } finally {
    await file.close();
  }
}

const changed = (path: string): PlatformError =>
  new PlatformError("SOURCE_REFUSED", {
    detail: `${quoted(path)} changed while it was sent.`,
    remedy: "Send the folder again when nothing writes to it, or name the file in .orchestratorignore.",
  });
