// A small HTTP server in the place of the management API, which answers what a test says, broken answers included; and commands run against it.
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { vi } from "vitest";
import { runCli } from "../../orchestrator/cli.ts";

export interface Asked {
  readonly method: string;
  readonly path: string; // With its query.
  readonly contentType: string | undefined;
  readonly body: Buffer;
}

/** JSON, an error with its status, the lines of a stream, or anything at all. */
export type Reply =
  | { readonly json: unknown; readonly status?: number }
  | { readonly lines: readonly unknown[] }
  | { readonly write: (response: ServerResponse, asked: Asked) => void | Promise<void> };

export interface ScriptedApi {
  readonly port: number;
  readonly asked: readonly Asked[];
  /** By method and path without query; a list is used up one by one, its last one stays. */
  answer(replies: Readonly<Record<string, Reply | readonly Reply[]>>): void;
  stop(): Promise<void>;
}

export const TOKEN = "0123456789abcdef".repeat(4);

export async function startScriptedApi(home: string): Promise<ScriptedApi> {
  const asked: Asked[] = [];
  const replies = new Map<string, Reply[]>();
  const server = createServer((request, response) => {
    // What a test forgot is seen in what the command says.
    void answer(request, response).catch((cause: unknown) => response.destroy(cause instanceof Error ? cause : undefined));
  });
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? "";
    if (path === "/") return void response.end(JSON.stringify({ home }));
    const isKnown = request.headers.authorization === `Bearer ${TOKEN}`;
    const body = await buffer(request);
    const one: Asked = { method: request.method ?? "", path, contentType: request.headers["content-type"], body };
    asked.push(one);
    const key = `${one.method} ${path.split("?")[0] ?? ""}`;
    const left = replies.get(key) ?? [];
    const reply = left.length > 1 ? left.shift() : left[0];
    if (!isKnown) return problem(response, 401, { code: "API_TOKEN_REFUSED" });
    if (reply === undefined) return problem(response, 404, { code: "API_NOT_FOUND", detail: key });
    if ("write" in reply) return reply.write(response, one);
    if ("lines" in reply) return void response.end(reply.lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    const { status = 200, json } = reply;
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(json));
  }
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port, // It listens on a port.
    asked,
    answer: (all) => {
      for (const [key, reply] of Object.entries(all)) replies.set(key, "length" in reply ? [...reply] : [reply]);
    },
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

const problem = (response: ServerResponse, status: number, value: object): void =>
  void response.writeHead(status, { "content-type": "application/problem+json" }).end(JSON.stringify(value));

export interface Said {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command in this process, which is no terminal, and catches what it writes. */
export async function runHere(api: Pick<ScriptedApi, "port">, ...args: readonly string[]): Promise<Said> {
  const texts = { stdout: "", stderr: "" };
  vi.stubEnv("ORCHESTRATOR_API_TOKEN", TOKEN);
  const spies = (["stdout", "stderr"] as const).map((name) =>
    vi.spyOn(process[name], "write").mockImplementation((text: string | Uint8Array) => {
      texts[name] += String(text);
      return true;
    }),
  );
  try {
    const exitCode = await runCli(["node", "orchestrator", ...args, "--api-port", String(api.port)]);
    return { exitCode, ...texts };
  } finally {
    for (const spy of spies) spy.mockRestore();
    vi.unstubAllEnvs();
  }
}
