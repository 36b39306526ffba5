// Writes and reads tar streams: folders, plain files, and links between them.
import { copyFile, mkdir, realpath, symlink, unlink, writeFile } from "node:fs/promises";
import { dirname, join, posix } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { extract, pack } from "tar-stream";

export type TarEntry =
  | { readonly kind: "folder"; readonly path: string; readonly mode: number; readonly uid?: number }
  | { readonly kind: "file"; readonly path: string; readonly mode: number; readonly bytes: Uint8Array }
  | { readonly kind: "link"; readonly path: string; readonly target: string };

const EPOCH = new Date(0); // The same files make the same bytes, whenever they are packed.

/** Takes the entries one by one as the stream is read, so that only one is in memory. */
export function packTar(entries: Iterable<TarEntry> | AsyncIterable<TarEntry>): Readable {
  const stream = pack();
  const write = (entry: TarEntry): Promise<void> =>
    new Promise((resolve, reject) => {
      const done = (error?: Error | null) => (error ? reject(error) : resolve());
      if (entry.kind === "link") {
        stream.entry({ name: entry.path, type: "symlink", linkname: entry.target, mtime: EPOCH }, done);
        return;
      }
      if (entry.kind === "folder") {
        stream.entry(
          { name: entry.path, type: "directory", mode: entry.mode, uid: entry.uid ?? 0, gid: entry.uid ?? 0, mtime: EPOCH },
          done,
        );
        return;
      }
      stream.entry(
        { name: entry.path, mode: entry.mode, mtime: EPOCH },
        Buffer.from(entry.bytes.buffer, entry.bytes.byteOffset, entry.bytes.byteLength),
        done,
      );
    });
  const writeAll = async (): Promise<void> => {
    for await (const entry of entries) await write(entry);
    stream.finalize();
  };
  writeAll().catch((cause: unknown) => stream.destroy(cause instanceof Error ? cause : new Error(String(cause))));
  return Readable.from(stream);
}

export interface UnpackOptions {
  readonly into: string; // Absolute.
  readonly below: string; // Only what is below this path of the stream, which falls away.
  readonly bytesMax: number;
}

/** Writes what a stream holds. It may come from code that nobody vouches for: what leads out of the folder is left out. */
export async function unpackTar(tar: Readable, { into, below, bytesMax }: UnpackOptions): Promise<void> {
  const entries = extract();
  const reading = pipeline(tar, entries);
  reading.catch(() => undefined); // Awaited below.
  const links: { readonly path: string; readonly target: string }[] = [];
  const place = (name: string): string | null => (name.startsWith(below) ? insideOf(name.slice(below.length)) : null);
  let byteCount = 0;
  for await (const entry of entries) {
    const { name, type, size, mode, linkname } = entry.header;
    byteCount += size;
    if (byteCount > bytesMax) throw new Error(`there are more than ${bytesMax} bytes`);
    const path = place(name);
    const bytes = await buffer(entry);
    if (path === null) continue;
    await mkdir(type === "directory" ? join(into, path) : dirname(join(into, path)), { recursive: true });
    if (type === "file") await writeFile(join(into, path), bytes, { flag: "wx", mode: (mode & 0o111) === 0 ? 0o644 : 0o755 });
    else if (type === "symlink") links.push({ path, target: linkname ?? "" });
    else if (type === "link") await copyFile(join(into, place(linkname ?? "") ?? path), join(into, path));
  }
  await reading;
  // Last, so that nothing is ever written through one.
  for (const { path, target } of links) await makeLink(join(into, path), { target, into });
}

/** Only one that leads to something inside stays. */
async function makeLink(absolute: string, { target, into }: { readonly target: string; readonly into: string }): Promise<void> {
  if (posix.isAbsolute(target)) return;
  await symlink(target, absolute);
  const end = await realpath(absolute).catch(() => "");
  if (!end.startsWith(`${await realpath(into)}/`)) await unlink(absolute);
}

/** Null for what is not inside, and for the folder itself. */
function insideOf(path: string): string | null {
  const plain = posix.normalize(path).replace(/\/$/, "");
  return plain === "." || plain === ".." || plain.startsWith("../") || plain.startsWith("/") ? null : plain;
}
