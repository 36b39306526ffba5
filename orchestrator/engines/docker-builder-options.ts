// What a builder's container may do and have, and the few lines of ours that run in it. Pure.
import type { ContainerOptions } from "../docker/api.ts";
import { NPM_PATH } from "../images/npm-image.ts";
import type { TarEntry } from "../images/tar.ts";
import { builderEnvironment } from "../npm/npm-command.ts";
import { LEFT_BEHIND } from "./builder-folder.ts";
import { INSTANCE_USER } from "./docker-container-options.ts";
import { type Platform, installNetworkName, labelsOf } from "./docker-labels.ts";
import type { BuilderOrder } from "./engine.ts";

export const BUILDER_UID = Number(INSTANCE_USER.split(":")[0]);
export const SOURCE_FOLDER = "/app"; // As in a function's container, so that paths in messages look alike.
export const OUTGOING_FOLDER = "/builder/outgoing";
const HOME_FOLDER = "/builder/home";
const SETTINGS_FOLDER = "/builder/settings"; // Its user may read it, and no more.

const OUT_OF_MEMORY_SCORE = 800; // When the host runs out of memory, builders go before functions.
const CPU_SHARES = 256; // Where there is not enough processor for all, functions get four times as much.
const CPU_UNITS = 1_000_000_000; // Docker counts CPUs in billionths.

export interface BuilderSurroundings {
  readonly platform: Platform;
  readonly image: string;
  readonly hasIpv6: boolean; // False where the kernel has none: the setting that turns it off is missing there too.
}

export function builderOptions({ limits, npm }: BuilderOrder, { platform, image, hasIpv6 }: BuilderSurroundings): ContainerOptions {
  const environment = builderEnvironment({
    home: HOME_FOLDER,
    userConfig: `${SETTINGS_FOLDER}/npmrc`,
    cache: `${HOME_FOLDER}/.npm`,
    path: "/usr/local/bin:/usr/bin:/bin",
    extraCaCerts: npm.extraCaCerts === null ? null : `${SETTINGS_FOLDER}/extra-ca.pem`,
  });
  return {
    Image: image,
    Entrypoint: ["/usr/local/bin/node", "--eval", RUNNER_SOURCE],
    Cmd: [],
    WorkingDir: SOURCE_FOLDER,
    User: INSTANCE_USER,
    Hostname: "builder",
    Env: Object.entries(environment).map(([name, value]) => `${name}=${value}`),
    OpenStdin: true,
    StdinOnce: true,
    Labels: labelsOf(platform, "builder"),
    HostConfig: {
      NetworkMode: installNetworkName(platform.platformId),
      CapDrop: ["ALL"],
      SecurityOpt: ["no-new-privileges"],
      ReadonlyRootfs: false, // Files cannot be put into a container whose root is read-only; only a few folders are its user's.
      Memory: limits.memoryBytesMax,
      MemorySwap: limits.memoryBytesMax, // Memory and swap together: the same number means no swap.
      NanoCpus: Math.round(limits.cpuCountMax * CPU_UNITS),
      CpuShares: CPU_SHARES,
      PidsLimit: limits.pidCountMax,
      OomScoreAdj: OUT_OF_MEMORY_SCORE,
      ...(hasIpv6 && { Sysctls: { "net.ipv6.conf.all.disable_ipv6": "1", "net.ipv6.conf.default.disable_ipv6": "1" } }),
      IpcMode: "private", // Browsers in tests want /dev/shm; what is in it counts as memory.
      CgroupnsMode: "private",
      LogConfig: { Type: "none", Config: {} }, // Read while it is printed, and kept by whoever asked for it.
      // How many files may be open is the engine's own default: bundlers open many, and an engine refuses more than it has itself.
      Ulimits: [
        { Name: "fsize", Soft: limits.diskBytesMax, Hard: limits.diskBytesMax },
        { Name: "core", Soft: 0, Hard: 0 },
      ],
      RestartPolicy: { Name: "no" },
    },
  };
}

/** What is there before the source. */
export function builderLayout({ npm }: Pick<BuilderOrder, "npm">): TarEntry[] {
  const folder = (path: string, uid = 0): TarEntry => ({ kind: "folder", path: path.slice(1), mode: 0o755, uid });
  const file = (path: string, bytes: Uint8Array): TarEntry => ({ kind: "file", path: path.slice(1), mode: 0o644, bytes });
  return [
    folder(SOURCE_FOLDER, BUILDER_UID),
    folder("/builder"),
    folder(HOME_FOLDER, BUILDER_UID),
    folder(OUTGOING_FOLDER, BUILDER_UID),
    folder(SETTINGS_FOLDER),
    file(`${SETTINGS_FOLDER}/npmrc`, Buffer.from(npm.userConfig)),
    ...(npm.extraCaCerts === null ? [] : [file(`${SETTINGS_FOLDER}/extra-ca.pem`, npm.extraCaCerts)]),
  ];
}

/** What a start of the container is for, on its standard input. */
export type RunnerOrder =
  | { readonly kind: "npm"; readonly args: readonly string[] }
  | { readonly kind: "gather"; readonly folder: string; readonly entryCountMax: number; readonly depthMax: number };

export const runnerInput = (order: RunnerOrder): Uint8Array => Buffer.from(JSON.stringify(order));

export const GATHER_REFUSED = 3; // Exit code; the line it printed says what cannot be taken out.

// The container's first process. The kernel ends everything else in the container with it, and lets nothing in there end it first.
// "npm": both streams go into one, so that lines keep their order.
// "gather": hard links to everything that is to be taken out, which costs nothing, so that Docker need not pack the packages as well.
// One that is there under two names is copied the second time, because Docker packs such as links.
// Names are bytes here, and one entry more than a source may have is let through, as is one folder deeper: whoever reads them refuses.
const RUNNER_SOURCE = `(() => {
const fs = require("node:fs");
const order = JSON.parse(fs.readFileSync(0, "utf8"));
if (order.kind === "npm") {
  const { signals } = require("node:os").constants;
  const child = require("node:child_process").spawn(process.execPath, ["${NPM_PATH}", ...order.args], { stdio: ["ignore", 1, 1] });
  child.on("exit", (code, signal) => process.exit(code ?? 128 + signals[signal]));
  return;
}
const LEFT_BEHIND = ${JSON.stringify(LEFT_BEHIND)};
const refuse = (path, problem) => {
  fs.writeSync(1, JSON.stringify({ path: path.toString(), problem }) + "\\n");
  process.exit(${GATHER_REFUSED});
};
const attempt = (path, act) => {
  try { return act(); } catch (error) { return refuse(path, "cannot be read: " + error.code); }
};
const taken = new Set();
const take = (source, target) => {
  const { ino } = fs.lstatSync(source);
  if (taken.has(ino)) return fs.copyFileSync(source, target);
  taken.add(ino);
  fs.linkSync(source, target);
};
let count = 0;
const gather = (from, to, path, depth) => {
  attempt(path, () => fs.mkdirSync(to));
  if (depth > order.depthMax) return;
  for (const entry of attempt(path, () => fs.readdirSync(from, { encoding: "buffer", withFileTypes: true }))) {
    if (LEFT_BEHIND.includes(entry.name.toString())) continue;
    if ((count += 1) > order.entryCountMax + 1) return;
    const [source, target, inner] = [from, to, path].map((folder) => Buffer.concat([folder, entry.name]));
    if (entry.isDirectory()) gather(...[source, target, inner].map((folder) => Buffer.concat([folder, Buffer.from("/")])), depth + 1);
    else if (entry.isSymbolicLink()) attempt(inner, () => fs.symlinkSync(fs.readlinkSync(source, "buffer"), target));
    else if (entry.isFile()) attempt(inner, () => take(source, target));
    else refuse(inner, "is no plain file, folder or symbolic link, but a device, a pipe, a socket or the like");
  }
};
gather(Buffer.from("${SOURCE_FOLDER}/"), Buffer.from(order.folder + "/"), Buffer.from(""), 0);
})();`;
