// A platform that hosts what is deployed to it, and the commands of somebody who deploys.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect } from "vitest";
import {
  type Answer,
  type EngineName,
  type Finished,
  type PlatformOptions,
  type RunningPlatform,
  makeApp,
  runCommand,
  send,
  startPlatform,
} from "./platform.ts";

export interface HostingRig {
  readonly platform: RunningPlatform;
  /** A command of the command line against this platform. */
  run(...args: readonly string[]): Promise<Finished>;
  /** The same, which has to end well. */
  ok(...args: readonly string[]): Promise<Finished>;
  /** The same; the answer is what it printed as JSON, the last line of it. */
  json(...args: readonly string[]): Promise<Record<string, unknown>>;
  visit(environment: "staging" | "production", app: string, path?: string): Promise<Answer>;
  /** A folder with these files, gone after the suite. */
  folder(files: Record<string, string | Buffer>): Promise<string>;
  /** A new orchestrator on the same home and ports, with the same options or others. */
  startAgain(others?: Pick<PlatformOptions, "flags" | "checkout">): Promise<void>;
}

const LEAVE_RUNNING = "--leave-running";

export function hostForSuite(first: Pick<PlatformOptions, "flags" | "checkout"> & { readonly engine: EngineName }): HostingRig {
  let options = first;
  let running: RunningPlatform | null = null;
  let home = "";
  const folders: string[] = [];
  const platform = (): RunningPlatform => {
    if (running === null) throw new Error("the platform of this suite is not up: it is there for tests and their hooks only");
    return running;
  };
  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), "orchestrator-home-"));
    running = await startPlatform({ ...options, app: null, home });
  });
  afterAll(async () => {
    await running?.stop();
    if (running !== null && options.flags?.includes(LEAVE_RUNNING) === true) {
      const flags = options.flags.filter((flag) => flag !== LEAVE_RUNNING);
      await (await startPlatform({ ...options, app: null, home, ports: running.ports, flags })).stop();
    }
    for (const folder of [home, ...folders]) await rm(folder, { recursive: true, force: true });
  });
  const run = async (...args: readonly string[]): Promise<Finished> =>
    runCommand([...args, "--home", platform().home, "--api-port", `${platform().ports.api}`]);
  const ok = async (...args: readonly string[]): Promise<Finished> => {
    const finished = await run(...args);
    if (finished.exitCode !== 0) expect.fail(`orchestrator ${args.join(" ")}: ${JSON.stringify(finished)}`);
    return finished;
  };
  return {
    get platform() {
      return platform();
    },
    run,
    ok,
    async json(...args) {
      const finished = await ok(...args, "--json");
      return JSON.parse(finished.stdout.trimEnd().split("\n").at(-1) ?? "") as Record<string, unknown>; // Tests look at what they need of it.
    },
    visit: async (environment, app, path = "/") => send(platform().ports[environment], path, { headers: { host: `${app}.localhost` } }),
    async folder(files) {
      const made = await makeApp(files);
      folders.push(made);
      return made;
    },
    async startAgain(others = {}) {
      options = { ...options, ...others };
      running = await startPlatform({ ...options, app: null, home, ports: platform().ports });
    },
  };
}
