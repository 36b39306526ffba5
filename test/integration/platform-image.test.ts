// The platform's own image, built from the Dockerfile and run as the compose file says: what it holds, what it runs, what it leaves.
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LABELS } from "../../orchestrator/docker/labels.ts";
import { composeAsRun } from "../support/compose.ts";
import { docker, listOwn, removeBuildImages } from "../support/docker-rig.ts";
import { wallRulesOf } from "../support/leftovers.ts";
import { type Answer, CHECKOUT, freePort, handler, makeApp, runCommand, send } from "../support/platform.ts";
import { until } from "../support/until.ts";

const BUILD_TIMEOUT_MS = 300_000;
const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 70_000;
const run = promisify(execFile);

/** What the first stage of the Dockerfile leaves without a name. */
const stagesOfBuilds = async (): Promise<string[]> =>
  (await docker("image", "ls", "--quiet", "--filter", "dangling=true", "--filter", "label=orchestrator.image=platform"))
    .split("\n")
    .filter(Boolean);

describe("the platform's own image", () => {
  const id = randomBytes(4).toString("hex");
  const image = `orchestrator-test-image:${id}`;
  const name = `orchestrator-test-${id}`;
  const volume = `orchestrator-test-${id}`;
  const ports = { staging: 0, production: 0, api: 0 };
  let app = "";
  let platformId = "";
  let stagesBefore: readonly string[] = [];

  /** In the container. */
  const inside = async (...command: readonly string[]): Promise<string> =>
    (await run("docker", ["exec", name, ...command], { timeout: START_TIMEOUT_MS })).stdout.trim();
  const orchestrator = (...args: readonly string[]): Promise<string> => inside("orchestrator", ...args, "--api-port", `${ports.api}`);
  const visit = async (path: string): Promise<Answer> => send(ports.staging, path, { headers: { host: "shop.localhost" } });
  const untilUp = async (): Promise<void> =>
    until(async () => (await docker("logs", name)).includes("The platform is up"), { timeoutMs: START_TIMEOUT_MS, what: "it is up" });
  const start = async (): Promise<void> => {
    const { options, command } = composeAsRun();
    const replaced: Readonly<Record<string, string>> = {
      orchestrator: name,
      "orchestrator-home:/home/orchestrator": `${volume}:/home/orchestrator`,
    };
    const own = ["--staging-port", `${ports.staging}`, "--production-port", `${ports.production}`, "--api-port", `${ports.api}`];
    const labels = ["--label", `${LABELS.home}=${app}`];
    await docker("run", ...labels, ...options.map((option) => replaced[option] ?? option), image, ...command, ...own);
    await untilUp();
  };

  beforeAll(async () => {
    for (const key of ["staging", "production", "api"] as const) ports[key] = await freePort();
    stagesBefore = await stagesOfBuilds();
    const base = (await runCommand(["image", "base"])).stdout.trim();
    // The classic builder is on every machine; its output says which line failed.
    const build = ["build", "--tag", image, "--build-arg", `NODE_IMAGE=${base}`, CHECKOUT];
    await run("docker", build, { timeout: BUILD_TIMEOUT_MS, env: { ...process.env, DOCKER_BUILDKIT: "0" } });
    app = await makeApp({
      "app.arc": "@app\nshop\n\n@http\nget /\n",
      "package.json": JSON.stringify({ scripts: { build: "sed s/before/after/ text.txt > public/text.txt" } }),
      "text.txt": "before",
      "public/other.txt": "other",
      "src/http/get-index/index.js": `const { get, set } = require("@begin/data");\n${handler(`
        const { word } = request.queryStringParameters ?? {};
        if (word) await set({ table: "words", key: "last", word });
        return { body: (await get({ table: "words", key: "last" }))?.word ?? "none" };`)}`,
    });
    await start();
    platformId = await inside("node", "--print", "fs.readFileSync('/home/orchestrator/platform-id', 'utf8')");
  }, BUILD_TIMEOUT_MS + START_TIMEOUT_MS);

  afterAll(async () => {
    const { stdout } = await run("docker", ["stop", name], { timeout: STOP_TIMEOUT_MS }).catch(() => ({ stdout: "" }));
    if (stdout !== "") await docker("rm", "--volumes", name);
    await docker("volume", "rm", volume);
    await removeBuildImages(platformId);
    const stages = (await stagesOfBuilds()).filter((stage) => !stagesBefore.includes(stage));
    await docker("image", "rm", "--force", image, ...stages);
    await rm(app, { recursive: true, force: true });
  }, STOP_TIMEOUT_MS);

  it("runs with a small init as process 1, functions in containers, and nothing that only development needs", async () => {
    expect(await inside("node", "--print", "fs.readFileSync('/proc/1/comm', 'utf8')")).toMatch(/^(docker-init|tini)$/);
    expect(await docker("logs", name)).toMatch(/engine +docker: Every instance is a closed container/);
    const packages = await inside("node", "--print", "fs.readdirSync('/opt/orchestrator/node_modules').join(' ')");
    expect(packages).toContain("fastify");
    for (const left of ["vitest", "typescript", "oxlint", "playwright-core"]) expect(packages.split(" ")).not.toContain(left);
    expect(await docker("logs", name)).not.toMatch(/[0-9a-f]{64}/); // The token is no business of a log.
  });

  it("takes an app in, runs its scripts, and serves it", async () => {
    await orchestrator("app", "create", "shop");
    await docker("cp", app, `${name}:/tmp/app`);
    expect(await orchestrator("deploy", "/tmp/app", "--app", "shop", "--promote")).toContain("production runs release");
    expect((await visit("/?word=tea")).text).toBe("tea");
    expect((await visit("/_static/text.txt")).text).toBe("after");
  });

  it("finishes what it does when the container is stopped, and leaves nothing but its volume and images", async () => {
    await run("docker", ["stop", name], { timeout: STOP_TIMEOUT_MS });
    expect(await docker("inspect", "--format", "{{.State.ExitCode}}", name)).toBe("0");
    expect([...(await listOwn("container", platformId)), ...(await listOwn("network", platformId))]).toEqual([]);
    expect(await wallRulesOf(platformId)).toEqual([]);
  });

  it("goes on from its volume in a new container", async () => {
    await docker("rm", name);
    await start();
    await until(async () => (await visit("/")).status === 200, { timeoutMs: START_TIMEOUT_MS, what: "the app answers again" });
    expect((await visit("/")).text).toBe("tea");
  });
});
