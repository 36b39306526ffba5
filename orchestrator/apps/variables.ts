// The environment variables that an app's folder brings along: read from its files, checked, told apart by environment.
import { join } from "node:path";
import { ENVIRONMENTS } from "../../runtime-image/contract/instance-manifest.ts";
import { VARIABLE_COUNT_MAX, VARIABLE_VALUE_BYTES_MAX } from "../../runtime-image/contract/limits.ts";
import type { Variables } from "./app-source.ts";
import { textOf } from "./folders.ts";
import type { Checked } from "./pragmas.ts";
import { type VariablesText, parseEnvText, parsePreferencesText } from "./variables-text.ts";

const PREFERENCES = ["preferences.arc", "prefs.arc", ".preferences.arc", ".prefs.arc"];

/** Each file wins over those before it. */
const FILES: readonly { readonly names: readonly string[]; readonly parse: (text: string) => VariablesText }[] = [
  { names: [".arc-env"], parse: parseEnvText },
  { names: PREFERENCES, parse: parsePreferencesText }, // The first of these that is there.
  { names: [".env"], parse: parseEnvText },
];

/** Files whose change can change the variables of an app. */
export const VARIABLE_FILE_NAMES: readonly string[] = FILES.flatMap((file) => file.names);

export async function readVariables(folder: string): Promise<Checked<Variables>> {
  const parts: FileOfVariables[] = [];
  for (const { names, parse } of FILES) {
    for (const fileName of names) {
      const text = await textOf(join(folder, fileName));
      if (text === null) continue;
      parts.push({ fileName, ...parse(text) });
      break;
    }
  }
  return checkVariables(parts);
}

export interface FileOfVariables extends VariablesText {
  readonly fileName: string;
}

export function checkVariables(files: readonly FileOfVariables[]): Checked<Variables> {
  const problems: string[] = [];
  const warnings: string[] = [];
  const value: Record<keyof Variables, Record<string, string>> = { staging: {}, production: {} };
  for (const { fileName, lines, problems: own } of files) {
    problems.push(...own.map((problem) => `${fileName} ${problem}`));
    if (lines.some((line) => line.section === "testing"))
      warnings.push(`${fileName}: what stands below "testing" is not used; there are staging and production`);
    for (const line of lines) {
      if (line.section === "testing") continue;
      const where = `${fileName} line ${line.line}`;
      if (SET_BY_PLATFORM.has(line.key)) {
        warnings.push(`${where}: ${line.key} is ignored; it is always the environment's name`);
        continue;
      }
      const problem = variableProblem(line);
      if (problem !== null) problems.push(`${where}: ${problem}`);
      else
        for (const environment of ENVIRONMENTS)
          if (line.section === "every" || line.section === environment) value[environment][line.key] = line.value;
    }
  }
  for (const environment of ENVIRONMENTS) {
    const count = Object.keys(value[environment]).length;
    if (count > VARIABLE_COUNT_MAX) problems.push(`${environment} has ${count} variables; ${VARIABLE_COUNT_MAX} are allowed`);
  }
  return { value, problems, warnings };
}

/** Apps of the originals say these in their files, and mean what the platform gives them anyway. */
export const SET_BY_PLATFORM: ReadonlySet<string> = new Set(["NODE_ENV", "ARC_ENV"]);

const KEY = /^[A-Z][A-Z0-9_]*$/;

/** A key that is none is not shown: it may be a line of somebody's private key. */
export function variableProblem({ key, value }: { readonly key: string; readonly value: string }): string | null {
  if (!KEY.test(key)) return "the key should be capital letters, digits and _, beginning with a letter";
  if (isRefused(key)) return `${key} is read by Node, the shell or the platform itself; choose another name`;
  if (value.includes("\0")) return `the value of ${key} holds a NUL character`;
  const bytes = Buffer.byteLength(value);
  return bytes <= VARIABLE_VALUE_BYTES_MAX ? null : `the value of ${key} has ${bytes} bytes; ${VARIABLE_VALUE_BYTES_MAX} are allowed`;
}

const REFUSED_PREFIXES = ["NODE_", "NPM_", "LD_", "DYLD_", "UV_", "OPENSSL_", "BASH_", "MALLOC_", "ORCHESTRATOR_", "AWS_LAMBDA_"];
const REFUSED_NAMES: ReadonlySet<string> = new Set(
  (
    "PATH HOME USER LOGNAME SHELL PWD OLDPWD SHLVL IFS ENV TERM HOSTNAME TMPDIR TMP TEMP TZ SSL_CERT_FILE SSL_CERT_DIR " +
    "GLIBC_TUNABLES GCONV_PATH LOCPATH NLSPATH HOSTALIASES LOCALDOMAIN RES_OPTIONS ARC_APP_NAME LAMBDA_TASK_ROOT"
  ).split(" "),
);

const isRefused = (key: string): boolean => REFUSED_NAMES.has(key) || REFUSED_PREFIXES.some((prefix) => key.startsWith(prefix));
