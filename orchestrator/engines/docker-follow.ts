// Follows one container's log until the container is gone, across restarts of the engine.
import { setTimeout as wait } from "node:timers/promises";
import type { DockerApi } from "../docker/api.ts";
import { createLogReader } from "./docker-logs.ts";
import type { LogLine } from "./engine.ts";

const RECONNECT_DELAY_MS = 500;

export async function followDockerLogs(
  docker: DockerApi,
  { container, sinceEpochMs, signal }: { container: string; sinceEpochMs: number; signal: AbortSignal },
  onLine: (line: LogLine) => void,
): Promise<void> {
  let lastTime = "";
  while (!signal.aborted) {
    const reader = createLogReader(onLine, { after: lastTime });
    try {
      const stream = await docker.containers.logs(container, { since: sinceText(lastTime, sinceEpochMs), follow: true, signal });
      for await (const chunk of stream ?? []) reader.push(chunk);
      // The stream also ends when the engine restarts under a container that goes on.
      const state = await docker.containers.inspect(container);
      if (state === null || !state.isRunning) return;
    } catch {
      // The engine is restarting, or the signal aborted: the loop asks again until one of both is settled.
    } finally {
      lastTime = reader.lastTime();
      reader.end();
    }
    await wait(RECONNECT_DELAY_MS, undefined, { signal }).catch(() => {}); // Rejects when the signal aborts, which the loop sees.
  }
}

/** Docker takes seconds with nine decimals; floating point has not enough digits for them. */
export function sinceText(lastTime: string, sinceEpochMs: number): string {
  const epochMs = lastTime === "" ? sinceEpochMs : Date.parse(lastTime);
  const nanoseconds = lastTime === "" ? String(sinceEpochMs % 1000).padStart(3, "0") : (/\.(\d+)/.exec(lastTime)?.[1] ?? "0");
  return `${Math.floor(epochMs / 1000)}.${nanoseconds.padEnd(9, "0")}`;
}
