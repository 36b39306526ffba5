// Tells of instances that ended, from Docker's event stream; a stream that breaks is taken up where it was left.
import { setTimeout as wait } from "node:timers/promises";
import type { DockerApi } from "../docker/api.ts";
import { LABELS } from "../docker/labels.ts";
import { selectorOf, type Platform } from "./docker-labels.ts";
import type { InstanceExit } from "./engine.ts";

const RECONNECT_DELAY_MS = 250;
const RECONNECT_DELAY_MS_MAX = 5_000;
const KILLED_EXIT_CODE = 137; // 128 + SIGKILL, which is how the kernel ends what uses too much memory.
const SEEN_COUNT_MAX = 1_024; // Docker replays at most 256 events.

interface DockerEvent {
  readonly action: "die" | "oom";
  readonly container: string;
  readonly instanceId: string;
  readonly exitCode: number | null;
  readonly timeNano: number;
}

/** Runs until the signal aborts; a failure of the engine only makes it try again. */
export async function watchDockerExits(
  docker: DockerApi,
  { platform, sinceEpochMs, signal }: { platform: Platform; sinceEpochMs: number; signal: AbortSignal },
  onExit: (exit: InstanceExit) => void,
): Promise<void> {
  const seen = new Set<string>();
  const outOfMemory = new Set<string>();
  let lastEpochMs = sinceEpochMs;
  let delayMs = RECONNECT_DELAY_MS;
  const take = async (event: DockerEvent): Promise<void> => {
    lastEpochMs = Math.floor(event.timeNano / 1e6);
    delayMs = RECONNECT_DELAY_MS;
    if (!remember(seen, `${event.action} ${event.container} ${event.timeNano}`)) return; // Replayed after a reconnection.
    if (event.action === "oom") return void remember(outOfMemory, event.container);
    // The kernel's message and the exit come in any order, so a killed one is looked at as well.
    const mayBe = outOfMemory.has(event.container) || event.exitCode === KILLED_EXIT_CODE;
    const isOutOfMemory = mayBe && (outOfMemory.delete(event.container) || (await saysOutOfMemory(docker, event.container)));
    onExit({ instanceId: event.instanceId, exitCode: event.exitCode, outOfMemory: isOutOfMemory });
  };
  while (!signal.aborted) {
    try {
      const events = await docker.events({ labels: selectorOf(platform, "instance"), sinceEpochMs: lastEpochMs, signal });
      for await (const line of events) {
        const event = parseEvent(line);
        if (event !== null) await take(event);
      }
    } catch {
      // The engine is restarting, or the signal aborted; list() shows what is missed when it is away for long.
    }
    if (!signal.aborted) await wait(delayMs, undefined, { signal }).catch(() => {}); // Rejects when the signal aborts, which the loop sees.
    delayMs = Math.min(delayMs * 2, RECONNECT_DELAY_MS_MAX);
  }
}

const saysOutOfMemory = async (docker: DockerApi, container: string): Promise<boolean> =>
  (await docker.containers.inspect(container).catch(() => null))?.outOfMemory ?? false; // Removed meanwhile: nobody can tell.

function remember(set: Set<string>, key: string): boolean {
  if (set.has(key)) return false;
  set.add(key);
  const [oldest] = set;
  if (set.size > SEEN_COUNT_MAX && oldest !== undefined) set.delete(oldest);
  return true;
}

/** Null for a line that is no exit of an instance. */
export function parseEvent(line: string): DockerEvent | null {
  // Docker's own words; every field is checked before it is used.
  const value = JSON.parse(line) as {
    Action?: unknown;
    timeNano?: unknown;
    Actor?: { ID?: unknown; Attributes?: Record<string, unknown> };
  };
  const attributes = value.Actor?.Attributes ?? {};
  const instanceId = attributes[LABELS.instance];
  const container = value.Actor?.ID;
  if ((value.Action !== "die" && value.Action !== "oom") || typeof instanceId !== "string") return null;
  if (typeof container !== "string" || typeof value.timeNano !== "number") return null;
  const exitCode = typeof attributes["exitCode"] === "string" ? Number(attributes["exitCode"]) : null;
  return { action: value.Action, container, instanceId, exitCode, timeNano: value.timeNano };
}
