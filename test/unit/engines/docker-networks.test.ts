// Networks that Docker does not let go of: those that something is on, and those that it only takes for used.
import { expect, it } from "vitest";
import type { DockerApi } from "../../../orchestrator/docker/api.ts";
import { removeNetworks } from "../../../orchestrator/engines/docker-networks.ts";

const PLATFORM = { platformId: "p1", homeLabel: "/h" };

/** A Docker with these networks: how often each is refused, and how many containers it says are on it. */
function dockerWith(networks: Readonly<Record<string, { refusals: number; containerCount: number }>>) {
  const left = new Map(Object.entries(networks));
  const api = {
    networks: {
      list: async () => [...left.keys()].map((name) => ({ id: name, name })),
      inspect: async (name: string) => {
        const found = left.get(name);
        return found === undefined ? null : { id: name, gateway: "", bridgeOptions: {}, containerCount: found.containerCount };
      },
      remove: async (name: string) => {
        const found = left.get(name);
        if (found !== undefined && found.refusals > 0) {
          found.refusals -= 1;
          return false;
        }
        left.delete(name);
        return true;
      },
    },
  } as unknown as DockerApi; // Nothing else of it is needed.
  return { api, left: () => [...left.keys()] };
}

it("removes a network as soon as what was on it is gone", async () => {
  const { api, left } = dockerWith({ a: { refusals: 2, containerCount: 1 }, b: { refusals: 0, containerCount: 0 } });
  expect(await removeNetworks(api, PLATFORM)).toEqual([]);
  expect(left()).toEqual([]);
});

it("names a network that Docker takes for used though nothing is on it, and removes the others", async () => {
  const { api, left } = dockerWith({ a: { refusals: Number.POSITIVE_INFINITY, containerCount: 0 }, b: { refusals: 0, containerCount: 0 } });
  expect(await removeNetworks(api, PLATFORM)).toEqual(["a"]);
  expect(left()).toEqual(["a"]);
});
