// Runs npm as a child process of its own, with a clean environment. Scripts of packages never run here: nothing would hold them.
import { spawn } from "node:child_process";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { NPM_CLI } from "../npm/own-npm.ts";
import { npmArguments, npmEnvironment } from "../npm/npm-command.ts";
import type { InstallOrder, InstallOutcome } from "./engine.ts";

export async function installHere(order: InstallOrder, { nodePath, cache }: { nodePath: string; cache: string }): Promise<InstallOutcome> {
  await mkdir(cache, { recursive: true, mode: 0o700 });
  const settings = join(order.into, ".npm-settings");
  await mkdir(settings, { mode: 0o700 });
  try {
    for (const [path, bytes] of order.files) await writeFile(join(order.into, path), bytes);
    const userConfig = join(settings, "npmrc");
    await writeFile(userConfig, order.npm.userConfig);
    const extraCaCerts = order.npm.extraCaCerts === null ? null : join(settings, "extra-ca.pem");
    if (extraCaCerts !== null) await writeFile(extraCaCerts, order.npm.extraCaCerts ?? "");
    const path = `${dirname(nodePath)}:/usr/local/bin:/usr/bin:/bin`;
    const env = npmEnvironment({ home: settings, userConfig, cache, path, extraCaCerts });
    const args = [join(order.npm.folder, NPM_CLI), ...npmArguments({ hasLock: order.hasLock, allowsScripts: false })];
    return { exitCode: await run(nodePath, args, { cwd: order.into, env, order }) };
  } finally {
    await rm(settings, { recursive: true, force: true });
  }
}

/** Null where a signal ended it. */
async function run(
  command: string,
  args: readonly string[],
  { cwd, env, order }: { readonly cwd: string; readonly env: Readonly<Record<string, string>>; readonly order: InstallOrder },
): Promise<number | null> {
  const child = spawn(command, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"], signal: order.signal, killSignal: "SIGKILL" });
  for (const stream of [child.stdout, child.stderr]) createInterface({ input: stream }).on("line", order.onLine);
  return new Promise((resolve, reject) => {
    child.once("error", (error) => (order.signal.aborted ? resolve(null) : reject(error)));
    child.once("close", resolve);
  });
}
