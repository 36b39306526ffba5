// The flags of every command that concerns one of the platform's apps.
import type { Command } from "commander";
import { type ApiFlags, withApiFlags } from "./api-flags.ts";

export interface AppFlags extends ApiFlags {
  readonly app?: string;
}

export const withAppFlags = (command: Command): Command =>
  withApiFlags(command.option("--app <name>", "one of the platform's apps (default: the one that app ls calls so)"));
