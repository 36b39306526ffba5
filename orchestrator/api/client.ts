// How a command finds the running orchestrator of a home and talks to it.
import { request } from "node:http";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import type { IncomingMessage } from "node:http";
import { PlatformError, isErrorCode } from "../../runtime-image/contract/errors.ts";
import { readToken } from "./access.ts";

export interface ApiTarget {
  readonly port: number;
  readonly home: string | null; // Null: ask the orchestrator that listens there for its home.
}

export interface ApiClient {
  readonly home: string;
  get(path: string): Promise<unknown>;
  post(path: string): Promise<unknown>;
  /** Every line of a stream, until it ends or the signal aborts. */
  lines(path: string, onValue: (value: unknown) => void, signal: AbortSignal): Promise<void>;
}

const ANSWER_TIMEOUT_MS = 120_000; // A promote boots instances before it answers.

export async function connectApi(target: ApiTarget): Promise<ApiClient> {
  const home = target.home === null ? await homeBehind(target.port) : resolve(target.home);
  const token = await readToken(home);
  if (token === null)
    throw new PlatformError("NOT_RUNNING", {
      detail: `${join(home, "api-token")} cannot be read.`,
      remedy: "Run the command as the user who started the orchestrator, or name its home with --home.",
    });
  const call = async (method: "GET" | "POST", path: string): Promise<unknown> => {
    const response = await send({ method, path, port: target.port, token, timeoutMs: ANSWER_TIMEOUT_MS });
    return checked(response.statusCode ?? 0, await textOf(response));
  };
  return {
    home,
    get: async (path) => call("GET", path),
    post: async (path) => call("POST", path),
    async lines(path, onValue, signal) {
      const response = await send({ method: "GET", path, port: target.port, token, timeoutMs: 0 });
      if (response.statusCode !== 200) checked(response.statusCode ?? 0, await textOf(response));
      signal.addEventListener("abort", () => response.destroy(), { once: true });
      try {
        for await (const line of createInterface({ input: response })) onValue(JSON.parse(line));
      } catch (cause) {
        if (!signal.aborted) throw cause;
      }
    },
  };
}

async function homeBehind(port: number): Promise<string> {
  const response = await send({ method: "GET", path: "/", port, token: "", timeoutMs: ANSWER_TIMEOUT_MS });
  const value: unknown = JSON.parse(await textOf(response));
  if (typeof value === "object" && value !== null && "home" in value && typeof value.home === "string") return value.home;
  throw new PlatformError("NOT_RUNNING", {
    detail: `What listens on port ${port} is no orchestrator.`,
    remedy: "Name the port with --api-port.",
  });
}

async function send(options: { method: string; path: string; port: number; token: string; timeoutMs: number }): Promise<IncomingMessage> {
  const { method, path, port, token, timeoutMs } = options;
  return new Promise((done, fail) => {
    const outgoing = request(
      { host: "127.0.0.1", port, path, method, timeout: timeoutMs, headers: { authorization: `Bearer ${token}` } },
      done,
    );
    outgoing.once("timeout", () => outgoing.destroy(new Error(`no answer within ${timeoutMs} ms`)));
    outgoing.once("error", (cause) => {
      fail(
        new PlatformError(
          "NOT_RUNNING",
          {
            detail: `Nothing answers on 127.0.0.1:${port}.`,
            remedy: "Start it with: orchestrator up <folder>; or name its port with --api-port.",
          },
          { cause },
        ),
      );
    });
    outgoing.end();
  });
}

async function textOf(response: IncomingMessage): Promise<string> {
  let text = "";
  response.setEncoding("utf8");
  for await (const part of response) text += String(part);
  return text;
}

function checked(status: number, text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (status === 200) return value;
  const problem: Readonly<Record<string, unknown>> = typeof value === "object" && value !== null ? { ...value } : {};
  const code = typeof problem["code"] === "string" && isErrorCode(problem["code"]) ? problem["code"] : "INTERNAL";
  throw new PlatformError(code, {
    ...(typeof problem["detail"] === "string" ? { detail: problem["detail"] } : {}),
    ...(typeof problem["remedy"] === "string" ? { remedy: problem["remedy"] } : {}),
    ...(Array.isArray(problem["problems"]) ? { problems: problem["problems"].map(String) } : {}),
  });
}
