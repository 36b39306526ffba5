// This platform: `orchestrator serve` in a home of its own, what is deployed to it, and a second orchestrator in the place of the first.
import { chmod, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ApiClient, connectApi } from "../../orchestrator/api/client.ts";
import { gatewayFilesOf } from "../../orchestrator/gateways/gateway-files.ts";
import { brokerHome } from "../../orchestrator/nats/broker-home.ts";
import { pickFreePort } from "../../orchestrator/nats/ports.ts";
import { readState } from "../../orchestrator/processes/detached.ts";
import { packFolder } from "../../orchestrator/sources/pack-folder.ts";
import { BenchError, run, type Started, start } from "../processes.ts";
import { BIN, type EngineKind, isReadyLine, READY_TIMEOUT_MS, STOP_GRACE_MS } from "./platform.ts";

export interface ServingPlatform {
  readonly engine: EngineKind;
  readonly home: string;
  readonly platformId: string;
  readonly api: ApiClient;
  readonly apiPort: number;
  readonly url: string; // Of staging.
  /** Of the processes that there are now. */
  pids(): Promise<Readonly<Record<"orchestrator" | "gateway" | "broker", number>>>; // The gateway of staging.
  /** A command of the command line, as a user gives it; how long it took, and what it printed. */
  command(...args: readonly string[]): Promise<{ readonly tookMs: number; readonly output: string }>;
  /** Stops the orchestrator, and everything with it or nothing else, and starts another one; the milliseconds until that one is ready. */
  startAgain(options: { readonly leavesRunning: boolean }): Promise<number>;
}

export interface ServingOptions {
  readonly engine: EngineKind;
  readonly isDry: boolean;
  readonly stack: AsyncDisposableStack;
  readonly signal: AbortSignal;
}

const COMMAND_TIMEOUT_MS = 180_000;

export async function startServing({ engine, isDry, stack, signal }: ServingOptions): Promise<ServingPlatform> {
  const folder = await mkdtemp(join(tmpdir(), "orchestrator-bench-serve-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  await chmod(folder, 0o755); // Process instances run as other users.
  const home = join(folder, "home");
  const [staging, production, apiPort] = [
    await pickFreePort("127.0.0.1"),
    await pickFreePort("127.0.0.1"),
    await pickFreePort("127.0.0.1"),
  ];
  const ports = ["--staging-port", staging, "--production-port", production, "--api-port", apiPort].map(String);
  const args = [BIN, "serve", "--engine", engine, ...ports, "--home", home, "--json", ...(isDry ? ["--dry"] : [])];
  const begin = async (flags: readonly string[]): Promise<Started> =>
    start({ command: process.execPath, args: [...args, ...flags], isReady: isReadyLine, timeoutMs: READY_TIMEOUT_MS, signal });
  let running: Started | null = await begin([]);
  let isLeft = false; // Whether the one that runs will leave gateways and broker behind.
  stack.defer(async () => {
    // What was left running is taken over once more, to be stopped in order.
    if (running === null || isLeft) {
      await running?.stop("SIGTERM", STOP_GRACE_MS);
      running = await start({ command: process.execPath, args, isReady: isReadyLine, timeoutMs: READY_TIMEOUT_MS, signal: NEVER });
    }
    await running.stop("SIGTERM", STOP_GRACE_MS);
  });
  const api = await connectApi({ port: apiPort, home });
  return {
    engine,
    home,
    platformId: (await readFile(join(home, "platform-id"), "utf8")).trim(),
    api,
    apiPort,
    url: `http://127.0.0.1:${staging}`,
    async pids() {
      if (running === null) throw new BenchError("no orchestrator runs");
      return {
        orchestrator: running.pid,
        gateway: await pidIn(gatewayFilesOf(join(home, "gateways"), "staging").state),
        broker: await pidIn(brokerHome(home).stateFile),
      };
    },
    async command(...given) {
      const startMs = performance.now();
      const output = await run(process.execPath, [BIN, ...given, "--home", home, "--api-port", String(apiPort)], {
        timeoutMs: COMMAND_TIMEOUT_MS,
        signal,
      });
      return { tookMs: performance.now() - startMs, output };
    },
    async startAgain({ leavesRunning }) {
      await running?.stop("SIGTERM", STOP_GRACE_MS);
      running = null;
      const startMs = performance.now();
      running = await begin(leavesRunning ? ["--leave-running"] : []);
      isLeft = leavesRunning;
      return performance.now() - startMs;
    },
  };
}

const NEVER = new AbortController().signal;

async function pidIn(stateFile: string): Promise<number> {
  const state = await readState(stateFile);
  if (state === null) throw new BenchError(`${stateFile} names no process`);
  return state.identity.pid;
}

export interface Delivered {
  readonly sentMs: number; // Until the platform has recorded it.
  readonly greenMs: number; // Until it is on staging.
  /** When each line of its log came, since the start. */
  readonly lines: readonly { readonly atMs: number; readonly event: Readonly<Record<string, unknown>> }[];
}

/** By the management API alone, without a process for it. */
export async function deliver(
  { api }: Pick<ServingPlatform, "api">,
  { folder, app, signal }: { readonly folder: string; readonly app: string; readonly signal: AbortSignal },
): Promise<Delivered> {
  const startMs = performance.now();
  const { archive } = await packFolder(folder, { signal });
  const answer = await api.upload(`/api/deliveries?app=${app}`, archive, { contentType: "application/gzip", signal });
  const { deliveryId } = answer as { deliveryId: string }; // Ours answers so.
  const sentMs = performance.now() - startMs;
  const lines: { atMs: number; event: Readonly<Record<string, unknown>> }[] = [];
  await api.lines(
    `/api/deliveries/${deliveryId}/log?follow=true`,
    (event) => void lines.push({ atMs: performance.now() - startMs, event: { ...(event as object) } }),
    signal,
  );
  signal.throwIfAborted();
  const end = lines.at(-1);
  if (end?.event["kind"] !== "end" || end.event["state"] !== "green")
    throw new BenchError(`the delivery ${deliveryId} is not green: ${JSON.stringify(end?.event)}`);
  return { sentMs, greenMs: end.atMs, lines };
}
