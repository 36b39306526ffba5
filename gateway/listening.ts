// The listening sockets of a gateway: bound by itself, or taken from the gateway before it.
import type { Server } from "node:http";
import type { Server as NetServer } from "node:net";
import { PlatformError } from "../runtime-image/contract/errors.ts";
import type { GatewayAddress } from "../runtime-image/contract/gateway-config.ts";

export interface ListeningSocket {
  readonly address: GatewayAddress; // As the config names it: with port 0, the server's own differs.
  readonly server: Server;
}

type Address = Pick<GatewayAddress, "host" | "port">;

export const isSameAddress = (left: Address, right: Address): boolean => left.host === right.host && left.port === right.port;

/** A machine may lack some of the addresses; to lack all of them is a failure, unless there are others already. */
export async function bindAll(sockets: readonly ListeningSocket[], { hasOthers }: { readonly hasOthers: boolean }): Promise<void> {
  const results = await Promise.allSettled(sockets.map(bind));
  const failures = results.flatMap((result) => (result.status === "rejected" ? [asError(result.reason)] : []));
  const isNoneBound = failures.length === sockets.length && !hasOthers;
  const fatal = failures.find((failure) => isNoneBound || !isAddressMissing(failure));
  if (fatal !== undefined) throw fatal;
}

/** From now on both processes take connections; those that wait in the kernel belong to the socket, not to either of them. */
export function listenLike(server: Server, from: NetServer): void {
  server.listen(from);
}

export function portOf(server: Server): number {
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

function bind({ server, address: { host, port } }: ListeningSocket): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (cause: NodeJS.ErrnoException): void => reject(bindFailure(cause, `${host}:${port}`));
    server.once("error", fail);
    server.listen({ host, port, ipv6Only: host.includes(":") }, () => {
      server.off("error", fail);
      resolve();
    });
  });
}

function bindFailure(cause: NodeJS.ErrnoException, address: string): PlatformError {
  if (cause.code === "EADDRINUSE")
    return new PlatformError(
      "PORT_IN_USE",
      { detail: `${address} is taken.`, remedy: "Stop what listens there, or choose another port." },
      { cause },
    );
  return new PlatformError("GATEWAY_FAILED", { detail: `${address} cannot be listened on (${cause.code ?? cause.message}).` }, { cause });
}

// A machine without IPv6 has no ::1.
function isAddressMissing(failure: unknown): boolean {
  if (!(failure instanceof PlatformError) || !(failure.cause instanceof Error) || !("code" in failure.cause)) return false;
  return failure.cause.code === "EADDRNOTAVAIL" || failure.cause.code === "EAFNOSUPPORT";
}

const asError = (reason: unknown): Error => (reason instanceof Error ? reason : new Error(String(reason)));
