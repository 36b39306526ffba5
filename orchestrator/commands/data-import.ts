// orchestrator data import <file>: writes the documents of a file, one JSON object per line; can be interrupted and gone on with.
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { Readable } from "node:stream";
import type { Command } from "commander";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import {
  IMPORT_BATCH_BYTES_MAX,
  IMPORT_BATCH_COUNT_MAX,
  IMPORT_LINE_BYTES_MAX,
  IMPORT_PROBLEM_COUNT_MAX,
} from "../../runtime-image/contract/limits.ts";
import { printLine, printNotice, showProgress } from "../log.ts";
import { readLine } from "../stores/import-lines.ts";
import { linesOf } from "../stores/lines.ts";
import type { ImportOutcome, LineProblem } from "../stores/transfer.ts";
import { EXIT_INTERRUPTED, EXIT_PART, type Settle } from "./exit-codes.ts";
import { progressText } from "./progress-text.ts";
import { countOf, plural, queryOf, storePlaceOf, withStoreFlags, type StoreFlags, type StorePlace } from "./store-flags.ts";

interface ImportFlags extends StoreFlags {
  readonly fromLine?: string;
}

export function addImport(data: Command, settle: Settle): void {
  withStoreFlags(
    data
      .command("import")
      .description("Writes the documents of a file, one JSON object per line with its table and key. Doing it again changes nothing.")
      .argument("<file>", 'a file, or "-" for standard input')
      .option("--from-line <number>", "pass over the lines before, to go on where an earlier import ended"),
  )
    .addHelpText(
      "after",
      "\nExamples:\n  orchestrator data import documents.ndjson\n  orchestrator data export | orchestrator data import - --environment production",
    )
    .action(async (file: string, flags: ImportFlags) => importFile(file, flags, settle));
}

interface Importing {
  readonly place: StorePlace;
  readonly outcome: Outcome;
}

interface Outcome {
  writtenCount: number;
  badCount: number;
  nextLine: number; // Every line before it is written, or is a bad one.
  readonly problems: LineProblem[];
}

async function importFile(file: string, flags: ImportFlags, settle: Settle): Promise<void> {
  const problems: string[] = [];
  const firstLine = countOf("--from-line", flags.fromLine, problems) ?? 1;
  const source = await openSource(file);
  const place = await storePlaceOf(flags, "orchestrator data import --help", problems);
  const outcome: Outcome = { writtenCount: 0, badCount: 0, nextLine: firstLine, problems: [] };
  const stop = { isAsked: false };
  const onSignal = (): void => {
    stop.isAsked = true;
    source.bytes.destroy(); // It may be waiting for input that does not come.
  };
  process.once("SIGINT", onSignal).once("SIGTERM", onSignal);
  try {
    await sendLines(source, { place, outcome }, { firstLine, isStopped: () => stop.isAsked, isJson: flags.json === true });
  } catch (error) {
    report(file, flags, outcome, place, false);
    throw error;
  }
  report(file, flags, outcome, place, !stop.isAsked);
  if (stop.isAsked) settle(EXIT_INTERRUPTED);
  else if (outcome.badCount > 0) settle(EXIT_PART);
}

interface Source {
  readonly bytes: Readable;
  readonly byteCount: number | null;
}

async function openSource(file: string): Promise<Source> {
  if (file === "-") return { bytes: process.stdin, byteCount: null };
  try {
    const { size } = await stat(file);
    return { bytes: createReadStream(file), byteCount: size };
  } catch (cause) {
    throw new PlatformError(
      "USAGE",
      { detail: `${file} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}.` },
      { cause },
    );
  }
}

interface Batch {
  readonly parts: Buffer[];
  readonly lineNumbers: number[];
  byteCount: number;
}

const emptyBatch = (): Batch => ({ parts: [], lineNumbers: [], byteCount: 0 });
const isFull = ({ lineNumbers, byteCount }: Batch): boolean =>
  lineNumbers.length >= IMPORT_BATCH_COUNT_MAX || byteCount >= IMPORT_BATCH_BYTES_MAX;
const LINE_END = Buffer.from("\n");

/** A batch is on its way while the next one is read. What was acknowledged is what `outcome` tells of. */
async function sendLines(
  { bytes, byteCount }: Source,
  { place, outcome }: Importing,
  { firstLine, isStopped, isJson }: { readonly firstLine: number; readonly isStopped: () => boolean; readonly isJson: boolean },
): Promise<void> {
  let batch = emptyBatch();
  let sending = Promise.resolve();
  let readBytes = 0;
  const flush = async (nextLine: number): Promise<void> => {
    await sending;
    sending = send(place, batch, outcome, nextLine);
    sending.catch(() => undefined); // Whoever flushes next hears of it.
    batch = emptyBatch();
    const note = plural(outcome.writtenCount, "document");
    showProgress(progressText({ label: "imported", doneCount: readBytes, totalCount: byteCount, note }));
  };
  const readAll = async (): Promise<void> => {
    for await (const line of linesOf(bytes, IMPORT_LINE_BYTES_MAX)) {
      if (isStopped()) break;
      readBytes += line.bytes.length + 1;
      if (line.number < firstLine) continue;
      const read = readLine(line);
      if (read.kind === "bad") tell(outcome, { line: line.number, problem: read.problem }, isJson);
      if (read.kind === "document") {
        batch.parts.push(Buffer.from(read.encoded.bytes), LINE_END);
        batch.lineNumbers.push(line.number);
        batch.byteCount += read.encoded.bytes.length;
      }
      if (isFull(batch)) await flush(line.number + 1);
      else if (batch.parts.length === 0) await settled(line.number);
    }
  };
  await readAll().catch((cause: unknown) => {
    if (!isStopped()) throw cause;
  });
  const lastLine = batch.lineNumbers.at(-1);
  if (lastLine !== undefined) await flush(lastLine + 1);
  await sending;
  showProgress(null);
  bytes.destroy();

  /** A line that needs no writing is done with once everything before it is. */
  async function settled(number: number): Promise<void> {
    await sending;
    outcome.nextLine = number + 1;
  }
}

async function send({ api, app, environment }: StorePlace, batch: Batch, outcome: Outcome, nextLine: number): Promise<void> {
  const contentType = "application/x-ndjson";
  // What the schema of the route says.
  const answer = (await api.upload(`/api/data/${environment}/import${queryOf({ app })}`, Readable.from([Buffer.concat(batch.parts)]), {
    contentType,
  })) as ImportOutcome;
  outcome.writtenCount += answer.writtenCount;
  for (const { line, problem } of answer.problems) tell(outcome, { line: batch.lineNumbers[line - 1] ?? line, problem }, false);
  outcome.nextLine = nextLine;
}

function tell(outcome: Outcome, problem: LineProblem, isJson: boolean): void {
  outcome.badCount += 1;
  if (outcome.problems.length < IMPORT_PROBLEM_COUNT_MAX) outcome.problems.push(problem);
  if (!isJson) printNotice(`line ${problem.line}: ${problem.problem}`);
}

function report(file: string, flags: ImportFlags, outcome: Outcome, { app, environment }: StorePlace, isWhole: boolean): void {
  showProgress(null);
  if (flags.json === true) return printLine(JSON.stringify({ environment, isWhole, ...outcome }));
  const left = outcome.badCount === 0 ? "" : `, ${plural(outcome.badCount, "bad line")} left out`;
  printLine(`${environment}: ${plural(outcome.writtenCount, "document")} written${left}`);
  const place = `--environment ${environment}${app === undefined ? "" : ` --app ${app}`}`;
  if (!isWhole) printNotice(`not finished; go on with: orchestrator data import ${file} --from-line ${outcome.nextLine} ${place}`);
}
