// "@aws" and "@arc", of a manifest or of a function's own config file: its limits, and what of the app it sees. Pure.
import { HANDLER_TIMEOUT_MS_MAX } from "../../runtime-image/contract/limits.ts";
import type { FunctionSettings, SharedPackage } from "./app-source.ts";
import { type Findings, settingOf, show } from "./pragmas.ts";

const CONCURRENCY_MAX = 1_000; // What the originals' cloud let a whole account have.

export function readSettings(aws: unknown, findings: Findings): FunctionSettings {
  const timeoutS = settingOf(aws, "timeout");
  const memoryMb = settingOf(aws, "memory");
  const concurrency = settingOf(aws, "concurrency");
  const runtime = settingOf(aws, "runtime");
  const timeoutIsFine = isBetween(timeoutS, 1, HANDLER_TIMEOUT_MS_MAX / 1000);
  const memoryIsFine = isBetween(memoryMb, 64, 10_240);
  const concurrencyIsFine = isBetween(concurrency, 1, CONCURRENCY_MAX);
  const { problems } = findings;
  if (timeoutS !== undefined && !timeoutIsFine) problems.push(`@aws timeout: should be 1 to 900 seconds, got ${show(timeoutS)}`);
  if (memoryMb !== undefined && !memoryIsFine) problems.push(`@aws memory: should be 64 to 10240 MB, got ${show(memoryMb)}`);
  if (concurrency !== undefined && concurrency !== "unthrottled" && !concurrencyIsFine)
    problems.push(`@aws concurrency: should be 1 to ${CONCURRENCY_MAX} requests at once in an instance, got ${show(concurrency)}`);
  if (runtime !== undefined && !isNode(runtime))
    problems.push(`@aws runtime: functions are JavaScript or TypeScript and run on Node, got ${show(runtime)}`);
  return {
    ...(timeoutIsFine ? { timeoutMs: timeoutS * 1000 } : {}),
    ...(memoryIsFine ? { memoryBytesMax: memoryMb * 1_000_000 } : {}),
    ...(concurrencyIsFine ? { concurrency } : {}),
  };
}

/** What of its app a function does without. */
export interface OptOuts {
  readonly packages: readonly SharedPackage[]; // Of shared code.
  readonly variables: boolean;
}

/** As a function's own "@arc" says. */
export function readOptOuts(arc: unknown, findings: Findings): OptOuts {
  const saysNo = (name: string): boolean => {
    const value = settingOf(arc, name);
    if (value !== undefined && typeof value !== "boolean")
      findings.problems.push(`@arc ${name}: should be true or false, got ${show(value)}`);
    return value === false;
  };
  const packages: SharedPackage[] = [];
  if (saysNo("shared")) packages.push("@architect/shared");
  if (saysNo("views")) packages.push("@architect/views");
  return { packages, variables: saysNo("env") };
}

const isBetween = (value: unknown, least: number, most: number): value is number =>
  typeof value === "number" && Number.isInteger(value) && value >= least && value <= most;

/** "nodejs8.10" up to "nodejs24.x": all of them run on the platform's Node. */
const isNode = (runtime: unknown): boolean => typeof runtime === "string" && /^(node|js|ts|typescript)/i.test(runtime);
