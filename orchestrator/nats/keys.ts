// The secret that everything the broker trusts is derived from, and other keys: one file in the home, made once, never made anew by itself.
import { createHash, hkdfSync, randomBytes } from "node:crypto";
import { chmod, link, mkdir, open, readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import type { Environment } from "../../runtime-image/contract/instance-manifest.ts";
import { createNkey, type Nkey } from "./nkey.ts";

/** Keys of operator and accounts. Whoever has them can do everything that the platform can do on its broker. */
export interface BrokerKeys {
  readonly operator: Nkey;
  readonly system: Nkey;
  readonly platform: Nkey;
  readonly gateways: Readonly<Record<Environment, Nkey>>;
  app(appId: string, environment: Environment): Nkey;
  /** What sessions of an app are signed with: hex, never kept anywhere, and of no use to anyone but that app and environment. */
  sessionSecret(appId: string, environment: Environment): string;
  /** What the values of an app's environment variables are encrypted with, 32 bytes. */
  variablesKey(appId: string, environment: Environment): Buffer;
}

/** One secret instead of a file per account: a crash can leave nothing half-made, and a backup holds one small file. */
export interface KeyFile {
  readonly v: 1;
  readonly secret: string; // 32 random bytes, hex.
  readonly check: string; // Shows damage: an altered secret would silently orphan every account.
}

const SECRET_BYTES = 32;

export const keyFilePath = (home: string): string => join(home, "keys", "broker.json");

/** Reads the keys, or makes them in a home that never had a broker. */
export async function loadBrokerKeys(home: string): Promise<BrokerKeys> {
  const path = keyFilePath(home);
  const text = (await readIfThere(path)) ?? (await createKeyFile(home, path));
  const secret = parseKeyFile(text);
  if (secret === null)
    throw new PlatformError("HOME_UNUSABLE", {
      detail: `${path} is damaged: it holds no secret with a check that fits.`,
      remedy: "Put the file back from a backup. Without it, everything that the broker keeps is lost.",
    });
  await closeToOthers(home, path);
  return deriveBrokerKeys(secret);
}

export function deriveBrokerKeys(secret: Buffer): BrokerKeys {
  const derive = (purpose: string): Buffer =>
    Buffer.from(hkdfSync("sha256", secret, "", `orchestrator broker v1 ${purpose}`, SECRET_BYTES));
  const account = (purpose: string): Nkey => createNkey("account", derive(`account ${purpose}`));
  return {
    operator: createNkey("operator", derive("operator")),
    system: account("system"),
    platform: account("platform"),
    gateways: { staging: account("gateways staging"), production: account("gateways production") },
    app: (appId, environment) => account(`app ${environment} ${appId}`),
    sessionSecret: (appId, environment) => derive(`sessions ${environment} ${appId}`).toString("hex"),
    variablesKey: (appId, environment) => derive(`variables ${environment} ${appId}`),
  };
}

export function parseKeyFile(text: string): Buffer | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== "object" || value === null) return null;
  const file: Partial<Record<keyof KeyFile, unknown>> = value;
  if (file.v !== 1 || typeof file.secret !== "string" || !/^[0-9a-f]{64}$/.test(file.secret)) return null;
  const secret = Buffer.from(file.secret, "hex");
  return file.check === checkOf(secret) ? secret : null;
}

const checkOf = (secret: Buffer): string => createHash("sha256").update("orchestrator key check").update(secret).digest("hex").slice(0, 16);

async function createKeyFile(home: string, path: string): Promise<string> {
  await refuseUsedHome(home, path);
  const secret = randomBytes(SECRET_BYTES);
  const file: KeyFile = { v: 1, secret: secret.toString("hex"), check: checkOf(secret) };
  const folder = join(home, "keys");
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await writeOnce({ folder, path, text: `${JSON.stringify(file)}\n` });
    return await readFile(path, "utf8");
  } catch (cause) {
    throw new PlatformError("HOME_UNUSABLE", { detail: `${path} cannot be written.`, remedy: "Make the home folder writable." }, { cause });
  }
}

/** A broker's data without its keys means that the keys were lost, not that they were never made. */
async function refuseUsedHome(home: string, path: string): Promise<void> {
  const data = join(home, "broker", "accounts");
  const names = await readdir(data).catch(() => []);
  if (names.length === 0) return;
  throw new PlatformError("HOME_UNUSABLE", {
    detail: `${path} is missing, but ${data} holds the accounts of a broker that was made with it.`,
    remedy: "Put the file back from a backup, or give up what the broker keeps by moving the folder away.",
  });
}

/** Appears whole or not at all, and never replaces a file that another process made first. */
async function writeOnce(file: { readonly folder: string; readonly path: string; readonly text: string }): Promise<void> {
  const draft = `${file.path}.${randomBytes(6).toString("hex")}`;
  try {
    const handle = await open(draft, "wx", 0o600);
    try {
      await handle.writeFile(file.text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await link(draft, file.path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
  } finally {
    await rm(draft, { force: true });
  }
  const folder = await open(file.folder, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

async function readIfThere(path: string): Promise<string | null> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    // Node's file errors carry a code.
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw new PlatformError(
      "HOME_UNUSABLE",
      { detail: `${path} cannot be read.`, remedy: "Make it readable to the user that runs the platform." },
      { cause },
    );
  }
}

/** A copy or a restored backup may have come with open modes. */
async function closeToOthers(home: string, path: string): Promise<void> {
  for (const [place, mode] of [
    [join(home, "keys"), 0o700],
    [path, 0o600],
  ] as const) {
    const { mode: found } = await stat(place);
    if ((found & 0o077) !== 0) await chmod(place, mode);
  }
}
