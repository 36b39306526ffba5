// What was acknowledged outlives the sudden end of every process: the short version of `npm run test:crash`.
import { rm } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CrashWorld, type KillKind } from "../support/crash-world.ts";
import { processesOf } from "../support/leftovers.ts";

const KILLS: readonly KillKind[] = ["broker", "instance", "gateway", "orchestrator", "everything", "broker", "everything"];

describe("documents and sessions under traffic", () => {
  let world: CrashWorld;

  beforeAll(async () => {
    world = await CrashWorld.start({ engine: "process", seed: 1, clientCount: 4 });
  });

  afterAll(async () => {
    await world.close();
    expect(await processesOf(world.home)).toEqual([]);
    await rm(world.home, { recursive: true, force: true });
  });

  it.each(KILLS.map((kind, index) => ({ kind, index })))("are all there after SIGKILL of: $kind ($index)", async ({ kind }) => {
    world.traffic.resume();
    await world.kill(kind);
    await world.writeFor(20);
    expect(await world.compare()).toEqual([]);
  });
});
