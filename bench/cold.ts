// Cold start: a function has no instance any more, and a request comes: how long until it is answered?
import { SETTLED_AFTER_MS } from "../orchestrator/pools/pool-plan.ts";
import type { Client } from "./client.ts";
import { createClient } from "./client.ts";
import { openControl, servedApp } from "./control.ts";
import { instancesOf, type FoundInstance } from "./instances.ts";
import { say } from "./log.ts";
import { BenchError } from "./processes.ts";
import { BENCH_APP, type EngineKind, type RunningPlatform, startPlatform } from "./rows/platform.ts";
import { median, percentile } from "./stats.ts";
import { markdownTable, whole } from "./table.ts";
import { waitFor } from "./wait.ts";

export interface ColdSample {
  readonly fromKillMs: number;
  readonly fromRequestMs: number;
  readonly fromStartMs: number;
}

export interface ColdResult {
  readonly engine: EngineKind;
  readonly samples: readonly ColdSample[];
  readonly failedCount: number;
}

const FUNCTION_NAME = "src/http/get-index";
const READY_TIMEOUT_MS = 30_000;
const PING_TIMEOUT_MS = 20; // A ping may still reach the socket of one that is dying; by then that socket is closed.
// Two ends within this count as a row and the second replacement would wait, so every instance gets to live longer.
const SETTLE_MS = SETTLED_AFTER_MS + 200;

export async function measureCold(
  engine: EngineKind,
  options: { sampleCount: number; stack: AsyncDisposableStack; signal: AbortSignal },
): Promise<ColdResult> {
  const { stack, signal } = options;
  say(`cold start: starting the platform with ${engine}`);
  const platform = await startPlatform({ engine, app: BENCH_APP, isWatching: false, stack, signal });
  const client = createClient(platform.url);
  stack.defer(() => client.close());
  const { bus } = await openControl(platform, stack);
  const { appId } = (await servedApp(bus)).snapshot;
  const isGone = async (instanceId: string): Promise<boolean> =>
    (await bus.pingInstance(appId, "staging", instanceId, { timeoutMs: PING_TIMEOUT_MS })) === null;
  const samples: ColdSample[] = [];
  let failedCount = 0;
  for (let index = 1; index <= options.sampleCount; index += 1) {
    const sample = await oneColdStart(platform, { client, isGone, signal });
    if (sample === null) failedCount += 1;
    else samples.push(sample);
    say(
      `cold start ${index} of ${options.sampleCount}: ${sample === null ? "failed" : `${Math.round(sample.fromStartMs)} ms, ${Math.round(sample.fromKillMs)} ms since the kill`}`,
    );
  }
  return { engine, samples, failedCount };
}

interface ColdParts {
  readonly client: Client;
  readonly isGone: (instanceId: string) => Promise<boolean>; // Whether the broker knows.
  readonly signal: AbortSignal;
}

async function oneColdStart(platform: RunningPlatform, { client, isGone, signal }: ColdParts): Promise<ColdSample | null> {
  const before = await settledInstance(platform, signal);
  if ((await client.get("/")).status !== 200) throw new BenchError("the function does not answer before it is killed");
  const killMs = performance.now();
  await before.kill();
  // A request on its way to one that dies is another story: the gateway has to notice that it is lost, and sends it again.
  while (!(await isGone(before.instanceId))) signal.throwIfAborted();
  const requestMs = performance.now();
  const answer = await client.get("/");
  const answeredEpochMs = Date.now();
  const answeredMs = performance.now();
  if (answer.status !== 200) {
    say(`it answered ${answer.status}: ${answer.body.slice(0, 200)}`);
    return null;
  }
  const after = (await instancesOf(platform, FUNCTION_NAME)).find((one) => one.instanceId !== before.instanceId);
  if (after === undefined) throw new BenchError("an answer came, but no new instance is there");
  return { fromKillMs: answeredMs - killMs, fromRequestMs: answeredMs - requestMs, fromStartMs: answeredEpochMs - after.startedEpochMs };
}

async function settledInstance(platform: RunningPlatform, signal: AbortSignal): Promise<FoundInstance> {
  let found: FoundInstance | undefined;
  const isSettled = async (): Promise<boolean> => {
    [found] = await instancesOf(platform, FUNCTION_NAME);
    return found !== undefined && Date.now() - found.startedEpochMs > SETTLE_MS + 1_000; // It is ready within the second.
  };
  await waitFor(isSettled, { timeoutMs: READY_TIMEOUT_MS, pollMs: 250, what: `an instance of ${FUNCTION_NAME} has settled`, signal });
  if (found === undefined) throw new BenchError("the instance is gone");
  return found;
}

/** Pure. */
export function coldSection(results: readonly ColdResult[], machine: string): string {
  const figures = (result: ColdResult, of: (sample: ColdSample) => number): string =>
    [median, (values: number[]) => percentile(values, 95)].map((stat) => whole(stat(result.samples.map(of)))).join(" / ");
  const table = markdownTable<ColdResult>(
    [
      { title: "engine", cell: (result) => result.engine, align: "left" },
      { title: "engine start → answer, p50 / p95 ms", cell: (result) => figures(result, (sample) => sample.fromStartMs) },
      { title: "request → answer, p50 / p95 ms", cell: (result) => figures(result, (sample) => sample.fromRequestMs) },
      { title: "kill → answer, p50 / p95 ms", cell: (result) => figures(result, (sample) => sample.fromKillMs) },
      { title: "samples", cell: (result) => whole(result.samples.length) },
      { title: "failed", cell: (result) => whole(result.failedCount) },
    ],
    results,
  );
  return `## Cold start\n\n${machine}\n\n${table}\n\n${NOTES}`;
}

const NOTES = `The only instance of \`GET /\` is killed (SIGKILL); once the broker knows that it is gone, a request is sent. It waits in the gateway's queue for the replacement and is answered
by it. "Engine start" is the moment at which the engine begins: docker's create call, the process's spawn. From there to the answer lie: container or process, Node, runtime, broker
connection, handler, ready report, snapshot, gateway, answer. "Kill" adds that the engine tells of the death and the platform decides.`;
