// Finds out whether this machine lets us listen where we are told to, before anything is started.
import { createConnection, createServer } from "node:net";
import { PlatformError } from "../../runtime-image/contract/errors.ts";

export interface ListenPlace {
  readonly port: number;
  readonly hosts: readonly string[];
  readonly name: string;
  readonly flag: string;
}

const CONNECT_TIMEOUT_MS = 1_000;

/** The port free on every address, and ours to take, or a clear error. */
export async function assertPortFree({ port, hosts, name, flag }: ListenPlace): Promise<void> {
  for (const host of hosts) {
    const code = (await answers(host, port)) ? "EADDRINUSE" : await listenProblem(host, port);
    if (code === "EADDRINUSE")
      throw new PlatformError("PORT_IN_USE", {
        detail: `Port ${port} (${name}) on ${host}.`,
        remedy: `Stop the program that listens there, or choose another port with ${flag}.`,
      });
    if (code === "EACCES")
      throw new PlatformError("SETTING_INVALID", {
        detail: `${flag}: this user may not listen on port ${port} of ${host}.`,
        remedy: "Choose a port above 1023, or start the platform with the right to take lower ones (CAP_NET_BIND_SERVICE).",
      });
  }
}

/** Those of the addresses that this machine has not. */
export async function missingAddresses(hosts: readonly string[]): Promise<string[]> {
  const problems = await Promise.all(hosts.map(async (host) => listenProblem(host, 0)));
  return hosts.filter((_, index) => ["EADDRNOTAVAIL", "EAFNOSUPPORT", "EINVAL"].includes(problems[index] ?? ""));
}

/** Where a port of all addresses is taken, some systems let another program have the same port of one address. */
async function answers(host: string, port: number): Promise<boolean> {
  return new Promise((done) => {
    const socket = createConnection({ host, port, timeout: CONNECT_TIMEOUT_MS });
    const finish = (isTaken: boolean): void => {
      socket.destroy();
      done(isTaken);
    };
    socket
      .once("connect", () => finish(true))
      .once("error", () => finish(false))
      .once("timeout", () => finish(true));
  });
}

/** The system's own word for why not; null where nothing is in the way. */
async function listenProblem(host: string, port: number): Promise<string | null> {
  return new Promise((done) => {
    const server = createServer();
    server.once("error", (cause: NodeJS.ErrnoException) => done(cause.code ?? cause.message));
    server.listen({ host, port, ipv6Only: host.includes(":"), exclusive: true }, () => server.close(() => done(null)));
  });
}
