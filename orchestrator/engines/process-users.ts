// Gives each instance a user id of its own, where the orchestrator may do that, so that instances can neither signal nor read each other.
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { promisify } from "node:util";

/** Above what systemd, containers and name services hand out (up to 1,879,048,191), below 2³¹, where some tools see negative numbers. */
const UID_FIRST = 1_880_000_000;
const UID_COUNT_PER_PLATFORM = 4_096;
const PLATFORM_COUNT = 65_000;
const PROBE_TIMEOUT_MS = 10_000;

const runFile = promisify(execFile);

export interface Users {
  /** Throws where every one of this platform's ids is taken. */
  take(): number;
  /** One that an instance of an earlier orchestrator has. */
  occupy(uid: number): void;
  release(uid: number): void;
}

export function createUsers(platformId: string): Users {
  const first = firstUidOf(platformId);
  const taken = new Set<number>();
  let next = 0;
  return {
    take() {
      for (let tries = 0; tries < UID_COUNT_PER_PLATFORM; tries += 1) {
        const uid = first + next;
        next = (next + 1) % UID_COUNT_PER_PLATFORM; // Onwards, so that an id rests for long before it is used again.
        if (!taken.has(uid)) {
          taken.add(uid);
          return uid;
        }
      }
      throw new Error(`all ${UID_COUNT_PER_PLATFORM} user ids of this platform are taken`);
    },
    occupy: (uid) => void taken.add(uid),
    release: (uid) => void taken.delete(uid),
  };
}

/** Two platforms on one machine most likely get ranges apart. */
export function firstUidOf(platformId: string): number {
  const slot = createHash("sha256").update(platformId).digest().readUInt32BE(0) % PLATFORM_COUNT;
  return UID_FIRST + slot * UID_COUNT_PER_PLATFORM;
}

/** Whether it is one that this platform hands out. */
export function isUidOf(platformId: string, uid: number): boolean {
  const first = firstUidOf(platformId);
  return uid >= first && uid < first + UID_COUNT_PER_PLATFORM;
}

/** Tries it: some user id can be taken on, and with it Node and a file in the home can be read. */
export async function canRunAsOthers(options: { platformId: string; nodePath: string; fileToRead: string }): Promise<boolean> {
  if (process.getuid?.() !== 0) return false;
  const uid = firstUidOf(options.platformId);
  try {
    await runFile(options.nodePath, ["-e", "require('node:fs').readFileSync(process.argv[1])", options.fileToRead], {
      uid,
      gid: uid,
      cwd: "/",
      env: {},
      timeout: PROBE_TIMEOUT_MS,
    });
    return true;
  } catch {
    return false; // No such right, or a folder on the way is closed: the engine's description says what that means.
  }
}
