// Documents and sessions: beside Redis and PostgreSQL in the same run, pages of small and large tables, requests that read a session.
import { machineLines } from "./machine.ts";
import { say } from "./log.ts";
import type { EngineKind } from "./rows/platform.ts";
import { median, percentile } from "./stats.ts";
import { startPostgres, startRedis, startStores } from "./stores/servers.ts";
import { measureSessions, type SessionResult } from "./stores/sessions.ts";
import { KEY_COUNT, startWorker, type Report, type Target, type Task, type Worker } from "./stores/worker.ts";
import { markdownTable, short, times, whole } from "./table.ts";

interface StoreRow {
  readonly name: string;
  readonly getsMs: number[];
  readonly setsMs: number[];
  readonly getsPerS: number[];
  readonly setsPerS: number[];
}

interface TableRow {
  readonly documentCount: number;
  readonly pagesMs: readonly number[];
  readonly countsMs: readonly number[];
}

export interface StoresResult {
  readonly stores: readonly StoreRow[]; // Ours, Redis, PostgreSQL.
  readonly tables: readonly TableRow[];
  readonly sessions: readonly SessionResult[];
  readonly machine: string;
}

export interface StoresOptions {
  readonly isQuick: boolean;
  readonly engines: readonly EngineKind[];
  readonly stack: AsyncDisposableStack;
  readonly signal: AbortSignal;
}

const ROUND_COUNT = 5;
const GET_COUNT = 1_000; // Of one round.
const SET_COUNT = 500;
const AT_ONCE_COUNT = 32;
const AT_ONCE_MS = 1_000;
const PAGE_SAMPLE_COUNT = 100;
const TABLE_COUNTS = [1_000, 100_000];
const QUICK_TABLE_COUNTS = [1_000, 10_000];

export async function measureStores(options: StoresOptions): Promise<StoresResult> {
  const { isQuick, engines, signal } = options;
  const roundCount = isQuick ? 1 : ROUND_COUNT;
  const sessions: SessionResult[] = [];
  for (const engine of engines) {
    await using own = new AsyncDisposableStack();
    sessions.push(await measureSessions(engine, { roundCount: isQuick ? 1 : 3, stack: own, signal }));
  }
  say("stores: starting Redis, PostgreSQL and a broker");
  const [redis, postgres, access] = [await startRedis(options), await startPostgres(options), await startStores(options)];
  const targets: readonly { readonly name: string; readonly target: Target }[] = [
    { name: "ours: data.get, data.set", target: { kind: "ours", access } },
    { name: `Redis ${redis.version}, appendfsync always`, target: { kind: "redis", port: redis.port } },
    { name: `PostgreSQL ${postgres.version}`, target: { kind: "postgres", port: postgres.port } },
  ];
  const running: { row: StoreRow; worker: Worker }[] = [];
  for (const { name, target } of targets)
    running.push({
      row: { name, getsMs: [], setsMs: [], getsPerS: [], setsPerS: [] },
      worker: await startWorker(target, options.stack, signal),
    });
  for (const { worker } of running) {
    await worker.run({ kind: "set", sampleCount: KEY_COUNT }); // From here on every key is there.
    await measureRound(worker); // The compilers of V8 have their say first.
  }
  for (let round = 1; round <= roundCount; round += 1)
    for (const { row, worker } of running) {
      say(`stores, round ${round} of ${roundCount}: ${row.name}`);
      const measured = await measureRound(worker);
      row.getsMs.push(...measured.get.samplesMs);
      row.setsMs.push(...measured.set.samplesMs);
      row.getsPerS.push(measured.gets.perS);
      row.setsPerS.push(measured.sets.perS);
    }
  const [ours] = running;
  const tables = ours === undefined ? [] : await measureTables(ours.worker, isQuick);
  return { stores: running.map(({ row }) => row), tables, sessions, machine: await machineLines() };
}

async function measureRound(worker: Worker): Promise<Record<"get" | "set" | "gets" | "sets", Report>> {
  const atOnce = { atOnceCount: AT_ONCE_COUNT, durationMs: AT_ONCE_MS };
  const set = await worker.run({ kind: "set", sampleCount: SET_COUNT });
  await worker.run({ kind: "settle" });
  const get = await worker.run({ kind: "get", sampleCount: GET_COUNT });
  const gets = await worker.run({ kind: "gets at once", ...atOnce });
  const sets = await worker.run({ kind: "sets at once", ...atOnce });
  await worker.run({ kind: "settle" });
  return { set, get, gets, sets };
}

async function measureTables(worker: Worker, isQuick: boolean): Promise<TableRow[]> {
  const rows: TableRow[] = [];
  for (const documentCount of isQuick ? QUICK_TABLE_COUNTS : TABLE_COUNTS) {
    const table = `table of ${documentCount}`;
    say(`stores: writing ${whole(documentCount)} documents`);
    await worker.run({ kind: "fill", table, documentCount });
    const page: Task = { kind: "page", table, documentCount, sampleCount: PAGE_SAMPLE_COUNT };
    await worker.run(page); // The instance learns where the table is large.
    const pages = await worker.run(page);
    const counts = await worker.run({ kind: "count", table, sampleCount: 20 });
    rows.push({ documentCount, pagesMs: pages.samplesMs, countsMs: counts.samplesMs });
  }
  return rows;
}

interface Verdict {
  readonly text: string;
  readonly ratio: number;
  readonly most: number;
}

/** Pure. */
export function storesSection({ stores, tables, sessions, machine }: StoresResult): string {
  const storeTable = markdownTable<StoreRow>(
    [
      { title: "store", cell: ({ name }) => name, align: "left" },
      { title: "get p50 ms", cell: ({ getsMs }) => short(median(getsMs)) },
      { title: "p99 ms", cell: ({ getsMs }) => short(percentile(getsMs, 99)) },
      { title: "set p50 ms", cell: ({ setsMs }) => short(median(setsMs)) },
      { title: "p99 ms", cell: ({ setsMs }) => short(percentile(setsMs, 99)) },
      { title: `gets/s, ${AT_ONCE_COUNT} at once`, cell: ({ getsPerS }) => whole(median(getsPerS)) },
      { title: `sets/s, ${AT_ONCE_COUNT} at once`, cell: ({ setsPerS }) => whole(median(setsPerS)) },
    ],
    stores,
  );
  const tableTable = markdownTable<TableRow>(
    [
      { title: "documents", cell: ({ documentCount }) => whole(documentCount) },
      { title: "page of 100, p50 ms", cell: ({ pagesMs }) => short(median(pagesMs)) },
      { title: "p99 ms", cell: ({ pagesMs }) => short(percentile(pagesMs, 99)) },
      { title: "count, p50 ms", cell: ({ countsMs }) => short(median(countsMs)) },
    ],
    tables,
  );
  const sessionTable = markdownTable<SessionResult>(
    [
      { title: "engine", cell: ({ engine }) => engine, align: "left" },
      { title: "without, p50 ms, 1 conn.", cell: ({ plain }) => short(plain.singleP50Ms) },
      { title: "with", cell: ({ session }) => short(session.singleP50Ms) },
      { title: "without, req/s, 32 conn.", cell: ({ plain }) => whole(plain.requestsPerS) },
      { title: "with", cell: ({ session }) => whole(session.requestsPerS) },
      { title: "without, p99 ms", cell: ({ plain }) => short(plain.p99Ms) },
      { title: "with", cell: ({ session }) => short(session.p99Ms) },
      { title: "failed", cell: ({ plain, session }) => whole(plain.failedCount + session.failedCount) },
    ],
    sessions,
  );
  const verdicts = targetsOf({ stores, tables, sessions }).map(
    ({ text, ratio, most }) => `- ${text}: ${times(ratio, 1)}, at most ${times(most, 1)} wanted${ratio <= most ? "" : ": **missed**"}`,
  );
  return ["## Stores", machine, storeTable, tableTable, sessionTable, verdicts.join("\n"), NOTES].join("\n\n");
}

function targetsOf({ stores, tables, sessions }: Omit<StoresResult, "machine">): Verdict[] {
  const [ours, redis, postgres] = stores;
  const [small, large] = tables;
  const p50 = (values: readonly number[] | undefined): number => median(values ?? []);
  return [
    { text: "get, beside Redis `GET`, p50", ratio: p50(ours?.getsMs) / p50(redis?.getsMs), most: 2 },
    { text: "set, beside a PostgreSQL commit, p50", ratio: p50(ours?.setsMs) / p50(postgres?.setsMs), most: 1 },
    { text: "a page of the large table, beside one of the small, p50", ratio: p50(large?.pagesMs) / p50(small?.pagesMs), most: 5 },
    ...sessions.map(({ engine, plain, session }) => ({
      text: `a request that reads a session, beside one that does not (${engine}), p50 at 1 connection`,
      ratio: session.singleP50Ms / plain.singleP50Ms,
      most: 1.5,
    })),
  ];
}

const NOTES = `One Node process for each store, one operation after the other, ${ROUND_COUNT} interleaved rounds; then ${AT_ONCE_COUNT} at once. Documents of 200 bytes, 1,000 keys that are written again and
again. All on the same disk, every write synced before it is answered. Ours deletes what writes replaced when the instance pauses, up to 1,000 of them (as PostgreSQL vacuums later): ${SET_COUNT} sets
in a row do not wait for it, ${AT_ONCE_COUNT} at once for a second pay for it. Redis and PostgreSQL sync many writes at once where many come; the broker syncs each. PostgreSQL has a connection for each writer.
Pages begin anywhere in the table, after an instance has been through it once. Sessions: the same JSON answer through the gateway from a function that reads the visitor's session
and from one that does not, wrk with one thread, medians of interleaved rounds. Needs redis-server and PostgreSQL: \`apt-get install --no-install-recommends redis-server postgresql\`; the bench
starts servers of its own on 127.0.0.1 and stops them.`;
