// Which processes are the gateway of an environment, and what its files say.
import { spawn, type ChildProcess } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { configText, gatewayFilesOf, gatewayProcesses, writtenConfig } from "../../../orchestrator/gateways/gateway-files.ts";
import { gatewayProgram } from "../../../orchestrator/gateways/gateway-program.ts";
import { adoptDetached } from "../../../orchestrator/processes/detached.ts";
import { processIdentity } from "../../../orchestrator/processes/identity.ts";
import type { GatewayConfig } from "../../../runtime-image/contract/gateway-config.ts";
import { until } from "../../support/until.ts";

let folder: string;
let children: ChildProcess[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "gateway-files-"));
  children = [];
});
afterEach(async () => {
  for (const child of children) child.kill("SIGKILL");
  await rm(folder, { recursive: true, force: true });
});

/** A process with these arguments that does nothing. */
async function idle(...all: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, ["-e", "setInterval(() => undefined, 1_000)", "--", ...all], { stdio: "ignore" });
  children.push(child);
  const { pid = 0 } = child;
  await until(async () => (await processIdentity(pid)) !== null, { timeoutMs: 5_000 });
  return pid;
}

describe("the gateway of an environment", () => {
  it("is every process that was started as one with its config, and nobody else who has the file open", async () => {
    const files = gatewayFilesOf(folder, "staging");
    const [first, second] = [await idle("/old/gateway/main.ts", files.config), await idle("/new/gateway/main.mjs", files.config)];
    await idle(files.config); // Such as an editor.
    await idle("/old/gateway/main.ts", gatewayFilesOf(folder, "production").config);
    const found = async (): Promise<number[]> => (await gatewayProcesses(files)).map(({ pid }) => pid);
    await until(async () => (await found()).length === 2, { timeoutMs: 5_000 });
    expect(new Set(await found())).toEqual(new Set([first, second]));
    const identity = await processIdentity(second);
    if (identity !== null) await adoptDetached(files.state, identity);
    expect(await found()).toEqual([second, first]);
  });

  it("has no config where none was written, or what was written is none", async () => {
    const files = gatewayFilesOf(folder, "staging");
    expect(await writtenConfig(files)).toBe(null);
    await writeFile(files.config, '{"v":1');
    expect(await writtenConfig(files)).toBe(null);
    // Only what is written and read back counts here.
    const config = { v: 1, gatewayId: "g1" } as GatewayConfig;
    await writeFile(files.config, configText(config).text);
    expect(await writtenConfig(files)).toEqual({ ...configText(config), config });
  });
});

describe("the program of a gateway", () => {
  it("is another one when the code of the gateway, its contract or its libraries change, and only then", async () => {
    const mainFile = join(folder, "gateway/main.ts");
    for (const name of ["gateway/routing", "runtime-image/contract"]) await mkdir(join(folder, name), { recursive: true });
    const version = async (): Promise<string> => (await gatewayProgram({ mainFile, logFile: "log" })).version;
    const versions = [await version()];
    for (const file of ["gateway/main.ts", "gateway/routing/match.ts", "runtime-image/contract/errors.ts", "package.json"]) {
      await writeFile(join(folder, file), "one");
      versions.push(await version());
      await writeFile(join(folder, file), "another");
      versions.push(await version());
    }
    expect(new Set(versions).size).toBe(9);
    await writeFile(join(folder, "README.md"), "words");
    expect(await version()).toBe(versions.at(-1));
  });
});
