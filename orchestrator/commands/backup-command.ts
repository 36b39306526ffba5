// orchestrator backup <file>: the sessions and documents of an environment in one file, made while it runs.
import { createWriteStream } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Command } from "commander";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { printLine, showProgress } from "../log.ts";
import { syncFolder } from "../processes/atomic-file.ts";
import type { BackupFacts } from "../stores/backup-file.ts";
import { checkBackup } from "../stores/backup-reader.ts";
import { bytesText } from "./progress-text.ts";
import { plural, storePlaceOf, withStoreFlags, type StoreFlags } from "./store-flags.ts";

export function addBackup(program: Command): void {
  withStoreFlags(
    program
      .command("backup")
      .description("Writes the sessions and documents of an environment into one file, while it runs.")
      .argument("<file>", "where to; a file that is there is replaced once the new one is whole"),
  )
    .addHelpText("after", "\nExamples:\n  orchestrator backup staging.gz\n  orchestrator backup production.gz --environment production")
    .action(async (file: string, flags: StoreFlags) => backup(resolve(file), flags));
}

async function backup(path: string, flags: StoreFlags): Promise<void> {
  const { api, environment } = await storePlaceOf(flags, "orchestrator backup --help");
  const stopping = new AbortController();
  const stop = (): void => stopping.abort();
  process.once("SIGINT", stop).once("SIGTERM", stop);
  // Always the same name, so that what a killed backup leaves is taken up by the next one.
  const partialPath = `${path}.partial`;
  try {
    const byteCount = await receive(await api.download(`/api/backup/${environment}`, stopping.signal), partialPath, stopping.signal);
    const facts = await checkBackup(partialPath);
    await rename(partialPath, path);
    await syncFolder(dirname(path)); // Without it a power failure may forget the new name.
    tell(path, byteCount, facts, flags);
  } catch (cause) {
    await rm(partialPath, { force: true });
    throw failureOf(cause, path, stopping.signal.aborted);
  } finally {
    showProgress(null);
  }
}

async function receive(bytes: NodeJS.ReadableStream, path: string, signal: AbortSignal): Promise<number> {
  let byteCount = 0;
  const counting = new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      byteCount += chunk.length;
      showProgress(`backup ${bytesText(byteCount)}`);
      done(null, chunk);
    },
  });
  await pipeline(bytes, counting, createWriteStream(path, { mode: 0o600 }), { signal });
  const file = await open(path, "r+");
  try {
    await file.chmod(0o600); // Documents are personal, also where an older file was open to others.
    await file.sync();
  } finally {
    await file.close();
  }
  return byteCount;
}

function tell(path: string, byteCount: number, { header, trailer }: BackupFacts, flags: StoreFlags): void {
  const { sessions, data } = trailer.counts;
  const { appName, environment, createdAt } = header;
  if (flags.json === true)
    return printLine(
      JSON.stringify({ file: path, byteCount, appName, environment, createdAt, counts: trailer.counts, sha256: trailer.sha256 }),
    );
  printLine(`${environment}: ${plural(data, "document")} and ${plural(sessions, "session")} in ${path} (${bytesText(byteCount)}), checked`);
}

function failureOf(cause: unknown, path: string, isStopped: boolean): unknown {
  if (isStopped) return new PlatformError("BACKUP_FAILED", { detail: `It was interrupted; ${path} was not written.` }, { cause });
  if (cause instanceof PlatformError && cause.code !== "BACKUP_INVALID") return cause;
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new PlatformError("BACKUP_FAILED", { detail: `${path} was not written: ${reason}`, remedy: "Run it again." }, { cause });
}
