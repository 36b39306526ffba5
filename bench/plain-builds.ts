// What a person without a platform does: one Dockerfile for each function, and `docker build` for each of them.
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { environmentSettings } from "../orchestrator/config.ts";
import { parseDockerAddress } from "../orchestrator/docker/address.ts";
import { createDockerClient } from "../orchestrator/docker/client.ts";
import { DEFAULT_NODE_IMAGE } from "../orchestrator/images/node-base.ts";
import { buildRuntimeBundle } from "../orchestrator/images/runtime-bundle.ts";
import { ensureRuntimeImage } from "../orchestrator/images/runtime-image.ts";
import { BENCH_LABEL } from "./docker.ts";
import { say } from "./log.ts";
import { run } from "./processes.ts";

const BUILD_TIMEOUT_MS = 120_000;

/** The image that ours stand on as well. */
export async function runtimeImage(): Promise<string> {
  const docker = createDockerClient(parseDockerAddress(environmentSettings().dockerHost ?? undefined));
  const options = { nodeImage: DEFAULT_NODE_IMAGE, progress: say, runtimeBundle: buildRuntimeBundle };
  return (await ensureRuntimeImage(docker, options)).reference;
}

export interface PlainBuilds {
  readonly image: string;
  readonly functionFolders: readonly string[];
  readonly atOnceCount: number;
  readonly signal: AbortSignal;
}

/** The milliseconds that all of them take. Their images are gone afterwards. */
export async function plainBuildsMs({ image, functionFolders, atOnceCount, signal }: PlainBuilds): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), "orchestrator-bench-plain-"));
  const repository = `orchestrator-bench-plain-${process.pid}`;
  try {
    const contexts: string[] = [];
    for (const source of functionFolders) {
      const context = join(folder, basename(source));
      await cp(source, join(context, "function"), { recursive: true });
      await writeFile(join(context, "Dockerfile"), `FROM ${image}\nCOPY function /app\n`);
      contexts.push(context);
    }
    const queue = [...contexts];
    const work = async (): Promise<void> => {
      for (let context = queue.shift(); context !== undefined; context = queue.shift()) {
        const tag = `${repository}:${basename(context)}`;
        await run("docker", ["build", "--quiet", "--label", BENCH_LABEL, "--tag", tag, context], { timeoutMs: BUILD_TIMEOUT_MS, signal });
      }
    };
    const startMs = performance.now();
    await Promise.all(Array.from({ length: atOnceCount }, work));
    return performance.now() - startMs;
  } finally {
    const tags = (await run("docker", ["image", "ls", "--format", "{{.Repository}}:{{.Tag}}", repository]))
      .split("\n")
      .filter((tag) => tag !== "");
    if (tags.length > 0) await run("docker", ["image", "rm", "--force", ...tags], { timeoutMs: BUILD_TIMEOUT_MS });
    await rm(folder, { recursive: true, force: true });
  }
}
