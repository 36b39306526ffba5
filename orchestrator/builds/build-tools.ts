// Puts together what it takes to find an app's packages: a workspace, what was learnt of packages before, and a way to install them.
import { join } from "node:path";
import type { Engine } from "../engines/engine.ts";
import { findOwnNpm } from "../npm/own-npm.ts";
import type { BuildTools } from "./build-plan.ts";
import { createInstaller } from "./installs.ts";
import { createWorkspace } from "./workspace.ts";

export function createBuildTools(parts: {
  readonly home: string; // Absolute, and nobody else's while these are used.
  readonly engine: Pick<Engine, "kind" | "install">;
  readonly nodePath: string;
  readonly searchPath: string;
  readonly extraCaCerts: string | null;
  readonly progress: (line: string) => void;
}): BuildTools & { close(): Promise<void> } {
  const { home, engine, progress } = parts;
  const installer = createInstaller({ folder: join(home, "installs"), engine, progress, findNpm: async () => findOwnNpm(parts) });
  return {
    workspace: createWorkspace(join(home, "workspace")),
    memory: new Map(),
    install: async (request) => installer.install(request),
    close: async () => installer.close(),
  };
}
