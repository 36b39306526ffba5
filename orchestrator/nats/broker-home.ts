// Where the broker's files are in the home of the platform, and at which port it listened last.
import { chmod, mkdir, open, readFile } from "node:fs/promises";
import { join } from "node:path";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { writeFileAtomic } from "../processes/atomic-file.ts";

export interface BrokerHome {
  readonly folder: string;
  readonly configFile: string;
  readonly stateFile: string; // The running process.
  readonly portFile: string;
  readonly logFile: string; // Written by the broker.
  readonly startLogFile: string; // What it prints before it opens the other.
  readonly accountsFolder: string;
  readonly storeFolder: string;
  readonly reserveFile: string; // Room on the same disk, given up when it is full.
}

export function brokerHome(home: string): BrokerHome {
  const folder = join(home, "broker");
  const inside = (name: string): string => join(folder, name);
  return {
    folder,
    configFile: inside("nats.conf"),
    stateFile: inside("process.json"),
    portFile: inside("port"),
    logFile: inside("nats.log"),
    startLogFile: inside("start.log"),
    accountsFolder: inside("accounts"),
    storeFolder: inside("store"),
    reserveFile: inside("reserve"),
  };
}

export async function makeBrokerHome(place: BrokerHome): Promise<void> {
  try {
    for (const folder of [place.folder, place.accountsFolder, place.storeFolder]) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await chmod(folder, 0o700); // Accounts and documents are nobody else's business.
    }
  } catch (cause) {
    throw new PlatformError(
      "HOME_UNUSABLE",
      { detail: `${place.folder} cannot be made.`, remedy: "Make the home folder writable." },
      { cause },
    );
  }
}

export async function readPort(place: BrokerHome): Promise<number | null> {
  const text = await readFile(place.portFile, "utf8").catch(() => ""); // Without it, a free port is as good.
  const port = Number(text);
  return Number.isInteger(port) && port > 0 && port < 65_536 ? port : null;
}

export const writePort = (place: BrokerHome, port: number): Promise<void> => writeFileAtomic(place.portFile, `${port}\n`, 0o600);

const TAIL_BYTES = 16_384;
const TAIL_LINE_COUNT = 12;

/** The end of what one process logged, for an error that an owner must understand. */
export async function lastLogLines(place: BrokerHome, pid: number): Promise<string[]> {
  const [printed, logged] = await Promise.all([tail(place.startLogFile), tail(place.logFile)]);
  const own = logged.split("\n").filter((line) => line.startsWith(`[${pid}] `));
  return [...own, ...printed.split("\n")].filter((line) => line.trim() !== "").slice(-TAIL_LINE_COUNT);
}

async function tail(path: string): Promise<string> {
  const file = await open(path, "r").catch(() => null); // A log that was never opened has no lines.
  if (file === null) return "";
  try {
    const { size } = await file.stat();
    const start = Math.max(0, size - TAIL_BYTES);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(TAIL_BYTES), 0, TAIL_BYTES, start);
    return buffer.toString("utf8", 0, bytesRead);
  } finally {
    await file.close();
  }
}
