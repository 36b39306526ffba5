// The power goes while clients write: what was acknowledged had to be on the disk by then, and the platform has to start from what is there.
import { rm } from "node:fs/promises";
import type { Loss } from "../support/crash-model.ts";
import { type PowerDisk, mountPowerDisk } from "../support/crash-power.ts";
import { CrashWorld } from "../support/crash-world.ts";
import type { EngineName } from "../support/platform.ts";

export interface PowerCutOptions {
  readonly engine: EngineName;
  readonly seed: number;
  readonly clientCount: number;
  readonly say: (text: string) => void;
  readonly cutCount: number;
}

const DISK_BYTES = 400_000_000; // The whole home is on it, builds and all.
const WRITES_AFTER = 20;

export async function cutPower({ cutCount, say, ...options }: PowerCutOptions): Promise<readonly Loss[]> {
  const mounted: PowerDisk[] = [];
  const prepareHome = async (home: string): Promise<void> => void mounted.push(await mountPowerDisk(home, DISK_BYTES));
  const world = await CrashWorld.start({ ...options, prepareHome });
  const losses: Loss[] = [];
  try {
    for (let cut = 1; cut <= cutCount && losses.length === 0; cut += 1)
      for (const disk of mounted) {
        world.traffic.resume();
        const recoveryMs = await world.cutPower(disk);
        await world.writeFor(WRITES_AFTER);
        losses.push(...(await world.compare()));
        const { acknowledged, open } = world.counts();
        say(
          `power cut ${cut}: answered ${(recoveryMs / 1_000).toFixed(2)} s after the start · ${acknowledged} writes acknowledged, ` +
            `${open} unknown${losses.length > 0 ? ` · ${losses.length} LOSSES` : ""}`,
        );
      }
  } finally {
    await world.close();
    for (const disk of mounted) await disk.unmount();
  }
  await rm(world.home, { recursive: true, force: true });
  return losses;
}
