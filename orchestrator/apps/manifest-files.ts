// Finds an app's manifest in whatever file it is, and the own settings of a function.
import { join } from "node:path";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { textOf } from "./folders.ts";
import { type ManifestFormat, type RawManifest, parseManifestText } from "./manifest-text.ts";
import { isManifest, isRecord } from "./pragmas.ts";

interface KnownFile {
  readonly fileName: string;
  readonly format: ManifestFormat;
  readonly isShared?: true; // Other tools have files of this name, too.
}

const MANIFEST_FILES: readonly KnownFile[] = [
  { fileName: "app.arc", format: "arc" },
  { fileName: ".arc", format: "arc" },
  { fileName: "app.json", format: "json", isShared: true },
  { fileName: "arc.json", format: "json" },
  { fileName: "app.yaml", format: "yaml", isShared: true },
  { fileName: "app.yml", format: "yaml", isShared: true },
  { fileName: "arc.yaml", format: "yaml" },
  { fileName: "arc.yml", format: "yaml" },
];

const PACKAGE_FILE = "package.json";
const PACKAGE_KEYS = ["arc", "architect"];

const FUNCTION_FILES: readonly KnownFile[] = [
  { fileName: "config.arc", format: "arc" },
  { fileName: ".arc-config", format: "arc" },
  { fileName: "arc.json", format: "json" },
  { fileName: "arc.yaml", format: "yaml" },
  { fileName: "arc.yml", format: "yaml" },
];

/** Files whose change can change the routes of an app. */
export const MANIFEST_FILE_NAMES: readonly string[] = [...MANIFEST_FILES.map((file) => file.fileName), PACKAGE_FILE];

export interface FoundManifest {
  readonly fileName: string; // As problems call it.
  readonly raw: RawManifest;
}

export async function findManifest(folder: string): Promise<FoundManifest | null> {
  const found = await firstOf(MANIFEST_FILES, folder, "");
  return found ?? (await packageManifest(folder));
}

export const findFunctionConfig = async (folder: string, functionName: string): Promise<FoundManifest | null> =>
  firstOf(FUNCTION_FILES, folder, `${functionName}/`);

async function firstOf(files: readonly KnownFile[], folder: string, prefix: string): Promise<FoundManifest | null> {
  for (const { fileName, format, isShared } of files) {
    const text = await textOf(join(folder, fileName));
    if (text === null) continue;
    const raw = parsed(`${prefix}${fileName}`, () => parseManifestText(text, format));
    if (isShared !== true || isManifest(raw)) return { fileName: `${prefix}${fileName}`, raw };
  }
  return null;
}

async function packageManifest(folder: string): Promise<FoundManifest | null> {
  const text = await textOf(join(folder, PACKAGE_FILE));
  if (text === null) return null;
  const content = parsed(PACKAGE_FILE, (): unknown => JSON.parse(text));
  const key = isRecord(content) ? PACKAGE_KEYS.find((name) => content[name] !== undefined) : undefined;
  if (!isRecord(content) || key === undefined) return null;
  const fileName = `${PACKAGE_FILE} ("${key}")`;
  return { fileName, raw: parsed(fileName, () => parseManifestText(JSON.stringify(content[key]), "json")) };
}

function parsed<Value>(fileName: string, read: () => Value): Value {
  try {
    return read();
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new PlatformError("MANIFEST_INVALID", { detail: `${fileName} cannot be read.`, problems: [`${fileName}: ${reason}`] }, { cause });
  }
}
