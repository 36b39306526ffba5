// orchestrator data get|ls|set|rm|count|export|import: documents of an app, for their owner.
import { text } from "node:stream/consumers";
import type { Command } from "commander";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import type { Document } from "../../runtime-image/contract/documents.ts";
import { printLine, printNotice } from "../log.ts";
import type { TableCount } from "../stores/tables.ts";
import { addExport } from "./data-export.ts";
import { addImport } from "./data-import.ts";
import { EXIT_PART, exitCodeLines, type Settle } from "./exit-codes.ts";
import { countOf, plural, queryOf, storePlaceOf, withStoreFlags, type StoreFlags } from "./store-flags.ts";
import { tableLines } from "./table.ts";

export function addData(program: Command, settle: Settle): void {
  const data = program
    .command("data")
    .description("Documents of the app: reads, writes, exports and imports them.")
    .addHelpText("after", ["\nExit codes:", ...exitCodeLines()].join("\n"));
  withStoreFlags(data.command("get").description("Shows one document.").argument("<table>", "its table").argument("<key>", "its key"))
    .addHelpText(
      "after",
      "\nExamples:\n  orchestrator data get people ada\n  orchestrator data get people ada --environment production --json",
    )
    .action(async (table: string, key: string, flags: StoreFlags) => get({ table, key }, flags, settle));
  withStoreFlags(
    data
      .command("ls")
      .description("Shows the tables, or documents of one table in the order of their keys.")
      .argument("[table]", "a table")
      .option("--begin <text>", "only documents whose key begins so")
      .option("--limit <count>", "how many", "100")
      .option("--cursor <cursor>", "go on after the page that ended with it"),
  )
    .addHelpText("after", "\nExamples:\n  orchestrator data ls\n  orchestrator data ls people --begin a --limit 20")
    .action(async (table: string | undefined, flags: ListFlags) => list(table, flags));
  withStoreFlags(
    data
      .command("set")
      .description('Writes one document, in place of the one that is there; "-" takes it from standard input.')
      .argument("<table>", "its table")
      .argument("<key>", "its key")
      .argument("<json>", "an object")
      .option("--revision <number>", "only where it is at this revision, as `data get --json` tells; 0: only where there is none"),
  )
    .addHelpText(
      "after",
      '\nExamples:\n  orchestrator data set people ada \'{"name":"Ada"}\'\n  orchestrator data set people ada - < ada.json',
    )
    .action(async (table: string, key: string, json: string, flags: SetFlags) => set({ table, key }, json, flags));
  withStoreFlags(
    data
      .command("rm")
      .description("Destroys documents of one table.")
      .argument("<table>", "their table")
      .argument("<key...>", "their keys"),
  )
    .addHelpText("after", "\nExample:\n  orchestrator data rm people ada grace")
    .action(async (table: string, keys: string[], flags: StoreFlags) => remove(table, keys, flags, settle));
  withStoreFlags(data.command("count").description("Shows how many documents a table has.").argument("<table>", "a table"))
    .addHelpText("after", "\nExample:\n  orchestrator data count people")
    .action(async (table: string, flags: StoreFlags) => count(table, flags));
  addExport(data, settle);
  addImport(data, settle);
}

interface ListFlags extends StoreFlags {
  readonly begin?: string;
  readonly limit: string;
  readonly cursor?: string;
}

interface SetFlags extends StoreFlags {
  readonly revision?: string;
}

interface Place {
  readonly table: string;
  readonly key: string;
}

// What the orchestrator answers is what the schemas of its routes say; below, casts name it.

async function get(place: Place, flags: StoreFlags, settle: Settle): Promise<void> {
  const { api, environment } = await storePlaceOf(flags, "orchestrator data get --help");
  try {
    const found = (await api.get(`/api/data/${environment}/document${queryOf({ ...place, app: flags.app })}`)) as {
      readonly document: Document;
    };
    printLine(flags.json === true ? JSON.stringify(found) : JSON.stringify(found.document, null, 2));
  } catch (error) {
    if (!(error instanceof PlatformError) || error.code !== "DOCUMENT_NOT_FOUND") throw error;
    if (flags.json === true) printLine('{"document":null}');
    else printNotice(`there is no document ${place.key} in ${place.table} on ${environment}`);
    settle(EXIT_PART);
  }
}

async function list(table: string | undefined, flags: ListFlags): Promise<void> {
  const problems: string[] = [];
  const limit = countOf("--limit", flags.limit, problems);
  if (limit === 0) problems.push("--limit: should be at least 1");
  const { api, environment } = await storePlaceOf(flags, "orchestrator data ls --help", problems);
  if (table === undefined) {
    const answer = (await api.get(`/api/data/${environment}/tables${queryOf({ app: flags.app })}`)) as {
      readonly tables: readonly TableCount[];
    };
    if (flags.json === true) return printLine(JSON.stringify(answer));
    for (const line of tableLines(
      ["table", "documents"],
      answer.tables.map((one) => [one.table, String(one.count)]),
    ))
      printLine(line);
    return;
  }
  const { begin, cursor } = flags;
  const page = (await api.get(
    `/api/data/${environment}/page${queryOf({ app: flags.app, table, begin, cursor, limit: String(limit) })}`,
  )) as {
    readonly documents: readonly Document[];
    readonly cursor?: string;
  };
  if (flags.json === true) return printLine(JSON.stringify(page));
  const rows = page.documents.map(({ table: _table, key, ...attributes }) => [key, JSON.stringify(attributes)]);
  for (const line of tableLines(["key", "document"], rows)) printLine(line);
  if (page.cursor !== undefined) printNotice(`there may be more: --cursor ${page.cursor}`);
}

async function set(place: Place, json: string, flags: SetFlags): Promise<void> {
  const problems: string[] = [];
  const expectedRevision = countOf("--revision", flags.revision, problems);
  const document = objectIn(json === "-" ? await text(process.stdin) : json, place, problems);
  const { api, environment } = await storePlaceOf(flags, "orchestrator data set --help", problems);
  const body = { ...place, document, ...(expectedRevision === undefined ? {} : { expectedRevision }) };
  const written = (await api.put(`/api/data/${environment}/document${queryOf({ app: flags.app })}`, body)) as { readonly revision: number };
  if (flags.json === true) return printLine(JSON.stringify(written));
  printLine(`${environment}: ${place.table}/${place.key} is written, at revision ${written.revision}`);
}

/** Where it names another table or key than the command line does, one of the two is a mistake. */
function objectIn(json: string, place: Place, problems: string[]): object {
  try {
    const value: unknown = JSON.parse(json);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      const named: Readonly<Record<string, unknown>> = { ...place, ...value };
      for (const name of ["table", "key"] as const)
        if (named[name] !== place[name])
          problems.push(`json: names the ${name} ${JSON.stringify(named[name])}, the command "${place[name]}"`);
      return value;
    }
    problems.push("json: should be an object");
  } catch (cause) {
    problems.push(`json: ${cause instanceof Error ? cause.message : String(cause)}`);
  }
  return {};
}

async function remove(table: string, keys: readonly string[], flags: StoreFlags, settle: Settle): Promise<void> {
  const { api, environment } = await storePlaceOf(flags, "orchestrator data rm --help");
  const outcome = (await api.post(`/api/data/${environment}/remove${queryOf({ app: flags.app })}`, { table, keys })) as {
    readonly removedKeys: readonly string[];
  };
  if (outcome.removedKeys.length < new Set(keys).size) settle(EXIT_PART);
  if (flags.json === true) return printLine(JSON.stringify(outcome));
  printLine(`${environment}: ${plural(outcome.removedKeys.length, "document")} of ${table} destroyed`);
  for (const key of new Set(keys)) if (!outcome.removedKeys.includes(key)) printNotice(`there was no document ${key}`);
}

async function count(table: string, flags: StoreFlags): Promise<void> {
  const { api, environment } = await storePlaceOf(flags, "orchestrator data count --help");
  const answer = (await api.get(`/api/data/${environment}/count${queryOf({ app: flags.app, table })}`)) as { readonly count: number };
  printLine(flags.json === true ? JSON.stringify(answer) : String(answer.count));
}
