// Where the time goes: what each process uses per request, and CPU profiles of a gateway and of an instance under load.
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildRuntimeBundle } from "../orchestrator/images/runtime-bundle.ts";
import { pickFreePort } from "../orchestrator/nats/ports.ts";
import { INSTANCE_MANIFEST_VARIABLE, type InstanceManifest } from "../runtime-image/contract/instance-manifest.ts";
import { INSTANCE_MEMORY_BYTES_MAX } from "../runtime-image/contract/limits.ts";
import { type Cell, LOADS } from "./compare.ts";
import { openControl, publishFunctions, servedApp } from "./control.ts";
import { commandOf, cpuOfTrees } from "./cpu.ts";
import { type Load, runLoad } from "./load.ts";
import { say } from "./log.ts";
import { type CpuProfile, type ProfileSummary, summarise } from "./profile-summary.ts";
import { BenchError, type Started, start } from "./processes.ts";
import { BENCH_APP, type EngineKind, type RunningPlatform, startPlatform } from "./rows/platform.ts";
import { markdownTable, short } from "./table.ts";
import { waitFor } from "./wait.ts";

export interface Profiled {
  readonly shares: readonly ProcessShare[];
  readonly profiles: readonly ProfileResult[];
}

/** What one process uses per request. */
export interface ProcessShare {
  readonly process: string;
  readonly cpuUsPerRequest: number;
}

export interface ProfileResult {
  readonly what: string;
  readonly file: string; // To be opened in the developer tools of a browser.
  readonly summary: ProfileSummary;
}

const GATEWAY = fileURLToPath(new URL("../gateway/main.ts", import.meta.url));
const DURATION_S = 5;
const WARM_UP_S = 2;
const SAMPLING_INTERVAL_US = 200;
const READY_TIMEOUT_MS = 10_000;
const INSTANCE_ID = "profiled";
const LINE_COUNT = 30;
const COMMAND_LENGTH_MAX = 80;

export async function measureProfiles(
  engine: EngineKind,
  { cell, stack, signal }: { cell: Cell; stack: AsyncDisposableStack; signal: AbortSignal },
): Promise<Profiled> {
  say(`profile: starting the platform with ${engine}`);
  const load = LOADS[cell];
  const platform = await startPlatform({ engine, app: BENCH_APP, isWatching: false, stack, signal });
  await runLoad(platform.url, { ...load, durationS: WARM_UP_S }, signal);
  const shares = await sharesOf(platform, load, signal);
  const folder = await mkdtemp(join(tmpdir(), "orchestrator-profile-")); // Stays: it is the result.
  const second = await startSecond(platform, { path: load.path, folder, stack, signal });
  say("profile: gateway and instance under load");
  const { failedCount } = await runLoad(second.url, { ...load, durationS: WARM_UP_S + DURATION_S }, signal);
  if (failedCount > 0) throw new BenchError(`${failedCount} requests failed while they were profiled`);
  await second.gateway.stop(); // A profile is written when its process ends.
  await second.instance.stop();
  return { shares, profiles: [await profileIn(folder, "gateway"), await profileIn(folder, "instance")] };
}

interface Second {
  readonly url: string;
  readonly gateway: Started;
  readonly instance: Started;
}

/** Another gateway and another instance of the same platform, both under V8's profiler: the platform's own ones cannot be looked into. */
async function startSecond(
  platform: RunningPlatform,
  { path, folder, stack, signal }: { path: string; folder: string; stack: AsyncDisposableStack; signal: AbortSignal },
): Promise<Second> {
  const { bus, signer, gateway } = await openControl(platform, stack);
  const served = await servedApp(bus);
  const { appId, appName } = served.snapshot;
  const profiledFunction = served.deployment.functions.find((one) => one.path.split("/")[1] === path.split("/")[1]) ?? served.index;
  const { name: functionName, generation, timeoutMs, concurrency } = profiledFunction;
  const manifest: InstanceManifest = {
    v: 1,
    instanceId: INSTANCE_ID,
    appId,
    appName,
    environment: "staging",
    functionName,
    generation,
    folder: join(platform.appFolder, functionName),
    timeoutMs,
    concurrency,
    memoryBytesMax: INSTANCE_MEMORY_BYTES_MAX,
    rawJson: false,
    bareQuery: false,
    sessionSecret: "5e".repeat(32), // Nothing that is profiled signs with it.
    watchMemory: false,
    broker: { url: gateway.broker.url, ...(await signer.instanceCredentials(appId, "staging", INSTANCE_ID)) },
  };
  const env = { [INSTANCE_MANIFEST_VARIABLE]: JSON.stringify(manifest) };
  const instance = await start({
    ...profiled("instance", folder, [await writeRuntime(folder)]),
    env,
    isReady: null,
    timeoutMs: READY_TIMEOUT_MS,
    signal,
  });
  stack.defer(() => instance.stop());
  const isInstanceReady = async (): Promise<boolean> =>
    (await bus.pingInstance(appId, "staging", INSTANCE_ID, { timeoutMs: 500 }))?.state === "ready";
  await waitFor(isInstanceReady, { timeoutMs: READY_TIMEOUT_MS, what: "the profiled instance is ready", signal });
  const gatewayId = `${gateway.gatewayId}profiled`;
  const port = await pickFreePort("127.0.0.1");
  const configFile = join(folder, "gateway.json");
  await writeFile(configFile, JSON.stringify({ ...gateway, gatewayId, listen: [{ host: "127.0.0.1", port }] }), { mode: 0o600 });
  const isReady = (line: string): boolean => line.includes("listening");
  const started = await start({ ...profiled("gateway", folder, [GATEWAY, configFile]), isReady, timeoutMs: READY_TIMEOUT_MS, signal });
  stack.defer(() => started.stop());
  await rm(configFile); // It holds credentials, and the folder stays.
  await publishFunctions(bus, served, [{ ...profiledFunction, instanceIds: [INSTANCE_ID] }], signal, gatewayId);
  return { url: `http://127.0.0.1:${port}`, gateway: started, instance };
}

/** The bundle that containers run: names of functions stay in it, lines do not. */
async function writeRuntime(folder: string): Promise<string> {
  const runtimeFolder = join(folder, "runtime");
  await mkdir(runtimeFolder);
  const { files } = await buildRuntimeBundle();
  await Promise.all(files.map(({ path, bytes }) => writeFile(join(runtimeFolder, path), bytes)));
  return join(runtimeFolder, "main.js");
}

function profiled(name: string, folder: string, args: readonly string[]): { command: string; args: string[] } {
  const flags = [
    "--cpu-prof",
    `--cpu-prof-dir=${folder}`,
    `--cpu-prof-name=${name}.cpuprofile`,
    `--cpu-prof-interval=${SAMPLING_INTERVAL_US}`,
  ];
  return { command: process.execPath, args: [...flags, "--disable-warning=ExperimentalWarning", ...args] };
}

async function profileIn(folder: string, what: string): Promise<ProfileResult> {
  const file = join(folder, `${what}.cpuprofile`);
  // Written by V8.
  const profile = JSON.parse(await readFile(file, "utf8")) as CpuProfile;
  return { what, file, summary: summarise(profile) };
}

/** Without any profiler, which would be counted too. */
async function sharesOf(platform: RunningPlatform, load: Load, signal: AbortSignal): Promise<ProcessShare[]> {
  const roots = await platform.rootPids();
  const before = await cpuOfTrees(roots);
  const { requestCount } = await runLoad(platform.url, { ...load, durationS: DURATION_S }, signal);
  const after = await cpuOfTrees(roots);
  const shares = await Promise.all(
    [...after].map(async ([pid, cpuMs]) => ({
      process: await commandOf(pid),
      cpuUsPerRequest: ((cpuMs - (before.get(pid) ?? 0)) * 1_000) / requestCount,
    })),
  );
  return shares.filter((share) => share.cpuUsPerRequest >= 0.1).toSorted((a, b) => b.cpuUsPerRequest - a.cpuUsPerRequest);
}

/** Pure. */
export function profileSection({ shares, profiles }: Profiled): string {
  const processes = markdownTable<ProcessShare>(
    [
      { title: "CPU µs/req", cell: (share) => short(share.cpuUsPerRequest) },
      { title: "process", cell: (share) => share.process.slice(-COMMAND_LENGTH_MAX), align: "left" },
    ],
    shares,
  );
  const percent = (share: number): string => `${short(share * 100)} %`;
  const parts = profiles.map(({ what, file, summary }) => {
    const columns = [
      { title: "self", cell: (row: (typeof rows)[number]) => percent(row.selfShare) },
      { title: "with callees", cell: (row: (typeof rows)[number]) => percent(row.totalShare) },
      { title: "function", cell: (row: (typeof rows)[number]) => row.name, align: "left" as const },
    ];
    const rows = summary.functions.slice(0, LINE_COUNT);
    const byTotal = summary.functions.toSorted((a, b) => b.totalShare - a.totalShare).slice(0, LINE_COUNT);
    return `### ${what}: busy ${percent(summary.busyShare)} of the time; ${file}\n\n${markdownTable(columns, rows)}\n\nBy time with callees:\n\n${markdownTable(columns, byTotal)}`;
  });
  return `## Profile\n\n${processes}\n\n${parts.join("\n\n")}`;
}
