// Finds an app's manifest in whatever file it is, and the own settings of a function.
import { join } from "node:path";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { MANIFEST_ARC_BYTES_MAX, MANIFEST_BYTES_MAX } from "../../runtime-image/contract/limits.ts";
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
  readonly file: ManifestFile;
}

/** The file as it was read. */
export interface ManifestFile {
  readonly name: string;
  readonly text: string;
  readonly format: ManifestFormat;
  readonly key: string | null; // Of a package.json: the only part of it that is the manifest.
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
    const raw = parsed(`${prefix}${fileName}`, () => parseManifestText(bounded(text, format), format));
    const file: ManifestFile = { name: fileName, text, format, key: null };
    if (isShared !== true || isManifest(raw)) return { fileName: `${prefix}${fileName}`, raw, file };
  }
  return null;
}

async function packageManifest(folder: string): Promise<FoundManifest | null> {
  const text = await textOf(join(folder, PACKAGE_FILE));
  if (text === null) return null;
  const content = parsed(PACKAGE_FILE, (): unknown => JSON.parse(bounded(text, "json")));
  const key = isRecord(content) ? PACKAGE_KEYS.find((name) => content[name] !== undefined) : undefined;
  if (!isRecord(content) || key === undefined) return null;
  const fileName = `${PACKAGE_FILE} ("${key}")`;
  const raw = parsed(fileName, () => parseManifestText(JSON.stringify(content[key]), "json"));
  return { fileName, raw, file: { name: PACKAGE_FILE, text, format: "json", key } };
}

function bounded(text: string, format: ManifestFormat): string {
  const bytesMax = format === "arc" ? MANIFEST_ARC_BYTES_MAX : MANIFEST_BYTES_MAX;
  if (Buffer.byteLength(text) > bytesMax) throw new Error(`is larger than ${bytesMax} bytes`);
  return text;
}

function parsed<Value>(fileName: string, read: () => Value): Value {
  try {
    return read();
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new PlatformError("MANIFEST_INVALID", { detail: `${fileName} cannot be read.`, problems: [`${fileName}: ${reason}`] }, { cause });
  }
}
