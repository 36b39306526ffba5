// Reads and writes tar streams: the one file of this room that knows the library for them.
import { pipeline } from "node:stream/promises";
import { type Extract, extract, type Header, type Pack, pack } from "tar-stream";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import type { EntryKind } from "./entry-rules.ts";
import { refusedArchive } from "./refused.ts";
import type { SourceEntry } from "./write-source.ts";

const BLOCK_BYTES = 512;
const EPOCH = new Date(0); // The same files make the same bytes, whenever they are packed.

/** Each entry's bytes are to be read before the next entry. Where it is damaged or ends too soon, throws SOURCE_REFUSED. */
export async function* readTar(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<SourceEntry, void, undefined> {
  const tar = extract();
  const watch = createWatch();
  const reading = pipeline(watch.watched(chunks), tar);
  reading.catch(() => undefined); // Awaited below.
  let endByte = 0;
  try {
    for await (const entry of tar) {
      endByte = endByteOf(entry);
      yield entryOf(entry, watch);
      entry.resume(); // What nobody has read stands before the next entry.
    }
    await reading;
  } catch (cause) {
    throw watch.whyBroken(cause);
  } finally {
    tar.destroy();
  }
  if (watch.byteCount === 0) throw refusedArchive("is empty");
  if (!watch.isMarked(endByte)) throw refusedArchive("ends before its end mark: a part is missing");
}

type Entry = Extract extends AsyncIterable<infer Item> ? Item : never;

// The library gives more than its types tell: where the content begins, what pax adds, and null where there is none.
interface WholeHeader extends Omit<Header, "type" | "linkname" | "pax"> {
  readonly type: Header["type"] | null; // One that it does not know.
  readonly linkname: string | null;
  readonly byteOffset: number;
  readonly pax: Readonly<Record<string, string>> | null;
}

const headerOf = (entry: Entry): WholeHeader => entry.header as WholeHeader; // See above.

function entryOf(entry: Entry, watch: Watch): SourceEntry {
  const header = headerOf(entry);
  const { name, mode, size, linkname } = header;
  const kind = kindOf(header);
  return {
    path: name,
    kind,
    isExecutable: (mode & 0o111) !== 0,
    ...(kind === "link" ? { linksTo: linkname ?? "" } : {}),
    bytes: kind === "file" ? contentOf(entry, watch) : null,
    byteCount: kind === "file" ? size : 0,
  };
}

async function* contentOf(entry: Entry, watch: Watch): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    for await (const chunk of entry as AsyncIterable<Uint8Array>) yield chunk; // Without an encoding it gives bytes.
  } catch (cause) {
    throw watch.whyBroken(cause);
  }
}

function kindOf({ type, size, pax }: WholeHeader): EntryKind {
  // A sparse file in the words of pax looks like a plain one whose content is a map and pieces.
  if (Object.keys(pax ?? {}).some((key) => key.startsWith("GNU.sparse."))) return "other";
  if (type === "file") return "file";
  if (type === "directory") return "folder";
  return type === "symlink" && size === 0 ? "link" : "other";
}

function endByteOf(entry: Entry): number {
  const { type, size, byteOffset } = headerOf(entry);
  return byteOffset + (type === "directory" ? 0 : Math.ceil(size / BLOCK_BYTES) * BLOCK_BYTES);
}

/** What is to be known of the bytes behind a tar. */
interface Watch {
  watched(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined>;
  readonly byteCount: number;
  /** The library takes a stream that stops between two entries for a whole one; only the block of zeros at its end tells. */
  isMarked(endByte: number): boolean;
  /** Where those bytes failed, that; all else is what the library says of bytes that are no tar. */
  whyBroken(cause: unknown): unknown;
}

function createWatch(): Watch {
  let byteCount = 0;
  let tail: Uint8Array = new Uint8Array(0);
  let failure: unknown = null;
  return {
    async *watched(chunks) {
      try {
        for await (const chunk of chunks) {
          byteCount += chunk.byteLength;
          tail = chunk.byteLength >= BLOCK_BYTES ? chunk.slice(-BLOCK_BYTES) : Buffer.concat([tail, chunk]).subarray(-BLOCK_BYTES);
          yield chunk;
        }
      } catch (cause) {
        failure = cause;
        throw cause;
      }
    },
    get byteCount() {
      return byteCount;
    },
    isMarked: (endByte) => byteCount - endByte >= BLOCK_BYTES && tail.every((byte) => byte === 0),
    whyBroken: (cause) => failure ?? (cause instanceof PlatformError ? cause : refusedArchive("is no tar, or is damaged", cause)),
  };
}

/** Takes the entries one by one as it is read, so that a chunk of one is in memory and never more. */
export async function* writeTar(entries: AsyncIterable<SourceEntry>): AsyncGenerator<Uint8Array, void, undefined> {
  const tar = pack();
  let failure: unknown = null;
  const writing = writeAll(tar, entries).catch((cause: unknown) => {
    failure = cause;
    tar.destroy(cause instanceof Error ? cause : new Error(String(cause)));
  });
  try {
    yield* tar as AsyncIterable<Uint8Array>; // Without an encoding it gives bytes.
    await writing;
  } catch (cause) {
    throw failure ?? cause;
  } finally {
    tar.destroy();
    await writing; // Closes the file that it reads.
  }
}

async function writeAll(tar: Pack, entries: AsyncIterable<SourceEntry>): Promise<void> {
  for await (const entry of entries) await writeOne(tar, entry);
  tar.finalize();
}

async function writeOne(tar: Pack, { path, kind, isExecutable, linksTo, bytes, byteCount }: SourceEntry): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = (error?: Error | null): void => (error ? reject(error) : resolve());
    const file = { name: path, mode: isExecutable ? 0o755 : 0o644, mtime: EPOCH };
    if (kind === "link") tar.entry({ name: path, type: "symlink", linkname: linksTo ?? "", mtime: EPOCH }, done);
    else if (kind === "folder") tar.entry({ name: `${path}/`, type: "directory", mode: 0o755, mtime: EPOCH }, done);
    else if (bytes instanceof Uint8Array) tar.entry({ ...file, size: bytes.byteLength }, bytes, done);
    else {
      const content = tar.entry({ ...file, size: byteCount }, done);
      pipeline(bytes ?? [], content).catch(reject);
    }
  });
}
