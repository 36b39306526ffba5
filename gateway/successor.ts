// A successor's half of a hand-over: learns what the gateway before it knows, takes its listening sockets, and says that it serves.
import { Server } from "node:net";
import { PlatformError } from "../runtime-image/contract/errors.ts";
import type { GatewayAddress } from "../runtime-image/contract/gateway-config.ts";
import type { Front } from "./front.ts";
import { isSameAddress } from "./listening.ts";
import type { FromPredecessor, FromSuccessor, Standing } from "./succession.ts";

export interface SuccessorParts {
  readonly listen: readonly GatewayAddress[];
  readonly front: Front;
  readonly standing: () => Standing;
}

const STANDING_INTERVAL_MS = 50;

/** Whether a gateway started this process, to take its place. */
export const isSuccessor = (): boolean => process.send !== undefined;

/** Resolves once this process serves. Fails where the gateway before is gone sooner: then nobody listens, and a new one is started. */
export function succeed({ listen, front, standing }: SuccessorParts): Promise<void> {
  return new Promise((resolve, reject) => {
    let missing: GatewayAddress[] = [];
    const report = setInterval(() => void say({ kind: "standing", standing: standing(), listen }), STANDING_INTERVAL_MS);
    const over = (): void => {
      clearInterval(report);
      process.off("message", onMessage);
      process.off("disconnect", onDisconnect);
    };
    const fail = (cause: unknown): void => {
      over();
      reject(cause);
    };
    const serve = (): void => {
      over();
      void say({ kind: "serving" }); // Where nobody hears it any more, this one serves all the same.
      resolve();
    };
    const prepare = async (given: readonly GatewayAddress[]): Promise<void> => {
      clearInterval(report);
      missing = [...given];
      await front.listen({ except: given });
      if (given.length === 0) serve();
      else await say({ kind: "prepared" });
    };
    const take = (address: GatewayAddress, socket: unknown): void => {
      if (!(socket instanceof Server)) throw new TypeError(`the socket of ${address.host}:${address.port} did not arrive`);
      front.take(address, socket); // In this very turn of the event loop: it takes connections from now on.
      missing = missing.filter((one) => !isSameAddress(one, address));
      if (missing.length === 0) serve();
    };
    // A gateway of ours sends them.
    const onMessage = (message: unknown, socket: unknown): void => {
      const told = message as FromPredecessor;
      try {
        if (told.kind === "prepare") prepare(told.given).catch(fail);
        else take(told.address, socket);
      } catch (cause) {
        fail(cause);
      }
    };
    const onDisconnect = (): void => fail(new PlatformError("GATEWAY_FAILED", { detail: "The gateway before this one ended first." }));
    process.on("message", onMessage);
    process.on("disconnect", onDisconnect);
    if (!process.connected) onDisconnect(); // It was over before this process listened.
  });
}

/** Before this process ends without having served. */
export const sayFailure = (reason: string): Promise<void> => say({ kind: "failed", reason });

/** Resolves also where nobody hears it: the end of the channel is heard of as such. */
const say = (message: FromSuccessor): Promise<void> =>
  new Promise((resolve) => {
    if (process.send === undefined || !process.connected) return resolve();
    process.send(message, undefined, {}, () => resolve());
  });
