// What the exit code of a command says to whoever started it.
import { CommanderError } from "commander";
import { PlatformError } from "../../runtime-image/contract/errors.ts";

export const EXIT_DONE = 0;
export const EXIT_FAILED = 1;
export const EXIT_USAGE = 2;
export const EXIT_PART = 3;
export const EXIT_INTERRUPTED = 130; // As a shell says of what Ctrl-C ended.

export const EXIT_CODES: readonly (readonly [code: number, meaning: string])[] = [
  [EXIT_DONE, "done"],
  [EXIT_FAILED, "failed: an error, or a delivery that did not become green"],
  [EXIT_USAGE, "wrong usage: a command, an option or a setting"],
  [EXIT_PART, "not there, or not all of it done"],
  [EXIT_INTERRUPTED, "interrupted by Ctrl-C or SIGTERM"],
];

/** How a command that did not fail says with what code it ends. */
export type Settle = (exitCode: number) => void;

export function exitCodeFor(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_DONE : EXIT_USAGE;
  return error instanceof PlatformError && (error.code === "USAGE" || error.code === "SETTING_INVALID") ? EXIT_USAGE : EXIT_FAILED;
}

export const exitCodeLines = (): string[] => EXIT_CODES.map(([code, meaning]) => `  ${String(code).padEnd(5)}${meaning}`);
