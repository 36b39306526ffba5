// The comparison: every row serves the same app, measured side by side in interleaved rounds; medians.
import { CONCURRENCY_CURRENT } from "../runtime-image/contract/limits.ts";
import { cpuBetween, cpuOfTrees, watchForeignCpu } from "./cpu.ts";
import { type Load, type LoadReport, runLoad } from "./load.ts";
import { say } from "./log.ts";
import { BenchError } from "./processes.ts";
import type { Row, RunningRow } from "./rows/row.ts";
import { median } from "./stats.ts";
import { markdownTable, short, times, whole } from "./table.ts";

export const CELLS = ["get", "single", "post", "up100k", "down100k", "up5m", "down5m"] as const;
export type Cell = (typeof CELLS)[number];

export interface CellResult {
  readonly report: LoadReport;
  readonly cpuUsPerRequest: number;
}

export interface Comparison {
  readonly rows: readonly RowResult[];
  readonly foreignShare: number; // Of the machine, used by programs that are no part of the bench.
}

export interface RowResult {
  readonly name: string;
  readonly rounds: readonly Readonly<Record<Cell, CellResult>>[];
}

const get = (path: string, connectionCount: number): Load => ({ method: "GET", path, bodyBytes: 0, connectionCount, durationS: 2 });
const post = (bodyBytes: number, connectionCount: number): Load => ({
  method: "POST",
  path: "/echo",
  bodyBytes,
  connectionCount,
  durationS: 2,
});

/** What each cell asks for. */
export const LOADS: Readonly<Record<Cell, Load>> = {
  get: { ...get("/", 32), durationS: 4 },
  single: get("/", 1),
  post: post(1_000, 32),
  up100k: post(100_000, 8),
  down100k: get("/text/100000", 8),
  up5m: post(5_000_000, 4),
  down5m: get("/text/5000000", 4),
};

export interface CompareOptions {
  readonly roundCount: number;
  readonly isQuick: boolean;
  readonly signal: AbortSignal;
}

export async function compare(rows: readonly Row[], stack: AsyncDisposableStack, options: CompareOptions): Promise<Comparison> {
  const running: { name: string; row: RunningRow; rounds: Record<Cell, CellResult>[] }[] = [];
  for (const row of rows) {
    say(`starting ${row.name}`);
    running.push({ name: row.name, row: await row.start(stack, options.signal), rounds: [] });
  }
  for (const { name, row } of running) {
    await assertSameAnswers(name, row.url, options.signal);
    await runLoad(row.url, { ...LOADS.get, durationS: 2 }, options.signal); // The compilers of V8 have their say first.
  }
  const rootPids = async (): Promise<number[]> => (await Promise.all(running.map(({ row }) => row.rootPids()))).flat();
  const foreignShare = await watchForeignCpu(rootPids);
  for (let round = 1; round <= options.roundCount; round += 1)
    for (const { name, row, rounds } of running) {
      say(`round ${round} of ${options.roundCount}: ${name}`);
      rounds.push(await measure(row, options));
    }
  return { rows: running, foreignShare: await foreignShare() };
}

async function measure(row: RunningRow, { isQuick, signal }: CompareOptions): Promise<Record<Cell, CellResult>> {
  const results: [Cell, CellResult][] = [];
  for (const cell of CELLS) {
    const load = isQuick ? { ...LOADS[cell], durationS: 1 } : LOADS[cell];
    const pids = await row.rootPids();
    const before = await cpuOfTrees(pids);
    const report = await runLoad(row.url, load, signal);
    const cpuMs = cpuBetween(before, await cpuOfTrees(pids));
    results.push([cell, { report, cpuUsPerRequest: (cpuMs * 1_000) / report.requestCount }]);
  }
  // Every cell was measured just now, each once.
  return Object.fromEntries(results) as Record<Cell, CellResult>;
}

/** A row that answers something else is no comparison. */
async function assertSameAnswers(name: string, url: string, signal: AbortSignal): Promise<void> {
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(30_000)]);
  const text = async (path: string, body?: string): Promise<string> => {
    const init = body === undefined ? {} : { method: "POST", body };
    const response = await fetch(new URL(path, url), { ...init, signal: deadline });
    return `${response.status} ${await response.text()}`;
  };
  const expected: [string, string][] = [
    [await text("/"), '200 {"message":"hello from a function","items":[1,2,3,4,5],"isOk":true}'],
    [await text("/echo", "x".repeat(100_000)), '200 {"bytes":100000}'],
    [await text("/text/5000000"), `200 ${"x".repeat(5_000_000)}`],
  ];
  for (const [got, wanted] of expected)
    if (got !== wanted) throw new BenchError(`${name} answers ${got.slice(0, 200)}, not ${wanted.slice(0, 200)}`);
}

interface Line {
  readonly name: string;
  readonly of: (cell: Cell, value: (result: CellResult) => number) => number;
  readonly failedCount: number;
}

/** Pure: the table and what it says about the targets. */
export function compareSection(
  { rows, foreignShare }: Comparison,
  facts: { readonly machine: string; readonly roundCount: number },
): string {
  const lines = rows.map(lineOf);
  const rateOf = (line: Line | undefined): number | undefined => line?.of("get", (result) => result.report.requestsPerS);
  const [bare, nginx, proxy] = ["bare", "nginx", "http-proxy"].map((start) => rateOf(lines.find((line) => line.name.startsWith(start))));
  const rate = (line: Line, cell: Cell): string => whole(line.of(cell, (result) => result.report.requestsPerS));
  const megabytes = (line: Line, cell: Cell, bytes: number): string =>
    whole((line.of(cell, (result) => result.report.requestsPerS) * bytes) / 1e6);
  const table = markdownTable<Line>(
    [
      { title: "row", cell: (line) => line.name, align: "left" },
      { title: "req/s, 32 conn.", cell: (line) => rate(line, "get") },
      { title: "of bare", cell: (line) => times(rateOf(line) ?? Number.NaN, bare) },
      { title: "of nginx", cell: (line) => times(rateOf(line) ?? Number.NaN, nginx) },
      { title: "of http-proxy", cell: (line) => times(rateOf(line) ?? Number.NaN, proxy) },
      { title: "p50 ms", cell: (line) => short(line.of("get", (result) => result.report.p50Ms)) },
      { title: "p99 ms", cell: (line) => short(line.of("get", (result) => result.report.p99Ms)) },
      { title: "CPU µs/req", cell: (line) => whole(line.of("get", (result) => result.cpuUsPerRequest)) },
      { title: "p50 ms, 1 conn.", cell: (line) => short(line.of("single", (result) => result.report.p50Ms)) },
      { title: "1 KB POST req/s", cell: (line) => rate(line, "post") },
      { title: "100 KB up MB/s", cell: (line) => megabytes(line, "up100k", 100_000) },
      { title: "100 KB down MB/s", cell: (line) => megabytes(line, "down100k", 100_000) },
      { title: "5 MB up MB/s", cell: (line) => megabytes(line, "up5m", 5_000_000) },
      { title: "5 MB down MB/s", cell: (line) => megabytes(line, "down5m", 5_000_000) },
      { title: "failed", cell: (line) => whole(line.failedCount) },
    ],
    lines,
  );
  return `## Side by side\n\n${facts.machine}\n\n${table}\n\n${notes(facts.roundCount)}\nOther programs used ${whole(foreignShare * 100)} % of the machine meanwhile.`;
}

function lineOf(row: RowResult): Line {
  return {
    name: row.name,
    of: (cell, value) => median(row.rounds.map((round) => value(round[cell]))),
    failedCount: row.rounds.flatMap((round) => CELLS.map((cell) => round[cell].report.failedCount)).reduce((sum, count) => sum + count, 0),
  };
}

const notes = (roundCount: number): string =>
  `Medians of ${roundCount} interleaved round${roundCount === 1 ? "" : "s"}, all rows up at once, wrk with one thread. One JSON answer of 68 bytes from one Node process in a hardened container
(bare: on the host; ours: one instance per function, ${CONCURRENCY_CURRENT} requests at once in it), reached by its address on the bridge, not by a published port; nginx and http-proxy keep their connections to it, but for the row of nginx that opens one for each request, as it does unless it is told to keep them. 100 KB at 8 connections, 5 MB at 4.
Upwards the handler reads the whole body (ours: decodes its base64) and answers with its length; downwards it sends a text. CPU time is that of every process of the row, kernel time included,
the orchestrator's and the broker's too; the load generator's and the Docker daemon's are not counted. Failed: answers of 400 and more, socket errors, timeouts.`;
