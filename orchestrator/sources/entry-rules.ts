// Which paths and which targets of links a source may have: rules on text alone, before any disk is asked.
import {
  SOURCE_DEPTH_MAX,
  SOURCE_FILE_BYTES_MAX,
  SOURCE_BYTES_MAX,
  SOURCE_ENTRY_COUNT_MAX,
  SOURCE_NAME_BYTES_MAX,
  SOURCE_NAMES_BYTES_MAX,
  SOURCE_PATH_BYTES_MAX,
} from "../../runtime-image/contract/limits.ts";

export type EntryKind = "file" | "link" | "folder" | "other";

export interface SourceLimits {
  readonly entryCountMax: number;
  readonly bytesMax: number; // Of all files together.
  readonly fileBytesMax: number;
  readonly namesBytesMax: number; // Of all names and targets of links together.
}

export const SOURCE_LIMITS: SourceLimits = {
  entryCountMax: SOURCE_ENTRY_COUNT_MAX,
  bytesMax: SOURCE_BYTES_MAX,
  fileBytesMax: SOURCE_FILE_BYTES_MAX,
  namesBytesMax: SOURCE_NAMES_BYTES_MAX,
};

export type Place =
  | { readonly kind: "inside"; readonly segments: readonly string[] } // None: the source's own root.
  | { readonly kind: "refused"; readonly problem: string };

const refused = (problem: string): Place => ({ kind: "refused", problem });

/** Where an entry belongs. */
export function placeOf(path: string, kind: EntryKind): Place {
  if (path === "") return refused("has no name");
  const problem = textProblem(path);
  if (problem !== null) return refused(problem);
  if (path.startsWith("/")) return refused("is an absolute path");
  const plain = path.replace(/^(?:\.\/)+(?=.)/, ""); // What tar makes of ".": each path begins with "./".
  const segments = plain.replace(/\/$/, "").split("/");
  if (isRoot(segments)) return kind === "folder" ? { kind: "inside", segments: [] } : refused("is the root of the source, and no folder");
  if (plain.endsWith("/") && kind !== "folder") return refused('ends with "/" and is no folder');
  if (segments.length > SOURCE_DEPTH_MAX) return refused(`is more than ${SOURCE_DEPTH_MAX} folders deep`);
  const problems = segments.flatMap((name) => nameProblem(name) ?? []);
  return problems[0] === undefined ? { kind: "inside", segments } : refused(problems[0]);
}

const isRoot = (segments: readonly string[]): boolean => segments.length === 1 && segments[0] === ".";

// "\p{Cc}" holds NUL and line ends; the others end lines too, or turn what is read around so that a name looks like another.
const UNSEEN = /[\p{Cc}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;

function textProblem(text: string): string | null {
  if (Buffer.byteLength(text) > SOURCE_PATH_BYTES_MAX) return `is longer than ${SOURCE_PATH_BYTES_MAX} bytes`;
  if (!text.isWellFormed() || text.includes("\u{fffd}")) return "is no valid Unicode";
  if (UNSEEN.test(text)) return "holds control characters";
  return text.includes("\\") ? "holds a backslash" : null;
}

function nameProblem(name: string): string | null {
  if (name === "") return 'holds "//"';
  if (name === "." || name === "..") return `holds "${name}" as a folder's name`;
  if (Buffer.byteLength(name) > SOURCE_NAME_BYTES_MAX) return `holds a name of more than ${SOURCE_NAME_BYTES_MAX} bytes`;
  return isGitName(name) ? "belongs to git's own folder" : null;
}

/** Also what becomes ".git" on disks of other systems, which ignore case, marks that nobody sees, and some ends (CVE-2014-9390). */
export function isGitName(name: string): boolean {
  const plain = name.replaceAll(/\p{Cf}/gu, "").toLowerCase();
  return /^(?:\.git|git~1)[. ]*(?::.*)?$/.test(plain);
}

/** Null where the target of a link that lies in `folder` is inside by its text. Other links on its way are looked at in source-tree.ts. */
export function targetProblem(folder: readonly string[], target: string): string | null {
  if (target === "") return "is a link to nothing";
  const problem = textProblem(target);
  if (problem !== null) return `is a link whose target ${problem}`;
  if (target.startsWith("/")) return "is a link to an absolute path";
  const segments = target.split("/");
  if (segments.some(isGitName)) return "is a link into git's own folder";
  return leadsOut(folder.length, segments) ? LEADS_OUT : null;
}

export const LEADS_OUT = "is a link that leads out of the source";

function leadsOut(startDepth: number, segments: readonly string[]): boolean {
  let depth = startDepth;
  for (const name of segments) {
    if (name === "..") depth -= 1;
    else if (name !== "" && name !== ".") depth += 1;
    if (depth < 0) return true;
  }
  return false;
}
