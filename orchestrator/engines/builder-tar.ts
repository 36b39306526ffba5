// Writes the entries of a source as the tar that Docker unpacks into a builder: everything belongs to the builder's user.
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { type Pack, pack } from "tar-stream";
import type { SourceEntry } from "../sources/write-source.ts";

const EPOCH = new Date(0); // The same files make the same bytes, whenever they are packed.

/** Takes the entries one by one as it is read, so that a piece of one is in memory and never more. */
export function builderTar(entries: AsyncIterable<SourceEntry>, { uid }: { readonly uid: number }): Readable {
  const tar = pack();
  const writeAll = async (): Promise<void> => {
    for await (const entry of entries) await writeEntry(tar, entry, uid);
    tar.finalize();
  };
  writeAll().catch((cause: unknown) => tar.destroy(cause instanceof Error ? cause : new Error(String(cause))));
  return Readable.from(tar);
}

async function writeEntry(tar: Pack, entry: SourceEntry, uid: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = (error?: Error | null): void => (error ? reject(error) : resolve());
    const content = tar.entry({ ...headersOf(entry), uid, gid: uid, mtime: EPOCH }, done);
    pipeline(entry.bytes instanceof Uint8Array ? [entry.bytes] : (entry.bytes ?? []), content).catch(reject);
  });
}

function headersOf({ path, kind, linksTo, isExecutable, byteCount }: SourceEntry): Parameters<Pack["entry"]>[0] {
  switch (kind) {
    case "folder":
      return { name: path, type: "directory", mode: 0o755 };
    case "link":
      return { name: path, type: "symlink", linkname: linksTo ?? "" };
    case "file":
      return { name: path, size: byteCount, mode: isExecutable ? 0o755 : 0o644 };
    case "other":
      throw new Error(`${path} was to be refused`);
  }
}
