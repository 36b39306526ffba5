// orchestrator data export: every document as a line of JSON, in the order of tables and keys.
import type { Command } from "commander";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { outliveReaders, printNotice, showProgress, writeOut } from "../log.ts";
import type { ExportLine } from "../stores/transfer.ts";
import { EXIT_PART, type Settle } from "./exit-codes.ts";
import { progressText } from "./progress-text.ts";
import { plural, queryOf, storePlaceOf, withStoreFlags, type StoreFlags } from "./store-flags.ts";

interface ExportFlags extends StoreFlags {
  readonly table?: string;
}

const PROGRESS_EVERY = 500; // Documents.

export function addExport(data: Command, settle: Settle): void {
  withStoreFlags(
    data
      .command("export")
      .description("Prints every document as one line of JSON, in the order of tables and keys, while the app runs.")
      .option("--table <name>", "of one table only"),
  )
    .addHelpText(
      "after",
      "\nExamples:\n  orchestrator data export > documents.ndjson\n  orchestrator data export --table people --environment production",
    )
    .action(async (flags: ExportFlags) => exportAll(flags, settle));
}

async function exportAll(flags: ExportFlags, settle: Settle): Promise<void> {
  const { api, environment } = await storePlaceOf(flags, "orchestrator data export --help");
  const readerLeft = new AbortController();
  outliveReaders(); // What was printed is a part then, and the exit code says so.
  process.stdout.on("error", () => readerLeft.abort()); // "| head" has seen enough.
  const seen = { documentCount: 0, unreadableCount: 0, totalCount: 0, isWhole: false };
  const take = async (value: unknown): Promise<void> => {
    if (readerLeft.signal.aborted) return;
    const line = value as ExportLine; // What the schema of the route says.
    if (line.kind === "begin") seen.totalCount = line.count;
    if (line.kind === "end") seen.isWhole = true;
    if (line.kind === "unreadable") {
      seen.unreadableCount += 1;
      printNotice(`${line.place.table}/${line.place.key} is left out: a function wrote there what is no document`);
    }
    if (line.kind !== "document") return;
    await writeOut(`${JSON.stringify(line.document)}\n`);
    seen.documentCount += 1;
    const { documentCount: doneCount, totalCount } = seen;
    if (doneCount % PROGRESS_EVERY === 0 && !process.stdout.isTTY)
      showProgress(progressText({ label: "exported", doneCount, totalCount, note: plural(doneCount, "document") }));
  };
  await api.lines(`/api/data/${environment}/export${queryOf({ app: flags.app, table: flags.table })}`, take, readerLeft.signal);
  showProgress(null);
  if (readerLeft.signal.aborted) return settle(EXIT_PART);
  if (!seen.isWhole)
    throw new PlatformError("STORE_UNAVAILABLE", { detail: "The export broke off; what was printed is a part.", remedy: "Run it again." });
  if (seen.unreadableCount > 0) settle(EXIT_PART);
  const { documentCount, unreadableCount } = seen;
  if (flags.json === true) printNotice(JSON.stringify({ environment, documentCount, unreadableCount }));
  else if (!process.stdout.isTTY) printNotice(`${environment}: ${plural(documentCount, "document")} exported`);
}
