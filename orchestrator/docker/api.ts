// What we ask of a Docker engine, in our own types; docker-client.ts speaks it.
import type { Readable } from "node:stream";

export type Labels = Readonly<Record<string, string>>;

export interface DockerApi {
  /** Where the engine listens, for messages. */
  readonly endpoint: string;
  readonly containers: DockerContainers;
  readonly images: DockerImages;
  readonly networks: DockerNetworks;
  /** Throws ENGINE_UNAVAILABLE unless the engine answers. */
  engineInfo(): Promise<EngineInfo>;
  /** Where the engine keeps containers and images, on its own machine; "" where it does not say. */
  dataFolder(): Promise<string>;
  /** Exits of containers with these labels, one JSON text each, from a moment on; fails when the connection breaks. */
  events(query: { readonly labels: Labels; readonly sinceEpochMs: number; readonly signal: AbortSignal }): Promise<AsyncIterable<string>>;
}

export interface EngineInfo {
  readonly version: string;
  readonly operatingSystem: string; // "linux"
  readonly architecture: string; // As uname says it: "x86_64", "aarch64".
}

/** For a container that is not there every method but create() and start() is fine with it, and says so where it has an answer. */
export interface DockerContainers {
  create(name: string, options: ContainerOptions): Promise<string>;
  /** What its first process finds on standard input, for a container with OpenStdin and StdinOnce that was not started yet. */
  giveInput(container: string, bytes: Uint8Array): Promise<void>;
  /** The same, and what it prints from its start on until it ends, in Docker's frames without times. It may have run before. */
  attach(container: string, input: Uint8Array): Promise<Readable>;
  start(container: string): Promise<void>;
  kill(container: string, signalName: "SIGTERM" | "SIGKILL"): Promise<void>;
  /** Resolves when it no longer runs, or is not there. */
  untilStopped(container: string, signal: AbortSignal): Promise<{ readonly exitCode: number | null }>;
  remove(container: string): Promise<void>;
  inspect(container: string): Promise<ContainerState | null>;
  /** What it has written besides its image. Docker counts file by file: infinite where no path reaches some of them. */
  writtenBytes(container: string): Promise<number>;
  list(query: { readonly labels: Labels; readonly states?: readonly string[] }): Promise<readonly ListedContainer[]>;
  /** Docker's framed log stream, each frame with its time; null for a container that is not there. */
  logs(
    container: string,
    options: { readonly since: string; readonly follow: boolean; readonly signal: AbortSignal },
  ): Promise<Readable | null>;
  writeFiles(container: string, folder: string, tar: Readable): Promise<void>;
  readFiles(container: string, path: string): Promise<Readable>;
  commit(container: string, image: { readonly repository: string; readonly tag: string }): Promise<void>;
}

/** Engine-wide shape of the create call; docker-container-options.ts decides what is in it. */
export interface ContainerOptions {
  readonly Image: string;
  readonly Entrypoint?: string[];
  readonly Cmd?: string[];
  readonly Env?: string[];
  readonly WorkingDir?: string;
  readonly User?: string;
  readonly Hostname?: string;
  readonly Labels: Record<string, string>;
  readonly StopSignal?: string;
  readonly StopTimeout?: number;
  readonly NetworkDisabled?: boolean;
  readonly OpenStdin?: boolean;
  readonly StdinOnce?: boolean; // It ends with what it was given.
  readonly HostConfig: HostOptions;
}

export interface HostOptions {
  readonly NetworkMode: string;
  readonly CapDrop: string[];
  readonly CapAdd?: string[];
  readonly SecurityOpt: string[];
  readonly ReadonlyRootfs: boolean;
  readonly Binds?: string[];
  readonly Tmpfs?: Record<string, string>;
  readonly Memory?: number;
  readonly MemorySwap?: number;
  readonly NanoCpus?: number;
  readonly CpuShares?: number; // Beside others' 1,024, where there is not enough for all.
  readonly PidsLimit?: number;
  readonly OomScoreAdj?: number;
  readonly Sysctls?: Record<string, string>;
  readonly IpcMode?: string;
  readonly CgroupnsMode?: "private" | "host";
  readonly UsernsMode?: string;
  readonly LogConfig: { Type: string; Config: Record<string, string> };
  readonly Ulimits?: { Name: string; Soft: number; Hard: number }[];
  readonly RestartPolicy: { Name: string };
}

export interface ContainerState {
  readonly isRunning: boolean;
  readonly exitCode: number;
  readonly outOfMemory: boolean;
}

export interface ListedContainer {
  readonly id: string;
  readonly name: string;
  readonly imageId: string;
  readonly state: string; // "created", "running", "paused", "restarting", "removing", "exited" or "dead".
  readonly labels: Labels;
}

export interface DockerImages {
  inspect(reference: string): Promise<InspectedImage | null>;
  list(query: { readonly labels: Labels }): Promise<readonly ImageInfo[]>;
  /** Makes an image of one layer out of a tar of its files. */
  importTar(
    tar: Readable,
    image: { readonly repository: string; readonly tag: string; readonly changes: readonly string[] },
  ): Promise<void>;
  /** Builds the Dockerfile in a tar. */
  build(tar: Readable, options: BuildOptions): Promise<void>;
  /** By a name, which is all that goes where there are others, or by an id. It stays where a container, running or not, was made from it. */
  remove(reference: string): Promise<void>;
  /** Asks the registry; aborting gives up. */
  pull(reference: string, onAnswer: () => void, signal: AbortSignal): Promise<void>;
}

export interface BuildOptions {
  readonly reference: string;
  readonly labels: Labels;
  readonly args: Readonly<Record<string, string>>;
}

export interface ImageInfo {
  readonly id: string;
  readonly references: readonly string[];
  readonly labels: Labels;
  readonly bytes: number;
  readonly createdEpochMs: number;
}

export interface InspectedImage extends ImageInfo {
  readonly layers: readonly string[]; // The undermost first: what it stands on has the first of them.
}

export interface DockerNetworks {
  create(options: NetworkOptions): Promise<void>;
  inspect(name: string): Promise<NetworkInfo | null>;
  list(query: { readonly labels: Labels }): Promise<readonly { readonly id: string; readonly name: string }[]>;
  /** False where Docker says that containers are on it. */
  remove(network: string): Promise<boolean>;
}

export interface NetworkOptions {
  readonly name: string;
  readonly labels: Labels;
  readonly bridgeOptions: Readonly<Record<string, string>>;
  readonly subnet?: string;
}

export interface NetworkInfo {
  readonly id: string;
  readonly gateway: string; // The host's IPv4 address on it, "" where there is none.
  readonly bridgeOptions: Readonly<Record<string, string>>;
  readonly containerCount: number;
}
