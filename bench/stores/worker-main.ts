// One program that uses a store: does what it is told, measures each operation, and sends back how long they took.
import { cursorAfter } from "../../runtime-image/contract/document-pages.ts";
import { hexOf, storeKeyOf } from "../../runtime-image/contract/document-names.ts";
import { encodeAt } from "../../runtime-image/contract/documents.ts";
import type { Driver } from "./driver.ts";
import { openOurs, type OurDriver } from "./our-driver.ts";
import { openPostgres } from "./postgres-driver.ts";
import { openRedis } from "./redis-driver.ts";
import { KEY_COUNT, type Report, type Target, type Task } from "./worker.ts";

const FILL_COUNT_AT_ONCE = 256;
const DOCUMENT = {
  name: "Ada Lovelace",
  mail: "ada@example.com",
  tags: ["first", "second", "third"],
  address: { street: "12 St James's Square", city: "London" },
};

const keyOf = (index: number): string => `user-${String(index).padStart(7, "0")}`;

interface Opened {
  readonly driver: Driver;
  readonly ours: OurDriver | null;
}

async function open(target: Target): Promise<Opened> {
  switch (target.kind) {
    case "redis":
      return { driver: await openRedis(target.port), ours: null };
    case "postgres":
      return { driver: await openPostgres(target.port), ours: null };
    case "ours": {
      const ours = await openOurs(target.access);
      return { driver: ours, ours };
    }
  }
}

async function carryOut({ driver, ours }: Opened, task: Task): Promise<Report> {
  switch (task.kind) {
    case "get":
      return timed(task.sampleCount, async (index) => driver.get(keyOf((index * 7) % KEY_COUNT)));
    case "set":
      return timed(task.sampleCount, async (index) => driver.set(keyOf((index * 7) % KEY_COUNT), { ...DOCUMENT, index }));
    case "sets at once":
      return together(task, async (index) => driver.set(keyOf(index % KEY_COUNT), { ...DOCUMENT, index }));
    case "gets at once":
      return together(task, async (index) => driver.get(keyOf(index % KEY_COUNT)));
    case "settle":
      await ours?.store.settle();
      return { samplesMs: [], perS: 0 };
    case "fill":
      return fill(owned(ours), task);
    case "page":
      return timed(task.sampleCount, async (index) => {
        const start = (index * 7_919) % (task.documentCount - 100);
        return owned(ours).page(task.table, cursorAfter(task.table, hexOf(keyOf(start))));
      });
    case "count":
      return timed(task.sampleCount, async () => owned(ours).count(task.table));
  }
}

function owned(ours: OurDriver | null): OurDriver {
  if (ours === null) throw new Error("only our own store has tables");
  return ours;
}

/** One after the other. */
async function timed(sampleCount: number, act: (index: number) => Promise<unknown>): Promise<Report> {
  const samplesMs: number[] = [];
  for (let index = 0; index < sampleCount; index += 1) {
    const startMs = performance.now();
    const value = await act(index);
    samplesMs.push(performance.now() - startMs);
    if (value === null) throw new Error(`sample ${index} found nothing`);
  }
  return { samplesMs, perS: 0 };
}

async function together(
  { atOnceCount, durationMs }: { readonly atOnceCount: number; readonly durationMs: number },
  act: (index: number) => Promise<unknown>,
): Promise<Report> {
  const startMs = performance.now();
  let doneCount = 0;
  const work = async (): Promise<void> => {
    while (performance.now() - startMs < durationMs) {
      doneCount += 1;
      await act(doneCount);
    }
  };
  await Promise.all(Array.from({ length: atOnceCount }, work));
  return { samplesMs: [], perS: (doneCount * 1_000) / (performance.now() - startMs) };
}

/** New documents, of which none has to be cleared away. */
async function fill(
  { store }: OurDriver,
  { table, documentCount }: { readonly table: string; readonly documentCount: number },
): Promise<Report> {
  for (let start = 0; start < documentCount; start += FILL_COUNT_AT_ONCE) {
    const indexes = Array.from({ length: Math.min(FILL_COUNT_AT_ONCE, documentCount - start) }, (_, index) => start + index);
    await Promise.all(
      indexes.map(async (index) => {
        const { place, bytes } = encodeAt({ table, key: keyOf(index) }, { ...DOCUMENT, index });
        await store.put("data", storeKeyOf(place), bytes, { expectedRevision: 0 });
      }),
    );
  }
  return { samplesMs: [], perS: 0 };
}

function send(message: unknown): void {
  process.send?.(message);
}

let opened: Promise<Opened> | null = null;

process.on("message", (message: Target | Task) => {
  const work = async (): Promise<Report | null> => {
    if (opened !== null) return carryOut(await opened, message as Task); // The first message names the target, the others are tasks.
    opened = open(message as Target);
    await opened;
    return null;
  };
  work().then(
    (report) => send({ report }),
    (thrown: unknown) => send({ failure: thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown) }),
  );
});
