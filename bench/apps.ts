// Many apps: what each one more costs that nobody asks for. 10 functions each, deployed to a platform that starts no instances (serve --dry).
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createHosts } from "../gateway/hosts.ts";
import { brokerHome, readPort } from "../orchestrator/nats/broker-home.ts";
import type { ControlBus } from "../orchestrator/nats/control-bus.ts";
import { openControl } from "./control.ts";
import { cpuBetween, cpuOfTrees, memoryBytesOf } from "./cpu.ts";
import { makeFunctionsFolder } from "./functions-folder.ts";
import { runLoad } from "./load.ts";
import { say } from "./log.ts";
import { BenchError, run } from "./processes.ts";
import { deliver, type ServingPlatform, startServing } from "./rows/serving.ts";
import { connectionCount } from "./sockets.ts";
import { median, percentile } from "./stats.ts";
import { markdownTable, short, whole } from "./table.ts";
import { waitFor } from "./wait.ts";

export interface AppsResult {
  readonly appCount: number;
  readonly createMs: readonly number[]; // Of those that were made to come so far.
  readonly deployMs: readonly number[];
  readonly updateMs: readonly number[]; // From the snapshot that is written to the gateway that serves from it.
  readonly findNs: number;
  readonly putUs: number;
  readonly requestsPerS: number;
  readonly cpuUsPerRequest: number; // Of the gateway.
  readonly listMs: readonly number[];
  readonly commandListMs: readonly number[];
  readonly idle: Readonly<Record<ProcessName, Standing>>;
  readonly asked: Pick<Standing, "bytes" | "connectionCount">; // The gateway, once each app was asked for something.
  readonly diskBytes: number; // Of the broker.
  readonly handOverMs: number;
  readonly restartMs: number; // Of the orchestrator alone,
  readonly startMs: number; // and of everything.
}

type ProcessName = "orchestrator" | "gateway" | "broker";

interface Standing {
  readonly bytes: number;
  readonly connectionCount: number; // To the broker; of the broker itself those of both.
  readonly cpuShare: number; // Of one processor, while nobody asks for anything.
}

interface AppsOptions {
  readonly appCounts: readonly number[];
  readonly isQuick: boolean;
  readonly stack: AsyncDisposableStack;
  readonly signal: AbortSignal;
}

const FUNCTION_COUNT = 10;
const DEPLOY_AT_ONCE_COUNT = 2; // As many as the platform carries out at once.
const SAMPLE_COUNT = 20;
const DEPLOY_SAMPLE_COUNT = 5;
const IDLE_MS = 25_000; // Some things are looked after each 20 s.
const IDLE_QUICK_MS = 5_000;
const SETTLE_MS = 2_000;
const APPLIED_TIMEOUT_MS = 10_000;
const FIND_COUNT = 200_000;
const PUT_COUNT = 20_000;
const MEGABYTE = 1_000_000;
const NAMES: readonly ProcessName[] = ["orchestrator", "gateway", "broker"];

const nameOf = (index: number): string => `app-${index}`;
const hostOf = (index: number): string => `${nameOf(index)}.localhost`;

export async function measureApps(options: AppsOptions): Promise<AppsResult[]> {
  const { stack, signal } = options;
  say("apps: starting the platform");
  const platform = await startServing({ engine: "process", isDry: true, stack, signal });
  const results: AppsResult[] = [];
  let appCount = 0;
  for (const wanted of options.appCounts) {
    say(`apps: from ${appCount} to ${wanted}`);
    const createMs: number[] = [];
    for (let index = appCount; index < wanted; index += 1)
      createMs.push(await tookMs(async () => platform.api.post("/api/apps", { name: nameOf(index) })));
    await deployEach(platform, { from: appCount, to: wanted }, options);
    appCount = wanted;
    results.push({ appCount, createMs, ...(await measured(platform, appCount, options)) });
    say(`apps: ${appCount}: ${summary(results.at(-1))}`);
  }
  return results;
}

async function tookMs(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
}

async function deployEach(
  platform: ServingPlatform,
  { from, to }: { readonly from: number; readonly to: number },
  options: AppsOptions,
): Promise<void> {
  const queue = Array.from({ length: to - from }, (_, offset) => from + offset);
  const work = async (): Promise<void> => {
    for (let index = queue.shift(); index !== undefined; index = queue.shift()) await deployApp(platform, { index, version: 1 }, options);
  };
  await Promise.all(Array.from({ length: DEPLOY_AT_ONCE_COUNT }, work));
}

async function deployApp(
  platform: ServingPlatform,
  { index, version }: { readonly index: number; readonly version: number },
  { signal }: Pick<AppsOptions, "signal">,
): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), "orchestrator-bench-apps-"));
  try {
    const own = await makeFunctionsFolder(folder, { appName: nameOf(index), functionCount: FUNCTION_COUNT });
    await own.writeAll(1);
    await own.writeFirst(version);
    return (await deliver(platform, { folder, app: nameOf(index), signal })).greenMs;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Everything that can be seen of so many apps, what disturbs most last. */
async function measured(
  platform: ServingPlatform,
  appCount: number,
  options: AppsOptions,
): Promise<Omit<AppsResult, "appCount" | "createMs">> {
  const { isQuick, signal } = options;
  await delay(SETTLE_MS, undefined, { signal });
  const idle = await idleStanding(platform, isQuick ? IDLE_QUICK_MS : IDLE_MS, signal);
  await askEach(platform, appCount);
  const asked = await standingOf(platform, "gateway");
  const deployMs: number[] = [];
  for (let sample = 0; sample < DEPLOY_SAMPLE_COUNT; sample += 1)
    deployMs.push(
      await deployApp(platform, { index: Math.floor((sample * appCount) / DEPLOY_SAMPLE_COUNT), version: appCount + sample }, options),
    );
  const lookup = await lookedUp(platform, appCount, signal);
  const updateMs = await updatesMs(platform, appCount, signal);
  const [listMs, commandListMs]: number[][] = [[], []];
  for (let sample = 0; sample < SAMPLE_COUNT; sample += 1) listMs?.push(await tookMs(async () => platform.api.get("/api/apps")));
  for (let sample = 0; sample < DEPLOY_SAMPLE_COUNT; sample += 1) commandListMs?.push((await platform.command("app", "ls")).tookMs);
  const disk = await run("du", ["--summarize", "--block-size=1", join(platform.home, "broker")]);
  const handOverMs = await tookMs(async () => platform.api.post("/api/gateways/staging/restart"));
  await platform.startAgain({ leavesRunning: true }); // From here on the orchestrator leaves the rest running.
  const restartMs = await platform.startAgain({ leavesRunning: true });
  await platform.startAgain({ leavesRunning: false });
  const startMs = await platform.startAgain({ leavesRunning: false });
  return {
    idle,
    deployMs,
    ...lookup,
    ...alone(appCount),
    updateMs,
    listMs: listMs ?? [],
    commandListMs: commandListMs ?? [],
    diskBytes: Number.parseInt(disk, 10),
    asked,
    handOverMs,
    restartMs,
    startMs,
  };
}

async function standingOf(platform: ServingPlatform, name: ProcessName): Promise<Pick<Standing, "bytes" | "connectionCount">> {
  const pids = await platform.pids();
  const port = await readPort(brokerHome(platform.home));
  if (port === null) throw new BenchError("the broker has no port");
  const counts = await Promise.all(
    NAMES.filter((one) => one === name || name === "broker").map(async (one) => connectionCount(pids[one], port)),
  );
  return { bytes: await memoryBytesOf(pids[name]), connectionCount: counts.reduce((sum, count) => sum + count, 0) };
}

async function idleStanding(platform: ServingPlatform, idleMs: number, signal: AbortSignal): Promise<AppsResult["idle"]> {
  const pids = await platform.pids();
  const cpuOf = async (name: ProcessName): Promise<number> => (await cpuOfTrees([pids[name]])).get(pids[name]) ?? 0;
  const before = await Promise.all(NAMES.map(cpuOf));
  await delay(idleMs, undefined, { signal });
  const after = await Promise.all(NAMES.map(cpuOf));
  const [orchestrator, gateway, broker] = await Promise.all(
    NAMES.map(async (name, index) => ({
      ...(await standingOf(platform, name)),
      cpuShare: ((after[index] ?? 0) - (before[index] ?? 0)) / idleMs,
    })),
  );
  if (orchestrator === undefined || gateway === undefined || broker === undefined) throw new BenchError("three processes were looked at");
  return { orchestrator, gateway, broker };
}

/** A static file of every app in turn: found by host, then by path. */
async function lookedUp(
  platform: ServingPlatform,
  appCount: number,
  signal: AbortSignal,
): Promise<Pick<AppsResult, "requestsPerS" | "cpuUsPerRequest">> {
  const hosts = Array.from({ length: appCount }, (_, index) => hostOf(index));
  const load = { method: "GET", path: "/_static/hello.txt", bodyBytes: 0, connectionCount: 32, hosts } as const;
  await runLoad(platform.url, { ...load, durationS: 2 }, signal); // Every app's file was asked for once.
  const { gateway } = await platform.pids();
  const before = await cpuOfTrees([gateway]);
  const report = await runLoad(platform.url, { ...load, durationS: 4 }, signal);
  if (report.failedCount > 0) throw new BenchError(`${report.failedCount} requests for a static file failed`);
  return {
    requestsPerS: report.requestsPerS,
    cpuUsPerRequest: (cpuBetween(before, await cpuOfTrees([gateway])) * 1_000) / report.requestCount,
  };
}

/** The table of hosts by itself: two for each app, as staging has. */
function alone(appCount: number): Pick<AppsResult, "findNs" | "putUs"> {
  const hosts = createHosts<number>();
  const claims = Array.from({ length: appCount }, (_, index) => ({
    appId: `${(index * 7_919) % 100_003}`,
    hosts: [hostOf(index), `${nameOf(index)}-staging.localhost`],
    isDefault: index === 0,
  }));
  const roundCount = Math.ceil(PUT_COUNT / appCount);
  const putAll = (): void => {
    for (let round = 0; round < roundCount; round += 1) claims.forEach((one, index) => hosts.put(one, index));
  };
  putAll(); // Compiled before it is measured.
  const putMs = median(Array.from({ length: 5 }, () => measureMs(putAll)));
  const asked = claims.map((one) => one.hosts[0] ?? "");
  const findMany = (): void => {
    let position = 0;
    for (let count = 0; count < FIND_COUNT; count += 1) {
      position = (position * 7_919 + 12_345) % asked.length;
      if (hosts.find(asked[position] ?? "") === null) throw new BenchError("a host is nobody's");
    }
  };
  findMany();
  const findMs = median(Array.from({ length: 5 }, () => measureMs(findMany)));
  return { putUs: (putMs * 1_000) / (roundCount * appCount), findNs: (findMs * 1e6) / FIND_COUNT };
}

function measureMs(work: () => void): number {
  const startMs = performance.now();
  work();
  return performance.now() - startMs;
}

/** In the place of the orchestrator for a moment; it says the same anew. */
async function updatesMs(platform: ServingPlatform, appCount: number, signal: AbortSignal): Promise<number[]> {
  await using stack = new AsyncDisposableStack();
  const { bus } = await openControl(platform, stack);
  const answer = (await platform.api.get("/api/apps")) as { apps: readonly { appId: string }[] }; // Ours answers so.
  const samples: number[] = [];
  for (let sample = 0; sample < SAMPLE_COUNT; sample += 1) {
    const appId = answer.apps[(sample * 7) % appCount]?.appId ?? "";
    samples.push(await tookMs(async () => republish(bus, appId, signal)));
  }
  return samples;
}

async function republish(bus: ControlBus, appId: string, signal: AbortSignal): Promise<void> {
  const known = await bus.readSnapshot("staging", appId);
  if (known === null) throw new BenchError(`there is no snapshot of ${appId}`);
  const { sequence: _, v: __, ...content } = known;
  const sequence = await bus.publishSnapshot("staging", content);
  const isApplied = async (): Promise<boolean> =>
    ((await bus.gatewayStatus("staging", { timeoutMs: 500 }))?.sequences[appId] ?? 0) >= sequence;
  await waitFor(isApplied, { timeoutMs: APPLIED_TIMEOUT_MS, pollMs: 1, what: "the gateway serves from a snapshot", signal });
}

/** A function of each app; there is no instance, so that it is refused a little later, over a connection that is there then. */
async function askEach(platform: ServingPlatform, appCount: number): Promise<void> {
  const agent = new Agent({ maxSockets: appCount });
  const ask = async (index: number): Promise<void> => {
    const sent = request(platform.url, { agent, headers: { host: hostOf(index) } }).end();
    const [response] = (await once(sent, "response")) as [{ statusCode: number; resume(): void }]; // What Node gives.
    response.resume();
    if (response.statusCode !== 503) throw new BenchError(`a function without an instance answered ${response.statusCode}`);
  };
  await Promise.all(Array.from({ length: appCount }, async (_, index) => ask(index)));
  agent.destroy();
}

const summary = (result: AppsResult | undefined): string =>
  result === undefined
    ? ""
    : `create ${whole(median(result.createMs))} ms, deploy ${whole(median(result.deployMs))} ms, start again ${whole(result.restartMs)} ms`;

/** Pure. */
export function appsSection(results: readonly AppsResult[], machine: string): string {
  const apps = { title: "apps", cell: ({ appCount }: AppsResult) => whole(appCount) };
  const megabytes = (bytes: number): string => whole(bytes / MEGABYTE);
  const both = (values: readonly number[]): string => `${short(median(values))} / ${short(percentile(values, 95))}`;
  const percent = ({ cpuShare }: Standing): string => `${short(cpuShare * 100)} %`;
  const work = markdownTable<AppsResult>(
    [
      apps,
      { title: "app create, p50 / p95 ms", cell: ({ createMs }) => both(createMs) },
      { title: "deploy, p50 / p95 ms", cell: ({ deployMs }) => both(deployMs) },
      { title: "snapshot → served, p50 / p95 ms", cell: ({ updateMs }) => both(updateMs) },
      { title: "GET /api/apps, p50 / p95 ms", cell: ({ listMs }) => both(listMs) },
      { title: "app ls, p50 ms", cell: ({ commandListMs }) => whole(median(commandListMs)) },
      { title: "gateway handed over, ms", cell: ({ handOverMs }) => whole(handOverMs) },
      { title: "orchestrator started again, ms", cell: ({ restartMs }) => whole(restartMs) },
      { title: "everything started, ms", cell: ({ startMs }) => whole(startMs) },
    ],
    results,
  );
  const lookups = markdownTable<AppsResult>(
    [
      apps,
      { title: "host → app, ns", cell: ({ findNs }) => whole(findNs) },
      { title: "taking in a snapshot's hosts, µs", cell: ({ putUs }) => short(putUs) },
      { title: "static file, every app in turn, req/s", cell: ({ requestsPerS }) => whole(requestsPerS) },
      { title: "gateway CPU µs/req", cell: ({ cpuUsPerRequest }) => short(cpuUsPerRequest) },
    ],
    results,
  );
  const standing = markdownTable<AppsResult>(
    [
      apps,
      { title: "gateway MB", cell: ({ idle }) => megabytes(idle.gateway.bytes) },
      { title: "its connections", cell: ({ idle }) => whole(idle.gateway.connectionCount) },
      { title: "MB, each app asked once", cell: ({ asked }) => megabytes(asked.bytes) },
      { title: "its connections then", cell: ({ asked }) => whole(asked.connectionCount) },
      { title: "orchestrator MB", cell: ({ idle }) => megabytes(idle.orchestrator.bytes) },
      { title: "its connections", cell: ({ idle }) => whole(idle.orchestrator.connectionCount) },
      { title: "broker MB", cell: ({ idle }) => megabytes(idle.broker.bytes) },
      { title: "broker's disk MB", cell: ({ diskBytes }) => megabytes(diskBytes) },
      { title: "idle CPU: orchestrator", cell: ({ idle }) => percent(idle.orchestrator) },
      { title: "gateway", cell: ({ idle }) => percent(idle.gateway) },
      { title: "broker", cell: ({ idle }) => percent(idle.broker) },
    ],
    results,
  );
  return ["## Apps", machine, work, lookups, standing, NOTES].join("\n\n");
}

const NOTES = `Apps of ${FUNCTION_COUNT} functions and a static file each, sent, committed, built and put on staging like any other, on a platform that starts no instances: \`orchestrator serve --dry\`, a flag for this bench.
What an instance costs is in the other sections; with instances the orchestrator holds one connection more for each app and environment that has some. Create: account, buckets, repository's place, snapshots.
Deploys are of one app among those, by the API, one function changed; snapshots are written anew by the bench until the gateway of staging says that it serves from them. The gateway opens a connection into an
app's account with the first request for its functions, and ends it ten minutes after the last: "asked once" is right after a request for each of them. Handed over: a new process took the gateway's place, with
all of those connections. Started again: \`serve --leave-running\` stopped, and another one started until it is ready; everything: broker and gateways too. Memory is resident, right after the deploys, garbage
included; idle CPU is of one processor, over ${IDLE_MS / 1_000} s. Connections to the broker of one gateway and of the orchestrator.`;
