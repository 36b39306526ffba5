// orchestrator restore <file>: puts a backup into an environment of a running platform.
import { createReadStream } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { Command } from "commander";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { printLine, printNotice, showProgress } from "../log.ts";
import type { BackupFacts } from "../stores/backup-file.ts";
import { checkBackup } from "../stores/backup-reader.ts";
import type { RestoreStatus } from "../stores/restorer.ts";
import { progressText } from "./progress-text.ts";
import { plural, queryOf, storePlaceOf, withStoreFlags, type StoreFlags, type StorePlace } from "./store-flags.ts";

interface RestoreFlags extends StoreFlags {
  readonly replace?: boolean;
}

const POLL_INTERVAL_MS = 250;

export function addRestore(program: Command): void {
  withStoreFlags(
    program
      .command("restore")
      .description("Puts a backup into an environment, checked as a whole before anything is written.")
      .argument("<file>", "what orchestrator backup wrote")
      .option("--replace", "destroy the sessions and documents that are there first"),
  )
    .addHelpText(
      "after",
      "\nA restore that was broken off is begun anew by the same command.\n\nExamples:\n  orchestrator restore staging.gz\n" +
        "  orchestrator restore production.gz --environment production --replace",
    )
    .action(async (file: string, flags: RestoreFlags) => restore(file, flags));
}

interface Outcome extends Omit<BackupFacts["header"], "orchestratorBackup"> {
  readonly counts: BackupFacts["trailer"]["counts"];
  readonly removedCount: number;
  readonly wentOn: boolean;
}

async function restore(file: string, flags: RestoreFlags): Promise<void> {
  const place = await storePlaceOf(flags, "orchestrator restore --help");
  await checkFile(file); // What is damaged need not be sent.
  const stopping = new AbortController();
  const stop = (): void => stopping.abort();
  process.once("SIGINT", stop).once("SIGTERM", stop);
  const over = new AbortController();
  const watching = watch(place, over.signal);
  try {
    const path = `/api/restore/${place.environment}${queryOf({ replace: flags.replace === true ? "true" : undefined })}`;
    const options = { contentType: "application/gzip", signal: stopping.signal };
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

async function checkFile(file: string): Promise<void> {
  try {
    await checkBackup(file);
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
async function watch({ api, environment }: StorePlace, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    // What the schema of the route says; a question that fails is asked again.
    const status = (await api.get(`/api/restore/${environment}`).catch(() => null)) as RestoreStatus | null;
    if (status !== null && !over.aborted) showProgress(statusText(status));
    await delay(POLL_INTERVAL_MS, undefined, { signal: over }).catch(() => undefined); // Over.
  }
  showProgress(null);
}

const LABELS = { checking: "checking", removing: "removing what is there", writing: "writing" } as const;

function statusText(status: RestoreStatus): string | null {
  if (status.kind === "receiving") return "sending";
  if (status.kind !== "running") return null;
  const { phase, doneCount, totalCount } = status;
  return progressText({ label: LABELS[phase], doneCount, totalCount, note: phase === "checking" ? "" : String(doneCount) });
}

function tell(outcome: Outcome, { environment }: StorePlace, flags: RestoreFlags): void {
  if (flags.json === true) return printLine(JSON.stringify({ into: environment, ...outcome }));
  const { counts, removedCount, wentOn, appName, createdAt } = outcome;
  if (wentOn) printNotice("an earlier restore of this backup had been broken off");
  if (removedCount > 0) printNotice(`${plural(removedCount, "value")} that had been there destroyed`);
  printLine(
    `${environment}: ${plural(counts.data, "document")} and ${plural(counts.sessions, "session")} of ${appName} (${outcome.environment}, ${createdAt}) are back`,
  );
}
