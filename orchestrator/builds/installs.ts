// Installs what folders of apps ask for, once for the same request, and keeps it in the home. The folders themselves are never written to.
import { mkdir, mkdtemp, readdir, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  BUILD_GRACE_MS,
  INSTALL_COUNT_AT_ONCE,
  INSTALL_COUNT_KEPT,
  INSTALL_LOG_BYTES_MAX,
  INSTALL_TIMEOUT_MS,
} from "../../runtime-image/contract/limits.ts";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { type Clock, systemClock } from "../clock.ts";
import { type BuildUse, createBuildUse } from "../engines/build-use.ts";
import type { Engine, InstallOutcome, Removed } from "../engines/engine.ts";
import { removeFolder } from "../engines/process-folders.ts";
import { heldBytesOf } from "../engines/process-trees.ts";
import { beingStopped } from "../ongoing.ts";
import { createPlaces } from "../places.ts";
import { syncPath } from "../processes/atomic-file.ts";
import { syncTree } from "../processes/sync-tree.ts";
import type { OwnNpm } from "../npm/own-npm.ts";
import type { InstallRequest } from "./install-request.ts";

export interface InstallerParts {
  readonly folder: string; // Absolute, in the home.
  readonly engine: Pick<Engine, "kind" | "install">;
  readonly findNpm: () => Promise<OwnNpm | null>;
  readonly clock?: Clock;
}

export interface Installer {
  /** The answer is the folder of the packages. Throws NOT_RUNNING after close(). */
  install(request: InstallRequest, progress: (line: string) => void): Promise<string>;
  /** Keeps what was used a moment ago and of the rest what was used last, so many in all; and so many logs of installs that failed. */
  collect(): Promise<Removed>;
  /** Ends what is being installed, and resolves when nothing is. */
  close(): Promise<void>;
}

type Progress = (line: string) => void;

const LINES_NAMED = 12; // npm's last lines say what went wrong, the ones before what it did until then.
const PART = ".making-";
const LOG = ".log"; // Of each install, beside it; an install that fails leaves its log alone.

export function createInstaller(parts: InstallerParts): Installer {
  const underway = new Map<string, Promise<string>>();
  const places = createPlaces(INSTALL_COUNT_AT_ONCE);
  const clock = parts.clock ?? systemClock;
  const use = createBuildUse(() => clock.nowEpochMs()); // An install is kept from being removed as a build is.
  const closing = new AbortController();
  let npm: Promise<OwnNpm | null> | null = null;
  let swept: Promise<void> | null = null; // What an orchestrator that was killed left half made.

  const install = async (request: InstallRequest, { key, progress }: { key: string; progress: Progress }): Promise<string> => {
    const place = join(parts.folder, key);
    if (!(await isThere(place))) {
      await places(async () => {
        npm ??= parts.findNpm();
        await (swept ??= makeRoom(parts.folder));
        await installInto(place, { request, key, npm: await npm, parts, progress, signal: closing.signal });
      });
      await collect();
    }
    const now = new Date(clock.nowEpochMs());
    await utimes(place, now, now); // So that what is used is what is kept.
    return join(place, "node_modules");
  };

  const collect = async (): Promise<Removed> => removeOld(parts.folder, { use, nowEpochMs: clock.nowEpochMs() });

  return {
    async install(request, progress) {
      if (closing.signal.aborted) throw beingStopped();
      const key = `${request.hash}-${process.versions.node.split(".")[0]}-${process.platform}-${process.arch}-${parts.engine.kind}`;
      const begin = async (): Promise<string> => use.during(key, async () => install(request, { key, progress }));
      const running = underway.get(key) ?? begin().finally(() => underway.delete(key));
      underway.set(key, running);
      return running;
    },
    collect,
    async close() {
      closing.abort();
      await Promise.allSettled(underway.values()); // Whoever asked for them hears how they end.
    },
  };
}

interface Install {
  readonly request: InstallRequest;
  readonly key: string;
  readonly npm: OwnNpm | null;
  readonly parts: InstallerParts;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

async function installInto(place: string, { request, key, npm, parts, progress, signal: closing }: Install): Promise<void> {
  if (npm === null)
    throw new PlatformError("INSTALL_FAILED", {
      detail: `${request.name} asks for packages, and this machine has no npm.`,
      remedy: `Install npm, or put the packages into ${join(request.folder, "node_modules")} yourself.`,
    });
  progress(`installing the packages of ${request.name}`);
  const startMs = performance.now();
  const making = await mkdtemp(join(parts.folder, PART));
  const log = createLog();
  const signal = AbortSignal.any([closing, AbortSignal.timeout(INSTALL_TIMEOUT_MS)]);
  try {
    const { files, hasLock, allowsScripts } = request;
    const outcome = await parts.engine.install({
      id: key.slice(0, 16),
      files,
      hasLock,
      allowsScripts,
      npm,
      into: making,
      signal,
      onLine: log.add,
    });
    const logFile = `${place}${LOG}`;
    await writeFile(logFile, log.text(), { mode: 0o600 });
    if (outcome.exitCode !== 0) throw failed(request, { outcome, lines: log.lastLines(), logFile });
    await mkdir(join(making, "node_modules"), { recursive: true }); // Everything it asked for may have been optional.
    await syncTree(making); // Builds are made from it for weeks: what a power failure left of it must not be taken for it.
    await rename(making, place);
    await syncPath(parts.folder);
  } finally {
    await rm(making, { recursive: true, force: true });
  }
  progress(`installed the packages of ${request.name} in ${((performance.now() - startMs) / 1000).toFixed(1)} s`);
}

function failed(
  request: InstallRequest,
  { outcome, lines, logFile }: { readonly outcome: InstallOutcome; readonly lines: readonly string[]; readonly logFile: string },
): PlatformError {
  const how =
    outcome.exitCode === null
      ? `was ended before it was done, after ${INSTALL_TIMEOUT_MS / 1000} s at the latest`
      : `ended with exit code ${outcome.exitCode}`;
  const { ownPackages } = request;
  const own = `npm is given no packages of the app itself here (${ownPackages.join(", ")}). `;
  return new PlatformError("INSTALL_FAILED", {
    detail: `${request.name}: npm ${request.hasLock ? "ci" : "install"} ${how}; all it said is in ${logFile}.`,
    problems: lines,
    remedy: `${ownPackages.length === 0 ? "" : own}Mend what npm names, or run "npm install" in ${request.folder} yourself: a node_modules that is there is used as it is.`,
  });
}

interface Log {
  add(this: void, line: string): void;
  text(): string;
  lastLines(): readonly string[];
}

function createLog(): Log {
  const lines: string[] = [];
  let byteCount = 0;
  return {
    add(line) {
      lines.push(line);
      byteCount += line.length + 1;
      for (; byteCount > INSTALL_LOG_BYTES_MAX; lines.shift()) byteCount -= (lines[0]?.length ?? 0) + 1;
    },
    text: () => `${lines.join("\n")}\n`,
    lastLines: () => lines.filter((line) => line.trim() !== "" && !line.startsWith("npm http")).slice(-LINES_NAMED),
  };
}

async function makeRoom(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const halfMade = (await readdir(folder)).filter((name) => name.startsWith(PART));
  for (const name of halfMade) await rm(join(folder, name), { recursive: true, force: true });
}

async function removeOld(folder: string, { use, nowEpochMs }: { readonly use: BuildUse; readonly nowEpochMs: number }): Promise<Removed> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => !name.startsWith(PART)); // Nothing may have been installed yet.
  const lastUsedEpochMs = async (name: string): Promise<number> => Math.max(await timeOf(join(folder, name)), use.lastAskedEpochMs(name));
  const entries = await Promise.all(names.map(async (name) => ({ name, usedEpochMs: await lastUsedEpochMs(name) })));
  const latestFirst = entries.toSorted((a, b) => b.usedEpochMs - a.usedEpochMs);
  const installs = latestFirst.filter(({ name }) => !name.endsWith(LOG));
  const failures = latestFirst.filter(({ name }) => name.endsWith(LOG) && !names.includes(name.slice(0, -LOG.length)));
  for (const { name } of failures.slice(INSTALL_COUNT_KEPT)) await rm(join(folder, name), { force: true });
  const removed = { count: 0, bytes: 0 };
  for (const { name, usedEpochMs } of installs.slice(INSTALL_COUNT_KEPT)) {
    // What was asked for a moment ago is being read: a plan is made of it.
    const wasUsedLately = (): boolean => nowEpochMs - Math.max(usedEpochMs, use.lastAskedEpochMs(name)) < BUILD_GRACE_MS;
    if (wasUsedLately()) continue;
    await use.remove(name, async () => {
      const bytes = await heldBytesOf(join(folder, name));
      await removeFolder(join(folder, name)); // Half of it must not be taken for an install.
      await rm(join(folder, `${name}${LOG}`), { force: true });
      removed.count += 1;
      removed.bytes += bytes;
    });
  }
  return removed;
}

const timeOf = async (path: string): Promise<number> =>
  stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0, // Removed meanwhile.
  );

const isThere = async (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );
