// Runs every instance in a container of its own: closed by default, one network per environment, behind a wall.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { IMAGE_LABEL } from "../images/node-base.ts";
import { ensureNpmImage } from "../images/npm-image.ts";
import { ensureRuntimeImage, type RuntimeImageOptions } from "../images/runtime-image.ts";
import { removeOutdatedImages } from "../images/remove-outdated.ts";
import { sharedImageBytes } from "../images/shared-bytes.ts";
import type { OwnNpm } from "../npm/own-npm.ts";
import { createOngoing } from "../ongoing.ts";
import { createTurn } from "../turn.ts";
import { freeSpaceAt } from "./builder-disk.ts";
import { openBuilderInContainer } from "./docker-builder.ts";
import { createDockerBuilds } from "./docker-builds.ts";
import type { DockerApi } from "../docker/api.ts";
import type { DockerAddress } from "../docker/address.ts";
import { createDockerClient } from "../docker/client.ts";
import { containerOptions, instanceInput } from "./docker-container-options.ts";
import { installInContainer } from "./docker-install.ts";
import { watchDockerExits } from "./docker-exits.ts";
import { followDockerLogs } from "./docker-follow.ts";
import { instanceContainerName, observedInstance, selectorOf, type Platform, type Role } from "./docker-labels.ts";
import { doOthersInstall, ensureInstallNetwork, ensureNetworks, removeNetworks, type Subnets } from "./docker-networks.ts";
import { createDockerWall } from "./docker-wall.ts";
import type { Builder, DiskUse, Engine, InstanceSpec } from "./engine.ts";

export interface DockerEngineOptions extends RuntimeImageOptions {
  readonly platformId: string; // Lower-case letters, digits and dashes: it is part of names.
  readonly homeLabel: string; // The home's path, for whoever wonders where a container came from.
  readonly docker: DockerAddress;
  readonly subnets?: Subnets; // For a host whose own networks collide with what Docker would choose.
  readonly wallThrough?: "any" | "helper"; // "helper" never runs iptables from this process.
  readonly now?: () => number; // Epoch ms.
}

const SWEEP_INTERVAL_MS = 500; // What is being made while everything is removed is looked for again, until nothing is.
const REMOVALS_AT_ONCE_MAX = 8; // Each takes the engine some 100 ms; more at once only queue there.

export function createDockerEngine(options: DockerEngineOptions): Engine {
  assert(/^[a-z0-9][a-z0-9-]*$/.test(options.platformId), `a platform's id is part of names, got "${options.platformId}"`);
  const platform: Platform = { platformId: options.platformId, homeLabel: options.homeLabel };
  const now = options.now ?? Date.now;
  const hasIpv6 = existsSync("/proc/sys/net/ipv6");
  const docker = createDockerClient(options.docker);
  const prepared: { runtimeImage: string | null; brokerHost: string | null; broker: Broker | null; hole: string | null } = {
    runtimeImage: null,
    brokerHost: null,
    broker: null,
    hole: null,
  };
  const runtimeImage = (): string => {
    assert(prepared.runtimeImage !== null, "prepare() comes first");
    return prepared.runtimeImage;
  };
  const runtimeTurn = createTurn();
  const makeRuntime = async (): Promise<void> => {
    prepared.runtimeImage = (await ensureRuntimeImage(docker, options)).reference;
  };
  const ensureRuntime = (): Promise<void> =>
    runtimeTurn(async () => {
      if ((await docker.images.inspect(runtimeImage())) === null) await makeRuntime();
    });
  const builds = createDockerBuilds(docker, platform, { current: runtimeImage, ensure: ensureRuntime });
  const wall = createDockerWall(docker, platform, { image: runtimeImage, via: options.wallThrough ?? "any" });
  const ongoing = createOngoing(); // Whatever makes containers or networks, or needs them.
  const inUse = new Set<string>(); // Containers of instances that are being made, and of installs and builders.
  const nameOf = (instanceId: string): string => instanceContainerName(platform.platformId, instanceId);
  const wallTurn = createTurn(); // It is put up by what the packet filter said a moment before.
  const raiseWall = (): Promise<void> =>
    wallTurn(async () => {
      prepared.hole = await wall.raise(prepared.broker);
    });
  let npmImage: string | null = null; // Of the last install or builder.
  const outwardTurn = createTurn(); // Docker takes it for a mistake when the same network is made twice.
  /** What containers that reach the outside only are made from; made with the first of them, as is their network: most apps have none. */
  const outwardImage = (npm: OwnNpm): Promise<string> =>
    outwardTurn(async () => {
      const image = await ensureNpmImage(docker, { ...options, npmFolder: npm.folder });
      npmImage = image;
      await ensureInstallNetwork(docker, platform);
      await ensureRuntime(); // The wall may be put up from within it.
      await raiseWall(); // Docker has put rules for the new network before ours.
      return image;
    });

  return {
    kind: "docker",
    get description() {
      return prepared.hole === null ? DESCRIPTION : `${DESCRIPTION} ${describeHole(prepared.hole)}`;
    },
    async prepare() {
      ongoing.admit();
      await ongoing.during(async () => {
        await docker.engineInfo();
        await runtimeTurn(makeRuntime);
        prepared.brokerHost = (await ensureNetworks(docker, platform, options.subnets ?? {})).staging;
        await raiseWall();
        await removeHalfMade(docker, platform, (name) => inUse.has(name) || builds.isBusyWith(name));
      });
    },
    brokerHost() {
      assert(prepared.brokerHost !== null, "prepare() comes first");
      return prepared.brokerHost;
    },
    async allowBroker(broker) {
      prepared.broker = broker;
      await ongoing.during(raiseWall);
    },
    build: (source) => ongoing.during(() => builds.build(source)),
    install: (order) =>
      ongoing.during(async () => {
        const name = `orchestrator-${platform.platformId}-install-${order.id}`;
        inUse.add(name);
        try {
          return await installInContainer(docker, order, { name, platform, image: await outwardImage(order.npm) });
        } finally {
          inUse.delete(name);
        }
      }),
    openBuilder: (order) =>
      ongoing.during(async () => {
        const name = `orchestrator-${platform.platformId}-builder-${order.id}`;
        assert(!inUse.has(name), `the builder ${order.id} is not opened twice`);
        inUse.add(name);
        const forget = (): void => void inUse.delete(name);
        try {
          const image = await outwardImage(order.npm);
          return whenClosed(await openBuilderInContainer(docker, order, { name, platform, image, hasIpv6 }), forget);
        } catch (cause) {
          forget();
          throw cause;
        }
      }),
    listBuilds: () => builds.list(),
    removeBuild: (buildId) => builds.remove(buildId),
    async removeOutdated() {
      const older = await builds.removeOutdated();
      const images = await removeOutdatedImages(docker, {
        currentReferences: [runtimeImage(), ...(npmImage === null ? [] : [npmImage])],
        othersInstall: await doOthersInstall(docker, platform),
        nowEpochMs: now(),
      });
      return { count: older.count + images.count, bytes: older.bytes + images.bytes };
    },
    diskUse: async () => diskUse(docker, await builds.list()),
    start: (spec) =>
      ongoing.during(async () => {
        const name = nameOf(spec.instanceId);
        inUse.add(name);
        try {
          await builds.withImage(spec.buildId, (image) =>
            startContainer(docker, { name, spec, platform, image, createdEpochMs: now(), hasIpv6 }),
          );
        } finally {
          inUse.delete(name);
        }
      }),
    stop: (instanceId, { graceMs }) => stopContainer(docker, nameOf(instanceId), graceMs),
    async list() {
      const containers = await docker.containers.list({ labels: selectorOf(platform, "instance") });
      return containers.map(observedInstance).filter((instance) => instance !== null);
    },
    watchExits(onExit, signal) {
      // It ends by the signal only, and takes every failure of the engine as a reason to try again.
      void watchDockerExits(docker, { platform, sinceEpochMs: now(), signal }, onExit);
    },
    followLogs: (instanceId, { sinceEpochMs, signal }, onLine) =>
      followDockerLogs(docker, { container: nameOf(instanceId), sinceEpochMs, signal }, onLine),
    async dispose() {
      ongoing.refuse();
      for (let isLast = false; !isLast; await ongoing.settled(SWEEP_INTERVAL_MS)) {
        isLast = ongoing.isNone();
        await removeContainers(docker, platform, () => true);
      }
      await wall.remove();
      for (const name of await removeNetworks(docker, platform)) options.progress(describeKeptNetwork(name));
    },
  };
}

type Broker = { readonly host: string; readonly port: number };

const DESCRIPTION = "Every instance is a closed container; it shares the host's kernel, and reaches the broker and the outside world only.";

const describeHole = (reason: string): string =>
  `WARNING: the wall could not be put into the host's packet filter, so functions can open every port of this host that does not listen on 127.0.0.1 only. (${reason})`;

const describeKeptNetwork = (name: string): string =>
  `Docker keeps the network ${name}, as if containers were on it, though none are. The next start uses it again; ` +
  `otherwise start the Docker engine anew and remove it with "docker network rm ${name}".`;

const whenClosed = (builder: Builder, forget: () => void): Builder => ({
  ...builder,
  close: () => builder.close().then(forget),
});

async function diskUse(docker: DockerApi, builds: readonly { readonly bytes: number }[]): Promise<DiskUse> {
  const [images, dataFolder] = await Promise.all([docker.images.list({ labels: { [IMAGE_LABEL]: "" } }), docker.dataFolder()]);
  return {
    buildCount: builds.length,
    buildBytes: builds.reduce((sum, { bytes }) => sum + bytes, 0),
    imageBytes: sharedImageBytes(images),
    freeBytes: dataFolder === "" ? null : ((await freeSpaceAt(dataFolder))?.bytes ?? null),
  };
}

interface Start {
  readonly name: string;
  readonly spec: InstanceSpec;
  readonly platform: Platform;
  readonly image: string;
  readonly createdEpochMs: number;
  readonly hasIpv6: boolean;
}

async function startContainer(docker: DockerApi, { name, spec, ...surroundings }: Start): Promise<void> {
  const container = await docker.containers.create(name, containerOptions(spec, surroundings));
  try {
    await docker.containers.giveInput(container, instanceInput(spec));
    await docker.containers.start(container);
  } catch (cause) {
    await docker.containers.remove(container);
    throw cause;
  }
}

async function stopContainer(docker: DockerApi, name: string, graceMs: number): Promise<void> {
  const state = await docker.containers.inspect(name);
  if (state?.isRunning && graceMs > 0) {
    await docker.containers.kill(name, "SIGTERM");
    const grace = AbortSignal.timeout(graceMs);
    await docker.containers.untilStopped(name, grace).catch((cause: unknown) => {
      if (!grace.aborted) throw cause; // When the grace is over, the removal below kills it.
    });
  }
  await docker.containers.remove(name);
}

/** An orchestrator that died between two calls leaves containers that never ran, or that were to live for a moment. */
async function removeHalfMade(docker: DockerApi, platform: Platform, isInUse: (name: string) => boolean): Promise<void> {
  for (const role of ["build", "install", "builder", "helper"] as const)
    await removeContainers(docker, platform, (name) => !isInUse(name), { role });
  await removeContainers(docker, platform, (name) => !isInUse(name), { role: "instance", states: ["created"] });
}

async function removeContainers(
  docker: DockerApi,
  platform: Platform,
  isWanted: (name: string) => boolean,
  only: { readonly role?: Role; readonly states?: readonly string[] } = {},
): Promise<void> {
  const containers = await docker.containers.list({ labels: selectorOf(platform, only.role), ...(only.states && { states: only.states }) });
  const unwanted = containers.filter(({ name }) => isWanted(name));
  for (let start = 0; start < unwanted.length; start += REMOVALS_AT_ONCE_MAX)
    await Promise.all(unwanted.slice(start, start + REMOVALS_AT_ONCE_MAX).map(({ id }) => docker.containers.remove(id)));
}
