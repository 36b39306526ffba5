// Every bench by its name: each runs, and gives its section of the results.
import { appsSection, measureApps } from "./apps.ts";
import { coldSection, measureCold, type ColdResult } from "./cold.ts";
import { type Cell, compare, compareSection } from "./compare.ts";
import { deploySection, measureDeploy, type DeployResult } from "./deploy.ts";
import { startServerContainer } from "./docker.ts";
import { machineLines } from "./machine.ts";
import { measureMemory, memorySection } from "./memory.ts";
import { BenchError, versionOf } from "./processes.ts";
import { measureProfiles, profileSection } from "./profile.ts";
import { measureReload, reloadSection, type ReloadResult } from "./reload.ts";
import { measureRoutes, routesSection } from "./routes.ts";
import { bareRow } from "./rows/bare.ts";
import { httpProxyRow } from "./rows/http-proxy.ts";
import { measureStores, storesSection } from "./stores.ts";
import { nginxRow } from "./rows/nginx.ts";
import { type EngineKind, platformRow } from "./rows/platform.ts";

export interface BenchSettings {
  readonly isQuick: boolean;
  readonly engines: readonly EngineKind[];
  readonly cell: Cell; // What is profiled.
  readonly stack: AsyncDisposableStack;
  readonly signal: AbortSignal;
}

const ROUND_COUNT = 3;
const COLD_SAMPLE_COUNT = 20;
const RELOAD_SAMPLE_COUNT = 15;
const DEPLOY_SAMPLE_COUNT = 10;
const APP_COUNTS = [10, 50, 100, 250, 500];
const APP_QUICK_COUNTS = [10, 50];
const MEMORY_REQUEST_COUNT = 1_000_000;
const MEMORY_TIMEOUT_MS = 300_000;

export const BENCHES = {
  compare: runCompare,
  cold: runCold,
  reload: runReload,
  memory: runMemory,
  routes: runRoutes,
  stores: runStores,
  deploy: runDeploy,
  apps: runApps,
  profile: runProfile,
} as const satisfies Record<string, (settings: BenchSettings) => Promise<string>>;

export type BenchName = keyof typeof BENCHES;

async function runCompare({ isQuick, engines, stack, signal }: BenchSettings): Promise<string> {
  await assertTools(["wrk", "nginx"]);
  const machine = await machineLines();
  const container = await startServerContainer(stack, signal);
  const rows = [
    bareRow,
    nginxRow(container, "kept"),
    nginxRow(container, "one each"),
    httpProxyRow(container),
    ...engines.map(platformRow),
  ];
  const roundCount = isQuick ? 1 : ROUND_COUNT;
  return compareSection(await compare(rows, stack, { roundCount, isQuick, signal }), { machine, roundCount });
}

async function runCold({ isQuick, engines, stack, signal }: BenchSettings): Promise<string> {
  const machine = await machineLines();
  const results: ColdResult[] = [];
  for (const engine of engines)
    results.push(await alone(stack, (own) => measureCold(engine, { sampleCount: isQuick ? 4 : COLD_SAMPLE_COUNT, stack: own, signal })));
  return coldSection(results, machine);
}

async function runReload({ isQuick, engines, stack, signal }: BenchSettings): Promise<string> {
  const machine = await machineLines();
  const results: ReloadResult[] = [];
  for (const engine of engines)
    results.push(
      await alone(stack, (own) => measureReload(engine, { sampleCount: isQuick ? 5 : RELOAD_SAMPLE_COUNT, stack: own, signal })),
    );
  return reloadSection(results, machine);
}

async function runMemory({ isQuick, engines: [engine = "docker"], stack, signal }: BenchSettings): Promise<string> {
  await assertTools(["wrk"]);
  const requestCount = isQuick ? MEMORY_REQUEST_COUNT / 5 : MEMORY_REQUEST_COUNT;
  return memorySection([await measureMemory(engine, { requestCount, timeoutMs: MEMORY_TIMEOUT_MS, stack, signal })], await machineLines());
}

async function runRoutes({ isQuick, engines: [engine = "docker"], stack, signal }: BenchSettings): Promise<string> {
  await assertTools(["wrk"]);
  return routesSection(await measureRoutes(engine, { isQuick, stack, signal }), { machine: await machineLines(), engine });
}

async function runStores({ isQuick, engines, stack, signal }: BenchSettings): Promise<string> {
  await assertTools(["wrk"]);
  return storesSection(await measureStores({ isQuick, engines, stack, signal }));
}

async function runDeploy({ isQuick, engines, stack, signal }: BenchSettings): Promise<string> {
  const machine = await machineLines();
  const counts = { sampleCount: isQuick ? 2 : DEPLOY_SAMPLE_COUNT, roundCount: isQuick ? 1 : ROUND_COUNT };
  const results: DeployResult[] = [];
  for (const engine of engines) results.push(await alone(stack, (own) => measureDeploy(engine, { ...counts, stack: own, signal })));
  return deploySection(results, machine);
}

async function runApps({ isQuick, stack, signal }: BenchSettings): Promise<string> {
  await assertTools(["wrk"]);
  const machine = await machineLines();
  return appsSection(await measureApps({ appCounts: isQuick ? APP_QUICK_COUNTS : APP_COUNTS, isQuick, stack, signal }), machine);
}

async function runProfile({ engines: [engine = "docker"], cell, stack, signal }: BenchSettings): Promise<string> {
  await assertTools(["wrk"]);
  return profileSection(await measureProfiles(engine, { cell, stack, signal }));
}

/** What one engine's turn started is gone before the next one's. */
async function alone<Value>(stack: AsyncDisposableStack, work: (own: AsyncDisposableStack) => Promise<Value>): Promise<Value> {
  const own = stack.use(new AsyncDisposableStack());
  try {
    return await work(own);
  } finally {
    await own.disposeAsync();
  }
}

async function assertTools(names: readonly string[]): Promise<void> {
  const versions = await Promise.all(names.map(async (name) => versionOf(name, ["-v"])));
  const missing = names.filter((_, index) => versions[index] === null);
  if (missing.length > 0)
    throw new BenchError(`${missing.join(" and ")} missing. On Debian and Ubuntu: apt-get install ${missing.join(" ")}`);
}
