// Speaks to a Docker engine through dockerode: our types on the outside, its errors turned into ours.
import { Readable } from "node:stream";
import type Dockerode from "dockerode";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { describeDockerAddress, type DockerAddress } from "./address.ts";
import { linesOf } from "./lines.ts";
import type {
  ContainerState,
  DockerApi,
  DockerContainers,
  DockerImages,
  DockerNetworks,
  InspectedImage,
  Labels,
  NetworkInfo,
} from "./api.ts";

const CALL_TIMEOUT_MS = 120_000; // Of silence on one call's connection; the longest silent step is an import of 130 MB.
const NOT_THERE = 404;
const IN_USE = 409;
const ENDPOINTS_LEFT = 403; // What Docker answers to the removal of a network that something is on.
const ALREADY = [304, 404, 409]; // "Already so", "not there" and "is on its way" are what a stop or a removal wants.

/** Runs one call; anything it throws comes out as a PlatformError that names the action. */
type Call = <T>(action: string, call: (docker: Dockerode) => Promise<T>) => Promise<T>;

export function createDockerClient(address: DockerAddress): DockerApi {
  const endpoint = describeDockerAddress(address);
  const connection = address.kind === "socket" ? { socketPath: address.path, host: "" } : { host: address.host, port: address.port };
  // The library takes 0.1 s to load, which commands that never touch Docker should not pay.
  let loaded: Promise<{ calls: Dockerode; streams: Dockerode }> | null = null;
  const load = () =>
    (loaded ??= import("dockerode").then(({ default: Client }) => ({
      calls: new Client({ ...connection, protocol: "http", timeout: CALL_TIMEOUT_MS }),
      streams: new Client({ ...connection, protocol: "http" }), // Followed streams may be silent for days.
    })));
  const callWith =
    (which: "calls" | "streams"): Call =>
    async (action, call) => {
      const docker = (await load())[which];
      try {
        return await call(docker);
      } catch (cause) {
        throw toPlatformError(cause, { action, endpoint });
      }
    };
  const calls = callWith("calls");
  const streams = callWith("streams");
  return {
    endpoint,
    containers: containerCalls(calls, streams),
    images: imageCalls(calls),
    networks: networkCalls(calls),
    engineInfo: () =>
      calls("asking its version", async (docker) => {
        const version = await docker.version();
        return { version: version.Version, operatingSystem: version.Os, architecture: version.Arch };
      }),
    dataFolder: () =>
      calls("asking where it keeps its data", async (docker) => {
        const facts: unknown = await docker.info();
        return textIn(facts, "DockerRootDir") ?? "";
      }),
    events: ({ labels, sinceEpochMs, signal }) =>
      streams("following events", async (docker) => {
        const filters = { type: ["container"], event: ["die", "oom"], label: labelFilter(labels) };
        const options: Dockerode.GetEventsOptions & { abortSignal: AbortSignal } = {
          filters: JSON.stringify(filters),
          since: sinceEpochMs / 1000,
          abortSignal: signal,
        };
        return linesOf(toReadable(await docker.getEvents(options)));
      }),
  };
}

function containerCalls(calls: Call, streams: Call): DockerContainers {
  return {
    create: (name, options) =>
      calls(`creating the container ${name}`, async (docker) => (await docker.createContainer({ name, ...options })).id),
    giveInput: (container, bytes) =>
      calls(`giving the container ${container} its input`, async (docker) => {
        const input = await docker.getContainer(container).attach({ stream: true, stdin: true, hijack: true });
        // What does not arrive shows in what the process does without it; the engine keeps it until then.
        input.on("error", () => undefined);
        input.end(bytes);
      }),
    attach: (container, input) =>
      streams(`attaching to the container ${container}`, async (docker) => {
        const stream = await docker.getContainer(container).attach({ stream: true, stdin: true, stdout: true, stderr: true, hijack: true });
        stream.on("error", () => undefined); // Whoever reads it hears of it too, once he does.
        stream.end(input);
        return toReadable(stream);
      }),
    start: (container) =>
      calls(`starting the container ${container}`, async (docker) => void (await docker.getContainer(container).start())),
    kill: (container, signalName) =>
      calls(`sending ${signalName} to the container ${container}`, (docker) =>
        unless(ALREADY, undefined, docker.getContainer(container).kill({ signal: signalName })),
      ),
    untilStopped: (container, signal) =>
      streams(`waiting for the container ${container}`, async (docker) => {
        const answer: unknown = await unless(
          [NOT_THERE],
          null,
          docker.getContainer(container).wait({ condition: "not-running", abortSignal: signal }),
        );
        return { exitCode: numberIn(answer, "StatusCode") };
      }),
    remove: (container) =>
      calls(`removing the container ${container}`, (docker) =>
        unless(ALREADY, undefined, docker.getContainer(container).remove({ force: true, v: true })),
      ),
    inspect: (container) =>
      calls(`inspecting the container ${container}`, async (docker): Promise<ContainerState | null> => {
        const found = await unless([NOT_THERE], null, docker.getContainer(container).inspect());
        return found && { isRunning: found.State.Running, exitCode: found.State.ExitCode, outOfMemory: found.State.OOMKilled };
      }),
    writtenBytes: (container) =>
      calls(`measuring the container ${container}`, async (docker) => {
        const options: Dockerode.ContainerInspectOptions & { size: true } = { size: true };
        const found: unknown = await unless([NOT_THERE], null, docker.getContainer(container).inspect(options));
        const bytes = numberIn(found, "SizeRw") ?? 0;
        return bytes < 0 ? Number.POSITIVE_INFINITY : bytes;
      }),
    list: ({ labels, states }) =>
      calls("listing containers", async (docker) => {
        const filters = { label: labelFilter(labels), ...(states && { status: [...states] }) };
        const found = await docker.listContainers({ all: true, filters });
        return found.map((one) => ({
          id: one.Id,
          name: one.Names[0]?.slice(1) ?? one.Id,
          imageId: one.ImageID,
          state: one.State,
          labels: one.Labels,
        }));
      }),
    logs: (container, { since, follow, signal }) =>
      streams(`reading the logs of the container ${container}`, async (docker) => {
        const options = { stdout: true, stderr: true, timestamps: true, since, abortSignal: signal };
        const gone = [NOT_THERE, 409]; // 409: it is being removed.
        if (follow) {
          const stream = await unless(gone, null, docker.getContainer(container).logs({ ...options, follow: true }));
          return stream && toReadable(stream);
        }
        const bytes = await unless(gone, null, docker.getContainer(container).logs({ ...options, follow: false }));
        return bytes && Readable.from([bytes]);
      }),
    writeFiles: (container, folder, tar) =>
      calls(
        `writing files into the container ${container}`,
        async (docker) =>
          void (await upload(tar, (abortSignal) => docker.getContainer(container).putArchive(tar, { path: folder, abortSignal }))),
      ),
    readFiles: (container, path) =>
      calls(`reading files of the container ${container}`, async (docker) =>
        toReadable(await docker.getContainer(container).getArchive({ path })),
      ),
    commit: (container, { repository, tag }) =>
      calls(
        `making the image ${repository}:${tag}`,
        async (docker) => void (await docker.getContainer(container).commit({ repo: repository, tag, pause: false })),
      ),
  };
}

function imageCalls(calls: Call): DockerImages {
  return {
    inspect: (reference) =>
      calls(`inspecting the image ${reference}`, async (docker): Promise<InspectedImage | null> => {
        const found = await unless([NOT_THERE], null, docker.getImage(reference).inspect());
        return (
          found && {
            id: found.Id,
            references: found.RepoTags ?? [],
            labels: found.Config.Labels ?? {},
            bytes: found.Size,
            createdEpochMs: Date.parse(found.Created),
            layers: found.RootFS.Layers ?? [],
          }
        );
      }),
    list: ({ labels }) =>
      calls("listing images", async (docker) => {
        const found = await docker.listImages({ filters: { label: labelFilter(labels) } });
        return found.map((one) => ({
          id: one.Id,
          references: one.RepoTags ?? [],
          labels: one.Labels ?? {},
          bytes: one.Size,
          createdEpochMs: one.Created * 1000,
        }));
      }),
    importTar: (tar, { repository, tag, changes }) =>
      calls(`importing the image ${repository}:${tag}`, async (docker) => {
        const options = { repo: repository, tag, changes: [...changes] };
        await upload(tar, async (abortSignal) => drainProgress(await docker.importImage(tar, { ...options, abortSignal })));
      }),
    build: (tar, { reference, labels, args }) =>
      calls(`building the image ${reference}`, async (docker) => {
        const options = { t: reference, labels: { ...labels }, buildargs: { ...args }, networkmode: "none", forcerm: true };
        await upload(tar, async (abortSignal) => drainProgress(await docker.buildImage(tar, { ...options, abortSignal })));
      }),
    remove: (reference) =>
      calls(
        `removing the image ${reference}`,
        async (docker) => void (await unless([NOT_THERE, IN_USE], undefined, docker.getImage(reference).remove())),
      ),
    pull: (reference, onAnswer, signal) =>
      calls(`pulling the image ${reference}`, async (docker) => {
        const named = /[:@][^/]*$/.test(reference) ? reference : `${reference}:latest`; // Without a tag Docker would pull every one.
        await drainProgress(await docker.pull(named, { abortSignal: signal }), onAnswer);
      }),
  };
}

function networkCalls(calls: Call): DockerNetworks {
  return {
    create: ({ name, labels, bridgeOptions, subnet }) =>
      calls(`creating the network ${name}`, async (docker) => {
        const ipam = subnet === undefined ? {} : { IPAM: { Driver: "default", Config: [{ Subnet: subnet }] } };
        const options = {
          Name: name,
          Driver: "bridge",
          CheckDuplicate: true,
          EnableIPv6: false,
          Labels: { ...labels },
          Options: { ...bridgeOptions },
          ...ipam,
        };
        await docker.createNetwork(options);
      }),
    inspect: (name) =>
      calls(`inspecting the network ${name}`, async (docker): Promise<NetworkInfo | null> => {
        const found = await unless([NOT_THERE], null, docker.getNetwork(name).inspect());
        return (
          found && {
            id: found.Id,
            gateway: found.IPAM?.Config?.find((config) => config["Gateway"]?.includes("."))?.["Gateway"] ?? "",
            bridgeOptions: found.Options ?? {},
            containerCount: Object.keys(found.Containers ?? {}).length,
          }
        );
      }),
    list: ({ labels }) =>
      calls("listing networks", async (docker) => {
        const found = await docker.listNetworks({ filters: { label: labelFilter(labels) } });
        return found.map((one) => ({ id: one.Id, name: one.Name }));
      }),
    remove: (network) =>
      calls(`removing the network ${network}`, async (docker) => {
        const removal = unless([NOT_THERE], null, docker.getNetwork(network).remove());
        return (await unless([ENDPOINTS_LEFT], ENDPOINTS_LEFT, removal)) !== ENDPOINTS_LEFT;
      }),
  };
}

const labelFilter = (labels: Labels): string[] => Object.entries(labels).map(([name, value]) => (value === "" ? name : `${name}=${value}`));

/** Reads a stream of progress to its end: Docker says "error" inside it, under status 200. */
async function drainProgress(stream: NodeJS.ReadableStream, onAnswer: () => void = () => {}): Promise<void> {
  for await (const line of linesOf(toReadable(stream))) {
    onAnswer();
    const message: unknown = JSON.parse(line);
    if (typeof message === "object" && message !== null && "error" in message) throw new Error(String(message.error));
  }
}

/** A tar that cannot be read to its end takes its request down with it; the library would leave both hanging. */
async function upload<T>(tar: Readable, call: (abortSignal: AbortSignal) => Promise<T>): Promise<T> {
  const broken = new AbortController();
  tar.once("error", (cause) => broken.abort(cause));
  try {
    return await call(broken.signal);
  } catch (cause) {
    throw broken.signal.aborted ? broken.signal.reason : cause;
  }
}

async function unless<T, Instead>(statuses: readonly number[], instead: Instead, promise: Promise<T>): Promise<T | Instead> {
  try {
    return await promise;
  } catch (cause) {
    const status = numberIn(cause, "statusCode");
    if (status !== null && statuses.includes(status)) return instead;
    throw cause;
  }
}

const toReadable = (stream: NodeJS.ReadableStream): Readable => (stream instanceof Readable ? stream : new Readable().wrap(stream));

function numberIn(value: unknown, key: string): number | null {
  if (typeof value !== "object" || value === null) return null;
  const field: unknown = Reflect.get(value, key);
  return typeof field === "number" ? field : null;
}

function textIn(value: unknown, key: string): string | null {
  if (typeof value !== "object" || value === null) return null;
  const field: unknown = Reflect.get(value, key);
  return typeof field === "string" ? field : null;
}

const UNREACHABLE_REMEDIES: Readonly<Record<string, string>> = {
  ENOENT: "Start the Docker engine, or set DOCKER_HOST to where it listens, or choose --engine process.",
  ECONNREFUSED: "Start the Docker engine, or set DOCKER_HOST to where it listens, or choose --engine process.",
  EACCES: 'Let this user use Docker (its group is usually "docker"; log in again after joining it), or choose --engine process.',
  EPERM: 'Let this user use Docker (its group is usually "docker"; log in again after joining it), or choose --engine process.',
  ENOTFOUND: "Check the host name in DOCKER_HOST.",
  ETIMEDOUT: "Check that DOCKER_HOST can be reached from here.",
  EHOSTUNREACH: "Check that DOCKER_HOST can be reached from here.",
};

function toPlatformError(cause: unknown, { action, endpoint }: { action: string; endpoint: string }): PlatformError {
  if (cause instanceof PlatformError) return cause;
  const message = cause instanceof Error ? cause.message : String(cause);
  const systemCode: unknown = typeof cause === "object" && cause !== null && "code" in cause ? cause.code : undefined;
  const remedy = typeof systemCode === "string" ? UNREACHABLE_REMEDIES[systemCode] : undefined;
  if (remedy !== undefined)
    return new PlatformError("ENGINE_UNAVAILABLE", { detail: `Docker at ${endpoint}: ${message}.`, remedy }, { cause });
  const detail = `Docker at ${endpoint}, ${action}: ${message}`;
  return new PlatformError("ENGINE_FAILED", { detail, remedy: "Look at the Docker engine's own log for the cause." }, { cause });
}
