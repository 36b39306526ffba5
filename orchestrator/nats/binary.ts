// Finds the nats-server that this platform runs, and refuses one that is too old.
import { execFile } from "node:child_process";
import { access, constants } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { BROKER_VERSION_MIN } from "../../runtime-image/contract/limits.ts";
import { isVersionAtLeast, parseVersion } from "./version.ts";

export interface NatsBinary {
  readonly path: string;
  readonly version: string;
}

export interface NatsBinarySearch {
  readonly explicitPath: string | null; // What the owner's setting names. Where there is one, nothing else is tried.
  readonly searchPath: string; // The value of PATH.
  readonly toolsFolder?: string; // Where ./setup puts it.
}

const NAME = "nats-server";
const TOOLS_FOLDER = join(import.meta.dirname, "..", "..", ".tools");
const VERSION_TIMEOUT_MS = 10_000; // Printing a version takes milliseconds; a cold disk takes longer.
const REMEDY = "Run ./setup in the checkout of the platform: it fetches the right one.";
const run = promisify(execFile);

export async function findNatsServer(search: NatsBinarySearch): Promise<NatsBinary> {
  const path = await findPath(search);
  const version = await readVersion(path);
  if (!isVersionAtLeast(version, BROKER_VERSION_MIN))
    throw new PlatformError("NATS_TOO_OLD", {
      detail: `${path} is version ${version}; at least ${BROKER_VERSION_MIN} is needed.`,
      remedy: REMEDY,
    });
  return { path, version };
}

async function findPath(search: NatsBinarySearch): Promise<string> {
  const candidates = search.explicitPath === null ? usualPlaces(search) : [search.explicitPath];
  for (const path of candidates) if (await isExecutable(path)) return path;
  throw new PlatformError("NATS_MISSING", {
    detail:
      search.explicitPath === null ? "It is neither in .tools nor on the PATH." : `${search.explicitPath} is no program that can be run.`,
    remedy: REMEDY,
  });
}

function usualPlaces(search: NatsBinarySearch): string[] {
  const folders = search.searchPath.split(delimiter).filter((folder) => folder !== "");
  return [search.toolsFolder ?? TOOLS_FOLDER, ...folders].map((folder) => join(folder, NAME));
}

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

async function readVersion(path: string): Promise<string> {
  try {
    const { stdout } = await run(path, ["--version"], { timeout: VERSION_TIMEOUT_MS, maxBuffer: 65_536 });
    const word = stdout.split(/\s+/).find((part) => parseVersion(part) !== null);
    if (word === undefined) throw new Error(`it printed ${JSON.stringify(stdout.slice(0, 200))}`);
    return word.replace(/^v/, "");
  } catch (cause) {
    throw new PlatformError("NATS_MISSING", { detail: `${path} does not print a version of nats-server.`, remedy: REMEDY }, { cause });
  }
}
