// Reaches the host's packet filter: directly where this process may, otherwise through a short-lived container that runs the host's iptables.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { buffer, text } from "node:stream/consumers";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import type { ContainerOptions, DockerApi } from "../docker/api.ts";
import { createLogReader } from "./docker-logs.ts";
import { labelsOf, type Platform } from "./docker-labels.ts";

export interface PacketFilter {
  /** What "iptables -S" says. */
  list(): Promise<string>;
  /** Gives a script to iptables-restore, which takes all of it or none. */
  restore(script: string): Promise<void>;
}

const COMMAND_TIMEOUT_MS = 10_000;
const HELPER_TIMEOUT_MS = 30_000;
const LIST = ["iptables", "-w", "5", "-S"]; // -w: others may hold the lock for a moment.
const RESTORE = ["iptables-restore", "-w", "5", "--noflush"];
const SEARCH_PATH = "/usr/sbin:/sbin:/usr/bin:/bin:/usr/local/sbin:/usr/local/bin";

type Run = (command: readonly string[], input: string) => Promise<string>;

const filterThrough = (run: Run): PacketFilter => ({
  list: () => run(LIST, ""),
  restore: async (script) => void (await run(RESTORE, script)),
});

/** For root on the host itself. */
export const directFilter = (): PacketFilter => filterThrough(runHere);

/** Whether this process sees the interface, so that its packet filter is the one in question. */
export const seesInterface = (name: string): boolean => existsSync(`/sys/class/net/${name}`);

/** For whoever may use Docker: no root and no iptables needed on this side. `image` holds Node. */
export const helperFilter = (docker: DockerApi, platform: Platform, image: () => string): PacketFilter =>
  filterThrough((command, input) => runInHelper(docker, helperOptions(platform, image(), { command, input }), platform));

async function runHere(command: readonly string[], input: string): Promise<string> {
  const [program = "", ...rest] = command;
  const child = spawn(program, rest, { timeout: COMMAND_TIMEOUT_MS, env: { PATH: SEARCH_PATH } });
  child.stdin.on("error", () => {}); // It may end without reading; its exit code tells.
  child.stdin.end(input);
  const exited = new Promise<number | null>((resolve, reject) => child.once("error", reject).once("close", resolve));
  const [exitCode, printed, complaint] = await Promise.all([exited, text(child.stdout), text(child.stderr)]);
  if (exitCode !== 0) throw failure(command, complaint);
  return printed;
}

// The image may be as small as Node alone, so the helper finds the way into the host's own root, and runs what is there.
const HELPER_SOURCE = `
const { spawnSync } = require("node:child_process");
const { COMMAND, INPUT, SEARCH_PATH } = process.env;
for (const chroot of ["/usr/sbin/chroot", "/host/usr/sbin/chroot", "/host/usr/bin/chroot", "/host/sbin/chroot"]) {
  const run = spawnSync(chroot, ["/host", ...JSON.parse(COMMAND)], { input: INPUT, env: { PATH: SEARCH_PATH }, timeout: ${COMMAND_TIMEOUT_MS} });
  if (run.error?.code === "ENOENT") continue;
  process.stdout.write(run.stdout ?? "");
  process.stderr.write(run.error ? String(run.error) : run.stderr);
  process.exitCode = run.status ?? 1;
  return;
}
process.stderr.write("no chroot was found");
process.exitCode = 1;
`;

export function helperOptions(
  platform: Platform,
  image: string,
  { command, input }: { command: readonly string[]; input: string },
): ContainerOptions {
  return {
    Image: image,
    Entrypoint: ["/usr/local/bin/node", "--eval", `(() => {${HELPER_SOURCE}})()`],
    Cmd: [],
    User: "0:0",
    Env: [`COMMAND=${JSON.stringify(command)}`, `INPUT=${input}`, `SEARCH_PATH=${SEARCH_PATH}`],
    Labels: labelsOf(platform, "helper"),
    HostConfig: {
      NetworkMode: "host",
      UsernsMode: "host", // The host's packet filter cannot be changed from a user namespace of its own.
      CapDrop: ["ALL"],
      CapAdd: ["NET_ADMIN", "NET_RAW", "SYS_CHROOT"], // NET_RAW: the older iptables talks through a raw socket.
      SecurityOpt: ["no-new-privileges", "label=disable"],
      ReadonlyRootfs: true,
      Binds: ["/:/host:ro", "/run:/host/run"], // The lock of iptables is in /run.
      LogConfig: { Type: "json-file", Config: {} },
      RestartPolicy: { Name: "no" },
    },
  };
}

let helperCount = 0;

async function runInHelper(docker: DockerApi, options: ContainerOptions, platform: Platform): Promise<string> {
  const name = `orchestrator-${platform.platformId}-wall-${process.pid}-${++helperCount}`;
  const signal = AbortSignal.timeout(HELPER_TIMEOUT_MS);
  const container = await docker.containers.create(name, options);
  try {
    await docker.containers.start(container);
    const { exitCode } = await docker.containers.untilStopped(container, signal);
    const printed: string[] = [];
    const complaints: string[] = [];
    const logs = await docker.containers.logs(container, { since: "0", follow: false, signal });
    const reader = createLogReader(({ stream, text: line }) => (stream === "stdout" ? printed : complaints).push(line), { after: "" });
    if (logs !== null) reader.push(await buffer(logs));
    reader.end();
    if (exitCode !== 0) throw failure(["iptables, in a helper container"], complaints.join(" "));
    return printed.join("\n");
  } finally {
    await docker.containers.remove(container);
  }
}

const failure = (command: readonly string[], complaint: string): PlatformError =>
  new PlatformError("ENGINE_FAILED", { detail: `${command.join(" ")}: ${complaint.trim() || "it ended without a word"}` });
