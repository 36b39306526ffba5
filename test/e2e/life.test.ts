// An app's life on each engine: deploy, promote, reload, crashes of every process, the end.
import { execFile } from "node:child_process";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { once } from "node:events";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { containersOf, dockerLeftoversOf, processesOf } from "../support/leftovers.ts";
import {
  ENGINE_NAMES,
  type EngineName,
  type RunningPlatform,
  handler,
  makeApp,
  runCommand,
  startPlatform,
  writeFiles,
} from "../support/platform.ts";
import { until } from "../support/until.ts";

const run = promisify(execFile);

const INDEX = "src/http/get-index/index.js";
const APP = {
  "app.arc": "@app\nlife\n\n@http\nget /\nget /slow\npost /work\n",
  [INDEX]: handler('return { body: "one" };'),
  "src/http/get-slow/index.js": handler(
    'console.log("slow began"); await require("node:timers/promises").setTimeout(1_500); return { body: "slow" };',
  ),
  "src/http/post-work/index.js": handler('console.log("at work"); return { body: Buffer.from(request.body, "base64").toString() };'),
};

/** Pids of instances: of the process engine by their command line, of docker through its own list. */
async function killInstances(engine: EngineName, home: string): Promise<void> {
  if (engine === "docker") {
    // One that ends between the list and the kill was on its way out anyway.
    await Promise.allSettled((await containersOf(home)).map(async (name) => run("docker", ["kill", name])));
    return;
  }
  for (const { pid, command } of await processesOf(home))
    if (command.includes("/runtime/") && command.includes("main.js")) process.kill(pid, "SIGKILL");
}

async function processNamed(home: string, part: string): Promise<number> {
  const found = (await processesOf(home)).find(({ command }) => command.includes(part));
  if (found === undefined) throw new Error(`no process with ${part}`);
  return found.pid;
}

describe.each(ENGINE_NAMES)("an app on engine %s", (engine) => {
  let platform: RunningPlatform;
  let app = "";

  beforeAll(async () => {
    app = await makeApp(APP);
    platform = await startPlatform({ app, engine });
  });

  /** Waits until /slow has begun so many times in the life of this home. */
  const slowBegan = async (count: number): Promise<void> => {
    const printed = async (): Promise<number> =>
      (await readFile(join(platform.home, "logs/staging.ndjson"), "utf8")).split("slow began").length - 1;
    const before = await printed();
    await until(async () => (await printed()) >= before + count, { timeoutMs: 5_000, what: "/slow began" });
  };

  afterAll(async () => {
    await platform.stop();
    await rm(platform.home, { recursive: true, force: true });
    await rm(app, { recursive: true, force: true });
  });

  it("answers on staging, and on production with a clear problem until something is promoted", async () => {
    expect((await platform.get("staging", "/")).text).toBe("one");
    const answer = await platform.get("production", "/");
    expect(answer.status).toBe(503);
    expect(answer.headers["content-type"]).toContain("application/problem+json");
    expect(JSON.parse(answer.text)).toMatchObject({ code: "NOTHING_DEPLOYED", detail: expect.stringContaining("promote") as unknown });
  });

  it("promotes what runs on staging to production", async () => {
    const { exitCode, stdout } = await runCommand(["promote", "--home", platform.home, "--api-port", `${platform.ports.api}`]);
    expect(stdout).toContain("production runs release");
    expect(exitCode).toBe(0);
    expect((await platform.get("production", "/")).text).toBe("one");
  });

  it("shows what functions print, with request id, function and environment", async () => {
    const answer = await platform.get("staging", "/work", { method: "POST", body: "x" });
    const requestId = answer.headers["x-request-id"];
    const logs = async (): Promise<string> => (await runCommand(["logs", "post-work", "--home", platform.home, "--json"])).stdout;
    await until(async () => (await logs()).includes("at work"), { timeoutMs: 10_000 });
    const entry: unknown = JSON.parse((await logs()).trim().split("\n").at(-1) ?? "");
    expect(entry).toMatchObject({ requestId, environment: "staging", functionName: "src/http/post-work", level: "info", text: "at work" });
  });

  it("swaps an edited function without a failed request, and no other function", async () => {
    const slowBefore = await platform.get("staging", "/slow");
    const over = new AbortController();
    const failed: string[] = [];
    const load = Array.from({ length: 4 }, async () => {
      while (!over.signal.aborted) {
        const answer = await platform.get("staging", "/").catch((error: unknown) => ({ status: 0, text: String(error) }));
        if (answer.status !== 200) failed.push(`${answer.status} ${answer.text}`);
      }
    });
    for (const word of ["two", "three", "four"]) {
      await writeFiles(app, { [INDEX]: handler(`return { body: "${word}" };`) });
      await until(async () => (await platform.get("staging", "/")).text === word, { timeoutMs: 20_000 });
    }
    over.abort();
    await Promise.all(load);
    expect(failed).toEqual([]);
    expect((await platform.get("staging", "/slow")).text).toBe(slowBefore.text);
    expect((await platform.get("production", "/")).text).toBe("one");
  });

  it("keeps what is live when an edit is broken, and says where", async () => {
    const before = platform.events.length;
    await writeFiles(app, { [INDEX]: "exports.handler = {" });
    await until(() => platform.events.slice(before).some((event) => event.code === "FUNCTION_INVALID"), { timeoutMs: 10_000 });
    expect((await platform.get("staging", "/")).text).toBe("four");
    await writeFiles(app, { [INDEX]: 'throw new Error("at load");\n' });
    await until(() => platform.events.slice(before).some((event) => event.code === "DEPLOY_FAILED"), { timeoutMs: 20_000 });
    expect((await platform.get("staging", "/")).text).toBe("four");
    await writeFiles(app, { [INDEX]: handler('return { body: "five" };') });
    await until(async () => (await platform.get("staging", "/")).text === "five", { timeoutMs: 20_000 });
  });

  it("replaces instances that are killed, and answers requests that come meanwhile", async () => {
    await killInstances(engine, platform.home);
    const answers = await Promise.all(Array.from({ length: 5 }, async () => platform.get("staging", "/")));
    expect(answers.map((answer) => answer.status)).toEqual([200, 200, 200, 200, 200]);
    await until(async () => (await platform.get("production", "/")).status === 200, { timeoutMs: 10_000 });
  });

  it("answers again soon after the broker was killed", async () => {
    process.kill(await processNamed(platform.home, "nats"), "SIGKILL");
    await until(async () => (await platform.get("staging", "/")).status === 200, { timeoutMs: 15_000 });
    await until(async () => (await platform.get("production", "/")).status === 200, { timeoutMs: 15_000 });
    expect((await platform.get("staging", "/")).text).toBe("five");
  });

  it("answers again soon after a gateway was killed", async () => {
    process.kill(await processNamed(platform.home, "gateways/staging.json"), "SIGKILL");
    const status = async (): Promise<number> =>
      platform.get("staging", "/").then(
        (answer) => answer.status,
        () => 0,
      );
    await until(async () => (await status()) === 200, { timeoutMs: 10_000 });
    expect((await platform.get("staging", "/")).text).toBe("five");
  });

  it("serves on while the orchestrator is dead, notices a dead instance within a second, and is taken over by the next one", async () => {
    platform.process.kill("SIGKILL");
    await once(platform.process, "exit");
    expect((await platform.get("staging", "/")).text).toBe("five");
    const slow = platform.get("staging", "/slow").then((answer) => ({ answer, atMs: performance.now() }));
    const killedAtMs = performance.now();
    await killInstances(engine, platform.home);
    const { answer, atMs } = await slow;
    // Nobody replaces it while the orchestrator is away, so it waits for another one until its place in the queue is over.
    expect(answer.status).toBeGreaterThanOrEqual(502);
    expect(atMs - killedAtMs).toBeLessThan(8_000);
    platform = await startPlatform({ app, engine, home: platform.home, ports: platform.ports });
    expect((await platform.get("staging", "/")).text).toBe("five");
    await until(async () => (await platform.get("production", "/")).text === "one", { timeoutMs: 10_000 });
  });

  it("adopts running instances instead of starting new ones", async () => {
    const instances = async (): Promise<string[]> =>
      engine === "docker"
        ? (await containersOf(platform.home)).toSorted()
        : (await processesOf(platform.home))
            .filter(({ command }) => command.includes("main.js"))
            .map(({ pid }) => `${pid}`)
            .toSorted();
    await until(async () => (await instances()).length === 9, { timeoutMs: 15_000, what: "3 instances on staging, 6 on production" });
    const before = await instances();
    platform.process.kill("SIGKILL");
    await once(platform.process, "exit");
    platform = await startPlatform({ app, engine, home: platform.home, ports: platform.ports });
    expect(await instances()).toEqual(before);
  });

  it("finishes a request in flight at the end, and leaves nothing running", async () => {
    const slow = platform.get("staging", "/slow");
    await slowBegan(1);
    const exitCode = await platform.stop();
    expect((await slow).text).toBe("slow");
    expect(exitCode).toBe(0);
    expect(await processesOf(platform.home)).toEqual([]);
    expect(await dockerLeftoversOf(platform.home)).toEqual([]);
  });
});
