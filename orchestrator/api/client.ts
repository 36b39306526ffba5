// How a command finds the running orchestrator of a home and talks to it.
import { type IncomingMessage, request } from "node:http";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { PlatformError, isErrorCode } from "../../runtime-image/contract/errors.ts";
import { environmentSettings } from "../config.ts";
import { readToken } from "./access.ts";
import { passphraseHeaders } from "./passphrase.ts";

export interface ApiTarget {
  readonly port: number;
  readonly home: string | null; // Null: ask the orchestrator that listens there for its home.
}

/** Every error that the orchestrator answers with is thrown as the PlatformError that it is. */
export interface ApiClient {
  readonly home: string;
  get(path: string): Promise<unknown>;
  post(path: string, body?: object): Promise<unknown>;
  put(path: string, body?: object): Promise<unknown>;
  patch(path: string, body?: object): Promise<unknown>;
  delete(path: string): Promise<unknown>;
  /** Every line of a stream, one after the other, until it ends or the signal aborts. Fails where it breaks off. */
  lines(path: string, onValue: (value: unknown) => void | Promise<void>, signal: AbortSignal): Promise<void>;
  /** Sends a stream as it comes, and resolves with what is answered. */
  upload(path: string, body: Readable, options?: UploadOptions): Promise<unknown>;
  /** The bytes of an answer, to be read at any pace. The stream fails where it breaks off. */
  download(path: string, options?: TransferOptions): Promise<Readable>;
}

export interface TransferOptions {
  readonly signal?: AbortSignal;
  readonly passphrase?: string | null;
}

export interface UploadOptions extends TransferOptions {
  readonly method?: "POST" | "PUT";
  readonly contentType?: string;
}

const ANSWER_TIMEOUT_MS = 120_000; // A promote boots instances before it answers.
const FIND_TIMEOUT_MS = 5_000;

interface Call {
  readonly method: string;
  readonly path: string;
  readonly port: number;
  readonly token: string | null;
  readonly timeoutMs: number; // 0: as long as it takes.
  readonly body?: { readonly contentType: string; readonly bytes: Buffer | Readable };
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export async function connectApi(target: ApiTarget): Promise<ApiClient> {
  const { port } = target;
  const home = target.home === null ? await homeBehind(port) : resolve(target.home);
  const token = environmentSettings().apiToken ?? (await readToken(home));
  if (token === null)
    throw new PlatformError("NOT_RUNNING", {
      detail: `${join(home, "api-token")} cannot be read.`,
      remedy:
        "Run the command as the user who started the orchestrator, name its home with --home, or set ORCHESTRATOR_API_TOKEN to a token that its owner made.",
    });
  const call = async (method: string, path: string, value?: object): Promise<unknown> => {
    const body = value === undefined ? {} : { body: { contentType: "application/json", bytes: Buffer.from(JSON.stringify(value)) } };
    return answerOf(await send({ method, path, port, token, timeoutMs: ANSWER_TIMEOUT_MS, ...body }));
  };
  return {
    home,
    get: async (path) => call("GET", path),
    post: async (path, body) => call("POST", path, body),
    put: async (path, body) => call("PUT", path, body),
    patch: async (path, body) => call("PATCH", path, body),
    delete: async (path) => call("DELETE", path),
    async lines(path, onValue, signal) {
      try {
        const response = await checked(await send({ method: "GET", path, port, token, timeoutMs: 0, signal }));
        await eachLine(response, onValue);
      } catch (cause) {
        if (!signal.aborted) throw cause;
      }
    },
    async upload(path, body, { method = "POST", contentType = "application/octet-stream", ...transfer } = {}) {
      const sent = { contentType, bytes: body };
      return answerOf(await send({ method, path, port, token, timeoutMs: 0, body: sent, ...transferOf(transfer) }));
    },
    async download(path, transfer = {}) {
      return checked(await send({ method: "GET", path, port, token, timeoutMs: 0, ...transferOf(transfer) }));
    },
  };
}

const transferOf = ({ signal, passphrase = null }: TransferOptions): Pick<Call, "headers" | "signal"> => ({
  ...(signal === undefined ? {} : { signal }),
  ...(passphrase === null ? {} : { headers: passphraseHeaders(passphrase) }),
});

/** Lines are taken from the answer no faster than they are dealt with. */
async function eachLine(response: IncomingMessage, onValue: (value: unknown) => void | Promise<void>): Promise<void> {
  const broken: unknown[] = [];
  response.once("error", (cause) => broken.push(cause));
  const lines = createInterface({ input: response, crlfDelay: Infinity });
  lines.on("error", () => undefined); // It passes on what the answer fails with; unheard, that would end the process.
  try {
    for await (const line of lines) await onValue(JSON.parse(line));
  } catch (cause) {
    if (broken.length === 0) throw cause;
  }
  if (broken.length > 0 || !response.complete)
    throw new PlatformError("NOT_RUNNING", { detail: "The answer broke off." }, { cause: broken[0] });
}

async function homeBehind(port: number): Promise<string> {
  const response = await send({ method: "GET", path: "/", port, token: null, timeoutMs: FIND_TIMEOUT_MS });
  const value = jsonIn(await textOf(response));
  if (typeof value === "object" && value !== null && "home" in value && typeof value.home === "string") return value.home;
  throw new PlatformError("NOT_RUNNING", {
    detail: `What listens on port ${port} is no orchestrator.`,
    remedy: "Name the port with --api-port.",
  });
}

/** Resolves with the head of the answer. */
async function send({ method, path, port, token, timeoutMs, body, headers, signal }: Call): Promise<IncomingMessage> {
  return new Promise((done, fail) => {
    const outgoing = request({
      host: "127.0.0.1",
      port,
      path,
      method,
      timeout: timeoutMs,
      headers: {
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { "content-type": body.contentType }),
        ...(Buffer.isBuffer(body?.bytes) ? { "content-length": body.bytes.length } : {}),
        ...headers,
      },
      ...(signal === undefined ? {} : { signal }),
    });
    let isAnswered = false;
    outgoing.once("response", (response) => {
      isAnswered = true;
      done(response);
    });
    outgoing.once("timeout", () => outgoing.destroy(new Error(`no answer within ${timeoutMs} ms`)));
    outgoing.on("error", (cause) => fail(asNotRunning(cause, port)));
    if (body === undefined || Buffer.isBuffer(body.bytes)) outgoing.end(body?.bytes);
    else
      pipeline(body.bytes, outgoing).catch((cause: unknown) => {
        if (!isAnswered) fail(asNotRunning(cause, port)); // A refusal comes before all was sent; it says more than the broken pipe.
      });
  });
}

function asNotRunning(cause: unknown, port: number): unknown {
  const code = cause instanceof Error && "code" in cause ? cause.code : null;
  if (code === "ABORT_ERR") return cause;
  const detail = code === "ECONNREFUSED" ? `Nothing answers on 127.0.0.1:${port}.` : `127.0.0.1:${port}: ${String(cause)}`;
  const remedy = "Start it with: orchestrator up <folder>; or name its port with --api-port.";
  return new PlatformError("NOT_RUNNING", { detail, remedy }, { cause });
}

async function answerOf(response: IncomingMessage): Promise<unknown> {
  return jsonIn(await textOf(await checked(response)));
}

async function textOf(response: IncomingMessage): Promise<string> {
  let text = "";
  response.setEncoding("utf8");
  for await (const part of response) text += String(part);
  return text;
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

async function checked(response: IncomingMessage): Promise<IncomingMessage> {
  if (response.statusCode === 200) return response;
  const value = jsonIn(await textOf(response));
  const problem: Readonly<Record<string, unknown>> = typeof value === "object" && value !== null ? { ...value } : {};
  const code = typeof problem["code"] === "string" && isErrorCode(problem["code"]) ? problem["code"] : "INTERNAL";
  throw new PlatformError(code, {
    ...(typeof problem["detail"] === "string" ? { detail: problem["detail"] } : {}),
    ...(typeof problem["remedy"] === "string" ? { remedy: problem["remedy"] } : {}),
    ...(Array.isArray(problem["problems"]) ? { problems: problem["problems"].map(String) } : {}),
  });
}
