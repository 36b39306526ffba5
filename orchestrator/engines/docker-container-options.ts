// What a function's container may do and have: a pure answer, closed by default.
import { posix } from "node:path";
import {
  INSTANCE_MANIFEST_VARIABLE,
  MANIFEST_ON_INPUT,
  type InstanceInput,
  type InstanceManifest,
} from "../../runtime-image/contract/instance-manifest.ts";
import { STOP_GRACE_MS } from "../../runtime-image/contract/limits.ts";
import type { ContainerOptions, HostOptions } from "../docker/api.ts";
import { instanceLabels, networkName, type Platform } from "./docker-labels.ts";
import type { InstanceSpec } from "./engine.ts";

export const APP_FOLDER = "/app"; // Holds the slice of the app that a build is.
export const INSTANCE_USER = "10001:10001"; // In no image's /etc/passwd but ours, so that it owns nothing on the host by accident.

const OPEN_FILE_COUNT_MAX = 4_096; // Sockets and files of one instance; Node itself needs some 30.
const LOG_FILE_BYTES_MAX = "8m"; // Docker keeps this much twice per instance; the platform keeps its own copy.
const LOG_FILE_COUNT_MAX = "2";
const OUT_OF_MEMORY_SCORE = 500; // When the host runs out of memory, functions go before broker and gateways.
const CPU_UNITS = 1_000_000_000; // Docker counts CPUs in billionths.

export interface ContainerSurroundings {
  readonly platform: Platform;
  readonly image: string;
  readonly createdEpochMs: number;
  readonly hasIpv6: boolean; // False where the kernel has none: the setting that turns it off is missing there too.
}

export function containerOptions(spec: InstanceSpec, surroundings: ContainerSurroundings): ContainerOptions {
  return {
    Image: surroundings.image,
    User: INSTANCE_USER,
    Hostname: "function", // The default is the container's id.
    Env: [`${INSTANCE_MANIFEST_VARIABLE}=${MANIFEST_ON_INPUT}`],
    OpenStdin: true,
    StdinOnce: true,
    Labels: instanceLabels(surroundings.platform, spec, surroundings.createdEpochMs),
    StopSignal: "SIGTERM",
    StopTimeout: Math.ceil(STOP_GRACE_MS / 1000), // For whoever stops it by hand.
    HostConfig: hostOptions(spec, surroundings),
  };
}

function hostOptions(spec: InstanceSpec, { platform, hasIpv6 }: ContainerSurroundings): HostOptions {
  const { limits } = spec;
  return {
    NetworkMode: networkName(platform.platformId, spec.environment),
    CapDrop: ["ALL"],
    SecurityOpt: ["no-new-privileges"],
    ReadonlyRootfs: true,
    // The mode is that of the image's /tmp whatever it says here, so the owner is named too.
    Tmpfs: { "/tmp": `rw,noexec,nosuid,nodev,size=${limits.tmpBytesMax},mode=1777,uid=10001,gid=10001` },
    Memory: limits.memoryBytesMax,
    MemorySwap: limits.memoryBytesMax, // Memory and swap together: the same number means no swap.
    NanoCpus: Math.round(limits.cpuCountMax * CPU_UNITS),
    PidsLimit: limits.pidCountMax,
    OomScoreAdj: OUT_OF_MEMORY_SCORE,
    ...(hasIpv6 && { Sysctls: { "net.ipv6.conf.all.disable_ipv6": "1", "net.ipv6.conf.default.disable_ipv6": "1" } }),
    IpcMode: "none",
    CgroupnsMode: "private",
    LogConfig: { Type: "json-file", Config: { "max-size": LOG_FILE_BYTES_MAX, "max-file": LOG_FILE_COUNT_MAX } },
    Ulimits: [
      { Name: "nofile", Soft: OPEN_FILE_COUNT_MAX, Hard: OPEN_FILE_COUNT_MAX },
      { Name: "core", Soft: 0, Hard: 0 },
    ],
    RestartPolicy: { Name: "no" }, // The pool decides, not Docker.
  };
}

/** Secrets, given to the container's process directly: Docker writes a container's environment to its disk, and shows it. */
export function instanceInput(spec: InstanceSpec): Uint8Array {
  const manifest: InstanceManifest = { ...spec.manifest, folder: posix.join(APP_FOLDER, spec.functionName), watchMemory: false };
  const input: InstanceInput = { manifest, variables: spec.variables };
  return Buffer.from(JSON.stringify(input));
}
