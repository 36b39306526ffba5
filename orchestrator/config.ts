// What a platform is told: flags of `up` and the few environment variables it reads, checked together, every problem at once.
import { BlockList, isIP } from "node:net";
import { join, resolve } from "node:path";
import { PlatformError } from "../runtime-image/contract/errors.ts";
import { APP_GENERATIONS, type AppGeneration } from "./apps/manifest.ts";

export type EngineChoice = "auto" | "docker" | "process";

/** Of every platform. */
export interface PlatformSettings {
  readonly home: string;
  readonly engine: EngineChoice;
  readonly stagingPort: number;
  readonly productionPort: number;
  readonly apiPort: number;
  readonly listen: readonly string[]; // Addresses of this machine that the gateways answer on.
  readonly tls: { readonly certFile: string; readonly keyFile: string } | null; // Null: the gateways speak HTTP.
  readonly natsUrl: string | null;
  readonly trustedProxies: readonly string[];
  readonly leavesRunning: boolean; // At its end gateways, broker and instances go on, for the next orchestrator to take over.
  readonly isDry: boolean; // No function gets an instance. For benchmarks: how much apps cost that nobody uses.
  readonly isJson: boolean;
}

/** Of one that is started for a folder. */
export interface UpSettings extends PlatformSettings {
  readonly appFolder: string;
  readonly generation: AppGeneration | "declared" | null; // Null: not said; "declared": as the manifest says, from now on.
  readonly isWatching: boolean;
  readonly isPromoting: boolean;
}

/** Flags as the command line gives them: text, unchecked. */
export interface PlatformFlags {
  readonly engine: string;
  readonly stagingPort: string;
  readonly productionPort: string;
  readonly apiPort: string;
  readonly listen?: readonly string[];
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly nats?: string;
  readonly home?: string;
  readonly trustProxy?: readonly string[];
  readonly leaveRunning?: boolean;
  readonly dry?: boolean;
  readonly json?: boolean;
}

export interface UpFlags extends PlatformFlags {
  readonly generation?: string;
  readonly watch: boolean;
  readonly promote?: boolean;
}

export const DEFAULT_API_PORT = 3330;
export const LOOPBACK: readonly string[] = ["127.0.0.1", "::1"];
export const ENGINES: readonly EngineChoice[] = ["auto", "docker", "process"];
export const GENERATION_CHOICES = [...APP_GENERATIONS, "declared"] as const;

export function upSettings(folder: string, flags: UpFlags): UpSettings {
  const problems: string[] = [];
  const generation = GENERATION_CHOICES.find((name) => name === flags.generation) ?? null;
  if (flags.generation !== undefined && generation === null)
    problems.push(`--generation: should be one of ${GENERATION_CHOICES.join(", ")}, got "${flags.generation}"`);
  const appFolder = resolve(folder);
  const settings = platformSettings(flags, { base: appFolder, help: "orchestrator up --help", problems });
  return { ...settings, appFolder, generation, isWatching: flags.watch, isPromoting: flags.promote ?? false };
}

/** `base`: the folder in which the home is, where none is named. Throws every problem at once, those that were found before too. */
export function platformSettings(
  flags: PlatformFlags,
  { base, help, problems = [] }: { readonly base: string; readonly help: string; readonly problems?: string[] },
): PlatformSettings {
  const engine = ENGINES.find((name) => name === flags.engine);
  if (engine === undefined) problems.push(`--engine: should be one of ${ENGINES.join(", ")}, got "${flags.engine}"`);
  const stagingPort = portOf("--staging-port", flags.stagingPort, problems);
  const productionPort = portOf("--production-port", flags.productionPort, problems);
  const apiPort = portOf("--api-port", flags.apiPort, problems);
  if (problems.length === 0 && new Set([stagingPort, productionPort, apiPort]).size < 3)
    problems.push(
      `--staging-port, --production-port and --api-port: should be three different ports, got ${stagingPort}, ${productionPort} and ${apiPort}`,
    );
  const listen = flags.listen ?? LOOPBACK;
  for (const address of listen)
    if (isIP(address) === 0) problems.push(`--listen: should be an address such as 0.0.0.0, :: or 192.0.2.7, got "${address}"`);
  if (new Set(listen).size < listen.length) problems.push(`--listen: should name each address once, got ${listen.join(" ")}`);
  const { tlsCert, tlsKey } = flags;
  if ((tlsCert === undefined) !== (tlsKey === undefined)) problems.push("--tls-cert and --tls-key: should be given together");
  const natsUrl = flags.nats ?? null;
  if (natsUrl !== null && !isNatsUrl(natsUrl)) problems.push(`--nats: should be a URL such as nats://192.0.2.1:4222, got "${natsUrl}"`);
  const trustedProxies = flags.trustProxy ?? [];
  for (const range of trustedProxies)
    if (!isRange(range)) problems.push(`--trust-proxy: should be an address or a range such as 10.0.0.0/8, got "${range}"`);
  if (problems.length > 0 || engine === undefined) throw new PlatformError("SETTING_INVALID", { problems, remedy: `See: ${help}` });
  return {
    home: resolve(flags.home ?? join(base, ".orchestrator")),
    engine,
    stagingPort,
    productionPort,
    apiPort,
    listen,
    tls: tlsCert === undefined || tlsKey === undefined ? null : { certFile: resolve(tlsCert), keyFile: resolve(tlsKey) },
    natsUrl,
    trustedProxies,
    leavesRunning: flags.leaveRunning ?? false,
    isDry: flags.dry ?? false,
    isJson: flags.json ?? false,
  };
}

export function portOf(flag: string, text: string, problems: string[]): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port >= 1 && port <= 65_535) return port;
  problems.push(`${flag}: should be a port from 1 to 65535, got "${text}"`);
  return 0;
}

function isNatsUrl(text: string): boolean {
  return URL.canParse(text) && ["nats:", "tls:"].includes(new URL(text).protocol);
}

function isRange(text: string): boolean {
  const [address = "", prefix] = text.split("/");
  const family = isIP(address);
  if (family === 0) return false;
  try {
    if (prefix !== undefined) new BlockList().addSubnet(address, Number(prefix), family === 6 ? "ipv6" : "ipv4");
    return true;
  } catch {
    return false;
  }
}

export interface EnvironmentSettings {
  readonly dockerHost: string | null;
  readonly natsServer: string | null;
  readonly searchPath: string;
  readonly extraCaCerts: string | null; // A file; installs of packages trust it as this process does.
  readonly noColor: boolean;
  readonly isDumbTerminal: boolean; // One that nothing can be redrawn on.
  readonly apiToken: string | null; // For commands of someone who cannot read the home, or whose role is smaller.
}

/** The environment variables that the orchestrator reads, all of them. */
export const environmentSettings = (): EnvironmentSettings => ({
  dockerHost: process.env["DOCKER_HOST"] ?? null,
  natsServer: process.env["NATS_SERVER"] ?? null,
  searchPath: process.env["PATH"] ?? "",
  extraCaCerts: process.env["NODE_EXTRA_CA_CERTS"] ?? null,
  noColor: process.env["NO_COLOR"] !== undefined,
  isDumbTerminal: process.env["TERM"] === "dumb",
  apiToken: process.env["ORCHESTRATOR_API_TOKEN"] ?? null,
});
