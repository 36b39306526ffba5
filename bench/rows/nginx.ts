// nginx as a reverse proxy in front of the app in a container: with connections that it keeps, and with one for each request, as it does by itself.
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pickFreePort } from "../../orchestrator/nats/ports.ts";
import type { BenchContainer } from "../docker.ts";
import { start } from "../processes.ts";
import type { Row } from "./row.ts";

const READY_TIMEOUT_MS = 10_000;

export type Upstream = "kept" | "one each";

export const nginxRow = (container: BenchContainer, upstream: Upstream): Row => ({
  name: upstream === "kept" ? "nginx → container" : "nginx, a connection each → container",
  async start(stack, signal) {
    const folder = await mkdtemp(join(tmpdir(), "orchestrator-bench-nginx-"));
    stack.defer(() => rm(folder, { recursive: true, force: true }));
    await chmod(folder, 0o755); // Its workers run as another user and keep large bodies here.
    const port = await pickFreePort("127.0.0.1");
    await writeFile(
      join(folder, "nginx.conf"),
      nginxConfig({ port, address: new URL(container.url).host, isRoot: process.getuid?.() === 0, upstream }),
    );
    const nginx = await start({
      command: "nginx",
      args: ["-p", folder, "-c", "nginx.conf", "-e", "stderr"],
      isReady: (line) => line.includes("start worker processes"),
      timeoutMs: READY_TIMEOUT_MS,
      signal,
    });
    stack.defer(() => nginx.stop("SIGQUIT"));
    return { url: `http://127.0.0.1:${port}`, rootPids: async () => [nginx.pid, container.pid] };
  },
});

/** Debian's defaults where they matter (a worker per core, buffering), no access log, and connections that are not given up after 1,000 requests. */
export function nginxConfig(options: {
  readonly port: number;
  readonly address: string;
  readonly isRoot: boolean;
  readonly upstream: Upstream;
}): string {
  const keeps = options.upstream === "kept";
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `  ${name}_temp_path ${name}_temp;`);
  return `${options.isRoot ? "user www-data;\n" : ""}daemon off;
worker_processes auto;
pid nginx.pid;
error_log stderr notice;
events { worker_connections 1024; }
http {
  access_log off;
  sendfile on;
  tcp_nopush on;
  keepalive_requests 1000000;
  client_max_body_size 10m;
${temporary.join("\n")}
  upstream app {
    server ${options.address};${keeps ? "\n    keepalive 64;\n    keepalive_requests 1000000;" : ""}
  }
  server {
    listen 127.0.0.1:${options.port};
    location / {
      proxy_pass http://app;${keeps ? '\n      proxy_http_version 1.1;\n      proxy_set_header Connection "";' : ""}
      proxy_set_header Host $host;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    }
  }
}
`;
}
