// Runs npm in a container of its own: no rights, a network that leads outwards only, limits, and nothing of the platform inside.
import { followDockerLogs } from "./docker-follow.ts";
import type { ContainerOptions, DockerApi } from "../docker/api.ts";
import {
  INSTALLED_BYTES_MAX,
  INSTALL_CPU_COUNT_MAX,
  INSTALL_MEMORY_BYTES_MAX,
  INSTALL_PID_COUNT_MAX,
} from "../../runtime-image/contract/limits.ts";
import { NPM_PATH } from "../images/npm-image.ts";
import { type TarEntry, packTar, unpackTar } from "../images/tar.ts";
import { npmArguments, npmEnvironment } from "../npm/npm-command.ts";
import { INSTANCE_USER } from "./docker-container-options.ts";
import { type Platform, installNetworkName, labelsOf } from "./docker-labels.ts";
import type { InstallOrder, InstallOutcome } from "./engine.ts";

const FOLDER = "/install";
const SETTINGS = "/install-settings";
const CPU_UNITS = 1_000_000_000; // Docker counts CPUs in billionths.

export async function installInContainer(
  docker: DockerApi,
  order: InstallOrder,
  { name, image, platform }: { readonly name: string; readonly image: string; readonly platform: Platform },
): Promise<InstallOutcome> {
  await docker.containers.remove(name);
  const container = await docker.containers.create(name, installOptions(order, { image, platform }));
  try {
    await docker.containers.writeFiles(container, "/", packTar(entriesOf(order)));
    if (order.signal.aborted) return { exitCode: null };
    await docker.containers.start(container);
    const following = followDockerLogs(docker, { container, sinceEpochMs: 0, signal: order.signal }, ({ text }) => order.onLine(text));
    const exitCode = await endOf(docker, container, order.signal);
    await following;
    if (exitCode === 0)
      await unpackTar(await docker.containers.readFiles(container, FOLDER), {
        into: order.into,
        below: `${FOLDER.slice(1)}/`,
        bytesMax: INSTALLED_BYTES_MAX,
      });
    return { exitCode };
  } finally {
    await docker.containers.remove(container);
  }
}

/** Null where it was not done in time. */
async function endOf(docker: DockerApi, container: string, signal: AbortSignal): Promise<number | null> {
  try {
    return (await docker.containers.untilStopped(container, signal)).exitCode;
  } catch (cause) {
    if (signal.aborted) return null;
    throw cause;
  }
}

export function installOptions(
  order: Pick<InstallOrder, "hasLock" | "allowsScripts" | "npm">,
  { image, platform }: { readonly image: string; readonly platform: Platform },
): ContainerOptions {
  const environment = npmEnvironment({
    home: FOLDER,
    userConfig: `${SETTINGS}/npmrc`,
    cache: `${FOLDER}/.npm-cache`,
    path: "/usr/local/bin:/usr/bin:/bin",
    extraCaCerts: order.npm.extraCaCerts === null ? null : `${SETTINGS}/extra-ca.pem`,
  });
  return {
    Image: image,
    Entrypoint: ["/usr/local/bin/node"],
    Cmd: [NPM_PATH, ...npmArguments(order)],
    WorkingDir: FOLDER,
    User: INSTANCE_USER,
    Hostname: "install",
    Env: Object.entries(environment).map(([name, value]) => `${name}=${value}`),
    Labels: labelsOf(platform, "install"),
    HostConfig: {
      NetworkMode: installNetworkName(platform.platformId),
      CapDrop: ["ALL"],
      SecurityOpt: ["no-new-privileges"],
      ReadonlyRootfs: false, // Files cannot be put into a container whose root is read-only; only one folder is its user's.
      Memory: INSTALL_MEMORY_BYTES_MAX,
      MemorySwap: INSTALL_MEMORY_BYTES_MAX,
      NanoCpus: INSTALL_CPU_COUNT_MAX * CPU_UNITS,
      PidsLimit: INSTALL_PID_COUNT_MAX,
      IpcMode: "none",
      CgroupnsMode: "private",
      LogConfig: { Type: "json-file", Config: { "max-size": "8m", "max-file": "1" } },
      RestartPolicy: { Name: "no" },
    },
  };
}

function entriesOf(order: InstallOrder): TarEntry[] {
  const file = (path: string, bytes: Uint8Array): TarEntry => ({ kind: "file", path: path.slice(1), mode: 0o644, bytes });
  const uid = Number(INSTANCE_USER.split(":")[0]);
  return [
    { kind: "folder", path: FOLDER.slice(1), mode: 0o755, uid },
    ...[...order.files].map(([path, bytes]) => file(`${FOLDER}/${path}`, bytes)),
    { kind: "folder", path: SETTINGS.slice(1), mode: 0o755 },
    file(`${SETTINGS}/npmrc`, Buffer.from(order.npm.userConfig)),
    ...(order.npm.extraCaCerts === null ? [] : [file(`${SETTINGS}/extra-ca.pem`, order.npm.extraCaCerts)]),
  ];
}
