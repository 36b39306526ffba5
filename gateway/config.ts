// Reads and checks the file that tells a gateway what it is.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { isAbsolute } from "node:path";
import { PlatformError } from "../runtime-image/contract/errors.ts";
import type { GatewayConfig, GatewayProgram } from "../runtime-image/contract/gateway-config.ts";
import { ENVIRONMENTS } from "../runtime-image/contract/instance-manifest.ts";

export interface ReadConfig {
  readonly path: string;
  readonly config: GatewayConfig;
  readonly hash: string; // By which others know whether it is the one they mean.
}

export function readConfig(path: string | undefined): ReadConfig {
  if (path === undefined) throw new PlatformError("USAGE", { detail: "A gateway is started with the path of its config file." });
  const { text, value } = readJson(path);
  return { path, config: checkConfig(value), hash: createHash("sha256").update(text).digest("hex") };
}

/** How a gateway of the config that is there now is started; of a later version's config nothing else is looked at. */
export function readProgram(path: string): GatewayProgram {
  const problems: string[] = [];
  const { program } = asRecord(readJson(path).value);
  if (program === undefined) problems.push("program: is missing");
  else checkProgram(program, problems);
  if (problems.length > 0) throw new PlatformError("SETTING_INVALID", { detail: `${path}: ${problems.join("; ")}`, problems });
  // Every field was checked above.
  return program as GatewayProgram;
}

function readJson(path: string): { readonly text: string; readonly value: unknown } {
  try {
    const text = readFileSync(path, "utf8");
    return { text, value: JSON.parse(text) };
  } catch (cause) {
    throw new PlatformError("SETTING_INVALID", { detail: `${path} could not be read as JSON.` }, { cause });
  }
}

/** Throws with every problem at once. */
export function checkConfig(value: unknown): GatewayConfig {
  const problems: string[] = [];
  const config = asRecord(value);
  if (config["v"] !== 1) problems.push(`v: should be 1, got ${JSON.stringify(config["v"])}`);
  if (typeof config["gatewayId"] !== "string" || !/^[a-z0-9]+$/.test(config["gatewayId"]))
    problems.push("gatewayId: should be lower-case letters and digits");
  if (!ENVIRONMENTS.some((environment) => environment === config["environment"]))
    problems.push(`environment: should be one of ${ENVIRONMENTS.join(", ")}`);
  checkListen(config["listen"], problems);
  checkTrusted(config["trustedProxies"], problems);
  const broker = asRecord(config["broker"]);
  for (const key of ["url", "jwt", "seed"]) if (typeof broker[key] !== "string") problems.push(`broker.${key}: should be a text`);
  const limits = asRecord(config["limits"]);
  for (const key of ["requestBodyBytesMax", "headerBytesMax", "targetBytesMax"])
    if (!isWholeNumber(limits[key], 1)) problems.push(`limits.${key}: should be a whole number above 0`);
  if (config["program"] !== undefined) checkProgram(config["program"], problems);
  if (problems.length > 0) throw new PlatformError("SETTING_INVALID", { detail: problems.join("; "), problems });
  // Every field was checked above.
  return value as GatewayConfig;
}

function checkProgram(value: unknown, problems: string[]): void {
  const program = asRecord(value);
  for (const key of ["nodePath", "mainFile", "logFile", "version"])
    if (typeof program[key] !== "string") problems.push(`program.${key}: should be a text`);
  const { nodeArguments, variables } = program;
  if (!Array.isArray(nodeArguments) || !nodeArguments.every(isText)) problems.push("program.nodeArguments: should be a list of texts");
  if (!Object.values(asRecord(variables)).every(isText)) problems.push("program.variables: should be texts by their names");
}

const isText = (value: unknown): boolean => typeof value === "string";

function checkListen(value: unknown, problems: string[]): void {
  if (!Array.isArray(value) || value.length === 0) {
    problems.push("listen: should name at least one address");
    return;
  }
  for (const [index, entry] of value.entries()) {
    const address = asRecord(entry);
    if (typeof address["host"] !== "string") problems.push(`listen[${index}].host: should be a text`);
    if (!isWholeNumber(address["port"], 0) || address["port"] > 65_535) problems.push(`listen[${index}].port: should be a port`);
    const tls = asRecord(address["tls"]);
    if (address["tls"] !== undefined)
      for (const key of ["certFile", "keyFile"])
        if (typeof tls[key] !== "string" || !isAbsolute(tls[key])) problems.push(`listen[${index}].tls.${key}: should be an absolute path`);
  }
}

function checkTrusted(value: unknown, problems: string[]): void {
  if (!Array.isArray(value)) {
    problems.push("trustedProxies: should be a list");
    return;
  }
  for (const [index, entry] of value.entries())
    if (typeof entry !== "string" || !isAddressOrRange(entry))
      problems.push(`trustedProxies[${index}]: should be an address or a range such as 10.0.0.0/8, got ${JSON.stringify(entry)}`);
}

function isAddressOrRange(text: string): boolean {
  const [address = "", prefix, more] = text.split("/");
  const family = isIP(address);
  if (family === 0 || more !== undefined) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128));
}

const isWholeNumber = (value: unknown, min: number): value is number => Number.isInteger(value) && Number(value) >= min;

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}
