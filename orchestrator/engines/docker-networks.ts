// One bridge network per environment, inter-container traffic off, with a bridge name that the wall can rely on.
import { createServer } from "node:net";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { ENVIRONMENTS, type Environment } from "../../runtime-image/contract/instance-manifest.ts";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import type { DockerApi, NetworkOptions } from "../docker/api.ts";
import { LABELS } from "../docker/labels.ts";
import { bridgeName, installNetworkName, labelsOf, networkName, selectorOf, type Platform } from "./docker-labels.ts";

const REMOVAL_ATTEMPTS_MAX = 8; // A container whose removal somebody else asked for is on its way for a moment.
const REMOVAL_INTERVAL_MS = 250;

export type Subnets = Partial<Record<Environment, string>>;

/** Makes the networks or finds them made; the answer is the host's own address on each. */
export async function ensureNetworks(docker: DockerApi, platform: Platform, subnets: Subnets): Promise<Record<Environment, string>> {
  const gateways = { staging: "", production: "" };
  for (const environment of ENVIRONMENTS)
    gateways[environment] = await ensureNetwork(docker, networkOptions(platform, environment, subnets[environment]));
  await assertOwnAddress(gateways.staging, docker.endpoint);
  return gateways;
}

/**
 * Removes all that can be removed, and answers with the names of those that Docker keeps although nothing is on them: it counts what is on
 * a network, and before release 28 it miscounted now and then where several containers came and went at once, until it was started again.
 */
export async function removeNetworks(docker: DockerApi, platform: Platform): Promise<readonly string[]> {
  const refused: { readonly name: string; readonly containerCount: number }[] = [];
  for (const { id, name } of await docker.networks.list({ labels: selectorOf(platform, "network") })) {
    const containerCount = await removeNetwork(docker, id);
    if (containerCount !== null) refused.push({ name, containerCount });
  }
  for (const { name, containerCount } of refused)
    if (containerCount > 0)
      throw new PlatformError("ENGINE_FAILED", {
        detail: `The network ${name} could not be removed: ${containerCount} containers are on it that are not this platform's.`,
        remedy: `See which with "docker network inspect ${name}", remove them and then the network with "docker network rm ${name}".`,
      });
  return refused.map(({ name }) => name);
}

/** Null, or how many containers are on it still. */
async function removeNetwork(docker: DockerApi, id: string): Promise<number | null> {
  for (let attempt = 1; ; attempt += 1) {
    if (await docker.networks.remove(id)) return null;
    const found = await docker.networks.inspect(id);
    if (found === null) return null;
    if (attempt === REMOVAL_ATTEMPTS_MAX) return found.containerCount;
    await delay(REMOVAL_INTERVAL_MS);
  }
}

export function networkOptions(platform: Platform, environment: Environment, subnet: string | undefined): NetworkOptions {
  return {
    name: networkName(platform.platformId, environment),
    labels: { ...labelsOf(platform, "network"), [LABELS.environment]: environment },
    bridgeOptions: {
      "com.docker.network.bridge.name": bridgeName(platform.platformId, environment),
      "com.docker.network.bridge.enable_icc": "false",
    },
    ...(subnet !== undefined && { subnet }),
  };
}

/** Where packages are installed: it leads outwards as the others do, and the wall lets nothing on it through to the broker. */
export async function ensureInstallNetwork(docker: DockerApi, platform: Platform): Promise<void> {
  await ensureNetwork(docker, {
    name: installNetworkName(platform.platformId),
    labels: labelsOf(platform, "network"),
    bridgeOptions: {
      "com.docker.network.bridge.name": bridgeName(platform.platformId, "install"),
      "com.docker.network.bridge.enable_icc": "false",
    },
  });
}

/** Whether another platform has such a network: it is made with the first install, and goes with its platform. */
export async function doOthersInstall(docker: DockerApi, { platformId }: Platform): Promise<boolean> {
  const networks = await docker.networks.list({ labels: { [LABELS.platform]: "", [LABELS.role]: "network" } });
  return networks.some(({ name }) => /^orchestrator-.+-install$/.test(name) && name !== installNetworkName(platformId));
}

async function ensureNetwork(docker: DockerApi, options: NetworkOptions): Promise<string> {
  let found = await docker.networks.inspect(options.name);
  const isAsWanted = found !== null && Object.entries(options.bridgeOptions).every(([name, value]) => found?.bridgeOptions[name] === value);
  if (found !== null && !isAsWanted) {
    assertUnused(found.containerCount, options.name);
    await docker.networks.remove(found.id);
    found = null;
  }
  if (found === null) {
    await createNetwork(docker, options);
    found = await docker.networks.inspect(options.name);
  }
  if (found === null || found.gateway === "")
    throw new PlatformError("ENGINE_FAILED", {
      detail: `The network ${options.name} has no IPv4 gateway.`,
      remedy: `Remove it with "docker network rm ${options.name}" and try again.`,
    });
  return found.gateway;
}

function assertUnused(containerCount: number, name: string): void {
  if (containerCount > 0)
    throw new PlatformError("ENGINE_FAILED", {
      detail: `The network ${name} was not made as this platform makes it, and ${containerCount} containers are on it.`,
      remedy: `Remove the containers and then the network with "docker network rm ${name}".`,
    });
}

/** Docker has one text for every way in which addresses run out or overlap, so the remedy names them all. */
async function createNetwork(docker: DockerApi, options: NetworkOptions): Promise<void> {
  try {
    await docker.networks.create(options);
  } catch (cause) {
    if (!(cause instanceof PlatformError) || cause.code !== "ENGINE_FAILED") throw cause;
    const remedy =
      'If addresses ran out or overlap: remove networks that nobody uses ("docker network prune"), give Docker more of them ' +
      '("default-address-pools" in its daemon.json), or name a free subnet for each environment in this platform\'s settings.';
    throw new PlatformError("ENGINE_FAILED", { detail: cause.detail.detail ?? cause.message, remedy }, { cause });
  }
}

/** The broker listens there: with an engine on another machine, or inside a virtual one, that address is not ours to listen on. */
async function assertOwnAddress(host: string, endpoint: string): Promise<void> {
  const server = createServer();
  try {
    server.listen({ host, port: 0 });
    await once(server, "listening");
  } catch (cause) {
    throw new PlatformError(
      "ENGINE_UNAVAILABLE",
      {
        detail: `The networks of the Docker engine at ${endpoint} are not on this machine: its address ${host} cannot be listened on.`,
        remedy:
          "Run on the Linux machine where Docker runs (a container of the platform itself needs the host's network), or choose --engine process.",
      },
      { cause },
    );
  } finally {
    server.close();
  }
}
