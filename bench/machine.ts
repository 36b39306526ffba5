// What a result depends on: the machine, the versions, the commit.
import { cpus, release, totalmem } from "node:os";
import { fileURLToPath } from "node:url";
import { environmentSettings } from "../orchestrator/config.ts";
import { findNatsServer } from "../orchestrator/nats/binary.ts";
import { run, versionOf } from "./processes.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

export async function machineLines(): Promise<string> {
  const [docker, nats, nginx, wrk, commit] = await Promise.all([
    versionOf("docker", ["version", "--format", "{{.Server.Version}}"]).catch(() => null),
    natsVersion(),
    versionOf("nginx", ["-v"]),
    versionOf("wrk", ["--version"]),
    commitOf(),
  ]);
  const cores = cpus();
  return [
    `${new Date().toISOString().slice(0, 16).replace("T", " ")} UTC, commit ${commit}.`,
    `${cores.length} cores (${cores[0]?.model.trim() ?? "unknown"}), ${Math.round(totalmem() / 1e9)} GB, Linux ${release()}, Node ${process.versions.node},`,
    `Docker ${docker ?? "missing"}, ${nats}, ${nginx?.replace("nginx version: ", "") ?? "no nginx"}, ${/^wrk \S+/.exec(wrk ?? "")?.[0] ?? "no wrk"}. The load generator shares the cores.`,
  ].join(" ");
}

async function natsVersion(): Promise<string> {
  const { natsServer, searchPath } = environmentSettings();
  const binary = await findNatsServer({ explicitPath: natsServer, searchPath }).catch(() => null);
  return `nats-server ${binary?.version ?? "missing"}`;
}

async function commitOf(): Promise<string> {
  try {
    const commit = (await run("git", ["-C", ROOT, "rev-parse", "--short=10", "HEAD"])).trim();
    const changes = (await run("git", ["-C", ROOT, "status", "--porcelain", "--", ".", ":!bench/RESULTS.md"])).trim();
    return changes === "" ? commit : `${commit} with uncommitted changes`;
  } catch {
    return "unknown";
  }
}
