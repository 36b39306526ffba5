// The flags of every command that works on the stores of one environment, and how such a command ends.
import type { Command } from "commander";
import { ENVIRONMENTS, type Environment } from "../../runtime-image/contract/instance-manifest.ts";
import type { ApiClient } from "../api/client.ts";
import { type ApiFlags, apiOf, withApiFlags } from "./api-flags.ts";

export interface StoreFlags extends ApiFlags {
  readonly environment: string;
}

/** Done, but not all of it: a document that is not there, lines that could not be taken. */
export const EXIT_PART = 3;
export const EXIT_INTERRUPTED = 130; // As a shell says of what Ctrl-C ended.

export type Settle = (exitCode: number) => void;

export const withStoreFlags = (command: Command): Command =>
  withApiFlags(command.option("--environment <name>", `one of ${ENVIRONMENTS.join(", ")}`, "staging"));

export interface StorePlace {
  readonly api: ApiClient;
  readonly environment: Environment;
}

/** Problems of a command's own flags are told together with those of these. */
export async function storePlaceOf(flags: StoreFlags, help: string, problems: string[] = []): Promise<StorePlace> {
  const environment = ENVIRONMENTS.find((name) => name === flags.environment);
  if (environment === undefined) problems.push(`--environment: should be one of ${ENVIRONMENTS.join(", ")}, got "${flags.environment}"`);
  const api = await apiOf(flags, help, problems);
  return { api, environment: environment ?? "staging" }; // apiOf() has thrown where there was a problem.
}

/** A query of those that are given, with its "?". */
export function queryOf(values: Readonly<Record<string, string | undefined>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) if (value !== undefined) query.set(name, value);
  return query.size === 0 ? "" : `?${query.toString()}`;
}

/** A number that is given as text; undefined where it is not. */
export function countOf(flag: string, text: string | undefined, problems: string[]): number | undefined {
  if (text === undefined) return undefined;
  const count = Number(text);
  if (/^\d{1,15}$/.test(text)) return count;
  problems.push(`${flag}: should be a whole number, got "${text}"`);
  return undefined;
}

export const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;
