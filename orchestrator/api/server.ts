// The management API's door: HTTP on both loopback addresses, open to who shows a token. What answers behind it is loaded by the first who comes.
import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { API_CLOSE_GRACE_MS, API_CONNECTION_COUNT_MAX, HEADERS_TIMEOUT_MS, HEADER_BYTES_MAX } from "../../runtime-image/contract/limits.ts";
import { isGit, passwordOf, refusalOf, tokenOf } from "./access.ts";
import { PROBLEM_TYPE, problemOf } from "./problem.ts";
import type { Caller } from "./roles.ts";

/** What answers those who were let in. */
export interface ApiApp {
  answer(request: IncomingMessage, response: ServerResponse, caller: Caller): void;
  /** Ends what would go on for ever: streams of what happens. */
  endStreams(): void;
  close(): Promise<void>;
}

export interface ApiSettings {
  readonly port: number;
  readonly home: string;
  readonly callerOf: (token: string) => Caller | null;
  readonly load: () => Promise<ApiApp>; // Costs as much as a tenth of a start, so nobody waits for it who does not need it.
  readonly onTrouble: (error: unknown) => void;
}

export interface Api {
  /** Loads what answers, so that the first request need not wait for it. */
  warm(): Promise<void>;
  /** Lets requests finish for a moment. */
  close(): Promise<void>;
}

const IDLE_POLL_MS = 20;

/** Listens on both loopback addresses, on IPv4 alone where there is no IPv6. */
export async function startApi(settings: ApiSettings): Promise<Api> {
  const app = loadedOnce(settings.load);
  const servers: Server[] = [];
  try {
    for (const host of ["127.0.0.1", "::1"]) {
      // Bodies have time limits of their own, because an upload may take as long as it moves.
      const limits = { headersTimeout: HEADERS_TIMEOUT_MS, requestTimeout: 0, maxHeaderSize: HEADER_BYTES_MAX };
      const server = createServer(limits, (request, response) => {
        admit(request, response, settings, app.get).catch((cause: unknown) => {
          settings.onTrouble(cause);
          sendProblem(response, cause);
        });
      });
      server.maxConnections = API_CONNECTION_COUNT_MAX;
      if (await listens(server, host, settings.port)) servers.push(server);
    }
  } catch (cause) {
    await Promise.all(servers.map(closed));
    throw cause;
  }
  return {
    warm: async () => void (await app.get()),
    close: async () => {
      const ended = Promise.all(servers.map(closed));
      const loaded = await app.ifAsked();
      loaded?.endStreams();
      const idle = setInterval(() => servers.forEach((server) => server.closeIdleConnections()), IDLE_POLL_MS); // Each that got its answer.
      const grace = setTimeout(() => servers.forEach((server) => server.closeAllConnections()), API_CLOSE_GRACE_MS);
      await ended;
      clearInterval(idle);
      clearTimeout(grace);
      await loaded?.close();
    },
  };
}

function loadedOnce(load: () => Promise<ApiApp>): { get(): Promise<ApiApp>; ifAsked(): Promise<ApiApp | null> } {
  let loading: Promise<ApiApp> | null = null;
  return {
    get: async () => {
      loading ??= load().catch((cause: unknown) => {
        loading = null; // The next one tries again.
        throw cause;
      });
      return loading;
    },
    ifAsked: async () => loading?.catch(() => null) ?? null,
  };
}

async function admit(request: IncomingMessage, response: ServerResponse, settings: ApiSettings, app: () => Promise<ApiApp>): Promise<void> {
  const refused = refusalOf(request.headers, settings.port);
  if (refused !== null) return sendProblem(response, new PlatformError(refused));
  // Which home this is helps a command to find the token file, which only its owner can read.
  if (request.method === "GET" && request.url === "/") return sendJson(response, { product: "orchestrator", home: settings.home });
  const token = tokenOf(request.headers) ?? (isGit(request) ? passwordOf(request.headers) : null);
  const caller = token === null ? null : settings.callerOf(token);
  if (caller === null) {
    if (isGit(request)) response.setHeader("www-authenticate", 'Basic realm="orchestrator: a token as the password"'); // Git asks for it then.
    return sendProblem(response, new PlatformError("API_TOKEN_REFUSED"));
  }
  (await app()).answer(request, response, caller);
}

function sendJson(response: ServerResponse, value: object): void {
  response.writeHead(200, { "content-type": "application/json", "cache-control": "no-store" });
  response.end(`${JSON.stringify(value)}\n`);
}

function sendProblem(response: ServerResponse, cause: unknown): void {
  if (response.headersSent) return void response.destroy();
  const { status, body } = problemOf(cause);
  // What the request may still send is of no interest any more.
  response.writeHead(status, { "content-type": PROBLEM_TYPE, "cache-control": "no-store", connection: "close" });
  response.end(body);
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

/** Takes no new connection from now on; resolves when the last one is gone. */
async function closed(server: Server): Promise<void> {
  await new Promise<void>((done) => server.close(() => done()));
}
