// Makes the backup of an environment's stores while they are in use: a compressed stream of the file, of which a bounded part is in memory.
import { pipeline, Readable } from "node:stream";
import { createGzip } from "node:zlib";
import { STORE_BUCKETS } from "../../runtime-image/contract/subjects.ts";
import { keyOf } from "../../runtime-image/store/subjects.ts";
import { BACKUP_VERSION, isStoreKey, writeBackup, type BackupEntry, type BackupHeader } from "./backup-file.ts";
import type { AppStores } from "./stores.ts";

/**
 * Each value is a whole one, as it was written. What is there when the backup ends is in it as it is then; what was destroyed while it
 * ran may be in it, too. Fails at once where nothing can be read; a failure later on breaks the stream off.
 */
export async function backupStores(stores: AppStores, about: Omit<BackupHeader, "orchestratorBackup">): Promise<Readable> {
  const chunks = writeBackup({ orchestratorBackup: BACKUP_VERSION, ...about }, entriesOf(stores));
  const first = await chunks.next();
  const all = async function* (): AsyncGenerator<Buffer, void, undefined> {
    if (first.done !== true) yield first.value;
    yield* chunks;
  };
  return pipeline(Readable.from(all(), { objectMode: false }), createGzip(), () => undefined); // Its reader hears of a failure.
}

async function* entriesOf(stores: AppStores): AsyncGenerator<BackupEntry, void, undefined> {
  for (const bucket of STORE_BUCKETS)
    for await (const { subject, bytes } of stores.messages(bucket, "last")) {
      const key = keyOf(bucket, subject);
      // A function can write past the library; what no key leads to is nobody's document.
      if (isStoreKey(bucket, key)) yield { bucket, key, bytes };
    }
}
