// Where a home keeps what belongs to the gateway of an environment, and which of the machine's processes are it.
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import type { GatewayConfig } from "../../runtime-image/contract/gateway-config.ts";
import type { Environment } from "../../runtime-image/contract/instance-manifest.ts";
import { readState } from "../processes/detached.ts";
import { type Identity, isAlive, processesWithArguments } from "../processes/identity.ts";

export interface GatewayFiles {
  readonly config: string;
  readonly state: string; // Names the process that was seen last; it may have handed over since.
  readonly log: string;
}

export interface ConfigText {
  readonly text: string;
  readonly hash: string; // As gateways say which config they have read.
}

interface WrittenText extends ConfigText {
  readonly config: GatewayConfig;
}

export function gatewayFilesOf(folder: string, environment: Environment): GatewayFiles {
  const base = join(folder, environment);
  return { config: `${base}.json`, state: `${base}.state.json`, log: `${base}.log` };
}

export const configText = (config: GatewayConfig): ConfigText => withHash(JSON.stringify(config));

/** Null where no gateway was ever started, and where the file is no config any more. */
export async function writtenConfig(files: GatewayFiles): Promise<WrittenText | null> {
  const text = await readFile(files.config, "utf8").catch(() => null);
  try {
    // The orchestrator is the only one that writes it, atomically.
    return text === null ? null : { ...withHash(text), config: JSON.parse(text) as GatewayConfig };
  } catch {
    return null;
  }
}

/**
 * The one that was written down first. Others are those that took its place while no orchestrator looked, those that still finish what
 * they had, and those that are just starting.
 */
export async function gatewayProcesses(files: GatewayFiles): Promise<readonly Identity[]> {
  const [state, found] = await Promise.all([readState(files.state), processesWithArguments((all) => isGateway(all, files.config))]);
  const written = state !== null && (await isAlive(state.identity)) ? [state.identity] : [];
  return [...written, ...found.filter(({ pid }) => written.every((one) => one.pid !== pid))];
}

/** Every version's is started so; someone who reads the file in an editor is none. */
const isGateway = (all: readonly string[], configFile: string): boolean =>
  all.at(-1) === configFile && basename(all.at(-2) ?? "").startsWith("main.");

const withHash = (text: string): ConfigText => ({ text, hash: createHash("sha256").update(text).digest("hex") });
