// Keeps the wall in the host's packet filter, by whichever way there is; where there is none, it says what is open.
import { readFile } from "node:fs/promises";
import { ENVIRONMENTS } from "../../runtime-image/contract/instance-manifest.ts";
import type { DockerApi } from "../docker/api.ts";
import { bridgeName, type Platform } from "./docker-labels.ts";
import { directFilter, helperFilter, seesInterface, type PacketFilter } from "./docker-packet-filter.ts";
import { resolversOf, wallRemovalScript, wallScript, type Wall } from "./docker-wall-rules.ts";

// The second one is where systemd keeps what stands behind its stub in the first, and Docker looks there too.
const RESOLVER_FILES = ["/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"];

export interface DockerWall {
  /** Puts it up, or anew; the broker may be told later, and until then nothing of the host is let through. Null, or why it does not stand. */
  raise(broker: Wall["broker"]): Promise<string | null>;
  remove(): Promise<void>;
}

/** `via`: "any" tries this process first and a helper container then. */
export function createDockerWall(
  docker: DockerApi,
  platform: Platform,
  options: { image: () => string; via: "any" | "helper" },
): DockerWall {
  const bridges = ENVIRONMENTS.map((environment) => bridgeName(platform.platformId, environment));
  const brokerlessBridge = bridgeName(platform.platformId, "install"); // There while packages are being installed.
  const filters = (): PacketFilter[] => {
    const helper = helperFilter(docker, platform, options.image);
    const mayTryHere = options.via === "any" && process.getuid?.() === 0 && bridges.every(seesInterface);
    return mayTryHere ? [directFilter(), helper] : [helper];
  };
  return {
    async raise(broker) {
      const wall: Wall = {
        platformId: platform.platformId,
        bridges: [...bridges, brokerlessBridge],
        brokerlessBridge,
        resolvers: await findResolvers(),
        broker,
      };
      const failures: string[] = [];
      for (const filter of filters()) {
        try {
          await filter.restore(wallScript(wall, await filter.list()));
          return null;
        } catch (cause) {
          failures.push(cause instanceof Error ? cause.message : String(cause)); // The next way may do; all are told if none does.
        }
      }
      return failures.join(" ");
    },
    async remove() {
      for (const filter of filters()) {
        try {
          const script = wallRemovalScript(platform.platformId, await filter.list());
          if (script !== null) await filter.restore(script);
          return;
        } catch {
          // The next way may do. Where none does the wall could not be raised either, and raise() told so.
        }
      }
    },
  };
}

async function findResolvers(): Promise<string[]> {
  const texts = await Promise.all(RESOLVER_FILES.map((path) => readFile(path, "utf8").catch(() => ""))); // A file that is not there names none.
  return [...new Set(texts.flatMap(resolversOf))];
}
