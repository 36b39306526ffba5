// How many instances a fleet starts at a time on this machine, on an engine that only notes what it is asked for.
import { availableParallelism } from "node:os";
import { setImmediate as turnOver } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import type { Engine } from "../../../orchestrator/engines/engine.ts";
import { createFleet, type Fleet } from "../../../orchestrator/pools/fleet.ts";
import type { InstanceEvent } from "../../../runtime-image/contract/instance-events.ts";
import { INSTANCE_START_BUSY_MS, INSTANCE_START_COUNT_AT_ONCE } from "../../../runtime-image/contract/limits.ts";
import { poolSpec } from "../../support/pool-specs.ts";
import { until } from "../../support/until.ts";

const AT_ONCE = Math.min(INSTANCE_START_COUNT_AT_ONCE, Math.max(1, availableParallelism() - 1));
const TARGET = { appId: "a", environment: "staging" } as const;
const clock = { now: 1_000_000, nowEpochMs: () => clock.now };
const fleets: Fleet[] = [];
afterEach(() => {
  for (const fleet of fleets.splice(0)) fleet.release();
});

/** It begins with all of them; what starts is never ready by itself. */
function startMany() {
  const started: string[] = [];
  const listeners: ((event: InstanceEvent) => void)[] = [];
  const engine: Partial<Engine> = {
    watchExits: () => undefined,
    followLogs: async () => undefined,
    start: async ({ instanceId }) => void started.push(instanceId),
  };
  const fleet = createFleet({
    engine: engine as Engine, // Nothing else is asked of it here.
    clock,
    broker: {
      onEvent: async (_target, listener) => {
        listeners.push(listener);
        return () => undefined;
      },
      credentials: async () => ({ url: "", jwt: "", seed: "" }),
      ping: async () => null,
    },
    sessionSecret: () => "",
    logs: { append: () => undefined, lastEpochMs: () => null },
    report: () => undefined,
  });
  fleets.push(fleet);
  fleet.want(
    TARGET,
    Array.from({ length: 3 * AT_ONCE }, (_, index) => poolSpec(`function-${index}`)),
  );
  const isReady = (instanceId: string): void => {
    for (const listener of listeners) listener({ kind: "ready", instanceId, loadMs: 1 });
  };
  return { started, isReady };
}

describe("a fleet that has much to start", () => {
  it("keeps one processor free, and starts the next one when one is ready", async () => {
    const { started, isReady } = startMany();
    await until(() => started.length === AT_ONCE, { timeoutMs: 5_000 });
    await turnOver();
    expect(started).toHaveLength(AT_ONCE);
    isReady(started[0] ?? "");
    await until(() => started.length === AT_ONCE + 1, { timeoutMs: 5_000 });
    await turnOver();
    expect(started).toHaveLength(AT_ONCE + 1);
  });

  it("goes on by itself when those that started take their time", async () => {
    const { started } = startMany();
    await until(() => started.length === AT_ONCE, { timeoutMs: 5_000 });
    clock.now += INSTANCE_START_BUSY_MS;
    const more = Math.min(2 * AT_ONCE, INSTANCE_START_COUNT_AT_ONCE);
    await until(() => started.length === more, { timeoutMs: 5_000 });
    await turnOver();
    expect(started).toHaveLength(more);
  });
});
