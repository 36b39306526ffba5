// A Docker engine of a test's own: a platform id nobody else has, and a runtime that only loads the function's file.
import { execFile } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { promisify } from "node:util";
import { parseDockerAddress } from "../../orchestrator/docker/address.ts";
import { createDockerEngine, type DockerEngineOptions } from "../../orchestrator/engines/docker-engine.ts";
import type { InstanceSpec, LogLine } from "../../orchestrator/engines/engine.ts";
import type { RuntimeBundle } from "../../orchestrator/images/runtime-image.ts";
import type { Environment } from "../../runtime-image/contract/instance-manifest.ts";

const run = promisify(execFile);

/** Runs the docker command and gives what it prints. */
export const docker = async (...args: string[]): Promise<string> => (await run("docker", args, { timeout: 30_000 })).stdout.trim();

/** What docker itself lists of a platform: one line per container, network or image. */
export const listOwn = async (kind: "container" | "network" | "image", platformId: string): Promise<string[]> => {
  const all = kind === "container" ? ["--all"] : [];
  const printed = await docker(kind, "ls", ...all, "--quiet", "--filter", `label=orchestrator.platform=${platformId}`);
  return printed.split("\n").filter((line) => line !== "");
};

export const newPlatformId = (): string => `test-${randomBytes(4).toString("hex")}`;
export const newBuildId = (): string => randomBytes(32).toString("hex");

const BARE_MAIN = `if (!process.argv.includes("--warm")) {
  Object.assign(process.env, JSON.parse(require("node:fs").readFileSync(0, "utf8")).variables);
  require("/app/src/http/get-index/index.js");
}
`;

export const bareRuntime = async (name = "bare-runtime-1"): Promise<RuntimeBundle> => ({
  hash: createHash("sha256").update(`${name}\n${BARE_MAIN}`).digest("hex"), // An image of another main.js may still be there.
  files: [
    { path: "main.js", bytes: Buffer.from(BARE_MAIN) },
    { path: "watchdog.js", bytes: Buffer.from("\n") },
  ],
});

export const createTestEngine = (platformId: string, options: Partial<DockerEngineOptions> = {}) =>
  createDockerEngine({
    platformId,
    homeLabel: "/test/home",
    docker: parseDockerAddress(undefined),
    runtimeBundle: () => bareRuntime(),
    nodeImage: null,
    progress: () => {},
    ...options,
  });

export function instanceSpec(given: {
  instanceId: string;
  buildId: string;
  environment?: Environment;
  variables?: Record<string, string>;
}): InstanceSpec {
  const environment = given.environment ?? "staging";
  const common = { instanceId: given.instanceId, appId: "shop", environment, functionName: "src/http/get-index" };
  return {
    ...common,
    buildId: given.buildId,
    configId: "c0f1",
    manifest: {
      ...common,
      v: 1,
      appName: "Shop",
      generation: "current",
      timeoutMs: 10_000,
      concurrency: 32,
      rawJson: false,
      bareQuery: false,
      sessionSecret: "5e".repeat(32),
      memoryBytesMax: 96_000_000,
      broker: { url: "nats://127.0.0.1:1", jwt: "", seed: "" },
    },
    variables: given.variables ?? {},
    limits: { memoryBytesMax: 96_000_000, cpuCountMax: 0.5, pidCountMax: 64, tmpBytesMax: 1_000_000 },
  };
}

/** Builds a function out of one file and starts it; the answer collects what it prints. */
export async function startScript(
  engine: ReturnType<typeof createTestEngine>,
  script: string,
  given: Omit<Parameters<typeof instanceSpec>[0], "buildId">,
): Promise<{ readonly lines: LogLine[]; readonly ended: Promise<void> }> {
  const buildId = newBuildId();
  await engine.build({
    buildId,
    functionName: "src/http/get-index",
    files: [{ path: "src/http/get-index/index.js", bytes: Buffer.from(script), isExecutable: false }],
  });
  await engine.start(instanceSpec({ ...given, buildId }));
  const lines: LogLine[] = [];
  const ended = engine.followLogs(given.instanceId, { sinceEpochMs: 0, signal: AbortSignal.timeout(60_000) }, (line) => lines.push(line));
  return { lines, ended };
}

/** The build images of a test are nobody's but its own. */
export async function removeBuildImages(platformId: string): Promise<void> {
  const images = await listOwn("image", platformId);
  if (images.length > 0) await docker("image", "rm", "--force", ...new Set(images));
}
