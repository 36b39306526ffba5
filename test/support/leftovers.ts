// Finds what a platform may have left on this machine: processes that name its home, containers and networks with its label.
import { execFile } from "node:child_process";
import { readFile, readdir } from "node:fs/promises";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Command lines of processes that mention the home; the broker, gateways and instances all do. */
export async function processesOf(home: string): Promise<{ pid: number; command: string }[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  const commands = await Promise.all(
    pids.map(async (pid) => ({ pid, command: (await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")).replaceAll("\0", " ") })),
  );
  return commands.filter(({ pid, command }) => command.includes(home) && pid !== process.pid);
}

/** Containers and networks that carry the home's label, by name. */
export async function dockerLeftoversOf(home: string): Promise<string[]> {
  const filter = ["--filter", `label=orchestrator.home=${home}`];
  const containers = await run("docker", ["ps", "-a", ...filter, "--format", "{{.Names}}"]);
  const networks = await run("docker", ["network", "ls", ...filter, "--format", "{{.Name}}"]);
  return `${containers.stdout}${networks.stdout}`.split("\n").filter((name) => name !== "");
}

/** Names of the running containers of a home's instances. */
export async function containersOf(home: string): Promise<string[]> {
  const { stdout } = await run("docker", ["ps", "--filter", `label=orchestrator.home=${home}`, "--format", "{{.Names}}"]);
  return stdout.split("\n").filter((name) => name !== "");
}

/** Rules of the host's packet filter that a platform's wall is made of. */
export async function wallRulesOf(platformId: string): Promise<string[]> {
  const { stdout } = await run("iptables", ["-w", "5", "-S"]);
  return stdout.split("\n").filter((rule) => rule.includes(`orchestrator:${platformId}`));
}
