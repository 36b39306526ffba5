// One bridge network per environment, inter-container traffic off, with a bridge name that the wall can rely on.
import { createServer } from "node:net";
import { once } from "node:events";
import { ENVIRONMENTS, type Environment } from "../../runtime-image/contract/instance-manifest.ts";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import type { DockerApi, NetworkOptions } from "../docker/api.ts";
import { LABELS } from "../docker/labels.ts";
import { bridgeName, installNetworkName, labelsOf, networkName, selectorOf, type Platform } from "./docker-labels.ts";

export type Subnets = Partial<Record<Environment, string>>;

/** Makes the networks or finds them made; the answer is the host's own address on each. */
export async function ensureNetworks(docker: DockerApi, platform: Platform, subnets: Subnets): Promise<Record<Environment, string>> {
  const gateways = { staging: "", production: "" };
  for (const environment of ENVIRONMENTS)
    gateways[environment] = await ensureNetwork(docker, networkOptions(platform, environment, subnets[environment]));
  await assertOwnAddress(gateways.staging, docker.endpoint);
  return gateways;
}

export async function removeNetworks(docker: DockerApi, platform: Platform): Promise<void> {
  for (const network of await docker.networks.list({ labels: selectorOf(platform, "network") })) await docker.networks.remove(network.id);
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
