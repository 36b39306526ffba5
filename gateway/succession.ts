// What a gateway and its successor say to each other, and when the successor knows enough to serve in the other's place.
import type { GatewayAddress, GatewayStatus } from "../runtime-image/contract/gateway-config.ts";
import { isSameAddress } from "./listening.ts";

/** How far a gateway is. */
export interface Standing extends Pick<GatewayStatus, "sequences" | "connected"> {
  readonly hasLearnt: boolean; // Every snapshot that there was.
  readonly sites: Readonly<Record<string, boolean>>; // Per app id that has static files, whether they can be read.
}

/** In this order; "standing" again and again until it is told to prepare. */
export type FromSuccessor =
  | { readonly kind: "standing"; readonly standing: Standing; readonly listen: readonly GatewayAddress[] }
  | { readonly kind: "prepared" } // It listens on every address that it will not be given.
  | { readonly kind: "serving" }
  | { readonly kind: "failed"; readonly reason: string };

export type FromPredecessor =
  | { readonly kind: "prepare"; readonly given: readonly GatewayAddress[] }
  | { readonly kind: "socket"; readonly address: GatewayAddress }; // Comes with the socket itself.

/** What a successor would serve worse than the one before; empty where it may take its place. */
export function lacksOf(before: Standing, successor: Standing): string[] {
  const lacks: string[] = [];
  if (before.hasLearnt && !successor.hasLearnt) lacks.push("what is deployed");
  for (const [appId, sequence] of Object.entries(before.sequences))
    if ((successor.sequences[appId] ?? -1) < sequence) lacks.push(`snapshot ${sequence} of app ${appId}`);
  // What the other cannot reach either, such as an account that was removed, must not stand in the way for ever.
  for (const appId of missingOf(before.connected, successor.connected)) lacks.push(`the connection to the functions of app ${appId}`);
  for (const appId of missingOf(before.sites, successor.sites)) lacks.push(`the static files of app ${appId}`);
  return lacks;
}

const missingOf = (before: Readonly<Record<string, boolean>>, successor: Readonly<Record<string, boolean>>): string[] =>
  Object.keys(before).filter((appId) => before[appId] === true && successor[appId] !== true);

/** Those on which both want to listen. */
export const commonOf = <Socket extends { readonly address: GatewayAddress }>(
  sockets: readonly Socket[],
  wanted: readonly GatewayAddress[],
): Socket[] => sockets.filter(({ address }) => wanted.some((one) => isSameAddress(one, address)));
