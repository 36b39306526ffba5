// orchestrator env: variables that are set while an app is served, on every engine: in effect at return, kept encrypted, taken back where they break.
import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Dirent } from "node:fs";
import { readFile, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { docker, listOwn } from "../support/docker-rig.ts";
import { processesOf } from "../support/leftovers.ts";
import {
  CHECKOUT,
  ENGINE_NAMES,
  type Finished,
  type RunningPlatform,
  handler,
  makeApp,
  runCommand,
  startPlatform,
  writeFiles,
} from "../support/platform.ts";
import { until } from "../support/until.ts";

const SECRETS = [
  "s3t-on-staging",
  "s3t-on-production",
  "s3t-from-input",
  "s3t-on-both",
  "s3t-that-breaks",
  "s3t-before-the-kill",
  "s3t-in-the-middle",
];
const [ON_STAGING, ON_PRODUCTION, FROM_INPUT, ON_BOTH, BREAKING, BEFORE_KILL, IN_THE_MIDDLE] = SECRETS;

const APP = {
  "app.arc": "@app\nenvironment\n\n@http\nget /\nget /start\n",
  "src/http/get-index/index.js": handler('const { SECRET = "", ONLY = "" } = process.env; return { body: [SECRET, ONLY].join(" ") };'),
  // Breaks at load with some values, so that a change to them fails; says nothing of them.
  "src/http/get-start/index.js": `const { START = "", WITH, BREAK_WITH } = process.env;
if (START.includes("breaks") || WITH === BREAK_WITH) throw new Error("told to");
${handler('return { body: "fine" };')}`,
  ".env": "SECRET=of-the-folder\nONLY=folder\n@staging\nBREAK_WITH=nothing\n@production\nBREAK_WITH=one value\n",
};

describe.each(ENGINE_NAMES)("orchestrator env with the engine %s", (engine) => {
  let platform: RunningPlatform;
  let app = "";

  beforeAll(async () => {
    app = await makeApp(APP);
    platform = await startPlatform({ app, engine, flags: ["--promote"] });
  });

  afterAll(async () => {
    await platform.stop();
    await rm(platform.home, { recursive: true, force: true });
    await rm(app, { recursive: true, force: true });
  });

  const place = (): string[] => ["--home", platform.home, "--api-port", `${platform.ports.api}`];
  const env = async (...args: string[]): Promise<Finished> => runCommand(["env", ...args, ...place()]);
  const text = async (environment: "staging" | "production"): Promise<string> => (await platform.get(environment, "/")).text;

  const restarted = async (): Promise<void> => {
    platform.process.kill("SIGKILL");
    await once(platform.process, "exit");
    platform = await startPlatform({ app, engine, home: platform.home, ports: platform.ports });
  };

  /** Asks both environments all the time while something is done; tells of every answer that was no 200. */
  const failuresDuring = async (work: () => Promise<void>): Promise<string[]> => {
    const over = new AbortController();
    const failed: string[] = [];
    const load = (["staging", "production"] as const).map(async (environment) => {
      while (!over.signal.aborted) {
        const answer = await platform.get(environment, "/").catch((error: unknown) => ({ status: 0, text: String(error) }));
        if (answer.status !== 200) failed.push(`${environment}: ${answer.status} ${answer.text}`);
      }
    });
    await work().finally(() => over.abort());
    await Promise.all(load);
    return failed;
  };

  it("sets a variable on staging that functions see when it returns, without a build, a failed request or a change on production", async () => {
    const builds = async (): Promise<string[]> =>
      (engine === "process"
        ? await readdir(join(platform.home, "builds"))
        : await listOwn("image", await platformId(platform.home))
      ).toSorted();
    const before = await builds();
    const failed = await failuresDuring(async () => {
      const set = await env("set", `SECRET=${ON_STAGING}`, "MORE=1");
      expect([set.exitCode, set.stdout, set.stderr]).toEqual([0, "staging: set MORE, SECRET\n", ""]);
      expect(await text("staging")).toBe(`${ON_STAGING} folder`);
    });
    expect(failed).toEqual([]);
    expect(await text("production")).toBe("of-the-folder folder");
    expect(await builds()).toEqual(before);
  });

  it("takes a value from standard input, and leaves staging alone when production is named", async () => {
    const child = spawn(process.execPath, [
      join(CHECKOUT, "orchestrator/bin.mjs"),
      "env",
      "set",
      "SECRET=-",
      "--environment",
      "production",
      ...place(),
    ]);
    child.stdin.end(`${FROM_INPUT}\n`);
    await once(child, "close");
    expect(child.exitCode).toBe(0);
    expect(await text("production")).toBe(`${FROM_INPUT} folder`);
    expect(await text("staging")).toBe(`${ON_STAGING} folder`);
  });

  it("lists names, where they come from, and who changed them when, and no value", async () => {
    const listed = await env("ls", "--json");
    const { variables } = JSON.parse(listed.stdout) as { variables: Record<string, unknown>[] }; // Checked below.
    const now = expect.any(Number) as unknown;
    const ofFolder = { source: "folder", hidesFolder: false, changedEpochMs: null, changedBy: null };
    expect(variables).toEqual([
      { name: "BREAK_WITH", environment: "staging", ...ofFolder },
      { name: "MORE", environment: "staging", source: "set", hidesFolder: false, changedEpochMs: now, changedBy: "home" },
      { name: "ONLY", environment: "staging", ...ofFolder },
      { name: "SECRET", environment: "staging", source: "set", hidesFolder: true, changedEpochMs: now, changedBy: "home" },
      { name: "BREAK_WITH", environment: "production", ...ofFolder },
      { name: "ONLY", environment: "production", ...ofFolder },
      { name: "SECRET", environment: "production", source: "set", hidesFolder: true, changedEpochMs: now, changedBy: "home" },
    ]);
    const people = await env("ls", "--environment", "staging");
    expect(people.stdout.split("\n")).toHaveLength(6);
    for (const secret of [...SECRETS, "of-the-folder"]) expect(listed.stdout + people.stdout).not.toContain(secret);
  });

  it("keeps what is live where functions do not start with a value, says why, and forgets the value", async () => {
    const failed = await failuresDuring(async () => {
      const set = await env("set", "SECRET=never-seen", `START=${BREAKING}`, "--environment", "both");
      expect(set.exitCode).toBe(1);
      expect(set.stderr).toContain("DEPLOY_FAILED");
      expect(set.stderr).toContain("src/http/get-start: HANDLER_LOAD_FAILED: Error: told to");
      expect(set.stderr).not.toContain(BREAKING);
    });
    expect(failed).toEqual([]);
    expect([await text("staging"), await text("production")]).toEqual([`${ON_STAGING} folder`, `${FROM_INPUT} folder`]);
    expect((await env("ls")).stdout).not.toContain("START");
    await restarted();
    expect((await platform.get("staging", "/start")).text).toBe("fine");
    expect([await text("staging"), await text("production")]).toEqual([`${ON_STAGING} folder`, `${FROM_INPUT} folder`]);
  });

  it("takes the change back on staging where it is production that does not start with it", async () => {
    const set = await env("set", "WITH=one value", `SECRET=${ON_BOTH}`, "--environment", "both");
    expect([set.exitCode, set.stderr]).toEqual([1, expect.stringContaining("not start on production")]);
    expect([await text("staging"), await text("production")]).toEqual([`${ON_STAGING} folder`, `${FROM_INPUT} folder`]);
    expect((await env("ls", "--json")).stdout).not.toContain('"WITH"');
  });

  it("sets both environments at once", async () => {
    const set = await env("set", `SECRET=${ON_BOTH}`, "--environment", "both");
    expect([set.exitCode, set.stdout]).toEqual([0, "staging: set SECRET\nproduction: set SECRET\n"]);
    expect([await text("staging"), await text("production")]).toEqual([`${ON_BOTH} folder`, `${ON_BOTH} folder`]);
  });

  it("says so where there is nothing to change", async () => {
    expect((await env("set", `SECRET=${ON_BOTH}`)).stdout).toBe("staging: nothing to change, it is so already\n");
  });

  it("names every problem of what it is given, without a value", async () => {
    const set = await env("set", "lower=hunter2", "PATH=hunter2", "NODE_ENV=hunter2", "FORGOTTEN", "--environment", "live");
    expect(set.exitCode).toBe(2);
    for (const problem of [
      "capital letters",
      "PATH is read",
      "NODE_ENV is always",
      "FORGOTTEN: should be KEY=value",
      "--environment: should be",
    ])
      expect(set.stderr).toContain(problem);
    expect(set.stderr).not.toContain("hunter2");
    const removed = await env("rm", "ONLY", "NOBODY");
    expect([removed.exitCode, removed.stderr]).toEqual([1, expect.stringContaining("NOBODY is not set on staging")]);
    expect(removed.stderr).toContain("ONLY comes from the app's folder");
  });

  it("keeps a set value when the orchestrator is killed, and wins over what the folder says by then", async () => {
    expect((await env("set", `SECRET=${BEFORE_KILL}`)).exitCode).toBe(0);
    platform.process.kill("SIGKILL");
    await once(platform.process, "exit");
    await writeFiles(app, { ".env": "SECRET=of-the-folder-again\nONLY=changed\nBREAK_WITH=nothing\n" });
    const failed = await failuresDuring(async () => {
      platform = await startPlatform({ app, engine, home: platform.home, ports: platform.ports });
      await until(async () => (await text("staging")) === `${BEFORE_KILL} changed`, { timeoutMs: 20_000 });
    });
    expect(failed).toEqual([]);
    expect(await text("production")).toBe(`${ON_BOTH} changed`);
  });

  it("has the old value or the new one, and answers all the time, when the orchestrator is killed in the middle of a change", async () => {
    const instances = async (): Promise<number> =>
      engine === "docker"
        ? (await listOwn("container", await platformId(platform.home))).length
        : (await processesOf(platform.home)).filter(({ command }) => command.includes("main.js")).length;
    await until(async () => (await instances()) === 6, { timeoutMs: 20_000, what: "2 instances on staging, 4 on production" });
    const failed = await failuresDuring(async () => {
      const changing = env("set", `SECRET=${IN_THE_MIDDLE}`, "--environment", "both");
      await until(async () => (await instances()) > 6, { timeoutMs: 20_000, what: "instances with the new value boot" });
      await restarted();
      expect((await changing).exitCode).toBe(1);
      await until(async () => (await instances()) === 6, { timeoutMs: 20_000, what: "no instance of before" });
    });
    expect(failed).toEqual([]);
    expect([`${BEFORE_KILL} changed`, `${IN_THE_MIDDLE} changed`]).toContain(await text("staging"));
    expect([`${ON_BOTH} changed`, `${IN_THE_MIDDLE} changed`]).toContain(await text("production"));
    expect((await env("set", `SECRET=${IN_THE_MIDDLE}`, "--environment", "both")).exitCode).toBe(0);
    expect([await text("staging"), await text("production")]).toEqual([`${IN_THE_MIDDLE} changed`, `${IN_THE_MIDDLE} changed`]);
  });

  it("removes a variable, and the folder's is seen again", async () => {
    const removed = await env("rm", "SECRET", "--environment", "both");
    expect([removed.exitCode, removed.stdout]).toEqual([0, "staging: removed SECRET\nproduction: removed SECRET\n"]);
    expect([await text("staging"), await text("production")]).toEqual(["of-the-folder-again changed", "of-the-folder-again changed"]);
    expect((await env("set", `SECRET=${ON_PRODUCTION}`, "--environment", "production")).exitCode).toBe(0);
  });

  it("shows values neither in what is printed, nor in the audit log, nor in any file of the home, nor to docker inspect", async () => {
    const shown = [JSON.stringify(platform.events), ...(engine === "docker" ? [await inspected(platform.home)] : [])];
    for (const secret of SECRETS) for (const one of shown) expect(one.includes(secret)).toBe(false);
    const found: Dirent[] = [];
    const look = async (): Promise<boolean> => {
      // A folder of an instance may go while it is looked into.
      const entries = await readdir(platform.home, { recursive: true, withFileTypes: true }).catch(() => []);
      return found.push(...entries) > 0;
    };
    await until(look, { timeoutMs: 10_000, what: "a look at the whole home" });
    const names: string[] = [];
    for (const entry of found.filter((one) => one.isFile())) {
      const content = await readFile(join(entry.parentPath, entry.name)).catch(() => Buffer.alloc(0)); // Gone again: it shows nothing.
      names.push(entry.name);
      for (const secret of SECRETS) expect([entry.name, content.includes(secret)]).toEqual([entry.name, false]);
    }
    expect(names).toContain("audit.ndjson");
  });
});

describe("orchestrator env and functions that do not start", () => {
  const needs = (name: string): string =>
    `if (process.env.${name} === undefined) throw new Error("no ${name}");\n${handler('return { body: "fine" };')}`;

  it("starts a function that lacks a variable once it is set, and does not mind one that lacks another, but says so", async () => {
    const app = await makeApp({
      "app.arc": "@app\nneeds\n\n@http\nget /\nget /first\nget /second\n",
      "src/http/get-index/index.js": handler('return { body: process.env.SECOND ?? "fine" };'),
      "src/http/get-first/index.js": needs("FIRST"),
      "src/http/get-second/index.js": needs("SECOND"),
    });
    onTestFinished(async () => rm(app, { recursive: true, force: true }));
    const platform = await startPlatform({ app, engine: "process" });
    onTestFinished(async () => void (await platform.stop()));
    const env = async (...args: string[]): Promise<Finished> =>
      runCommand(["env", ...args, "--home", platform.home, "--api-port", `${platform.ports.api}`]);
    const first = await env("set", "FIRST=1");
    expect([first.exitCode, first.stderr]).toEqual([0, ""]);
    expect(first.stdout).toBe(
      "staging: set FIRST\nstaging: src/http/get-second still does not start: HANDLER_LOAD_FAILED: Error: no SECOND\n",
    );
    expect((await platform.get("staging", "/first")).text).toBe("fine");
    expect((await env("set", "SECOND=2")).stdout).toBe("staging: set SECOND\n");
    expect((await platform.get("staging", "/second")).text).toBe("fine");
    expect((await env("rm", "SECOND")).exitCode).toBe(1);
    expect((await platform.get("staging", "/")).text).toBe("2");
  });
});

const platformId = async (home: string): Promise<string> => (await readFile(join(home, "platform-id"), "utf8")).trim();

async function inspected(home: string): Promise<string> {
  const containers = await listOwn("container", await platformId(home));
  const texts = await Promise.all(containers.map(async (id) => docker("inspect", id).catch(() => ""))); // Gone again: it shows nothing.
  expect(texts.filter((text) => text.includes("ORCHESTRATOR_INSTANCE=-")).length).toBeGreaterThan(5);
  return texts.join("\n");
}
