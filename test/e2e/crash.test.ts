// What was acknowledged outlives the sudden end of every process: the short version of `npm run test:crash`.
import { rm } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NEARLY_FULL_BYTES, fillDisk } from "../crash/full-disk.ts";
import { mayMount } from "../support/crash-disk.ts";
import { CrashWorld, type KillKind } from "../support/crash-world.ts";
import { processesOf } from "../support/leftovers.ts";

const KILLS: readonly KillKind[] = ["broker", "instance", "gateway", "orchestrator", "everything", "broker twice", "everything"];
const WRITES_AFTER = 20;
const FREEZE_MS = 2_000;

describe("documents and sessions under traffic", () => {
  let world: CrashWorld;

  beforeAll(async () => {
    world = await CrashWorld.start({ engine: "process", seed: 1, clientCount: 4 });
  });

  afterAll(async () => {
    await world.close();
    await rm(world.home, { recursive: true, force: true });
  });

  it.each(KILLS.map((kind, index) => ({ kind, index })))("are all there after SIGKILL of: $kind ($index)", async ({ kind }) => {
    world.traffic.resume();
    await world.kill(kind);
    await world.writeFor(WRITES_AFTER);
    expect(await world.compare()).toEqual([]);
  });

  it.each(["broker", "instance"] as const)("are all there after two seconds without: %s", async (kind) => {
    world.traffic.resume();
    await world.freeze(kind, FREEZE_MS);
    await world.writeFor(WRITES_AFTER);
    expect(await world.compare()).toEqual([]);
  });

  it("leave nothing running when the platform is stopped after all this", async () => {
    await world.close();
    expect(await processesOf(world.home)).toEqual([]);
  });
});

describe("documents and sessions on a disk that is nearly full", () => {
  it.runIf(mayMount)("are refused when they are new, are destroyed for good, and are saved again when there is room", async () => {
    const said: string[] = [];
    const losses = await fillDisk({
      engine: "process",
      seed: 1,
      clientCount: 4,
      say: (text) => void said.push(text),
      fills: [NEARLY_FULL_BYTES],
    });
    expect(losses).toEqual([]);
    expect(said.join("\n")).toContain("STORE_FULL");
    expect(said.join("\n")).toContain("of 200 destructions 200 acknowledged");
  });
});
