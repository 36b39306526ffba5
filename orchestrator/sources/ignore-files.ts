// Which paths of a folder are left out when it is sent: what git's rules say, and what is left out whatever they say.
import ignore, { type Ignore } from "ignore";
import { isGitName } from "./entry-rules.ts";

export const GITIGNORE = ".gitignore";
export const OWN_IGNORE = ".orchestratorignore";

/** Git's own folder, packages that the platform installs itself, and the platform's state with its keys. */
export const isAlwaysLeftOut = (name: string): boolean => name === "node_modules" || name === ".orchestrator" || isGitName(name);

export interface IgnoreRules {
  /** Folders end with "/". Asked from the outside in: what is inside an ignored folder is ignored, and need not be asked for. */
  ignores(path: string): boolean;
  /** These and what a .gitignore further in adds, for what is in its folder. */
  within(folder: string, gitignore: string): IgnoreRules;
}

/** What the own file names counts last: it can leave out more, and bring back what a .gitignore leaves out. */
export function createIgnoreRules({ gitignore, ownIgnore }: { readonly gitignore: string; readonly ownIgnore: string }): IgnoreRules {
  return rulesOf(emptyRules().add(gitignore), emptyRules().add(ownIgnore));
}

const emptyRules = (): Ignore => ignore({ ignoreCase: false }); // As git does on Linux, so that every machine sends the same.

const ASKED_COUNT_MAX = 10_000; // The library remembers every path that it was asked for, until it gets rules.

function rulesOf(gitignores: Ignore, own: Ignore): IgnoreRules {
  let askedCount = 0;
  let all = emptyRules().add(gitignores).add(own);
  return {
    ignores(path) {
      askedCount += 1;
      if (askedCount % ASKED_COUNT_MAX === 0) all = emptyRules().add(gitignores).add(own);
      return all.ignores(path);
    },
    within: (folder, gitignore) => rulesOf(emptyRules().add(gitignores).add(anchored(folder, gitignore)), own),
  };
}

/** The lines of a .gitignore as they would stand in one at the root. */
function anchored(folder: string, gitignore: string): string[] {
  const prefix = `/${folder.replaceAll(/[*?[\]]/g, String.raw`\$&`)}`; // A backslash is in no path.
  return gitignore
    .replace(/^\u{feff}/u, "")
    .split(/\r?\n/)
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const isNegative = line.startsWith("!");
      const pattern = isNegative ? line.slice(1) : line;
      return `${isNegative ? "!" : ""}${prefix}${betweenOf(pattern)}${pattern}`;
    });
}

/** A pattern with a slash before its end is one from its own folder on; others match at any depth. */
function betweenOf(pattern: string): string {
  if (pattern.startsWith("/")) return "";
  return pattern.trimEnd().replace(/\/$/, "").includes("/") ? "/" : "/**/";
}
