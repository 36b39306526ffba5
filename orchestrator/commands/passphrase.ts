// The passphrase of a backup's environment variables: from a file, or from a person who types it without seeing it.
import { createReadStream } from "node:fs";
import type { Command } from "commander";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { PASSPHRASE_BYTES_MAX } from "../../runtime-image/contract/limits.ts";
import { passphraseProblem } from "../api/passphrase.ts";
import { withoutLastBreak } from "./env-assignments.ts";
import { typedLine } from "./read-secret.ts";

export interface PassphraseFlags {
  readonly passphraseFile?: string;
}

export const withPassphraseFlag = (command: Command, description: string): Command =>
  command.option("--passphrase-file <file>", `${description} (default: asked for on a terminal)`);

/** Throws SETTING_INVALID, without saying what is in the file. */
export async function passphraseInFile(path: string): Promise<string> {
  const passphrase = withoutLastBreak(await textOf(path));
  return checked(passphrase, `--passphrase-file: the passphrase in ${path}`);
}

export type Typed = { readonly kind: "given"; readonly passphrase: string } | { readonly kind: "none" } | { readonly kind: "interrupted" };

/** An empty line is none. One that nothing can be compared with yet is asked for twice. */
export async function typedPassphrase(question: string, { isNew }: { readonly isNew: boolean }): Promise<Typed> {
  const passphrase = await typedLine(question);
  if (passphrase === null) return { kind: "interrupted" };
  if (passphrase === "") return { kind: "none" };
  checked(passphrase, "the passphrase");
  const again = isNew ? await typedLine("Once more: ") : passphrase;
  if (again === null) return { kind: "interrupted" };
  if (again !== passphrase) throw refused("the passphrase was typed differently the second time");
  return { kind: "given", passphrase };
}

function checked(passphrase: string, what: string): string {
  const problem = passphraseProblem(passphrase);
  if (problem !== null) throw refused(`${what} ${problem}`);
  return passphrase;
}

const refused = (problem: string): PlatformError =>
  new PlatformError("SETTING_INVALID", { problems: [problem], remedy: "Nothing was written." });

const FILE_BYTES_MAX = PASSPHRASE_BYTES_MAX + 2; // And a line break.

async function textOf(path: string): Promise<string> {
  const parts: Buffer[] = [];
  try {
    // One byte more tells of a file that is too long; the rest of it is of no interest.
    for await (const part of createReadStream(path, { end: FILE_BYTES_MAX })) parts.push(Buffer.from(part as Uint8Array)); // No encoding was asked for.
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(parts));
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new PlatformError("USAGE", { detail: `${path} cannot be read as a passphrase: ${reason}.` }, { cause });
  }
}
