// Memory: what the gateway, the broker and the instance hold over a million requests.
import { instancesOf } from "./instances.ts";
import { memoryBytesOf } from "./cpu.ts";
import { type Load, runLoad } from "./load.ts";
import { say } from "./log.ts";
import { BENCH_APP, type EngineKind, startPlatform } from "./rows/platform.ts";
import { median } from "./stats.ts";
import { markdownTable, short, whole } from "./table.ts";

export interface MemorySample {
  readonly requestCount: number; // So far.
  readonly gatewayBytes: number;
  readonly instanceBytes: number;
}

export interface MemoryResult {
  readonly engine: EngineKind;
  readonly samples: readonly MemorySample[];
  readonly failedCount: number;
}

const SLICE: Load = { method: "GET", path: "/", bodyBytes: 0, connectionCount: 32, durationS: 4 };
const MEGABYTE = 1_000_000;

export async function measureMemory(
  engine: EngineKind,
  options: { requestCount: number; timeoutMs: number; stack: AsyncDisposableStack; signal: AbortSignal },
): Promise<MemoryResult> {
  const { stack, signal } = options;
  say(`memory: starting the platform with ${engine}`);
  const platform = await startPlatform({ engine, app: BENCH_APP, isWatching: false, stack, signal });
  const gatewayPid = await platform.gatewayPid();
  const [instance] = await instancesOf(platform, "src/http/get-index");
  const sample = async (requestCount: number): Promise<MemorySample> => ({
    requestCount,
    gatewayBytes: await memoryBytesOf(gatewayPid),
    instanceBytes: await memoryBytesOf(instance?.pid ?? 0),
  });
  const deadlineMs = performance.now() + options.timeoutMs;
  const samples = [await sample(0)];
  let [requestCount, failedCount] = [0, 0];
  while (requestCount < options.requestCount && performance.now() < deadlineMs) {
    const report = await runLoad(platform.url, SLICE, signal);
    requestCount += report.requestCount;
    failedCount += report.failedCount;
    const latest = await sample(requestCount);
    samples.push(latest);
    say(
      `memory: ${requestCount} requests, gateway ${Math.round(latest.gatewayBytes / MEGABYTE)} MB, instance ${Math.round(latest.instanceBytes / MEGABYTE)} MB`,
    );
  }
  return { engine, samples, failedCount };
}

/** MB per million requests, between the medians of the second and the last quarter: the first one is V8 finding its size. */
export function growthMegabytesPerMillion(samples: readonly MemorySample[], of: (sample: MemorySample) => number): number {
  const quarter = Math.floor(samples.length / 4);
  if (quarter < 1) return Number.NaN;
  const early = samples.slice(quarter, 2 * quarter);
  const late = samples.slice(-quarter);
  const middle = (part: readonly MemorySample[], value: (sample: MemorySample) => number): number => median(part.map(value));
  const grownBytes = middle(late, of) - middle(early, of);
  const requests = middle(late, (sample) => sample.requestCount) - middle(early, (sample) => sample.requestCount);
  return ((grownBytes / MEGABYTE) * 1_000_000) / requests;
}

/** Pure. */
export function memorySection(results: readonly MemoryResult[], machine: string): string {
  const megabytes = (sample: MemorySample | undefined, of: (sample: MemorySample) => number): string =>
    sample === undefined ? "–" : short(of(sample) / MEGABYTE);
  const lines = results.flatMap(({ engine, samples }) => [
    { process: `gateway (${engine})`, samples, of: (sample: MemorySample) => sample.gatewayBytes },
    { process: `instance (${engine})`, samples, of: (sample: MemorySample) => sample.instanceBytes },
  ]);
  const table = markdownTable<(typeof lines)[number]>(
    [
      { title: "process", cell: (line) => line.process, align: "left" },
      { title: "idle MB", cell: ({ samples, of }) => megabytes(samples[0], of) },
      ...[0.25, 0.5, 0.75, 1].map((share) => ({
        title: share === 1 ? "in the end" : `at ${share * 100} %`,
        cell: ({ samples, of }: (typeof lines)[number]) => megabytes(samples[Math.round((samples.length - 1) * share)], of),
      })),
      { title: "growth, MB per million requests", cell: ({ samples, of }) => short(growthMegabytesPerMillion(samples, of)) },
    ],
    lines,
  );
  const counts = results
    .map(
      ({ engine, samples, failedCount }) => `${engine}: ${whole(samples.at(-1)?.requestCount ?? 0)} requests, ${whole(failedCount)} failed`,
    )
    .join("; ");
  return `## Memory\n\n${machine}\n\n${table}\n\nResident memory while 32 connections ask for \`GET /\` without a pause; ${counts}. Growth is taken between the second and the last quarter.`;
}
