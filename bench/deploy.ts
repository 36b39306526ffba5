// Deploys: an app of 20 functions to a platform by `orchestrator serve`, as a user sends it and by the API alone; its first builds beside `docker build`.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type ApiProbe, startApiProbe } from "./api-probe.ts";
import { createClient } from "./client.ts";
import { type FunctionsFolder, makeFunctionsFolder } from "./functions-folder.ts";
import { type LightLoad, startLoad } from "./light-load.ts";
import { say } from "./log.ts";
import { plainBuildsMs, runtimeImage } from "./plain-builds.ts";
import { BenchError } from "./processes.ts";
import type { EngineKind } from "./rows/platform.ts";
import { type Delivered, deliver, type ServingPlatform, startServing } from "./rows/serving.ts";
import { median, percentile } from "./stats.ts";
import { markdownTable, short, times, whole } from "./table.ts";
import { waitFor } from "./wait.ts";

export interface DeployResult {
  readonly engine: EngineKind;
  readonly unchanged: Ways; // Until `orchestrator deploy` has ended well; by the API: until it is green.
  readonly served: Ways; // From the command, or from the first byte that is sent, to the first answer of the changed function.
  readonly first: readonly FirstDeploy[];
  readonly idleMs: readonly number[]; // Answers of the API while nothing is delivered,
  readonly busyMs: readonly number[]; // and while the first builds of two apps run.
  readonly requestCount: number;
  readonly failures: readonly string[];
}

interface Ways {
  readonly commandMs: readonly number[];
  readonly apiMs: readonly number[];
}

interface FirstDeploy {
  readonly buildsMs: number;
  readonly greenMs: number; // By the API, with everything before the builds and the start of the instances after them.
  readonly plainMs: readonly number[] | null; // `docker build`, one after the other and so many at once; null without docker.
}

interface DeployOptions {
  readonly sampleCount: number;
  readonly roundCount: number;
  readonly stack: AsyncDisposableStack;
  readonly signal: AbortSignal;
}

const FUNCTION_COUNT = 20;
const AT_ONCE_COUNTS = [1, 4]; // As a script does, and as many as we make at once.
const SERVED_TIMEOUT_MS = 60_000;
const IDLE_PROBE_MS = 3_000;
const PAUSE_MS = 500; // Between two deploys: instances that were replaced have ended.

export async function measureDeploy(engine: EngineKind, options: DeployOptions): Promise<DeployResult> {
  const { stack, signal } = options;
  const image = engine === "docker" ? await runtimeImage() : null;
  say(`deploy: starting the platform with ${engine}`);
  const platform = await startServing({ engine, isDry: false, stack, signal });
  const own = await appOn(platform, "bench", options);
  await deliver(platform, { folder: own.folder, app: "bench", signal });
  const { unchanged, served, counts } = await repeatedly(platform, own, options);
  const idleMs = await probed(platform, async () => delay(IDLE_PROBE_MS, undefined, { signal }));
  const first: FirstDeploy[] = [];
  for (let round = 1; round <= options.roundCount; round += 1) {
    say(`deploy: first builds, round ${round} of ${options.roundCount}`);
    first.push(await firstDeploy(platform, { name: `first-${round}`, image }, options));
  }
  const busyMs: number[] = [];
  for (let round = 1; round <= options.roundCount; round += 1) busyMs.push(...(await whileTwoAreBuilt(platform, round, options)));
  return { engine, unchanged, served, first, idleMs, busyMs, ...counts };
}

async function appOn(platform: ServingPlatform, name: string, { stack }: Pick<DeployOptions, "stack">): Promise<FunctionsFolder> {
  const folder = await mkdtemp(join(tmpdir(), "orchestrator-bench-deploy-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  await platform.api.post("/api/apps", { name });
  const own = await makeFunctionsFolder(folder, { appName: name, functionCount: FUNCTION_COUNT });
  await own.writeAll(0);
  return own;
}

interface Repeated {
  readonly unchanged: Ways;
  readonly served: Ways;
  readonly counts: Pick<DeployResult, "requestCount" | "failures">;
}

/** By command and by the API in turn, under a light load that must not fail. */
async function repeatedly(platform: ServingPlatform, own: FunctionsFolder, { sampleCount, signal }: DeployOptions): Promise<Repeated> {
  const client = createClient(platform.url);
  const load = startLoad(client);
  const unchanged = { commandMs: [] as number[], apiMs: [] as number[] };
  const served = { commandMs: [] as number[], apiMs: [] as number[] };
  const byCommand = async (): Promise<number> => (await platform.command("deploy", own.folder, "--app", "bench")).tookMs;
  const byApi = async (): Promise<number> => (await deliver(platform, { folder: own.folder, app: "bench", signal })).greenMs;
  let version = 0;
  try {
    for (let sample = 1; sample <= sampleCount; sample += 1) {
      unchanged.commandMs.push(await byCommand());
      unchanged.apiMs.push(await byApi());
      for (const [way, deploy] of [[served.commandMs, byCommand] as const, [served.apiMs, byApi] as const]) {
        version += 1;
        await own.writeFirst(version);
        way.push(await servedMs({ load, version, signal }, deploy));
        await delay(PAUSE_MS, undefined, { signal });
      }
      const [nothing, changed] = [unchanged, served].map(
        (ways) => `${whole(ways.commandMs.at(-1) ?? 0)} ms (API ${whole(ways.apiMs.at(-1) ?? 0)})`,
      );
      say(`deploy ${sample} of ${sampleCount}: nothing changed ${nothing}, one function → served ${changed}`);
    }
  } finally {
    await load.stop();
    client.close();
  }
  const { requestCount, failures } = load.counts();
  return { unchanged, served, counts: { requestCount, failures } };
}

interface Serving {
  readonly load: LightLoad;
  readonly version: number;
  readonly signal: AbortSignal;
}

async function servedMs({ load, version, signal }: Serving, deploy: () => Promise<number>): Promise<number> {
  const startMs = performance.now();
  await deploy();
  await waitFor(() => load.servedMs(version) !== null, { timeoutMs: SERVED_TIMEOUT_MS, what: `version ${version} is served`, signal });
  return (load.servedMs(version) ?? Number.NaN) - startMs;
}

/** Of an app that was never there, beside plain builds of the very same folders. It is removed again: its instances make room. */
async function firstDeploy(
  platform: ServingPlatform,
  { name, image }: { readonly name: string; readonly image: string | null },
  options: DeployOptions,
): Promise<FirstDeploy> {
  const own = await appOn(platform, name, options);
  const delivered = await deliver(platform, { folder: own.folder, app: name, signal: options.signal });
  await platform.api.delete(`/api/apps/${name}`);
  const plainMs: number[] = [];
  if (image !== null)
    for (const atOnceCount of AT_ONCE_COUNTS) {
      await own.writeAll(atOnceCount); // Docker would find what it has built.
      plainMs.push(await plainBuildsMs({ image, functionFolders: own.functionFolders, atOnceCount, signal: options.signal }));
    }
  return { buildsMs: buildsMsIn(delivered), greenMs: delivered.greenMs, plainMs: image === null ? null : plainMs };
}

/** From the begin of the step "deploy" to the line that tells of the builds. */
export function buildsMsIn({ lines }: Pick<Delivered, "lines">): number {
  const begun = lines.find(({ event }) => event["kind"] === "step" && event["step"] === "deploy" && event["state"] === "running");
  const built = lines.find(({ event }) => event["kind"] === "line" && /^\d+ of \d+ functions? built/.test(String(event["text"])));
  if (begun === undefined || built === undefined) throw new BenchError("the log of the delivery does not tell of its builds");
  return built.atMs - begun.atMs;
}

/** As many deliveries as run at once, all of their functions new; how long the API's answers take meanwhile. */
async function whileTwoAreBuilt(platform: ServingPlatform, round: number, options: DeployOptions): Promise<readonly number[]> {
  say(`deploy: answers while two apps are built, round ${round} of ${options.roundCount}`);
  const names = [`busy-${round}-1`, `busy-${round}-2`];
  const apps = new Map<string, FunctionsFolder>();
  for (const name of names) apps.set(name, await appOn(platform, name, options));
  const deliverAll = async (): Promise<unknown> =>
    Promise.all([...apps].map(async ([app, { folder }]) => deliver(platform, { folder, app, signal: options.signal })));
  const tookMs = await probed(platform, deliverAll);
  for (const name of names) await platform.api.delete(`/api/apps/${name}`); // Their instances make room.
  await delay(PAUSE_MS, undefined, { signal: options.signal });
  return tookMs;
}

async function probed(platform: ServingPlatform, work: () => Promise<unknown>): Promise<readonly number[]> {
  const probe: ApiProbe = startApiProbe(platform.api, "/api/status?app=bench");
  try {
    await work();
  } finally {
    await probe.stop();
  }
  if (probe.failures.length > 0) throw new BenchError(`the API failed ${probe.failures.length} times: ${probe.failures[0]}`);
  return probe.tookMs;
}

/** Pure. */
export function deploySection(results: readonly DeployResult[], machine: string): string {
  const both = (values: readonly number[]): string => `${whole(median(values))} / ${whole(percentile(values, 95))}`;
  const deploys = markdownTable<DeployResult>(
    [
      { title: "engine", cell: ({ engine }) => engine, align: "left" },
      { title: "nothing changed → deployed, p50 / p95 ms", cell: ({ unchanged }) => both(unchanged.commandMs) },
      { title: "by the API alone", cell: ({ unchanged }) => both(unchanged.apiMs) },
      { title: "one function changed → served, p50 / p95 ms", cell: ({ served }) => both(served.commandMs) },
      { title: "by the API alone", cell: ({ served }) => both(served.apiMs) },
      { title: "requests meanwhile", cell: ({ requestCount }) => whole(requestCount) },
      { title: "failed", cell: ({ failures }) => whole(failures.length) },
    ],
    results,
  );
  const builds = markdownTable<DeployResult>(
    [
      { title: "engine", cell: ({ engine }) => engine, align: "left" },
      { title: "first deploy of 20 → green, ms", cell: ({ first }) => whole(median(first.map(({ greenMs }) => greenMs))) },
      { title: "of that, the builds", cell: ({ first }) => whole(medianOf(first, ({ buildsMs }) => buildsMs)) },
      ...AT_ONCE_COUNTS.map((count, index) => ({
        title: count === 1 ? "docker build, one by one" : `docker build, ${count} at once`,
        cell: ({ first }: DeployResult) => whole(plainMedian(first, index)),
      })),
      {
        title: "builds, of the faster one",
        cell: ({ first }) =>
          times(
            medianOf(first, ({ buildsMs }) => buildsMs),
            fasterPlain(first),
          ),
      },
    ],
    results,
  );
  const answers = markdownTable<DeployResult>(
    [
      { title: "engine", cell: ({ engine }) => engine, align: "left" },
      ...[["idle", "idleMs"] as const, ["while two apps of 20 functions are built and started", "busyMs"] as const].flatMap(
        ([when, key]) => [
          { title: `GET /api/status ${when}, p50 ms`, cell: (result: DeployResult) => short(median(result[key])) },
          { title: "p99", cell: (result: DeployResult) => short(percentile(result[key], 99)) },
          { title: "most", cell: (result: DeployResult) => short(Math.max(...result[key])) },
        ],
      ),
      { title: "answers", cell: ({ busyMs }) => whole(busyMs.length) },
    ],
    results,
  );
  const verdicts = results
    .flatMap(targetsOf)
    .map(
      ({ text, value, most, unit }) =>
        `- ${text}: ${short(value)} ${unit}, at most ${most} ${unit} wanted${value <= most ? "" : ": **missed**"}`,
    );
  const failures = [...new Set(results.flatMap((result) => result.failures))].slice(0, 5).map((failure) => `- failed: ${failure}`);
  return ["## Deploy", machine, deploys, builds, answers, [...verdicts, ...failures].join("\n"), NOTES].join("\n\n");
}

const medianOf = (first: readonly FirstDeploy[], of: (deploy: FirstDeploy) => number): number => median(first.map(of));
const plainMedian = (first: readonly FirstDeploy[], index: number): number =>
  median(first.flatMap(({ plainMs }) => plainMs?.[index] ?? []));

/** Undefined without docker. */
function fasterPlain(first: readonly FirstDeploy[]): number | undefined {
  const medians = AT_ONCE_COUNTS.map((_, index) => plainMedian(first, index)).filter(Number.isFinite);
  return medians.length === 0 ? undefined : Math.min(...medians);
}

interface Target {
  readonly text: string;
  readonly value: number;
  readonly most: number;
  readonly unit: string;
}

function targetsOf({ engine, unchanged, served, first, busyMs }: DeployResult): Target[] {
  const plain = fasterPlain(first);
  return [
    { text: `nothing changed → deployed (${engine}), p50`, value: median(unchanged.commandMs) / 1_000, most: 2, unit: "s" },
    { text: `one function changed → served (${engine}), p50`, value: median(served.commandMs) / 1_000, most: 4, unit: "s" },
    ...(plain === undefined
      ? []
      : [
          {
            text: "first builds of 20 functions, of the faster `docker build`",
            value: medianOf(first, ({ buildsMs }) => buildsMs) / plain,
            most: 1,
            unit: "×",
          },
        ]),
    { text: `an answer of the API while builds run (${engine}), p99`, value: percentile(busyMs, 99), most: 50, unit: "ms" },
  ];
}

const NOTES = `A platform by \`orchestrator serve\`, an app of ${FUNCTION_COUNT} functions of 4 KB each and a static file. "Deployed": \`orchestrator deploy\` was started and has ended with 0, the start of that command
included; by the API alone: the folder packed and sent, the delivery green. "Served": the first answer of the changed function, seen by one request each 4 ms that go on all the time. The steps between: a commit in
the app's repository, verify, the build, the start of an instance, the snapshot, the gateway. First deploys are of apps that were never there; "the builds" are the part that \`docker build\` does too: ${FUNCTION_COUNT} images FROM
the same runtime image with the same files, the plain ones by the installed docker's default builder, medians of interleaved rounds. The API is asked each 20 ms, and each answer's time counts from the moment at which it
was due, while two apps of 20 functions are built and their 40 instances started.`;
