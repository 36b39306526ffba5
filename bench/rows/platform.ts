// This platform: `orchestrator up` on a copy of an app, as its owner would start it.
import { chmod, cp, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { pickFreePort } from "../../orchestrator/nats/ports.ts";
import { commandOf, pidsOfTrees } from "../cpu.ts";
import { containersWith } from "../docker.ts";
import { BenchError, start } from "../processes.ts";
import type { Row, RunningRow } from "./row.ts";

export type EngineKind = "docker" | "process";

export interface RunningPlatform extends RunningRow {
  readonly engine: EngineKind;
  readonly appFolder: string;
  readonly home: string;
  readonly platformId: string;
  readonly pid: number; // Of the orchestrator.
  gatewayPid(): Promise<number>; // Of staging.
}

export const BENCH_APP = fileURLToPath(new URL("../workload/app", import.meta.url));
export const BIN = fileURLToPath(new URL("../../orchestrator/bin.mjs", import.meta.url));
export const READY_TIMEOUT_MS = 180_000; // The first start on a machine makes the base images.
export const STOP_GRACE_MS = 40_000;

export const platformRow = (engine: EngineKind): Row => ({
  name: `ours, ${engine}`,
  start: (stack, signal) => startPlatform({ engine, app: BENCH_APP, isWatching: false, stack, signal }),
});

export async function startPlatform(options: {
  readonly engine: EngineKind;
  readonly app: string;
  readonly isWatching: boolean;
  readonly stack: AsyncDisposableStack;
  readonly signal: AbortSignal;
}): Promise<RunningPlatform> {
  const { engine, stack, signal } = options;
  const folder = await mkdtemp(join(tmpdir(), "orchestrator-bench-app-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  await chmod(folder, 0o755); // Process instances run as other users.
  const appFolder = join(folder, "app");
  const home = join(folder, "home");
  await cp(options.app, appFolder, { recursive: true, filter: (source) => !source.endsWith("/.orchestrator") });
  const [staging, production, api] = [await pickFreePort("127.0.0.1"), await pickFreePort("127.0.0.1"), await pickFreePort("127.0.0.1")];
  const ports = ["--staging-port", staging, "--production-port", production, "--api-port", api].map(String);
  const args = [
    BIN,
    "up",
    appFolder,
    "--engine",
    engine,
    ...ports,
    "--home",
    home,
    "--json",
    ...(options.isWatching ? [] : ["--no-watch"]),
  ];
  const up = await start({ command: process.execPath, args, isReady: isReadyLine, timeoutMs: READY_TIMEOUT_MS, signal });
  stack.defer(() => up.stop("SIGTERM", STOP_GRACE_MS));
  const platformId = (await readFile(join(home, "platform-id"), "utf8")).trim();
  const containerPids = async (): Promise<number[]> => (await containersWith(`orchestrator.platform=${platformId}`)).map((one) => one.pid);
  return {
    engine,
    appFolder,
    home,
    platformId,
    pid: up.pid,
    url: `http://127.0.0.1:${staging}`,
    rootPids: async () => [up.pid, ...(engine === "docker" ? await containerPids() : [])],
    gatewayPid: () => gatewayOf(up.pid),
  };
}

export function isReadyLine(line: string): boolean {
  if (!line.startsWith("{")) return false;
  const value: unknown = JSON.parse(line);
  return typeof value === "object" && value !== null && "event" in value && value.event === "ready";
}

async function gatewayOf(orchestratorPid: number): Promise<number> {
  for (const pid of await pidsOfTrees([orchestratorPid])) {
    const command = await commandOf(pid);
    if (command.includes("gateway/main.ts") && command.endsWith("staging.json")) return pid;
  }
  throw new BenchError("the gateway of staging is not among the platform's processes");
}
