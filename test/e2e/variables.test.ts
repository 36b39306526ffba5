// A folder's .env reaches functions without a build and without a failed request, and its values show nowhere else.
import { once } from "node:events";
import { readFile, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { processesOf } from "../support/leftovers.ts";
import { type RunningPlatform, handler, makeApp, runCommand, startPlatform, writeFiles } from "../support/platform.ts";
import { until } from "../support/until.ts";

const SECRETS = ["first-s3cret", "second-s3cret", "third-s3cret", "fourth-s3cret"];
const [FIRST, SECOND, THIRD, FOURTH] = SECRETS;
const ENV_OF = (text: string): Record<string, string> => ({ ".env": text });

const APP = {
  "app.arc": "@app\nvariables\n\n@http\nget /\nget /start\n",
  "src/http/get-index/index.js": handler(
    'const { SECRET, ONLY, NODE_ENV } = process.env; return { body: [SECRET, ONLY, NODE_ENV].join(" ") };',
  ),
  // Breaks at load with one value, so that a deploy of it fails.
  "src/http/get-start/index.js": `if (process.env.BREAKS === "yes") throw new Error("told to");\n${handler('return { body: "fine" };')}`,
  ...ENV_OF(`SECRET=${FIRST}\nNODE_ENV=testing\n@production\nONLY=live\n`),
};

describe("variables of an app", () => {
  let platform: RunningPlatform;
  let app = "";

  beforeAll(async () => {
    app = await makeApp(APP);
    platform = await startPlatform({ app, engine: "process", flags: ["--promote"] });
  });

  afterAll(async () => {
    await platform.stop();
    await rm(platform.home, { recursive: true, force: true });
    await rm(app, { recursive: true, force: true });
  });

  const text = async (environment: "staging" | "production"): Promise<string> => (await platform.get(environment, "/")).text;

  const instances = async (): Promise<string[]> =>
    (await processesOf(platform.home))
      .filter(({ command }) => command.includes("/runtime/") && command.includes("main.js"))
      .map(({ pid }) => `${pid}`)
      .toSorted();

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

  it("are seen by its functions, each environment's its own", async () => {
    expect(await text("staging")).toBe(`${FIRST}  staging`);
    expect(await text("production")).toBe(`${FIRST} live production`);
  });

  it("are told of where they have no effect", () => {
    expect(platform.events.filter((event) => event.event === "warning").map((event) => event.text)).toContain(
      ".env line 2: NODE_ENV is ignored; it is always the environment's name",
    );
  });

  it("change on staging and on production without a new build and without a failed request", async () => {
    const builds = await readdir(join(platform.home, "builds"));
    const failed = await failuresDuring(async () => {
      await writeFiles(app, ENV_OF(`SECRET=${SECOND}\n@production\nONLY=live\n`));
      await until(async () => (await text("staging")) === `${SECOND}  staging`, { timeoutMs: 20_000, what: "the new value on staging" });
      await until(async () => (await text("production")) === `${SECOND} live production`, { timeoutMs: 20_000, what: "and on production" });
    });
    expect(failed).toEqual([]);
    expect(await readdir(join(platform.home, "builds"))).toEqual(builds);
  });

  it("that are wrong change nothing, and are named without their value", async () => {
    const before = platform.events.length;
    await writeFiles(app, ENV_OF(`SECRET=${THIRD}\nPATH=${THIRD}\n`));
    await until(() => platform.events.slice(before).some((event) => event.code === "VARIABLES_INVALID"), { timeoutMs: 10_000 });
    expect(await text("staging")).toBe(`${SECOND}  staging`);
    await writeFiles(app, ENV_OF(`SECRET=${SECOND}\n@production\nONLY=live\n`));
  });

  it("that break production leave what is live there, and say so", async () => {
    const before = platform.events.length;
    const failed = await failuresDuring(async () => {
      await writeFiles(app, ENV_OF(`SECRET=${THIRD}\n@production\nONLY=live\nBREAKS=yes\n`));
      await until(() => platform.events.slice(before).some((event) => event.code === "DEPLOY_FAILED"), { timeoutMs: 20_000 });
    });
    expect(failed).toEqual([]);
    expect(await text("staging")).toBe(`${THIRD}  staging`);
    expect(await text("production")).toBe(`${SECOND} live production`);
    await writeFiles(app, ENV_OF(`SECRET=${THIRD}\n@production\nONLY=live\n`));
    await until(async () => (await text("production")) === `${THIRD} live production`, { timeoutMs: 20_000 });
  });

  it("are what is promoted later, too", async () => {
    const { exitCode } = await runCommand(["promote", "--home", platform.home, "--api-port", `${platform.ports.api}`]);
    expect(exitCode).toBe(0);
    expect(await text("production")).toBe(`${THIRD} live production`);
  });

  it("do not make the next orchestrator replace instances, as long as they are the same", async () => {
    await until(async () => (await instances()).length === 6, { timeoutMs: 15_000, what: "2 instances on staging, 4 on production" });
    const before = await instances();
    platform.process.kill("SIGKILL");
    await once(platform.process, "exit");
    platform = await startPlatform({ app, engine: "process", home: platform.home, ports: platform.ports });
    expect(await instances()).toEqual(before);
  });

  it("that changed while no orchestrator was there reach functions without a failed request", async () => {
    platform.process.kill("SIGKILL");
    await once(platform.process, "exit");
    await writeFiles(app, ENV_OF(`SECRET=${FOURTH}\n`));
    const failed = await failuresDuring(async () => {
      platform = await startPlatform({ app, engine: "process", home: platform.home, ports: platform.ports });
      await until(async () => (await text("production")) === `${FOURTH}  production`, { timeoutMs: 20_000 });
    });
    expect(failed).toEqual([]);
    expect(await text("staging")).toBe(`${FOURTH}  staging`);
    await until(async () => (await instances()).length === 6, { timeoutMs: 15_000, what: "no instance of before" });
  });

  it("show neither in what is printed nor in any file of the home", async () => {
    const printed = JSON.stringify(platform.events);
    for (const secret of SECRETS) expect(printed).not.toContain(secret);
    for await (const [path, content] of filesBelow(platform.home))
      for (const secret of SECRETS) expect([path, content.includes(secret)]).toEqual([path, false]);
  });
});

/** What is there when it is looked for: a running platform makes and removes files meanwhile, and what is gone shows nothing. */
async function* filesBelow(folder: string): AsyncGenerator<[path: string, content: Buffer]> {
  for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* filesBelow(path);
    if (entry.isFile()) yield [path, await readFile(path).catch(() => Buffer.alloc(0))];
  }
}
