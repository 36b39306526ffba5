// orchestrator backup <file>: sessions, documents and variables of an environment in one file, made while it runs.
import { createWriteStream } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Command } from "commander";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { bytesText } from "../bytes-text.ts";
import { printLine, printNotice, showProgress } from "../log.ts";
import { syncPath } from "../processes/atomic-file.ts";
import type { BackupFacts } from "../stores/backup-file.ts";
import { checkBackup } from "../stores/backup-reader.ts";
import type { ListedVariable } from "../variables/variables.ts";
import { EXIT_INTERRUPTED, type Settle } from "./exit-codes.ts";
import { type PassphraseFlags, type Typed, passphraseInFile, typedPassphrase, withPassphraseFlag } from "./passphrase.ts";
import { plural, queryOf, storePlaceOf, withStoreFlags, type StoreFlags, type StorePlace } from "./store-flags.ts";

type BackupFlags = StoreFlags & PassphraseFlags;

export function addBackup(program: Command, settle: Settle): void {
  const command = program
    .command("backup")
    .description("Writes sessions, documents and variables of an environment into one file, while it runs.")
    .argument("<file>", "where to; a file that is there is replaced once the new one is whole");
  withStoreFlags(withPassphraseFlag(command, "encrypts variables that were set; without a passphrase they are left out"))
    .addHelpText(
      "after",
      "\nExamples:\n  orchestrator backup staging.gz\n  orchestrator backup shop.gz --app shop --environment production --passphrase-file secret.txt",
    )
    .action(async (file: string, flags: BackupFlags) => backup(resolve(file), flags, settle));
}

async function backup(path: string, flags: BackupFlags, settle: Settle): Promise<void> {
  const inFile = flags.passphraseFile === undefined ? null : await passphraseInFile(flags.passphraseFile);
  const place = await storePlaceOf(flags, "orchestrator backup --help");
  const given: Typed = inFile === null ? await askedFor(place) : { kind: "given", passphrase: inFile };
  if (given.kind === "interrupted") return settle(EXIT_INTERRUPTED);
  const { api, app, environment } = place;
  const passphrase = given.kind === "given" ? given.passphrase : null;
  const stopping = new AbortController();
  const stop = (): void => stopping.abort();
  process.once("SIGINT", stop).once("SIGTERM", stop);
  // Always the same name, so that what a killed backup leaves is taken up by the next one.
  const partialPath = `${path}.partial`;
  try {
    const { signal } = stopping;
    const bytes = await api.download(`/api/backup/${environment}${queryOf({ app })}`, { signal, passphrase });
    const byteCount = await receive(bytes, partialPath, signal);
    const facts = await checkBackup(partialPath);
    await rename(partialPath, path);
    await syncPath(dirname(path)); // Without it a power failure may forget the new name.
    tell(path, byteCount, facts, flags);
  } catch (cause) {
    await rm(partialPath, { force: true });
    throw failureOf(cause, path, stopping.signal.aborted);
  } finally {
    showProgress(null);
  }
}

/** Only where a person sits, and where there is something to encrypt. */
async function askedFor({ api, app, environment }: StorePlace): Promise<Typed> {
  if (!process.stdin.isTTY) return { kind: "none" };
  // What the schema of the route says.
  const { variables } = (await api.get(`/api/variables${queryOf({ app })}`)) as { readonly variables: readonly ListedVariable[] };
  const count = variables.filter((one) => one.source === "set" && one.environment === environment).length;
  if (count === 0) return { kind: "none" };
  const question = `Passphrase to encrypt ${plural(count, "environment variable")} with (not shown; empty: leave them out): `;
  return typedPassphrase(question, { isNew: true });
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

function tell(path: string, byteCount: number, { header, trailer }: BackupFacts, flags: BackupFlags): void {
  const { counts, sha256 } = trailer;
  const { appName, environment, createdAt } = header;
  const { kind, count } = header.variables ?? { kind: "none", count: 0 };
  if (flags.json === true)
    return printLine(
      JSON.stringify({ file: path, byteCount, appName, environment, createdAt, counts, variables: { kind, count }, sha256 }),
    );
  const values = `${plural(counts.data, "document")} and ${plural(counts.sessions, "session")}`;
  printLine(`${environment}: ${values} in ${path} (${bytesText(byteCount)}), checked`);
  const variables = plural(count, "environment variable");
  if (kind === "sealed") printLine(`${environment}: ${variables} in it, encrypted; without the passphrase nobody can read them`);
  if (kind === "left-out") printNotice(`${environment}: ${variables} left out, for want of a passphrase: --passphrase-file <file>`);
  if (kind === "none" && flags.passphraseFile !== undefined) printNotice(`${environment}: no environment variables are set there`);
}

function failureOf(cause: unknown, path: string, isStopped: boolean): unknown {
  if (isStopped) return new PlatformError("BACKUP_FAILED", { detail: `It was interrupted; ${path} was not written.` }, { cause });
  if (cause instanceof PlatformError && cause.code !== "BACKUP_INVALID") return cause;
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new PlatformError("BACKUP_FAILED", { detail: `${path} was not written: ${reason}`, remedy: "Run it again." }, { cause });
}
