// orchestrator restore <file>: puts a backup into an environment of a running platform.
import { createReadStream } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { Command } from "commander";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { printLine, printNotice, showProgress } from "../log.ts";
import type { BackupFacts } from "../stores/backup-file.ts";
import { checkBackup } from "../stores/backup-reader.ts";
import type { RestoredVariables } from "../stores/restore.ts";
import type { RestoreStatus } from "../stores/restorer.ts";
import { progressText } from "./progress-text.ts";
import { EXIT_INTERRUPTED, type Settle } from "./exit-codes.ts";
import { type PassphraseFlags, type Typed, passphraseInFile, typedPassphrase, withPassphraseFlag } from "./passphrase.ts";
import { plural, queryOf, storePlaceOf, withStoreFlags, type StoreFlags, type StorePlace } from "./store-flags.ts";

interface RestoreFlags extends StoreFlags, PassphraseFlags {
  readonly replace?: boolean;
}

const POLL_INTERVAL_MS = 250;

export function addRestore(program: Command, settle: Settle): void {
  const command = program
    .command("restore")
    .description("Puts a backup into an environment, checked as a whole before anything is written.")
    .argument("<file>", "what orchestrator backup wrote")
    .option("--replace", "destroy the sessions and documents that are there first; variables become those of the backup");
  withStoreFlags(withPassphraseFlag(command, "opens the variables in the backup; without a passphrase they stay as they are"))
    .addHelpText(
      "after",
      "\nA restore that was broken off is begun anew by the same command.\n\nExamples:\n  orchestrator restore staging.gz\n" +
        "  orchestrator restore shop.gz --app shop --environment production --replace --passphrase-file secret.txt",
    )
    .action(async (file: string, flags: RestoreFlags) => restore(file, flags, settle));
}

interface Outcome extends Omit<BackupFacts["header"], "orchestratorBackup" | "variables"> {
  readonly counts: BackupFacts["trailer"]["counts"];
  readonly removedCount: number;
  readonly wentOn: boolean;
  readonly variables: RestoredVariables;
}

async function restore(file: string, flags: RestoreFlags, settle: Settle): Promise<void> {
  const inFile = flags.passphraseFile === undefined ? null : await passphraseInFile(flags.passphraseFile);
  const place = await storePlaceOf(flags, "orchestrator restore --help");
  const { header } = await checkFile(file); // What is damaged need not be sent.
  const given: Typed = inFile === null ? await askedFor(header) : { kind: "given", passphrase: inFile };
  if (given.kind === "interrupted") return settle(EXIT_INTERRUPTED);
  const stopping = new AbortController();
  const stop = (): void => stopping.abort();
  process.once("SIGINT", stop).once("SIGTERM", stop);
  const over = new AbortController();
  const watching = watch(place, over.signal);
  try {
    const path = `/api/restore/${place.environment}${queryOf({ app: place.app, replace: flags.replace === true ? "true" : undefined })}`;
    const passphrase = given.kind === "given" ? given.passphrase : null;
    const options = { contentType: "application/gzip", signal: stopping.signal, passphrase };
    const outcome = (await place.api.upload(path, createReadStream(file), options)) as Outcome; // What the schema of the route says.
    over.abort();
    await watching;
    tell(outcome, place, flags);
  } catch (cause) {
    over.abort();
    await watching;
    if (!stopping.signal.aborted) throw cause;
    const remedy = "Where it had begun to write, a part is there: the same command begins anew.";
    throw new PlatformError("RESTORE_BROKEN_OFF", { detail: `Into ${place.environment}.`, remedy }, { cause });
  }
}

/** Only where a person sits, and where there is something to open. */
async function askedFor({ variables }: BackupFacts["header"]): Promise<Typed> {
  if (!process.stdin.isTTY || variables?.kind !== "sealed") return { kind: "none" };
  const what = `The backup's passphrase, for ${plural(variables.count, "environment variable")}`;
  return typedPassphrase(`${what} (not shown; empty: leave them as they are): `, { isNew: false });
}

async function checkFile(file: string): Promise<BackupFacts> {
  try {
    return await checkBackup(file);
  } catch (cause) {
    if (cause instanceof PlatformError) throw cause;
    throw new PlatformError(
      "USAGE",
      { detail: `${file} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}.` },
      { cause },
    );
  }
}

/** Shows how far it is, until it is over. */
async function watch({ api, app, environment }: StorePlace, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    // What the schema of the route says; a question that fails is asked again.
    const status = (await api.get(`/api/restore/${environment}${queryOf({ app })}`).catch(() => null)) as RestoreStatus | null;
    if (status !== null && !over.aborted) showProgress(statusText(status));
    await delay(POLL_INTERVAL_MS, undefined, { signal: over }).catch(() => undefined); // Over.
  }
  showProgress(null);
}

const LABELS = {
  checking: "checking",
  variables: "starting functions with the variables",
  removing: "removing what is there",
  writing: "writing",
} as const;

function statusText(status: RestoreStatus): string | null {
  if (status.kind === "receiving") return "sending";
  if (status.kind !== "running") return null;
  const { phase, doneCount, totalCount } = status;
  return progressText({ label: LABELS[phase], doneCount, totalCount, note: totalCount === null ? "" : String(doneCount) });
}

function tell(outcome: Outcome, { environment }: StorePlace, flags: RestoreFlags): void {
  if (flags.json === true) return printLine(JSON.stringify({ into: environment, ...outcome }));
  const { counts, removedCount, wentOn, appName, createdAt } = outcome;
  if (wentOn) printNotice("an earlier restore of this backup had been broken off");
  if (removedCount > 0) printNotice(`${plural(removedCount, "value")} that had been there destroyed`);
  printLine(
    `${environment}: ${plural(counts.data, "document")} and ${plural(counts.sessions, "session")} of ${appName} (${outcome.environment}, ${createdAt}) are back`,
  );
  tellVariables(outcome.variables, environment, flags);
}

function tellVariables(variables: RestoredVariables, environment: string, flags: RestoreFlags): void {
  switch (variables.kind) {
    case "none":
      if (flags.passphraseFile !== undefined) printNotice("there are no environment variables in the backup");
      return;
    case "left-out":
      return printNotice(`the backup was made without the ${plural(variables.count, "environment variable")} that were set then`);
    case "closed":
      return printNotice(
        `${plural(variables.count, "environment variable")} of the backup left out, for want of its passphrase: --passphrase-file <file>`,
      );
    case "restored":
      printLine(`${environment}: functions run with ${plural(variables.count, "environment variable")} of the backup`);
      for (const { functionName, code, message } of variables.failures)
        printNotice(`${environment}: ${functionName} still does not start: ${code}: ${message}`);
  }
}
