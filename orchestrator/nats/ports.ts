// Finds out whether a port is free, and picks one that is.
import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { PlatformError } from "../../runtime-image/contract/errors.ts";

export async function isPortFree(host: string, port: number): Promise<boolean> {
  const server = await listen(host, port);
  if (server === null) return false;
  await close(server);
  return true;
}

export async function pickFreePort(host: string): Promise<number> {
  const server = await listen(host, 0);
  const address = server?.address();
  if (server !== null) await close(server);
  if (typeof address !== "object" || address === null) throw new PlatformError("NATS_FAILED", { detail: `No port is free on ${host}.` });
  return address.port;
}

/** Null where the port is taken. */
async function listen(host: string, port: number): Promise<Server | null> {
  const server = createServer();
  try {
    server.listen({ host, port, exclusive: true });
    await once(server, "listening"); // Rejects when the server tells of an error instead.
    return server;
  } catch (cause) {
    // Node's system errors carry a code.
    const { code } = cause as NodeJS.ErrnoException;
    if (code === "EADDRINUSE") return null;
    throw new PlatformError("NATS_FAILED", { detail: `The broker cannot listen on ${host}:${port} (${code ?? "unknown"}).` }, { cause });
  }
}

async function close(server: Server): Promise<void> {
  server.close();
  await once(server, "close");
}
