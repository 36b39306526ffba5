// The gateway of an environment as a process: which one listens, a new one, one in the place of another, and the end of all of them.
import { open, stat } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { HAND_OVER_SIGNAL, type GatewayStatus } from "../../runtime-image/contract/gateway-config.ts";
import type { Environment } from "../../runtime-image/contract/instance-manifest.ts";
import { type ErrorCode, PlatformError } from "../../runtime-image/contract/errors.ts";
import { GATEWAY_READY_TIMEOUT_MS, GATEWAY_TAKE_OVER_TIMEOUT_MS, STOP_GRACE_MS } from "../../runtime-image/contract/limits.ts";
import { systemClock } from "../clock.ts";
import { signalProcess, startDetached, stopProcess } from "../processes/detached.ts";
import { type Identity, isAlive, processIdentity } from "../processes/identity.ts";
import { type GatewayFiles, gatewayProcesses, writtenConfig } from "./gateway-files.ts";

export interface Place {
  readonly environment: Environment;
  readonly files: GatewayFiles;
  readonly folder: string;
  readonly status: () => Promise<GatewayStatus | null>;
}

export interface Listening {
  readonly identity: Identity;
  readonly status: GatewayStatus;
}

export interface Launched {
  readonly identity: Identity;
  readonly logBytes: number; // How long the log was before.
}

const POLL_MS = 30;
const CRASH_GRACE_MS = 1_000; // A successor may have got everything before the one before it died, and has yet to say so.
const HAND_OVER_TIMEOUT_MS = GATEWAY_READY_TIMEOUT_MS + GATEWAY_TAKE_OVER_TIMEOUT_MS + 1_000; // The gateway itself gives up sooner, and says why.
const STOP_ROUND_COUNT_MAX = 3; // One may have started a successor in the moment in which it was told to stop.
const LOG_LINE_COUNT_SHOWN = 20; // What Node says of code that is missing fits in.
const LOG_BYTES_SHOWN = 8_192;

/** The one that listens and answers now. Null where there is none, and where the broker cannot be asked. */
export async function listeningGateway({ status: ask }: Place): Promise<Listening | null> {
  const status = await ask().catch(() => null); // A broker that is away says nothing about a gateway.
  if (status === null || !status.listening) return null;
  const identity = await processIdentity(status.pid);
  return identity === null ? null : { identity, status };
}

/** The same, for one that may be starting, or looking for its broker. */
export async function untilListening(place: Place): Promise<Listening | null> {
  const deadlineEpochMs = systemClock.nowEpochMs() + GATEWAY_READY_TIMEOUT_MS;
  while (systemClock.nowEpochMs() < deadlineEpochMs) {
    const listening = await listeningGateway(place);
    if (listening !== null) return listening;
    if ((await gatewayProcesses(place.files)).length === 0) return null;
    await delay(POLL_MS);
  }
  return null;
}

/** As its written config says. */
export async function launchGateway({ files, folder }: Place): Promise<Launched> {
  const logBytes = await sizeOf(files.log);
  const program = (await writtenConfig(files))?.config.program;
  if (program === undefined) throw new PlatformError("GATEWAY_FAILED", { detail: `${files.config} does not say how it is started.` });
  const { pid, startedAt } = await startDetached({
    command: program.nodePath,
    args: [...program.nodeArguments, program.mainFile, files.config],
    env: program.variables,
    cwd: folder,
    logFile: program.logFile,
    stateFile: files.state,
  });
  return { identity: { pid, startedAt }, logBytes };
}

export async function untilReady(place: Place, { identity, logBytes }: Launched): Promise<void> {
  const deadlineEpochMs = systemClock.nowEpochMs() + GATEWAY_READY_TIMEOUT_MS;
  while (systemClock.nowEpochMs() < deadlineEpochMs && (await isAlive(identity))) {
    if ((await listeningGateway(place))?.status.pid === identity.pid) return;
    await delay(POLL_MS);
  }
  throw await failure("GATEWAY_FAILED", place, { detail: `The gateway of ${place.environment} is not ready.`, logBytes });
}

/** Has it hand over to a fresh process of the written config; one that it began before counts. Until then, and otherwise, it serves on. */
export async function succeedGateway(place: Place, before: Listening): Promise<Listening> {
  const logBytes = await sizeOf(place.files.log);
  const notReplaced = (reason: string): Promise<PlatformError> =>
    failure("GATEWAY_NOT_REPLACED", place, { detail: `The gateway of ${place.environment}: ${reason}`, logBytes });
  await signalProcess(before.identity, HAND_OVER_SIGNAL);
  let deadlineEpochMs = systemClock.nowEpochMs() + HAND_OVER_TIMEOUT_MS;
  let hasDied = false;
  while (systemClock.nowEpochMs() < deadlineEpochMs) {
    const now = await listeningGateway(place);
    if (now !== null && now.identity.pid !== before.identity.pid) return now;
    const failed = now !== null && now.status.handOver.failureCount > before.status.handOver.failureCount;
    if (failed) throw await notReplaced(now.status.handOver.lastFailure ?? "");
    if (!hasDied && !(await isAlive(before.identity))) {
      hasDied = true;
      deadlineEpochMs = Math.min(deadlineEpochMs, systemClock.nowEpochMs() + CRASH_GRACE_MS);
    }
    await delay(POLL_MS);
  }
  throw await notReplaced(hasDied ? "It ended before its successor served." : "No successor took over in time.");
}

/** Also those that only finish what they had, and those that would take over next. */
export async function stopGateways({ files }: Place): Promise<void> {
  for (let round = 0; round < STOP_ROUND_COUNT_MAX; round += 1) {
    const running = await gatewayProcesses(files);
    if (running.length === 0) return;
    await Promise.all(running.map(async (identity) => stopProcess(identity, { graceMs: STOP_GRACE_MS })));
  }
}

interface Failure {
  readonly detail: string;
  readonly logBytes: number; // How long the log was before: what stands behind is about it.
}

async function failure(code: ErrorCode, { files }: Place, { detail, logBytes }: Failure): Promise<PlatformError> {
  const problems = (await textBehind(files.log, logBytes)).trimEnd().split("\n").slice(-LOG_LINE_COUNT_SHOWN);
  return new PlatformError(code, { detail, problems, remedy: `Its log: ${files.log}` });
}

const sizeOf = async (file: string): Promise<number> =>
  stat(file).then(
    ({ size }) => size,
    () => 0, // It is made with the first process.
  );

async function textBehind(file: string, bytes: number): Promise<string> {
  const from = Math.max(bytes, (await sizeOf(file)) - LOG_BYTES_SHOWN);
  const log = await open(file, "r").catch(() => null);
  if (log === null) return "";
  try {
    const { buffer, bytesRead } = await log.read({ buffer: Buffer.alloc(LOG_BYTES_SHOWN), position: from });
    return buffer.toString("utf8", 0, bytesRead);
  } finally {
    await log.close();
  }
}
