// Whether what a function ships is small enough, and if not, what makes it large. Pure.
import { FUNCTION_FILE_COUNT_MAX } from "../../runtime-image/contract/limits.ts";
import { PlatformError } from "../../runtime-image/contract/errors.ts";

export interface Sized {
  readonly path: string; // Relative to the app's root.
  readonly byteCount: number;
}

const ENTRIES_NAMED = 5;

export function assertSize(functionName: string, files: readonly Sized[], bytesMax: number): void {
  if (files.length > FUNCTION_FILE_COUNT_MAX)
    throw new PlatformError("FUNCTION_INVALID", {
      detail: `${functionName}: it ships ${files.length} files, more than ${FUNCTION_FILE_COUNT_MAX}.`,
      problems: largestEntries(functionName, files, () => 1).map(({ name, size }) => `${name}: ${size} files`),
      remedy: "Remove what the function does not need at run time.",
    });
  const total = files.reduce((sum, file) => sum + file.byteCount, 0);
  if (total > bytesMax)
    throw new PlatformError("FUNCTION_TOO_LARGE", {
      detail: `${functionName} has ${megabytes(total)}, of ${megabytes(bytesMax)} that it may have.`,
      problems: largestEntries(functionName, files, (file) => file.byteCount).map(({ name, size }) => `${name}: ${megabytes(size)}`),
      remedy: "Remove what the function does not need at run time; static files belong into public/.",
    });
}

function largestEntries(functionName: string, files: readonly Sized[], sizeOf: (file: Sized) => number): { name: string; size: number }[] {
  const sums = new Map<string, number>();
  for (const file of files) {
    const name = entryOf(functionName, file.path);
    sums.set(name, (sums.get(name) ?? 0) + sizeOf(file));
  }
  return [...sums]
    .map(([name, size]) => ({ name, size }))
    .toSorted((a, b) => b.size - a.size)
    .slice(0, ENTRIES_NAMED);
}

/** A package is one entry; what lies below the function's folder counts by its first name there, everything else by its folder. */
export function entryOf(functionName: string, path: string): string {
  const inPackage = /^(.*?(?:^|\/)node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1];
  if (inPackage !== undefined) return inPackage;
  if (functionName !== "" && !path.startsWith(`${functionName}/`)) return path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : path;
  const inside = functionName === "" ? path : path.slice(functionName.length + 1);
  const name = inside.split("/")[0] ?? inside;
  return functionName === "" ? name : `${functionName}/${name}`;
}

const megabytes = (bytes: number): string => `${(bytes / 1_000_000).toFixed(2)} MB`;
