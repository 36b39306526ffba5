// http-proxy with a keep-alive agent in front of the app in a container.
import { fileURLToPath } from "node:url";
import type { BenchContainer } from "../docker.ts";
import { startListening } from "./bare.ts";
import type { Row } from "./row.ts";

const PROXY = fileURLToPath(new URL("../workload/http-proxy-server.ts", import.meta.url));

export const httpProxyRow = (container: BenchContainer): Row => ({
  name: "http-proxy → container",
  async start(stack, signal) {
    const proxy = await startListening([PROXY, container.url], signal);
    stack.defer(() => proxy.stop());
    return { url: proxy.url, rootPids: async () => [proxy.pid, container.pid] };
  },
});
