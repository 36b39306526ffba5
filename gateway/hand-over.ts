// A gateway's half of a hand-over: starts its successor, and gives it the listening sockets once it knows as much as this process.
import { fork, type ChildProcess } from "node:child_process";
import { on } from "node:events";
import { closeSync, openSync } from "node:fs";
import type { Server } from "node:net";
import { PlatformError } from "../runtime-image/contract/errors.ts";
import type { GatewayProgram } from "../runtime-image/contract/gateway-config.ts";
import { GATEWAY_READY_TIMEOUT_MS, GATEWAY_TAKE_OVER_TIMEOUT_MS } from "../runtime-image/contract/limits.ts";
import { readProgram } from "./config.ts";
import type { ListeningSocket } from "./listening.ts";
import { commonOf, lacksOf, type FromPredecessor, type FromSuccessor, type Standing } from "./succession.ts";

export interface HandOverParts {
  readonly configFile: string; // As it is now: the successor may be of other code and listen elsewhere.
  readonly sockets: () => readonly ListeningSocket[];
  readonly standing: () => Standing;
}

const PROBLEM_COUNT_SHOWN = 5;

/** Resolves with the successor's pid once it serves. Fails with the reason where there is none; then none is left running either. */
export async function handOver(parts: HandOverParts, signal: AbortSignal): Promise<number> {
  const program = readProgram(parts.configFile);
  const child = start(program, parts.configFile);
  try {
    await accompany(child, parts, signal);
    if (child.connected) child.disconnect();
    child.unref();
    return child.pid ?? 0;
  } catch (cause) {
    child.kill("SIGKILL");
    throw cause;
  }
}

/** As the orchestrator would have started it: the leader of its own group, with a log file, and with nothing of this process. */
function start({ nodePath, nodeArguments, mainFile, variables, logFile }: GatewayProgram, configFile: string): ChildProcess {
  const log = openSync(logFile, "a", 0o600);
  try {
    return fork(mainFile, [configFile], {
      execPath: nodePath,
      execArgv: [...nodeArguments],
      env: { ...variables },
      detached: true,
      stdio: ["ignore", log, log, "ipc"],
    });
  } finally {
    closeSync(log); // It has a copy of its own.
  }
}

async function accompany(child: ChildProcess, { sockets, standing }: HandOverParts, signal: AbortSignal): Promise<void> {
  const over = new AbortController();
  child.once("exit", (code, name) => over.abort(failure(`It ended with ${name ?? `exit code ${code}`} before it served.`)));
  child.on("error", (cause) => over.abort(failure(`It cannot be started: ${cause.message}.`)));
  const onStop = (): void => over.abort(failure("This gateway was told to stop meanwhile."));
  signal.addEventListener("abort", onStop, { once: true });
  let lacks = ["any word of it"];
  const outOfTime = (): void => over.abort(failure("It was not ready in time.", lacks));
  let timer = setTimeout(outOfTime, GATEWAY_READY_TIMEOUT_MS);
  let given: readonly ListeningSocket[] | null = null;
  try {
    // A gateway of ours sends them.
    for await (const [message] of on(child, "message", { signal: over.signal }) as AsyncIterable<[FromSuccessor]>)
      switch (message.kind) {
        case "standing":
          lacks = lacksOf(standing(), message.standing);
          if (lacks.length > 0 || given !== null) break;
          clearTimeout(timer); // From here on it may have connections: it is not given up for a slow moment.
          timer = setTimeout(outOfTime, GATEWAY_TAKE_OVER_TIMEOUT_MS);
          given = commonOf(sockets(), message.listen);
          await tell(child, { kind: "prepare", given: given.map(({ address }) => address) });
          break;
        case "prepared":
          for (const { address, server } of given ?? []) await tell(child, { kind: "socket", address }, server);
          break;
        case "failed":
          throw failure(message.reason);
        case "serving":
          return;
      }
  } catch (cause) {
    throw over.signal.aborted ? over.signal.reason : cause;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onStop);
  }
}

const tell = (child: ChildProcess, message: FromPredecessor, socket?: Server): Promise<void> =>
  new Promise((resolve, reject) => {
    child.send(message, socket, {}, (cause) => (cause === null ? resolve() : reject(failure(`It is gone: ${cause.message}.`))));
  });

const failure = (detail: string, lacks: readonly string[] = []): PlatformError =>
  new PlatformError("GATEWAY_NOT_REPLACED", {
    detail: lacks.length === 0 ? detail : `${detail} It lacks ${shown(lacks)}.`,
    remedy: "The log of the gateway says more.",
  });

const shown = (lacks: readonly string[]): string =>
  lacks.length <= PROBLEM_COUNT_SHOWN
    ? lacks.join(", ")
    : `${lacks.slice(0, PROBLEM_COUNT_SHOWN).join(", ")} and ${lacks.length - PROBLEM_COUNT_SHOWN} more`;
