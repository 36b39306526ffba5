// The broker's disk runs full under traffic, and the broker is killed on it: nothing acknowledged may be lost, and with room all goes on.
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { DOCUMENT_PATHS, TABLES, fillerOf } from "../support/crash-app.ts";
import { callApp, documentPlace } from "../support/crash-calls.ts";
import { type SmallDisk, mountSmallDisk } from "../support/crash-disk.ts";
import type { Loss } from "../support/crash-model.ts";
import { CrashWorld } from "../support/crash-world.ts";
import type { EngineName } from "../support/platform.ts";
import { until } from "../support/until.ts";

export interface FullDiskOptions {
  readonly engine: EngineName;
  readonly seed: number;
  readonly clientCount: number;
  readonly say: (text: string) => void;
  readonly fills: readonly number[]; // How many bytes are left free, each time.
}

const DISK_BYTES = 40_000_000; // Room for the broker's own files and some thousand documents.
const WRITES_BEFORE = 100;
const REFUSALS = 40; // So many writes must be refused before the disk is believed to be full.
const DESTROYED_COUNT = 200; // More than the rest of a block has room for.
export const NEARLY_FULL_BYTES = 4_000_000; // Less than what stores want to be free.
const FULL_TIMEOUT_MS = 60_000;
const [TABLE] = TABLES;

export async function fillDisk(options: FullDiskOptions): Promise<readonly Loss[]> {
  const mounted: SmallDisk[] = [];
  const prepareHome = async (home: string): Promise<void> => void mounted.push(await mountSmallDisk(join(home, "broker"), DISK_BYTES));
  const world = await CrashWorld.start({ ...options, prepareHome });
  const losses: Loss[] = [];
  try {
    for (const [round, leftBytes] of options.fills.entries())
      for (const disk of mounted)
        if (losses.length === 0) losses.push(...(await fillOnce(world, disk, { round, leftBytes, say: options.say })));
  } finally {
    await world.close();
    for (const disk of mounted) await disk.unmount();
  }
  await rm(world.home, { recursive: true, force: true });
  return losses;
}

async function fillOnce(
  world: CrashWorld,
  disk: SmallDisk,
  { round, leftBytes, say }: { readonly round: number; readonly leftBytes: number; readonly say: (text: string) => void },
): Promise<readonly Loss[]> {
  world.traffic.resume();
  await world.writeFor(WRITES_BEFORE);
  await world.traffic.pause();
  const keys = Array.from({ length: DESTROYED_COUNT }, (_, index) => `to be destroyed ${round}/${index}`);
  for (const key of keys) await writeOne(world, key, key);
  world.traffic.resume();
  await disk.fill(leftBytes);
  const refusals = await refused(world);
  const whileFull = await world.compare();
  const destroyed = await destroyAll(world, keys);
  await world.strike("broker");
  await disk.makeRoom();
  const startMs = performance.now();
  await world.answersAgain();
  const recoveryMs = performance.now() - startMs;
  const afterwards = await world.compare();
  world.traffic.resume();
  await world.writeFor(WRITES_BEFORE);
  const inTheEnd = await world.compare();
  const all = [...whileFull, ...afterwards, ...inTheEnd];
  const losses = all.filter((loss) => !isKnown(loss, leftBytes));
  const returned = new Set(all.filter((loss) => isKnown(loss, leftBytes)).map(({ place }) => place));
  if (returned.size > 0) say(`known: where others filled the disk to the last byte, ${returned.size} destroyed places hold a value again`);
  say(
    `disk with ${leftBytes} bytes left: refused with ${refusals}; everything could be read; ${destroyed}; broker killed; ` +
      `with room again it answered after ${(recoveryMs / 1_000).toFixed(2)} s${losses.length > 0 ? ` · ${losses.length} LOSSES` : ""}`,
  );
  return losses;
}

/**
 * Where another program takes the last byte within a moment, the broker acknowledges removals that it cannot write down until the guard
 * of its disk has made room for it: killed later on, it comes back with the old values. What was written stays all the same.
 */
const isKnown = (loss: Loss, leftBytes: number): boolean => leftBytes === 0 && loss.kind === "returned";

/** Until the disk is so full that nothing larger fits in; says what writes were answered. */
async function refused(world: CrashWorld): Promise<string> {
  const { failures } = world.traffic;
  const before = new Map(failures);
  const since = (): [string, number][] =>
    [...failures].map(([reason, count]): [string, number] => [reason, count - (before.get(reason) ?? 0)]).filter(([, count]) => count > 0);
  await until(() => since().reduce((sum, [, count]) => sum + count, 0) >= REFUSALS, {
    timeoutMs: FULL_TIMEOUT_MS,
    what: "writes are refused on a full disk",
  });
  return since()
    .map(([reason, count]) => `"${reason}" ${count} times`)
    .join(", ");
}

async function writeOne(world: CrashWorld, key: string, value: string): Promise<void> {
  const changes = [{ place: documentPlace(TABLE, key), value }];
  world.model.begin(changes);
  const documents = { table: TABLE, key, value, filler: fillerOf(value) };
  const outcome = await callApp(world.port, { path: DOCUMENT_PATHS[0], body: { act: "set", documents } });
  if (outcome.kind !== "acknowledged") throw new Error(`${key} could not be written: ${JSON.stringify(outcome)}`);
  world.model.acknowledged(changes);
}

async function destroyAll(world: CrashWorld, keys: readonly string[]): Promise<string> {
  const outcomes = new Map<string, number>();
  for (const key of keys) {
    const changes = [{ place: documentPlace(TABLE, key), value: null }];
    world.model.begin(changes);
    const outcome = await callApp(world.port, { path: DOCUMENT_PATHS[1], body: { act: "destroy", documents: { table: TABLE, key } } });
    if (outcome.kind === "acknowledged") world.model.acknowledged(changes);
    const text = outcome.kind === "uncertain" ? `refused with "${outcome.reason}"` : outcome.kind;
    outcomes.set(text, (outcomes.get(text) ?? 0) + 1);
  }
  return `of ${keys.length} destructions ${[...outcomes].map(([text, count]) => `${count} ${text}`).join(", ")}`;
}
