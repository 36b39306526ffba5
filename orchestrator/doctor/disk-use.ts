// How much room a platform takes: the parts of its home, and what its engine keeps elsewhere. Bounded in time, and says what it left out.
import { readdir, statfs } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { DISK_MEASURE_ENTRY_COUNT_MAX, DISK_MEASURE_TIMEOUT_MS } from "../../runtime-image/contract/limits.ts";
import type { DiskUse, Engine } from "../engines/engine.ts";
import { type WalkBounds, measurePaths } from "./disk-walk.ts";

/** By what lies in the home's own folders of these names; "other" is everything else in it. */
const FOLDERS = {
  broker: ["broker"],
  builds: ["builds", "runtime"], // Of the engine "process".
  sites: ["sites"],
  installs: ["installs"],
  "npm-cache": ["npm-cache", "npm-cache-old"],
  repositories: ["repositories"],
  deliveries: ["deliveries"],
  work: ["workspace", "receiving", "delivering", "restores", "builders", "tmp"],
  logs: ["logs", "audit", "gateways", "instances"],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export const DISK_PARTS = [
  "broker",
  "builds",
  "sites",
  "installs",
  "npm-cache",
  "repositories",
  "deliveries",
  "work",
  "logs",
  "other",
] as const;
export type DiskPartName = (typeof DISK_PARTS)[number];

export interface DiskPart {
  readonly part: DiskPartName;
  readonly bytes: number;
  readonly fileCount: number;
  readonly isWhole: boolean;
}

export interface DiskReport {
  readonly home: string;
  readonly parts: readonly DiskPart[];
  readonly bytes: number; // Of all parts.
  readonly isWhole: boolean; // False where measuring was stopped, or something could not be looked into: there is more than this.
  readonly freeBytes: number | null; // On the home's disk.
  readonly engine: EngineUse | null; // Null where it was not asked, or did not answer in time.
}

export interface EngineUse extends DiskUse {
  readonly kind: Engine["kind"];
}

export interface DiskMeasure {
  readonly home: string;
  readonly engine: Pick<Engine, "kind" | "diskUse"> | null;
  readonly bounds?: WalkBounds;
}

const BOUNDS: WalkBounds = { entryCountMax: DISK_MEASURE_ENTRY_COUNT_MAX, timeoutMs: DISK_MEASURE_TIMEOUT_MS };

export async function measureDisk({ home, engine, bounds = BOUNDS }: DiskMeasure): Promise<DiskReport> {
  const [parts, freeBytes, engineUse] = await Promise.all([
    measureHome(home, bounds),
    freeBytesAt(home),
    engine === null ? null : askEngine(engine, bounds.timeoutMs),
  ]);
  return {
    home,
    parts,
    bytes: parts.reduce((sum, { bytes }) => sum + bytes, 0),
    isWhole: parts.every(({ isWhole }) => isWhole),
    freeBytes,
    engine: engineUse,
  };
}

/** Whoever asks while it is being measured gets the same answer. */
export function createDiskMeasure(measure: DiskMeasure): () => Promise<DiskReport> {
  let underway: Promise<DiskReport> | null = null;
  return async () => (underway ??= measureDisk(measure).finally(() => (underway = null)));
}

async function measureHome(home: string, bounds: WalkBounds): Promise<DiskPart[]> {
  const names = await readdir(home).catch(() => []);
  const measured = await measurePaths(
    names.map((name) => join(home, name)),
    bounds,
  );
  return DISK_PARTS.map((part) => {
    const own = measured.filter((_, index) => partOf(names[index] ?? "") === part);
    return {
      part,
      bytes: own.reduce((sum, { bytes }) => sum + bytes, 0),
      fileCount: own.reduce((sum, { fileCount }) => sum + fileCount, 0),
      isWhole: own.every(({ isWhole }) => isWhole),
    };
  });
}

const PART_OF = new Map<string, DiskPartName>(
  DISK_PARTS.flatMap((part) => (part === "other" ? [] : FOLDERS[part].map((name) => [name, part] as const))),
);
const partOf = (name: string): DiskPartName => PART_OF.get(name) ?? "other";

async function askEngine(engine: Pick<Engine, "kind" | "diskUse">, timeoutMs: number): Promise<EngineUse | null> {
  const over = new AbortController();
  const use = engine.diskUse().catch(() => null); // An engine that is away is told of elsewhere.
  const late = delay(timeoutMs, null, { signal: over.signal, ref: false }).catch(() => null);
  const first = await Promise.race([use, late]);
  over.abort();
  return first && { kind: engine.kind, ...first };
}

const freeBytesAt = async (folder: string): Promise<number | null> =>
  statfs(folder).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => null,
  );
