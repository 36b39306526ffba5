// Has a gateway hand over to a successor, and tells which processes there are meanwhile.
import { processesWithArgument } from "../../orchestrator/processes/identity.ts";
import { type GatewayStatus, HAND_OVER_SIGNAL } from "../../runtime-image/contract/gateway-config.ts";
import type { World } from "./gateway-world.ts";
import { until } from "./until.ts";

export const pidsOf = async (configFile: string): Promise<number[]> => (await processesWithArgument(configFile)).map(({ pid }) => pid);

/** Resolves with the status of the one that listens afterwards. */
export async function handOver(world: World): Promise<GatewayStatus> {
  const before = await world.status();
  process.kill(before.pid, HAND_OVER_SIGNAL);
  let now = before;
  await until(
    async () => {
      now = await world.status().catch(() => before); // In the moment between the two.
      return now.pid !== before.pid;
    },
    { timeoutMs: 12_000, what: `another process than ${before.pid} listens` },
  );
  return now;
}

/** Resolves with why no successor took over. */
export async function failedHandOver(world: World, meanwhile: () => Promise<void> = async () => {}): Promise<string> {
  const before = await world.status();
  process.kill(before.pid, HAND_OVER_SIGNAL);
  await meanwhile();
  let now = before;
  await until(
    async () => {
      now = await world.status();
      return now.handOver.failureCount > before.handOver.failureCount;
    },
    { timeoutMs: 15_000, what: "the hand-over failed" },
  );
  if (now.pid !== before.pid) throw new Error("another process listens");
  return now.handOver.lastFailure ?? "";
}

/** Until the successor's process is there, which then needs some hundred milliseconds to become ready. */
export async function successorPid(world: World, before: readonly number[]): Promise<number> {
  let pids: number[] = [];
  await until(
    async () => {
      pids = (await pidsOf(world.gateway.configFile)).filter((pid) => !before.includes(pid));
      return pids.length > 0;
    },
    { timeoutMs: 5_000, what: "a successor was started" },
  );
  return pids[0] ?? 0;
}
