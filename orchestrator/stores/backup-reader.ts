// Reads the file of a backup from disk, compressed as it is.
import { createReadStream } from "node:fs";
import { pipeline } from "node:stream";
import { createGunzip } from "node:zlib";
import { invalid, readBackup, type BackupEntry, type BackupFacts } from "./backup-file.ts";

/** Throws BACKUP_INVALID where it is no backup, is damaged, or ends too soon: before that, each entry may be part of one that is. */
export async function* backupEntries(path: string): AsyncGenerator<BackupEntry, BackupFacts, undefined> {
  const file = createReadStream(path);
  const bytes = pipeline(file, createGunzip(), () => undefined); // Its reader hears of a failure.
  try {
    return yield* readBackup(bytes);
  } catch (cause) {
    const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
    if (!code.startsWith("Z_")) throw cause;
    throw invalid(code === "Z_BUF_ERROR" ? "it ends too soon: a part is missing" : "it was damaged, or is no backup of an orchestrator");
  } finally {
    file.destroy();
  }
}

/** Reads all of it. */
export async function checkBackup(path: string): Promise<BackupFacts> {
  const entries = backupEntries(path);
  for (;;) {
    const next = await entries.next();
    if (next.done === true) return next.value;
  }
}
