// Reload: how long from saving a file of a running app until the changed answer is served, under a light load that must not fail.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createClient } from "./client.ts";
import { LOAD_INTERVAL_MS, startLoad, versionText } from "./light-load.ts";
import { say } from "./log.ts";
import { type EngineKind, startPlatform } from "./rows/platform.ts";
import { median, percentile } from "./stats.ts";
import { markdownTable, whole } from "./table.ts";
import { waitFor } from "./wait.ts";

export interface ReloadResult {
  readonly engine: EngineKind;
  readonly savesMs: readonly number[];
  readonly requestCount: number;
  readonly failures: readonly string[];
  readonly staleCount: number; // Answers of the old code to requests that began after the new code had answered.
}

const APP = fileURLToPath(new URL("../examples/hello", import.meta.url));
const PAUSE_MS = 400; // Between a change served and the next save, as quick as a person is at most.
const SERVED_TIMEOUT_MS = 30_000;

export async function measureReload(
  engine: EngineKind,
  options: { sampleCount: number; stack: AsyncDisposableStack; signal: AbortSignal },
): Promise<ReloadResult> {
  const { stack, signal } = options;
  say(`reload: starting the platform with ${engine}`);
  const platform = await startPlatform({ engine, app: APP, isWatching: true, stack, signal });
  const file = join(platform.appFolder, "src/http/get-index/index.js");
  const client = createClient(platform.url);
  stack.defer(() => client.close());
  const load = startLoad(client);
  stack.defer(() => load.stop());
  const savesMs: number[] = [];
  for (let version = 1; version <= options.sampleCount; version += 1) {
    const savedMs = performance.now();
    await writeFile(file, handlerOf(version));
    await waitFor(() => load.servedMs(version) !== null, { timeoutMs: SERVED_TIMEOUT_MS, what: `version ${version} is served`, signal });
    savesMs.push((load.servedMs(version) ?? Number.NaN) - savedMs);
    say(`reload ${version} of ${options.sampleCount}: ${Math.round(savesMs.at(-1) ?? 0)} ms`);
    await delay(PAUSE_MS, undefined, { signal });
  }
  await load.stop();
  return { engine, savesMs, ...load.counts() };
}

const handlerOf = (version: number): string => `exports.handler = async () => ({ statusCode: 200, body: "${versionText(version)}" });\n`;

/** Pure. */
export function reloadSection(results: readonly ReloadResult[], machine: string): string {
  const table = markdownTable<ReloadResult>(
    [
      { title: "engine", cell: (result) => result.engine, align: "left" },
      { title: "save → served, p50 ms", cell: (result) => whole(median(result.savesMs)) },
      { title: "p95 ms", cell: (result) => whole(percentile(result.savesMs, 95)) },
      { title: "saves", cell: (result) => whole(result.savesMs.length) },
      { title: "requests meanwhile", cell: (result) => whole(result.requestCount) },
      { title: "failed", cell: (result) => whole(result.failures.length) },
      { title: "old answers after new ones", cell: (result) => whole(result.staleCount) },
    ],
    results,
  );
  const failures = [...new Set(results.flatMap((result) => result.failures))].slice(0, 5).map((failure) => `- failed: ${failure}`);
  return [`## Reload`, machine, table, NOTES, ...(failures.length > 0 ? [failures.join("\n")] : [])].join("\n\n");
}

const NOTES = `From writing \`index.js\` of the running \`examples/hello\` (a copy) until an answer of the new code has come, seen by a load of one request each ${LOAD_INTERVAL_MS} ms that goes on all the time.
Between: noticing the change (25 ms of quiet), reading and hashing, the build, an instance's start, the snapshot, the gateway.`;
