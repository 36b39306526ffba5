// Puts together what it takes to find an app's packages: a workspace, what was learnt of packages before, and a way to install them.
import { join } from "node:path";
import type { Engine, Removed } from "../engines/engine.ts";
import { type OwnNpm, findOwnNpm } from "../npm/own-npm.ts";
import type { BuildTools } from "./build-plan.ts";
import { createInstaller } from "./installs.ts";
import type { PackageMemory } from "./trace.ts";
import { createWorkspace } from "./workspace.ts";

export interface BuildShop {
  /** Those of a place are used by one at a time; another place has others. */
  tools(place: string, progress: (line: string) => void): BuildTools;
  /** Null where this machine has none. */
  npm(): Promise<OwnNpm | null>;
  /** Removes installs that were not used for long, where there are many. */
  collect(): Promise<Removed>;
  /** Ends what is being installed. */
  close(): Promise<void>;
}

export function createBuildShop(parts: {
  readonly home: string; // Absolute, and nobody else's while these are used.
  readonly engine: Pick<Engine, "kind" | "install">;
  readonly nodePath: string;
  readonly searchPath: string;
  readonly extraCaCerts: string | null;
}): BuildShop {
  const { home, engine } = parts;
  const npm = async (): Promise<OwnNpm | null> => findOwnNpm(parts);
  const installer = createInstaller({ folder: join(home, "installs"), engine, findNpm: npm });
  const places = new Map<string, Pick<BuildTools, "workspace" | "memory">>();
  const placeOf = (name: string): Pick<BuildTools, "workspace" | "memory"> => {
    const known = places.get(name);
    if (known !== undefined) return known;
    const memory: PackageMemory = new Map();
    const made = { workspace: createWorkspace(join(home, "workspace", name)), memory };
    places.set(name, made);
    return made;
  };
  return {
    tools: (place, progress) => ({ ...placeOf(place), install: async (request) => installer.install(request, progress) }),
    npm,
    collect: async () => installer.collect(),
    close: async () => installer.close(),
  };
}
