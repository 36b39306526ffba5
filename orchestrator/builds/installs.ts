// Installs what folders of apps ask for, once for the same request, and keeps it in the home. The folders themselves are never written to.
import { mkdir, mkdtemp, readdir, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  INSTALL_COUNT_AT_ONCE,
  INSTALL_COUNT_KEPT,
  INSTALL_LOG_BYTES_MAX,
  INSTALL_TIMEOUT_MS,
} from "../../runtime-image/contract/limits.ts";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import type { Engine, InstallOutcome } from "../engines/engine.ts";
import { createPlaces } from "../places.ts";
import type { OwnNpm } from "../npm/own-npm.ts";
import type { InstallRequest } from "./install-request.ts";

export interface InstallerParts {
  readonly folder: string; // Absolute, in the home.
  readonly engine: Pick<Engine, "kind" | "install">;
  readonly findNpm: () => Promise<OwnNpm | null>;
}

export interface Installer {
  /** The answer is the folder of the packages. */
  install(request: InstallRequest, progress: (line: string) => void): Promise<string>;
  /** Ends what is being installed, and resolves when nothing is. */
  close(): Promise<void>;
}

type Progress = (line: string) => void;

const LINES_NAMED = 12; // npm's last lines say what went wrong, the ones before what it did until then.
const PART = ".making-";

export function createInstaller(parts: InstallerParts): Installer {
  const underway = new Map<string, Promise<string>>();
  const places = createPlaces(INSTALL_COUNT_AT_ONCE);
  const used = new Set<string>();
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
      await removeOld(parts.folder, used);
    }
    await utimes(place, new Date(), new Date()); // So that what is used is what is kept.
    return join(place, "node_modules");
  };

  return {
    async install(request, progress) {
      const key = `${request.hash}-${process.versions.node.split(".")[0]}-${process.platform}-${process.arch}-${parts.engine.kind}`;
      used.add(key);
      const running = underway.get(key) ?? install(request, { key, progress }).finally(() => underway.delete(key));
      underway.set(key, running);
      return running;
    },
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
    const logFile = `${place}.log`;
    await writeFile(logFile, log.text(), { mode: 0o600 });
    if (outcome.exitCode !== 0) throw failed(request, { outcome, lines: log.lastLines(), logFile });
    await mkdir(join(making, "node_modules"), { recursive: true }); // Everything it asked for may have been optional.
    await rename(making, place);
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

/** Keeps what is in use, and of the rest what was used last. */
async function removeOld(folder: string, used: ReadonlySet<string>): Promise<void> {
  const names = (await readdir(folder)).filter((name) => !name.endsWith(".log") && !name.startsWith(PART));
  const ages = await Promise.all(names.map(async (name) => ({ name, usedMs: (await stat(join(folder, name))).mtimeMs })));
  const unused = ages.filter(({ name }) => !used.has(name)).toSorted((a, b) => b.usedMs - a.usedMs);
  for (const { name } of unused.slice(Math.max(0, INSTALL_COUNT_KEPT - used.size))) {
    await rm(join(folder, name), { recursive: true, force: true });
    await rm(join(folder, `${name}.log`), { force: true });
  }
}

const isThere = async (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );
