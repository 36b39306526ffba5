// The containers of the bench: a hardened one with the app of the comparison, and what we need to know of any of them.
import { readFile } from "node:fs/promises";
import { parseDockerAddress } from "../orchestrator/docker/address.ts";
import { createDockerClient } from "../orchestrator/docker/client.ts";
import { environmentSettings } from "../orchestrator/config.ts";
import { DEFAULT_NODE_IMAGE, ensureNodeBase } from "../orchestrator/images/node-base.ts";
import { INSTANCE_CPU_COUNT_MAX, INSTANCE_MEMORY_BYTES_MAX, INSTANCE_PID_COUNT_MAX } from "../runtime-image/contract/limits.ts";
import { say } from "./log.ts";
import { run } from "./processes.ts";
import { waitFor } from "./wait.ts";

export interface BenchContainer {
  readonly pid: number;
  readonly url: string; // By its address on the bridge: a published port halves everything.
}

export const BENCH_LABEL = "orchestrator.bench=1";
const PORT = 8080;
const SERVER = new URL("workload/server.ts", import.meta.url);
const HARDENING = [
  ["--cap-drop", "ALL"],
  ["--security-opt", "no-new-privileges"],
  ["--user", "10001:10001"],
  ["--read-only"],
  ["--tmpfs", "/tmp:size=64m"],
  ["--pids-limit", String(INSTANCE_PID_COUNT_MAX)],
  ["--memory", String(INSTANCE_MEMORY_BYTES_MAX)],
  ["--memory-swap", String(INSTANCE_MEMORY_BYTES_MAX)],
  ["--cpus", String(INSTANCE_CPU_COUNT_MAX)],
].flat();

/** The app of the comparison, as closed in as a function is, on a bridge network of its own. */
export async function startServerContainer(stack: AsyncDisposableStack, signal: AbortSignal): Promise<BenchContainer> {
  const docker = createDockerClient(parseDockerAddress(environmentSettings().dockerHost ?? undefined));
  const image = await ensureNodeBase(docker, { nodeImage: DEFAULT_NODE_IMAGE, progress: say });
  const code = await readFile(SERVER, "utf8");
  const name = `orchestrator-bench-${process.pid}`;
  stack.defer(async () => void (await run("docker", ["network", "rm", name]).catch(() => "")));
  await run("docker", ["network", "create", "--label", BENCH_LABEL, name], { signal });
  stack.defer(async () => void (await run("docker", ["rm", "--force", name]).catch(() => "")));
  const node = ["--input-type=module-typescript", "--disable-warning=ExperimentalWarning", "--eval", code, "--", "0.0.0.0", String(PORT)];
  await run(
    "docker",
    ["run", "--detach", "--name", name, "--network", name, "--label", BENCH_LABEL, ...HARDENING, image.reference, ...node],
    { signal },
  );
  const inspected = await run(
    "docker",
    ["inspect", "--format", "{{.State.Pid}} {{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}", name],
    { signal },
  );
  const [pid, address = ""] = inspected.trim().split(" ");
  const url = `http://${address}:${PORT}`;
  await waitFor(async () => (await fetch(url, { signal: AbortSignal.timeout(1_000) })).ok, {
    timeoutMs: 10_000,
    what: `the container at ${url} answers`,
    signal,
  });
  return { pid: Number(pid), url };
}

export interface ListedContainer {
  readonly id: string;
  readonly pid: number; // Of its first process, as the host counts.
  readonly labels: Readonly<Record<string, string>>;
}

/** Running containers with a label. */
export async function containersWith(label: string): Promise<readonly ListedContainer[]> {
  const ids = (await run("docker", ["ps", "--quiet", "--no-trunc", "--filter", `label=${label}`])).split("\n").filter((id) => id !== "");
  if (ids.length === 0) return [];
  const lines = (await run("docker", ["inspect", "--format", "{{.Id}} {{.State.Pid}} {{json .Config.Labels}}", ...ids])).trim().split("\n");
  return lines.map((line) => {
    const [, id = "", pid, labels = "{}"] = /^(\S+) (\d+) (.*)$/.exec(line) ?? [];
    // Docker's own JSON of a map from text to text.
    return { id, pid: Number(pid), labels: JSON.parse(labels) as Record<string, string> };
  });
}
