// Writes tar streams: folders and plain files, never links.
import { Readable } from "node:stream";
import { pack } from "tar-stream";

export type TarEntry =
  | { readonly kind: "folder"; readonly path: string; readonly mode: number; readonly uid?: number }
  | { readonly kind: "file"; readonly path: string; readonly mode: number; readonly bytes: Uint8Array };

const EPOCH = new Date(0); // The same files make the same bytes, whenever they are packed.

/** Takes the entries one by one as the stream is read, so that only one is in memory. */
export function packTar(entries: Iterable<TarEntry> | AsyncIterable<TarEntry>): Readable {
  const stream = pack();
  const write = (entry: TarEntry): Promise<void> =>
    new Promise((resolve, reject) => {
      const done = (error?: Error | null) => (error ? reject(error) : resolve());
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
