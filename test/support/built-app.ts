// Plans an app from files in a temporary folder, writes what a build would hold, and runs its handler as an instance finds it.
import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { readAppFolder } from "../../orchestrator/apps/app-folder.ts";
import { type AppPlan, type BuildTools, type PlannedFunction, planApp } from "../../orchestrator/builds/build-plan.ts";
import { createWorkspace } from "../../orchestrator/builds/workspace.ts";
import type { BuildFile } from "../../orchestrator/engines/engine.ts";

export type Files = Readonly<Record<string, string | Buffer>>;

export interface BuiltApp {
  readonly folder: string;
  readonly tools: BuildTools;
  write(files: Files): Promise<void>;
  link(path: string, target: string): Promise<void>;
  plan(): Promise<AppPlan>;
  /** The function of that folder; fails where there is none. */
  planned(name: string): Promise<PlannedFunction>;
  /** What the handler of that function returns for nothing, in a process of its own. */
  run(name: string): Promise<unknown>;
  remove(): Promise<void>;
}

export const HANDLER = "exports.handler = async () => ({ statusCode: 200 });\n";

/** Installs nothing: a test that needs it has its own. */
const refuseInstall = async (): Promise<string> => Promise.reject(new Error("nothing should be installed here"));

export async function makeBuiltApp(files: Files, install: BuildTools["install"] = refuseInstall): Promise<BuiltApp> {
  const top = await realpath(await mkdtemp(join(tmpdir(), "orchestrator-built-")));
  const folder = join(top, "app");
  const tools: BuildTools = { workspace: createWorkspace(join(top, "workspace")), memory: new Map(), install };
  const app: BuiltApp = {
    folder,
    tools,
    write: async (more) => writeAll(folder, more),
    async link(path, target) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await symlink(target, join(folder, path));
    },
    plan: async () => planApp(await readAppFolder(folder), tools),
    async planned(name) {
      const { functions } = await app.plan();
      const found = functions.find((one) => one.release.name === name);
      if (found === undefined) throw new Error(`${name} is no function of ${functions.map((one) => one.release.name).join(", ")}`);
      return found;
    },
    async run(name) {
      const { source } = await app.planned(name);
      const place = await mkdtemp(join(top, "build-"));
      await writeBuild(place, source.files);
      return runHandler(join(place, name));
    },
    remove: async () => rm(top, { recursive: true, force: true }),
  };
  await app.write(files);
  return app;
}

async function writeAll(folder: string, files: Files): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
}

async function writeBuild(place: string, files: readonly BuildFile[]): Promise<void> {
  for (const { path, bytes, isExecutable, linksTo } of files) {
    await mkdir(dirname(join(place, path)), { recursive: true });
    if (linksTo === undefined) await writeFile(join(place, path), bytes);
    else await symlink(linksTo, join(place, path));
    if (isExecutable) await chmod(join(place, path), 0o755);
  }
}

// The library says which of its halves it is, so that a test sees that it got the runtime's own.
const RUN = `
globalThis[Symbol.for("orchestrator:library")] = () => ({ functions: { http: "our http" }, data: { get: "our get" } });
const { existsSync } = require("node:fs");
const entry = ["index.mjs", "index.cjs", "index.js", "index.ts"].map((name) => process.cwd() + "/" + name).find(existsSync);
import(entry).then(async (loaded) => {
  const handler = loaded.handler ?? loaded.default.handler;
  process.stdout.write(JSON.stringify(await handler()));
});
`;

async function runHandler(folder: string): Promise<unknown> {
  const { stdout } = await promisify(execFile)(process.execPath, ["--enable-source-maps", "-e", RUN], { cwd: folder });
  return JSON.parse(stdout);
}

export const pathsOf = (planned: PlannedFunction): string[] => planned.source.files.map((file) => file.path);

/** A package that exports one value. */
export const fakePackage = (folder: string, name: string, code: string, fields: Record<string, unknown> = {}): Files => ({
  [`${folder}/node_modules/${name}/package.json`]: JSON.stringify({ name, version: "1.0.0", main: "index.js", ...fields }),
  [`${folder}/node_modules/${name}/index.js`]: code,
  [`${folder}/node_modules/${name}/README.md`]: "what nobody needs at run time",
});
