// What this instance is told: takes the manifest out of the environment, checks all of it, and leaves user code the variables it expects.
import { readFileSync } from "node:fs";
import {
  ENVIRONMENTS,
  GENERATIONS,
  INSTANCE_MANIFEST_VARIABLE,
  MANIFEST_ON_INPUT,
  type InstanceManifest,
} from "../contract/instance-manifest.ts";

type Variables = Record<string, string | undefined>;
type Fields = Record<string, unknown>;

/** Reads and removes the manifest: user code has no use for the broker's address. */
export function takeManifest(
  variables: Variables = process.env,
  readInput: () => string = () => readFileSync(0, "utf8"),
): InstanceManifest {
  const text = variables[INSTANCE_MANIFEST_VARIABLE];
  delete variables[INSTANCE_MANIFEST_VARIABLE];
  if (text === undefined || text === "")
    throw new ConfigError([`${INSTANCE_MANIFEST_VARIABLE}: should hold the instance's manifest, is not set`]);
  const fields = text === MANIFEST_ON_INPUT ? takeInput(variables, readInput()) : parse(text);
  const problems = problemsOf(fields);
  if (problems.length > 0) throw new ConfigError(problems);
  // Every field that the type promises was just checked.
  return fields as unknown as InstanceManifest;
}

function takeInput(variables: Variables, text: string): Fields {
  const input = parse(text);
  if (!isFields(input["manifest"]) || !isFields(input["variables"]))
    throw new ConfigError(["standard input: should hold the instance's manifest and variables"]);
  for (const [name, value] of Object.entries(input["variables"])) if (typeof value === "string") variables[name] = value;
  return input["manifest"];
}

/**
 * The variables that handlers of this platform have always found, besides their own. ARC_HTTP is for copies of the helper
 * library that an app bundled into its handler: without it they answer as for REST gateways of 2019. What else the originals
 * set is left out, because it would say something untrue: ARC_STATIC_* and BEGIN_STATIC_* name buckets, ARC_CLOUDFORMATION and
 * ARC_ROLE an account at AWS, ARC_SANDBOX ports that nobody listens on, and ARC_SESSION_TABLE_NAME=jwe would have sessions signed
 * with a secret that everyone knows. The platform's own library reads none of them.
 */
export function setFunctionVariables(manifest: InstanceManifest, variables: Variables = process.env): void {
  variables["TZ"] = "UTC";
  variables["NODE_ENV"] = manifest.environment;
  variables["ARC_ENV"] = manifest.environment;
  variables["ARC_APP_NAME"] = manifest.appName;
  variables["ARC_HTTP"] = "aws_proxy";
  variables["AWS_LAMBDA_FUNCTION_NAME"] = manifest.functionName;
  variables["LAMBDA_TASK_ROOT"] = manifest.folder;
}

export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`this instance cannot start: ${problems.join("; ")}`);
    this.name = "ConfigError";
    this.problems = problems;
  }
}

function parse(text: string): Fields {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's own words would repeat a piece of the text, which holds secrets.
    throw new ConfigError([`${INSTANCE_MANIFEST_VARIABLE}: is not JSON`]);
  }
  if (!isFields(value)) throw new ConfigError([`${INSTANCE_MANIFEST_VARIABLE}: should be an object`]);
  return value;
}

function problemsOf(fields: Fields): string[] {
  const problems: string[] = [];
  const check = (path: string, isRight: boolean, expected: string, got: unknown) => {
    if (!isRight) problems.push(`${path}: should be ${expected}, got ${JSON.stringify(got) ?? String(got)}`);
  };
  check("v", fields["v"] === 1, "1", fields["v"]);
  for (const name of ["instanceId", "appId", "appName", "functionName"]) check(name, isText(fields[name]), "a text", fields[name]);
  check(
    "instanceId",
    !isText(fields["instanceId"]) || /^[\w-]+$/.test(fields["instanceId"]),
    "one token of a subject",
    fields["instanceId"],
  );
  check("environment", isOneOf(ENVIRONMENTS, fields["environment"]), `one of ${ENVIRONMENTS.join(", ")}`, fields["environment"]);
  check("generation", isOneOf(GENERATIONS, fields["generation"]), `one of ${GENERATIONS.join(", ")}`, fields["generation"]);
  check("folder", isText(fields["folder"]) && fields["folder"].startsWith("/"), "an absolute path", fields["folder"]);
  for (const name of ["timeoutMs", "concurrency", "memoryBytesMax"]) check(name, isCount(fields[name]), "a positive integer", fields[name]);
  for (const name of ["rawJson", "bareQuery"]) check(name, typeof fields[name] === "boolean", "true or false", fields[name]);
  // A secret: it is named and never shown.
  if (!isText(fields["sessionSecret"]) || !/^[0-9a-f]{64}$/.test(fields["sessionSecret"]))
    problems.push("sessionSecret: should be 32 bytes in hex");
  check("watchMemory", typeof fields["watchMemory"] === "boolean", "true or false", fields["watchMemory"]);
  const broker = isFields(fields["broker"]) ? fields["broker"] : {};
  // The values of the broker's fields are secrets: problems name them and never show them.
  for (const name of ["url", "jwt", "seed"]) if (!isText(broker[name])) problems.push(`broker.${name}: should be a text`);
  return problems;
}

const isFields = (value: unknown): value is Fields => typeof value === "object" && value !== null && !Array.isArray(value);
const isText = (value: unknown): value is string => typeof value === "string" && value.length > 0;
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) > 0;
const isOneOf = (values: readonly string[], value: unknown): boolean => values.some((one) => one === value);
