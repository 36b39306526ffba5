// Looks for the programs that only some of a platform's work needs: git for deliveries, npm for packages.
import { delimiter, isAbsolute } from "node:path";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { findGit } from "../git/git-command.ts";
import { findNpmFolder } from "../npm/own-npm.ts";
import type { ToolFacts } from "./facts.ts";

export interface ToolSearch {
  readonly nodePath: string;
  readonly searchPath: string;
}

export async function gatherToolFacts(search: ToolSearch): Promise<ToolFacts> {
  const git = findGit(search.searchPath.split(delimiter).filter(isAbsolute)).catch((cause: unknown) => {
    if (cause instanceof PlatformError && cause.code === "GIT_MISSING") return null;
    throw cause;
  });
  return { git: await git, npm: await findNpmFolder(search) };
}
