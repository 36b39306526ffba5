// Names what an instance is told besides its build: when that changes, instances are replaced, and nothing is built.
import { createHmac } from "node:crypto";
import type { ReleaseFunction } from "../releases/release.ts";

export type ConfiguredFunction = Pick<
  ReleaseFunction,
  "generation" | "timeoutMs" | "concurrency" | "memoryBytesMax" | "rawJson" | "bareQuery"
>;

/** Keyed, because it is written on every container: who reads it there cannot try out what the variables may be. */
export function configIdOf(
  config: { readonly appName: string; readonly fn: ConfiguredFunction; readonly variables: Readonly<Record<string, string>> },
  secret: string,
): string {
  const { generation, timeoutMs, concurrency, memoryBytesMax, rawJson, bareQuery } = config.fn;
  const variables = Object.entries(config.variables).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const told = JSON.stringify([
    config.appName,
    generation,
    timeoutMs,
    concurrency,
    memoryBytesMax,
    rawJson ?? false,
    bareQuery ?? false,
    variables,
  ]);
  return createHmac("sha256", secret).update("orchestrator instance config v1\0").update(told).digest("hex").slice(0, 16);
}
