// Finds the npm of this machine, and what its owner told it of registries.
import { execFile } from "node:child_process";
import { access, readFile, realpath } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";

export interface OwnNpm {
  readonly folder: string; // Absolute; bin/npm-cli.js lies in it.
  readonly userConfig: string; // The text of an .npmrc with its registry settings, and no secrets.
  readonly extraCaCerts: Uint8Array | null; // Certificates that Node trusts here besides its own.
}

export const NPM_CLI = "bin/npm-cli.js";
const CONFIG_TIMEOUT_MS = 30_000;
// Where packages come from and through what. Whatever is a secret belongs into the .npmrc of the folder that needs it.
const KEPT_SETTINGS = /^(?:registry|@[^:]+:registry|proxy|https-proxy|noproxy|strict-ssl)$/;

/** Null where this machine has no npm. */
export async function findOwnNpm(facts: {
  readonly nodePath: string;
  readonly searchPath: string;
  readonly extraCaCerts: string | null; // A path.
}): Promise<OwnNpm | null> {
  const folder = await findNpmFolder(facts);
  if (folder === null) return null;
  const settings = await readSettings(facts.nodePath, folder);
  return {
    folder,
    userConfig: userConfig(settings),
    extraCaCerts: facts.extraCaCerts === null ? null : await readIfThere(facts.extraCaCerts),
  };
}

/** As npm lies beside a Node, or behind the npm that a shell would run. Null where neither is there. */
export async function findNpmFolder({ nodePath, searchPath }: { nodePath: string; searchPath: string }): Promise<string | null> {
  const beside = join(dirname(await realpath(nodePath)), "../lib/node_modules/npm");
  const behind = await Promise.all(
    searchPath
      .split(delimiter)
      .filter((folder) => folder.startsWith("/"))
      .map(async (folder) => {
        const program = await realpath(join(folder, "npm")).catch(() => null);
        return program === null ? null : join(dirname(program), "..");
      }),
  );
  for (const folder of [beside, ...behind]) if (folder !== null && (await isThere(join(folder, NPM_CLI)))) return folder;
  return null;
}

/** npm itself knows best which of its files and variables count. Where it cannot say, its defaults do. */
async function readSettings(nodePath: string, folder: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    const { stdout } = await promisify(execFile)(nodePath, [join(folder, NPM_CLI), "config", "list", "--json"], {
      cwd: folder, // Not the app's: its own .npmrc goes along with its package.json.
      timeout: CONFIG_TIMEOUT_MS,
    });
    const settings: unknown = JSON.parse(stdout);
    return typeof settings === "object" && settings !== null ? { ...settings } : {};
  } catch {
    return {};
  }
}

export function userConfig(settings: Readonly<Record<string, unknown>>): string {
  const kept = Object.entries(settings).filter(([name, value]) => KEPT_SETTINGS.test(name) && value !== null && value !== "");
  return kept.map(([name, value]) => `${name}=${Array.isArray(value) ? value.join(",") : String(value)}\n`).join("");
}

const readIfThere = (path: string): Promise<Uint8Array | null> => readFile(path).catch(() => null);

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
