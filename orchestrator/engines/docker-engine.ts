// Runs every instance in a container of its own: closed by default, one network per environment, behind a wall.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { ensureNpmImage } from "../images/npm-image.ts";
import { ensureRuntimeImage, type RuntimeImageOptions } from "../images/runtime-image.ts";
import { createDockerBuilds } from "./docker-builds.ts";
import type { DockerApi } from "../docker/api.ts";
import type { DockerAddress } from "../docker/address.ts";
import { createDockerClient } from "../docker/client.ts";
import { containerOptions, instanceInput } from "./docker-container-options.ts";
import { installInContainer } from "./docker-install.ts";
import { watchDockerExits } from "./docker-exits.ts";
import { followDockerLogs } from "./docker-follow.ts";
import { instanceContainerName, observedInstance, selectorOf, type Platform, type Role } from "./docker-labels.ts";
import { ensureInstallNetwork, ensureNetworks, removeNetworks, type Subnets } from "./docker-networks.ts";
import { createDockerWall } from "./docker-wall.ts";
import type { Engine, InstanceSpec } from "./engine.ts";

export interface DockerEngineOptions extends RuntimeImageOptions {
  readonly platformId: string; // Lower-case letters, digits and dashes: it is part of names.
  readonly homeLabel: string; // The home's path, for whoever wonders where a container came from.
  readonly docker: DockerAddress;
  readonly subnets?: Subnets; // For a host whose own networks collide with what Docker would choose.
  readonly wallThrough?: "any" | "helper"; // "helper" never runs iptables from this process.
  readonly now?: () => number; // Epoch ms.
}

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
  const builds = createDockerBuilds(docker, platform, runtimeImage);
  const wall = createDockerWall(docker, platform, { image: runtimeImage, via: options.wallThrough ?? "any" });
  const starting = new Set<string>(); // Containers of instances and installs that are being made or live for a moment.
  const nameOf = (instanceId: string): string => instanceContainerName(platform.platformId, instanceId);
  const raiseWall = async (): Promise<void> => {
    prepared.hole = await wall.raise(prepared.broker);
  };

  return {
    kind: "docker",
    get description() {
      return prepared.hole === null ? DESCRIPTION : `${DESCRIPTION} ${describeHole(prepared.hole)}`;
    },
    async prepare() {
      await docker.engineInfo();
      prepared.runtimeImage = (await ensureRuntimeImage(docker, options)).reference;
      prepared.brokerHost = (await ensureNetworks(docker, platform, options.subnets ?? {})).staging;
      await raiseWall();
      await removeHalfMade(docker, platform, (name) => starting.has(name) || builds.isBusyWith(name));
    },
    brokerHost() {
      assert(prepared.brokerHost !== null, "prepare() comes first");
      return prepared.brokerHost;
    },
    async allowBroker(broker) {
      prepared.broker = broker;
      await raiseWall();
    },
    build: (source) => builds.build(source),
    async install(order) {
      const name = `orchestrator-${platform.platformId}-install-${order.id}`;
      starting.add(name);
      try {
        // Made with the first install: most apps have none.
        const image = await ensureNpmImage(docker, { ...options, npmFolder: order.npm.folder });
        await ensureInstallNetwork(docker, platform);
        await raiseWall(); // Docker has put rules for the new network before ours.
        return await installInContainer(docker, order, { name, platform, image });
      } finally {
        starting.delete(name);
      }
    },
    async start(spec) {
      const name = nameOf(spec.instanceId);
      starting.add(name);
      try {
        await startContainer(docker, { name, spec, platform, image: await builds.imageOf(spec.buildId), createdEpochMs: now(), hasIpv6 });
      } finally {
        starting.delete(name);
      }
    },
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
      await removeContainers(docker, platform, () => true);
      await wall.remove();
      await removeNetworks(docker, platform);
    },
  };
}

type Broker = { readonly host: string; readonly port: number };

const DESCRIPTION = "Every instance is a closed container; it shares the host's kernel, and reaches the broker and the outside world only.";

const describeHole = (reason: string): string =>
  `WARNING: the wall could not be put into the host's packet filter, so functions can open every port of this host that does not listen on 127.0.0.1 only. (${reason})`;

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
  for (const role of ["build", "install", "helper"] as const) await removeContainers(docker, platform, (name) => !isInUse(name), { role });
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
