// Routing: what a match costs with 10 to 5,000 routes, in the matcher alone and through a gateway.
import { buildRouteTable, type RouteTable } from "../gateway/routing/table.ts";
import { matchRoute } from "../gateway/routing/match.ts";
import type { ControlBus } from "../orchestrator/nats/control-bus.ts";
import type { FunctionSnapshot } from "../runtime-image/contract/snapshot.ts";
import { openControl, publishFunctions, type ServedApp, servedApp } from "./control.ts";
import { cpuBetween, cpuOfTrees } from "./cpu.ts";
import { type Load, runLoad } from "./load.ts";
import { say } from "./log.ts";
import { BenchError } from "./processes.ts";
import { BENCH_APP, type EngineKind, type RunningPlatform, startPlatform } from "./rows/platform.ts";
import { median } from "./stats.ts";
import { markdownTable, short, whole } from "./table.ts";

export interface RoutesResult {
  readonly routeCount: number;
  readonly matchNs: number;
  readonly buildMs: number;
  readonly requestsPerS: number;
  readonly gatewayCpuUsPerRequest: number;
}

const ROUTE_COUNTS = [10, 100, 1_000, 5_000];
const MATCH_COUNT = 200_000;
const ROUND_COUNT = 3;

/** Half static, half with a param, a catch-all in every tenth area. */
export function routesOf(count: number): { method: "GET"; path: string }[] {
  return Array.from({ length: count }, (_, index) => {
    const area = `/area-${Math.floor(index / 2)}`;
    if (index % 20 === 19) return { method: "GET", path: `${area}/files/*` };
    return { method: "GET", path: index % 2 === 0 ? `${area}/overview` : `${area}/items/:item` };
  });
}

const pathsOf = (count: number): string[] =>
  routesOf(count).map(({ path }, index) => path.replace(":item", `item-${index}`).replace("*", "some/where.txt"));

export async function measureRoutes(
  engine: EngineKind,
  options: { isQuick: boolean; stack: AsyncDisposableStack; signal: AbortSignal },
): Promise<RoutesResult[]> {
  const alone = ROUTE_COUNTS.map((routeCount) => ({ routeCount, ...matcherAlone(routeCount) }));
  const { stack, signal } = options;
  say(`routes: starting the platform with ${engine}`);
  const platform = await startPlatform({ engine, app: BENCH_APP, isWatching: false, stack, signal });
  const { bus } = await openControl(platform, stack);
  const served = await servedApp(bus);
  await runLoad(platform.url, { method: "GET", path: "/", bodyBytes: 0, connectionCount: 32, durationS: 3 }, signal); // Warm before the first round.
  const rounds = new Map<number, { requestsPerS: number; cpuUs: number }[]>();
  for (let round = 1; round <= (options.isQuick ? 1 : ROUND_COUNT); round += 1)
    for (const routeCount of ROUTE_COUNTS) {
      say(`routes: ${routeCount}, round ${round}`);
      await publishRoutes(bus, served, routeCount, signal);
      const measured = await throughGateway(platform, routeCount, signal);
      rounds.set(routeCount, [...(rounds.get(routeCount) ?? []), measured]);
    }
  return alone.map((result) => {
    const measured = rounds.get(result.routeCount) ?? [];
    return {
      ...result,
      requestsPerS: median(measured.map((one) => one.requestsPerS)),
      gatewayCpuUsPerRequest: median(measured.map((one) => one.cpuUs)),
    };
  });
}

function matcherAlone(routeCount: number): { matchNs: number; buildMs: number } {
  const buildStartMs = performance.now();
  const table = buildRouteTable(routesOf(routeCount));
  const buildMs = performance.now() - buildStartMs;
  const paths = pathsOf(routeCount);
  matchMany(table, paths); // Compiled before it is measured.
  const rounds = Array.from({ length: 5 }, () => matchMany(table, paths));
  return { matchNs: median(rounds), buildMs };
}

/** Nanoseconds per match, the paths in an order that no cache can guess. */
function matchMany(table: RouteTable, paths: readonly string[]): number {
  let [position, missCount] = [0, 0];
  const startMs = performance.now();
  for (let index = 0; index < MATCH_COUNT; index += 1) {
    position = (position * 7_919 + 12_345) % paths.length;
    if (matchRoute(table, { method: "GET", path: paths[position] ?? "/" }) === null) missCount += 1;
  }
  const tookMs = performance.now() - startMs;
  if (missCount > 0) throw new BenchError(`${missCount} paths matched no route`);
  return (tookMs * 1e6) / MATCH_COUNT;
}

/** All lead to the one instance of GET /: 5,000 instances are not what is measured. */
async function publishRoutes(bus: ControlBus, served: ServedApp, routeCount: number, signal: AbortSignal): Promise<void> {
  const functions = routesOf(routeCount).map((route, number): FunctionSnapshot => ({ ...served.index, ...route, name: `route-${number}` }));
  await publishFunctions(bus, served, [served.index, ...functions], signal);
}

async function throughGateway(
  platform: RunningPlatform,
  routeCount: number,
  signal: AbortSignal,
): Promise<{ requestsPerS: number; cpuUs: number }> {
  const middle = routeCount / 2 + 1; // A route with a param, whichever count.
  const path = pathsOf(routeCount)[middle - (middle % 2 === 0 ? 1 : 0)] ?? "/";
  const load: Load = { method: "GET", path, bodyBytes: 0, connectionCount: 32, durationS: 2 };
  const gatewayPid = await platform.gatewayPid();
  const before = await cpuOfTrees([gatewayPid]);
  const report = await runLoad(platform.url, load, signal);
  if (report.failedCount > 0) throw new BenchError(`${report.failedCount} requests to ${path} failed`);
  return { requestsPerS: report.requestsPerS, cpuUs: (cpuBetween(before, await cpuOfTrees([gatewayPid])) * 1_000) / report.requestCount };
}

/** Pure. */
export function routesSection(results: readonly RoutesResult[], facts: { readonly machine: string; readonly engine: EngineKind }): string {
  const table = markdownTable<RoutesResult>(
    [
      { title: "routes", cell: (result) => whole(result.routeCount) },
      { title: "match alone, ns", cell: (result) => whole(result.matchNs) },
      { title: "building the table, ms", cell: (result) => short(result.buildMs) },
      { title: "through the gateway, req/s", cell: (result) => whole(result.requestsPerS) },
      { title: "gateway CPU µs/req", cell: (result) => short(result.gatewayCpuUsPerRequest) },
    ],
    results,
  );
  return `## Routing\n\n${facts.machine}\n\n${table}\n\nHalf of the routes are static, half have a param or a catch-all. Alone: every path in turn, in a scattered order. Through the gateway (engine ${facts.engine}): one route with a param at 32 connections; all routes lead to the same instance, medians of interleaved rounds.`;
}
