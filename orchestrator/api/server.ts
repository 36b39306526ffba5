// The management API: HTTP on loopback, JSON in and out, for the CLI and for whoever holds the token.
import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import { ERRORS, PlatformError } from "../../runtime-image/contract/errors.ts";
import { refusal } from "./access.ts";

export interface ApiRoute {
  readonly method: "GET" | "POST";
  readonly path: string;
  /** What it returns is the JSON of the answer; a stream writes lines until its request ends. */
  readonly answer:
    | { readonly kind: "json"; readonly handle: (query: URLSearchParams) => Promise<unknown> }
    | {
        readonly kind: "lines";
        readonly handle: (query: URLSearchParams, write: (value: unknown) => void, over: AbortSignal) => Promise<void>;
      };
}

export interface ApiSettings {
  readonly port: number;
  readonly token: string;
  readonly home: string;
  readonly onTrouble: (error: unknown) => void;
}

export interface Api {
  close(): Promise<void>;
}

/** Listens on both loopback addresses, on IPv4 alone where there is no IPv6. */
export async function startApi(routes: readonly ApiRoute[], settings: ApiSettings): Promise<Api> {
  const servers: Server[] = [];
  try {
    for (const host of ["127.0.0.1", "::1"]) {
      const server = createServer({ headersTimeout: 10_000, requestTimeout: 30_000, maxHeaderSize: 16_384 }, (request, response) => {
        answer(request, response, routes, settings).catch(settings.onTrouble);
      });
      if (await listens(server, host, settings.port)) servers.push(server);
    }
  } catch (cause) {
    await Promise.all(servers.map(closed));
    throw cause;
  }
  return {
    close: async () => {
      await Promise.all(servers.map(closed));
    },
  };
}

async function listens(server: Server, host: string, port: number): Promise<boolean> {
  return new Promise((done, fail) => {
    server.once("error", (cause: NodeJS.ErrnoException) => {
      if (cause.code === "EADDRNOTAVAIL" || cause.code === "EAFNOSUPPORT") done(false);
      else if (cause.code === "EADDRINUSE")
        fail(
          new PlatformError(
            "PORT_IN_USE",
            { detail: `Port ${port} (management API) on ${host}.`, remedy: "Stop that program, or choose another port with --api-port." },
            { cause },
          ),
        );
      else fail(cause);
    });
    server.listen({ host, port, ipv6Only: true }, () => done(true));
  });
}

async function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise<void>((done) => server.close(() => done()));
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  routes: readonly ApiRoute[],
  settings: ApiSettings,
): Promise<void> {
  request.resume(); // No route reads a body; what is sent is let go.
  try {
    const url = new URL(request.url ?? "/", "http://localhost");
    const refused = refusal(request.headers, settings);
    // Which home this is helps a command to find the token file, which only its owner can read.
    if (refused === "API_TOKEN_REFUSED" && request.method === "GET" && url.pathname === "/")
      return send(response, 200, { product: "orchestrator", home: settings.home });
    if (refused !== null) throw new PlatformError(refused);
    const route = routes.find((one) => one.method === request.method && one.path === url.pathname);
    if (route === undefined) throw new PlatformError("API_NOT_FOUND", { detail: `${request.method} ${url.pathname}` });
    if (route.answer.kind === "json") return send(response, 200, await route.answer.handle(url.searchParams));
    await sendLines(response, url.searchParams, route.answer.handle);
  } catch (cause) {
    if (response.headersSent) response.destroy();
    else sendError(response, cause);
    if (!(cause instanceof PlatformError)) throw cause;
  }
}

async function sendLines(
  response: ServerResponse,
  query: URLSearchParams,
  handle: (query: URLSearchParams, write: (value: unknown) => void, over: AbortSignal) => Promise<void>,
): Promise<void> {
  const over = new AbortController();
  response.once("close", () => over.abort());
  response.writeHead(200, { "content-type": "application/x-ndjson", "cache-control": "no-store" });
  response.flushHeaders();
  await handle(query, (value) => response.write(`${JSON.stringify(value)}\n`), over.signal);
  response.end();
}

function send(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { "content-type": "application/json", "cache-control": "no-store" });
  response.end(`${JSON.stringify(value)}\n`);
}

function sendError(response: ServerResponse, cause: unknown): void {
  const error = cause instanceof PlatformError ? cause : new PlatformError("INTERNAL");
  const { status, message } = ERRORS[error.code];
  response.writeHead(status, { "content-type": "application/problem+json", "cache-control": "no-store" });
  response.end(`${JSON.stringify({ status, code: error.code, title: message, ...error.detail })}\n`);
}
