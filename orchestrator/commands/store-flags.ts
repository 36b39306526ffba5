// The flags of every command that works on the stores of one app and environment.
import type { Command } from "commander";
import { ENVIRONMENTS, type Environment } from "../../runtime-image/contract/instance-manifest.ts";
import type { ApiClient } from "../api/client.ts";
import { apiOf } from "./api-flags.ts";
import { type AppFlags, withAppFlags } from "./app-flags.ts";
import { choiceOf, choiceOption } from "./choices.ts";

export interface StoreFlags extends AppFlags {
  readonly environment: string;
}

export const withStoreFlags = (command: Command): Command =>
  withAppFlags(command.addOption(choiceOption("--environment <name>", "whose", ENVIRONMENTS, "staging")));

export interface StorePlace {
  readonly api: ApiClient;
  readonly app: string | undefined; // Undefined: the default one.
  readonly environment: Environment;
}

/** Problems of a command's own flags are told together with those of these. */
export async function storePlaceOf(flags: StoreFlags, help: string, problems: string[] = []): Promise<StorePlace> {
  const environment = choiceOf("--environment", flags.environment, { choices: ENVIRONMENTS, problems });
  const api = await apiOf(flags, help, problems);
  return { api, app: flags.app, environment: environment ?? "staging" }; // apiOf() has thrown where there was a problem.
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
