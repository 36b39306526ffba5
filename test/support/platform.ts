// Runs the command line as a user does, in a process of its own, and talks to what it starts.
import { type ChildProcess, spawn } from "node:child_process";
import { cp, mkdtemp, mkdir, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { type IncomingHttpHeaders, request } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { once } from "node:events";
import { until } from "./until.ts";

export const CHECKOUT = resolve(import.meta.dirname, "../..");
const BIN = join(CHECKOUT, "orchestrator/bin.mjs");

export type EngineName = "docker" | "process";
export const ENGINE_NAMES: readonly EngineName[] = ["docker", "process"];

export interface Finished {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunningCommand {
  readonly child: ChildProcess;
  /** What it printed so far. */
  readonly texts: { readonly stdout: string; readonly stderr: string };
  readonly finished: Promise<Finished>;
}

interface CommandOptions {
  readonly env?: Record<string, string>;
  readonly cwd?: string;
  readonly timeoutMs?: number; // It is asked to stop then, and what it printed is shown.
}

/** Shorter than a test may take: one that hangs is ended by whoever started it. */
export const UP_TIMEOUT_MS = 100_000;

export function beginCommand(args: readonly string[], options: CommandOptions = {}): RunningCommand {
  const child = spawn(process.execPath, [BIN, ...args], {
    env: { ...process.env, NO_COLOR: "1", ...options.env },
    cwd: options.cwd ?? CHECKOUT,
  });
  const texts = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (part: string) => (texts.stdout += part));
  child.stderr.setEncoding("utf8").on("data", (part: string) => (texts.stderr += part));
  const end = async (): Promise<Finished> => {
    const interrupt = (): void => {
      process.stderr.write(`orchestrator ${args.join(" ")} does not end; it printed:\n${texts.stdout}${texts.stderr}`);
      child.kill("SIGINT");
    };
    const timer = options.timeoutMs === undefined ? undefined : setTimeout(interrupt, options.timeoutMs);
    await once(child, "close");
    clearTimeout(timer);
    return { exitCode: child.exitCode, ...texts };
  };
  return { child, texts, finished: end() };
}

/** Runs a command to its end. */
export const runCommand = async (args: readonly string[], options: CommandOptions = {}): Promise<Finished> =>
  beginCommand(args, options).finished;

/** Begins `orchestrator up` on free ports, its home in the app's folder. */
export async function beginUp(app: string, engine: EngineName): Promise<RunningCommand> {
  const ports: string[] = [];
  for (const flag of ["--staging-port", "--production-port", "--api-port"]) ports.push(flag, `${await freePort()}`);
  return beginCommand(["up", app, "--engine", engine, ...ports], { timeoutMs: UP_TIMEOUT_MS });
}

export interface RunningPlatform {
  readonly home: string;
  readonly ports: { readonly staging: number; readonly production: number; readonly api: number };
  readonly process: ChildProcess;
  /** Every JSON line that it printed so far. */
  readonly events: readonly PlatformEvent[];
  get(environment: "staging" | "production", path: string, options?: SendOptions): Promise<Answer>;
  stop(): Promise<number | null>;
}

export interface PlatformEvent {
  readonly event: string;
  readonly time: string;
  readonly text?: string;
  readonly code?: string;
}

export interface SendOptions {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Buffer;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly text: string;
}

export interface PlatformOptions {
  readonly app: string | null; // Null: a platform that hosts what is deployed to it.
  readonly engine: EngineName;
  readonly home?: string;
  readonly ports?: RunningPlatform["ports"];
  readonly flags?: readonly string[];
  readonly env?: Record<string, string>;
  readonly checkout?: string; // Another one than this.
  /** Hears of every line as it is printed. */
  readonly onEvent?: (event: PlatformEvent) => Promise<void>;
}

/** Starts `orchestrator up`, or `serve`, and waits for its ready line; fails with everything it printed if it ends before. */
export async function startPlatform(options: PlatformOptions): Promise<RunningPlatform> {
  const home = options.home ?? (await mkdtemp(join(tmpdir(), "orchestrator-home-")));
  const ports = options.ports ?? { staging: await freePort(), production: await freePort(), api: await freePort() };
  const { staging, production, api } = ports;
  const flags = [
    "--engine",
    options.engine,
    "--home",
    home,
    "--staging-port",
    `${staging}`,
    "--production-port",
    `${production}`,
    "--api-port",
    `${api}`,
  ];
  const command = options.app === null ? ["serve"] : ["up", options.app];
  const bin = options.checkout === undefined ? BIN : join(options.checkout, "orchestrator/bin.mjs");
  const child = spawn(process.execPath, [bin, ...command, "--json", ...flags, ...(options.flags ?? [])], {
    env: { ...process.env, ...options.env },
  });
  const events: PlatformEvent[] = [];
  let printed = "";
  let rest = "";
  child.stdout.setEncoding("utf8").on("data", (part: string) => {
    printed += part;
    const lines = (rest + part).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      // What `up --json` prints, and the tests below look at what they need of it.
      const event = JSON.parse(line) as PlatformEvent;
      events.push(event);
      void options.onEvent?.(event).catch((error: unknown) => (printed += String(error)));
    }
  });
  child.stderr.setEncoding("utf8").on("data", (part: string) => (printed += part));
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null;
  await until(() => events.some((event) => event.event === "ready") || hasEnded(), { timeoutMs: 90_000 }).catch((cause: unknown) => {
    child.kill("SIGINT"); // Nobody else would end it.
    throw new Error(`orchestrator ${command.join(" ")} is not ready; it printed:\n${printed}`, { cause });
  });
  if (hasEnded()) throw new Error(`orchestrator ${command.join(" ")} ended with ${child.exitCode ?? child.signalCode}:\n${printed}`);
  return {
    home,
    ports,
    process: child,
    events,
    get: async (environment, path, sent) => send(ports[environment], path, sent),
    async stop() {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill("SIGINT");
        await once(child, "exit");
        if (child.exitCode !== 0) throw new Error(`orchestrator ${command.join(" ")} did not end well; it printed:\n${printed}`);
      }
      if (options.home === undefined) await rm(home, { recursive: true, force: true });
      return child.exitCode;
    },
  };
}

/** One request on a connection of its own. */
export async function send(port: number, path: string, options: SendOptions = {}): Promise<Answer> {
  return new Promise((done, fail) => {
    // Node says nothing of the body of a GET or DELETE, which would then be read as the next request.
    const isChunked = options.headers?.["transfer-encoding"] !== undefined;
    const framing = options.body === undefined || isChunked ? {} : { "content-length": `${Buffer.byteLength(options.body)}` };
    const outgoing = request({
      host: "127.0.0.1",
      port,
      path,
      method: options.method ?? "GET",
      headers: { ...framing, ...options.headers },
      agent: false,
      timeout: 60_000,
    });
    outgoing.once("response", (incoming) => {
      const parts: Buffer[] = [];
      incoming.on("data", (part: Buffer) => parts.push(part));
      incoming.once("end", () => {
        const body = Buffer.concat(parts);
        done({ status: incoming.statusCode ?? 0, headers: incoming.headers, body, text: body.toString("utf8") });
      });
      incoming.once("error", fail);
    });
    outgoing.once("error", fail).once("timeout", () => outgoing.destroy(new Error("no answer in time")));
    outgoing.end(options.body);
  });
}

// Below the range from which the kernel takes ports for outgoing connections, and never the same one twice in a process. Files that
// run at the same time take them from ranges of their own.
const PORT_COUNT = 3_000;
const PORT_MIN = 20_000 + (Number(process.env["VITEST_POOL_ID"] ?? 0) % 4) * PORT_COUNT;
let lastPort = PORT_MIN + ((process.pid * 37) % PORT_COUNT);

/** A port that nothing listens on now. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < PORT_COUNT; attempt += 1) {
    lastPort = lastPort + 1 < PORT_MIN + PORT_COUNT ? lastPort + 1 : PORT_MIN;
    if (await isFree(lastPort)) return lastPort;
  }
  throw new Error("no port is free");
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((done) => {
    server.once("error", () => done(false));
    server.listen(port, "127.0.0.1", () => server.close(() => done(true)));
  });
}

/** An app in a temporary folder, from a map of its files or a copy of an example. */
export async function makeApp(files: Record<string, string | Buffer>, copyOf?: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "orchestrator-app-"));
  if (copyOf !== undefined)
    await cp(join(CHECKOUT, copyOf), folder, { recursive: true, filter: (path) => !path.includes(".orchestrator") });
  await writeFiles(folder, files);
  return folder;
}

export async function writeFiles(folder: string, files: Record<string, string | Buffer>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
}

export const handler = (body: string): string => `exports.handler = async (request, context) => { ${body} };\n`;
