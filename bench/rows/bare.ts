// The limit: the app as a node:http server on the host, nothing in front of it.
import { fileURLToPath } from "node:url";
import { start } from "../processes.ts";
import type { Row } from "./row.ts";

const SERVER = fileURLToPath(new URL("../workload/server.ts", import.meta.url));
const READY_TIMEOUT_MS = 10_000;

export const bareRow: Row = {
  name: "bare node:http",
  async start(stack, signal) {
    const server = await startListening([SERVER, "127.0.0.1", "0"], signal);
    stack.defer(() => server.stop());
    return { url: server.url, rootPids: async () => [server.pid] };
  },
};

/** A Node program that prints "listening <port>" once it does, on the loopback. */
export async function startListening(
  args: readonly string[],
  signal: AbortSignal,
): Promise<{ url: string; pid: number; stop: () => Promise<void> }> {
  const isReady = (line: string): boolean => line.startsWith("listening ");
  const command = { command: process.execPath, args: ["--disable-warning=ExperimentalWarning", "--no-deprecation", ...args] };
  const server = await start({ ...command, isReady, timeoutMs: READY_TIMEOUT_MS, signal });
  return { url: `http://127.0.0.1:${server.readyLine.split(" ")[1]}`, pid: server.pid, stop: () => server.stop() };
}
