// The home: the folder with a platform's state. One orchestrator at a time works on it.
import { randomBytes } from "node:crypto";
import { mkdir, open, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PlatformError } from "../runtime-image/contract/errors.ts";
import { writeFileAtomic } from "./processes/atomic-file.ts";
import { type Identity, isAlive, processIdentity } from "./processes/identity.ts";

export interface Home {
  readonly path: string;
  readonly platformId: string; // What labels carry, so that two platforms on one machine stay apart.
  /** Lets another orchestrator have it. */
  release(): Promise<void>;
}

export async function openHome(path: string): Promise<Home> {
  try {
    await mkdir(path, { recursive: true, mode: 0o711 }); // Instances that run as other users pass through it; what is private inside has modes of its own.
    // State is no source: an app in a repository should not ask its owner to say so.
    await writeFile(join(path, ".gitignore"), "*\n", { flag: "wx" }).catch(unlessThere);
  } catch (cause) {
    throw unusable(path, cause);
  }
  const lock = join(path, "lock.json");
  await takeLock(lock);
  return { path, platformId: await platformIdOf(path), release: async () => rm(lock, { force: true }) };
}

async function takeLock(lock: string): Promise<void> {
  const own = await processIdentity(process.pid);
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const file = await open(lock, "wx", 0o600).catch(unlessThere);
    if (file !== undefined) {
      await file.writeFile(JSON.stringify(own));
      return file.close();
    }
    const holder = await holderOf(lock);
    if (holder !== null && (await isAlive(holder)))
      throw new PlatformError("HOME_IN_USE", {
        detail: `Process ${holder.pid} works on ${lock.slice(0, -"/lock.json".length)}.`,
        remedy: "Stop it, or give this one another home with --home.",
      });
    await rm(lock, { force: true }); // Left by an orchestrator that was killed.
  }
  throw new PlatformError("HOME_IN_USE", {
    detail: `${lock} cannot be taken.`,
    remedy: "Try again; another orchestrator is starting on this home.",
  });
}

async function holderOf(lock: string): Promise<Identity | null> {
  try {
    const value: unknown = JSON.parse(await readFile(lock, "utf8"));
    if (typeof value !== "object" || value === null || !("pid" in value) || !("startedAt" in value)) return null;
    return typeof value.pid === "number" && typeof value.startedAt === "string" ? { pid: value.pid, startedAt: value.startedAt } : null;
  } catch {
    return null; // Half-written by one that was killed: nobody holds it.
  }
}

async function platformIdOf(path: string): Promise<string> {
  const file = join(path, "platform-id");
  const existing = (await readFile(file, "utf8").catch(() => "")).trim();
  if (/^[0-9a-f]{8}$/.test(existing)) return existing;
  const platformId = randomBytes(4).toString("hex");
  await writeFileAtomic(file, `${platformId}\n`, 0o600);
  return platformId;
}

function unlessThere(cause: unknown): undefined {
  if (cause instanceof Error && "code" in cause && cause.code === "EEXIST") return undefined;
  throw cause;
}

const unusable = (path: string, cause: unknown): PlatformError =>
  new PlatformError(
    "HOME_UNUSABLE",
    {
      detail: `${path}: ${cause instanceof Error ? cause.message : String(cause)}`,
      remedy: "Give a folder that you may write to with --home.",
    },
    { cause },
  );
