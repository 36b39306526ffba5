// npm run test:crash [-- --kills 200 --seed 1 --engine process]: kills every process in turn under traffic, fills the disk and cuts the power,
// and says whether anything was lost.
import { randomInt } from "node:crypto";
import { rm } from "node:fs/promises";
import { parseArgs } from "node:util";
import type { Loss } from "../support/crash-model.ts";
import { CrashWorld, KILL_KINDS } from "../support/crash-world.ts";
import { processesOf } from "../support/leftovers.ts";
import { ENGINE_NAMES, type EngineName } from "../support/platform.ts";
import { NEARLY_FULL_BYTES, fillDisk } from "./full-disk.ts";
import { cutPower } from "./power-cuts.ts";
import { type Blow, say, summaryLines } from "./report.ts";

const USAGE = `Usage: npm run test:crash [-- options]

  --kills <n>        SIGKILLs in all, at least; one kind after the other in a random order (default 200)
  --seed <n>         the order of kills and writes; printed at the start, so that a run can be had again
  --clients <n>      clients that write at the same time (default 8)
  --engine <name>    process or docker (default process)
  --no-freeze        without holding processes for ten seconds
  --no-disk          without the full disk (which mounts a small filesystem, and so needs root)
  --no-power         without power cuts (of a filesystem that is mounted for it; the engine process only)`;

const FREEZE_MS = 10_000;
const POWER_CUT_COUNT = 10;
const FILLS = [NEARLY_FULL_BYTES, NEARLY_FULL_BYTES, 0]; // The last one to the last byte.
const LOSS_COUNT_SHOWN = 30;
const WRITES_AFTER = 20; // After each blow, before everything is compared.

interface Settings {
  readonly killCount: number;
  readonly seed: number;
  readonly clientCount: number;
  readonly engine: EngineName;
  readonly isFreezing: boolean;
  readonly isFillingDisk: boolean;
  readonly isCuttingPower: boolean;
}

function settingsOf(args: readonly string[]): Settings {
  const { values } = parseArgs({
    args: [...args],
    allowNegative: true,
    options: {
      kills: { type: "string", default: "200" },
      seed: { type: "string", default: String(randomInt(1_000_000)) },
      clients: { type: "string", default: "8" },
      engine: { type: "string", default: "process" },
      freeze: { type: "boolean", default: true },
      disk: { type: "boolean", default: true },
      power: { type: "boolean", default: true },
    },
  });
  const engine = ENGINE_NAMES.find((name) => name === values.engine);
  const [killCount, seed, clientCount] = [values.kills, values.seed, values.clients].map(Number);
  if (engine === undefined || !isCount(killCount) || !isCount(seed) || !isCount(clientCount)) throw new Error(USAGE);
  // Images of containers are on Docker's own disk, which goes on.
  const isCuttingPower = values.power && engine === "process";
  return { killCount, seed, clientCount, engine, isFreezing: values.freeze, isFillingDisk: values.disk, isCuttingPower };
}

const isCount = (value: number | undefined): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

async function main(settings: Settings): Promise<readonly Loss[]> {
  say(`seed ${settings.seed}, engine ${settings.engine}, ${settings.clientCount} clients`);
  const losses = [...(await killAndFreeze(settings))];
  if (settings.isFillingDisk) losses.push(...(await fillDisk({ ...settings, say, fills: FILLS })));
  if (settings.isCuttingPower) losses.push(...(await cutPower({ ...settings, say, cutCount: POWER_CUT_COUNT })));
  return losses;
}

/** Ends with the first blow that lost something: what comes after would only hide it. */
async function killAndFreeze(settings: Settings): Promise<readonly Loss[]> {
  const world = await CrashWorld.start(settings);
  const blows: Blow[] = [];
  let losses: readonly Loss[] = [];
  const strike = async (kind: string, act: () => Promise<number>): Promise<void> => {
    if (losses.length > 0) return;
    world.traffic.resume();
    const recoveryMs = await act().catch((cause: unknown) => {
      throw new Error(`blow ${blows.length + 1}, ${kind}; the home is kept: ${world.home}`, { cause });
    });
    blows.push({ kind, recoveryMs });
    await world.writeFor(WRITES_AFTER);
    losses = await world.compare();
    const { acknowledged, open, places } = world.counts();
    say(
      `${String(blows.length).padStart(4)} ${kind.padEnd(28)} ${(recoveryMs / 1_000).toFixed(2)} s · ` +
        `${acknowledged} writes acknowledged, ${open} unknown, ${places} places${losses.length > 0 ? ` · ${losses.length} LOSSES` : ""}`,
    );
  };
  try {
    while (blows.length < settings.killCount && losses.length === 0)
      for (const kind of world.chance.shuffled(KILL_KINDS)) await strike(`SIGKILL ${kind}`, () => world.kill(kind));
    if (settings.isFreezing)
      for (const kind of ["broker", "instance"] as const)
        await strike(`SIGSTOP ${kind}, ${FREEZE_MS / 1_000} s`, () => world.freeze(kind, FREEZE_MS));
  } finally {
    await world.close();
  }
  for (const line of summaryLines(blows)) say(line);
  for (const [reason, count] of world.traffic.failures) say(`a write was answered "${reason}": ${count} times`);
  const left = await processesOf(world.home);
  if (left.length > 0) throw new Error(`still running: ${left.map(({ command }) => command).join("\n")}`);
  if (losses.length === 0) await rm(world.home, { recursive: true, force: true });
  else say(`the home is kept: ${world.home}`);
  return losses;
}

const losses = await main(settingsOf(process.argv.slice(2)));
for (const { kind, place, text } of losses.slice(0, LOSS_COUNT_SHOWN)) say(`LOSS (${kind}) ${place}: ${text}`);
say(losses.length === 0 ? "nothing was lost" : `${losses.length} losses`);
process.exitCode = losses.length === 0 ? 0 : 1;
