// What runs instances. Three kinds will share this interface and one behaviour list: docker, process, and later swarm.
import type { OwnNpm } from "../npm/own-npm.ts";
import type { Environment, InstanceManifest } from "../../runtime-image/contract/instance-manifest.ts";

export interface Engine {
  readonly kind: "docker" | "process";
  /** One line for the owner: what isolates a function here, and what does not. */
  readonly description: string;

  /** Makes ready what instances need (networks, base images, folders). Safe to repeat; also cleans what an earlier run left half-made. */
  prepare(): Promise<void>;
  /** Where the broker should listen so that instances reach it. Known after prepare(). */
  brokerHost(): string;
  /** Tells where the broker listens in the end: what keeps instances from the host lets them through to it. Absent where nothing keeps them. */
  allowBroker?(address: { readonly host: string; readonly port: number }): Promise<void>;

  /** Makes the artefact of a build, or finds it made. Same buildId, same artefact. */
  build(source: BuildSource): Promise<{ readonly reused: boolean }>;

  /** Runs npm, and leaves the packages in the order's folder. What npm refuses is an outcome, not an error. */
  install(order: InstallOrder): Promise<InstallOutcome>;

  /** A closed place for one app's own scripts: its source inside, nothing of the platform; a network that leads outwards only. */
  openBuilder(order: BuilderOrder): Promise<Builder>;

  /** Every build of this platform that is there. */
  listBuilds(): Promise<readonly ExistingBuild[]>;
  /** Removes a build. One that an instance was made from, or that is being made or started just now, is left without a word, as is an unknown one. */
  removeBuild(buildId: string): Promise<void>;
  /**
   * Removes what only earlier versions of the platform needed, and caches that have grown too large: runtimes, and images that no build
   * stands on and no container was made from. What another platform of the same engine may need stays.
   */
  removeOutdated(): Promise<Removed>;
  /** How much room everything takes that the engine keeps for this platform. */
  diskUse(): Promise<DiskUse>;

  /** Starts one instance. It reports ready over the broker, not here. */
  start(spec: InstanceSpec): Promise<void>;
  /** Asks an instance to finish (SIGTERM), kills it after the grace, removes what is left of it. An unknown id is fine. */
  stop(instanceId: string, options: { readonly graceMs: number }): Promise<void>;
  /** Every instance of this platform that the engine knows, running or exited, also those that an earlier orchestrator started. */
  list(): Promise<readonly ObservedInstance[]>;
  /** Tells of exits as they happen, until the signal aborts. A missed one shows in list(). */
  watchExits(onExit: (exit: InstanceExit) => void, signal: AbortSignal): void;
  /** Follows what an instance prints, line by line, from a moment on, until it is gone or the signal aborts. */
  followLogs(
    instanceId: string,
    options: { readonly sinceEpochMs: number; readonly signal: AbortSignal },
    onLine: (line: LogLine) => void,
  ): Promise<void>;

  /** Removes every instance, every builder and everything else that carries this platform's label, builds excepted. */
  dispose(): Promise<void>;
}

export interface BuildSource {
  readonly buildId: string; // Hex; the hash of everything below.
  readonly functionName: string; // Also where the function's folder is among the files.
  readonly files: readonly BuildFile[];
}

export interface BuildFile {
  readonly path: string; // Relative to the app's root, with "/": "src/http/get-index/index.js", "node_modules/x/index.js".
  readonly bytes: Uint8Array;
  readonly isExecutable: boolean;
  readonly linksTo?: string; // A link, as package managers make them: where to, from its own folder. It has no bytes.
}

export interface InstallOrder {
  readonly id: string; // Lower-case letters and digits.
  readonly files: ReadonlyMap<string, Uint8Array>; // package.json, and what else npm goes by.
  readonly hasLock: boolean;
  readonly allowsScripts: boolean; // Where something holds them: the engine "process" never runs any.
  readonly npm: OwnNpm;
  readonly into: string; // An empty folder of this machine; node_modules is made in it.
  readonly signal: AbortSignal;
  readonly onLine: (line: string) => void;
}

export interface InstallOutcome {
  readonly exitCode: number | null; // Null where it was ended from outside.
}

export interface BuilderOrder {
  readonly id: string; // Lower-case letters and digits.
  readonly folder: string; // Absolute: the app's source. It is copied in without node_modules and .git, and never written to.
  readonly npm: OwnNpm;
  readonly signal: AbortSignal;
  readonly limits: BuilderLimits;
}

export interface BuilderLimits {
  readonly memoryBytesMax: number;
  readonly cpuCountMax: number;
  readonly pidCountMax: number;
  readonly diskBytesMax: number;
}

/** What it is asked for is done in the order of asking, one thing at a time. */
export interface Builder {
  /** npm with these arguments in the source's folder. Output line by line. Whatever it started and left running ends with it. */
  runNpm(call: {
    readonly args: readonly string[];
    readonly timeoutMs: number;
    readonly signal: AbortSignal;
    readonly onLine: (line: string) => void;
  }): Promise<BuilderOutcome>;
  /**
   * Writes what is in the folder now, without node_modules and .git, into a folder of this machine that is empty or not there.
   * Throws SOURCE_REFUSED with the name of what cannot be taken over: links that lead out, devices, too much.
   */
  takeOut(into: string): Promise<void>;
  /** Ends what runs in it, and leaves nothing. A second time is fine. */
  close(): Promise<void>;
}

export type BuilderOutcome =
  | { readonly kind: "ended"; readonly exitCode: number }
  | { readonly kind: "timed-out" | "cancelled" | "out-of-memory" | "disk-full" };

export interface ExistingBuild {
  readonly buildId: string;
  readonly bytes: number; // Of its own: what it shares with others is not in it.
  readonly madeEpochMs: number; // Or when this orchestrator last asked for it, where that is later.
}

export interface Removed {
  readonly count: number;
  readonly bytes: number;
}

export interface DiskUse {
  readonly buildCount: number;
  readonly buildBytes: number;
  readonly imageBytes: number; // What builds stand on, each layer once: the runtime and Node. Several platforms may share it.
  readonly freeBytes: number | null; // On the disk that all of this lies on; null where nobody can tell from here.
}

export interface InstanceSpec {
  readonly instanceId: string;
  readonly appId: string;
  readonly environment: Environment;
  readonly functionName: string;
  readonly buildId: string;
  readonly configId: string; // Lower-case hex, told back by list(): what the instance was told besides its build. Shows no secret.
  /** Everything of the manifest but the folder, which the engine knows. */
  readonly manifest: Omit<InstanceManifest, "folder" | "watchMemory">;
  readonly variables: Readonly<Record<string, string>>; // What the function's code sees in process.env.
  readonly limits: InstanceLimits;
}

export interface InstanceLimits {
  readonly memoryBytesMax: number;
  readonly cpuCountMax: number;
  readonly pidCountMax: number;
  readonly tmpBytesMax: number;
}

export interface ObservedInstance {
  readonly instanceId: string;
  readonly appId: string;
  readonly environment: Environment;
  readonly functionName: string;
  readonly buildId: string;
  readonly configId: string; // Empty where it was started before there were any.
  readonly state: "running" | "exited";
  readonly startedEpochMs: number;
}

export interface InstanceExit {
  readonly instanceId: string;
  readonly exitCode: number | null;
  readonly outOfMemory: boolean;
}

export interface LogLine {
  readonly stream: "stdout" | "stderr";
  readonly text: string;
  readonly epochMs: number;
}
