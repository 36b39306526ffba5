// Runs the bundled runtime as a child process against a real broker, and plays the gateway's part to it.
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { connect, jwtAuthenticator, type NatsConnection } from "nats";
import { buildRuntimeBundle } from "../../orchestrator/images/runtime-bundle.ts";
import { createBrokerSigner, type BrokerSigner, type Credentials } from "../../orchestrator/nats/accounts.ts";
import { deriveBrokerKeys } from "../../orchestrator/nats/keys.ts";
import {
  decodeEnvelope,
  encodeEnvelope,
  type AnswerHeader,
  type PullHeader,
  type RequestHeader,
} from "../../runtime-image/contract/envelope.ts";
import type { InstanceEvent, Pong } from "../../runtime-image/contract/instance-events.ts";
import { INSTANCE_MANIFEST_VARIABLE, type InstanceManifest } from "../../runtime-image/contract/instance-manifest.ts";
import { decodePrintedLine, type PrintedLine } from "../../runtime-image/contract/log-line.ts";
import {
  answersTo,
  answerSubject,
  eventSubject,
  pingSubject,
  pullSubject,
  requestSubject,
  senderOf,
} from "../../runtime-image/contract/subjects.ts";
import { natsServerPath } from "./nats-binary.ts";
import { until } from "./until.ts";

const APP_ID = "rig";
const RECEIVER_ID = "rig";
const ANSWER_TIMEOUT_MS = 15_000;

export interface Rig {
  readonly brokerUrl: string;
  start(options: StartOptions): Promise<RunningRuntime>;
  /** Stops the broker and starts it again on the same port. */
  restartBroker(): Promise<void>;
  stop(): Promise<void>;
}

export interface StartOptions {
  readonly files: Readonly<Record<string, string>>; // The function's folder: path and content.
  readonly manifest?: Partial<InstanceManifest>;
  readonly variables?: Readonly<Record<string, string>>;
  readonly wrapper?: readonly string[]; // A command that runs Node.
  readonly nodeArguments?: (places: { runtime: string; folder: string; tmp: string }) => readonly string[];
}

export interface Received {
  readonly header: AnswerHeader;
  readonly body: Uint8Array;
}

export interface RunningRuntime {
  readonly instanceId: string;
  readonly folder: string;
  readonly pid: number;
  readonly events: readonly InstanceEvent[];
  readonly lines: readonly PrintedLine[];
  readonly rawLines: readonly string[];
  readonly stderr: () => string;
  ready(): Promise<number>;
  request(request?: Partial<RequestHeader> & { readonly body?: string | Uint8Array }): Promise<Received>;
  pull(header: Omit<PullHeader, "v">): Promise<readonly Received[]>;
  ping(timeoutMs?: number): Promise<Pong>;
  signal(name: NodeJS.Signals): void;
  exited(): Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
}

export async function startRig(): Promise<Rig> {
  const home = await mkdtemp(path.join(tmpdir(), "runtime-rig-"));
  const runtime = path.join(home, "runtime");
  const tmp = path.join(home, "tmp");
  await mkdir(runtime);
  await mkdir(tmp);
  for (const file of (await buildRuntimeBundle()).files) await writeFile(path.join(runtime, file.path), file.bytes);
  const signer = createBrokerSigner(deriveBrokerKeys(randomBytes(32)));
  let broker = await startBroker(home, signer, -1);
  const gateway = await connectAs(broker.url, await signer.gatewayCredentials(APP_ID, "staging"));
  const mailbox = openMailbox(gateway);
  const running: Child[] = [];

  return {
    brokerUrl: broker.url,
    async start(options) {
      const instanceId = `i${randomBytes(5).toString("hex")}`;
      const folder = path.join(home, instanceId);
      await writeFiles(folder, options.files);
      const credentials = await signer.instanceCredentials(APP_ID, "staging", instanceId);
      const manifest = manifestOf({ instanceId, folder, broker: { url: broker.url, ...credentials }, ...options.manifest });
      const places = { runtime, folder, tmp };
      const events = mailbox.eventsOf(instanceId);
      const command = [
        ...(options.wrapper ?? []),
        process.execPath,
        ...(options.nodeArguments?.(places) ?? []),
        path.join(runtime, "main.js"),
      ];
      const child = spawn(command[0] ?? "", command.slice(1), {
        env: { PATH: process.env["PATH"] ?? "", ...options.variables, [INSTANCE_MANIFEST_VARIABLE]: JSON.stringify(manifest) },
        stdio: ["ignore", "pipe", "pipe"],
      });
      running.push(child);
      return follow(child, { instanceId, folder, events, mailbox, timeoutMs: manifest.timeoutMs });
    },
    async restartBroker() {
      const { port } = new URL(broker.url);
      await stopChild(broker.child);
      broker = await startBroker(home, signer, Number(port));
      await until(
        () =>
          gateway.flush().then(
            () => true,
            () => false,
          ),
        { timeoutMs: 10_000, what: "the gateway reconnects" },
      );
    },
    async stop() {
      for (const child of running) await stopChild(child);
      await gateway.close();
      await stopChild(broker.child);
      await rm(home, { recursive: true, force: true });
    },
  };
}

type Child = ChildProcessByStdio<null, Readable, Readable>;

interface Mailbox {
  readonly connection: NatsConnection;
  eventsOf(instanceId: string): InstanceEvent[];
  /** Calls back for every message on one answer subject until it is closed. */
  open(instanceId: string, onMessage: (bytes: Uint8Array) => void): { readonly subject: string; close(): void };
}

function openMailbox(connection: NatsConnection): Mailbox {
  const events = new Map<string, InstanceEvent[]>();
  const waiting = new Map<string, (bytes: Uint8Array) => void>();
  connection.subscribe(eventSubject("*"), {
    callback: (_error, message) => {
      // An event's shape is what these tests look at.
      events.get(senderOf(message.subject))?.push(message.json<InstanceEvent>());
    },
  });
  connection.subscribe(answersTo(RECEIVER_ID), { callback: (_error, message) => waiting.get(message.subject)?.(message.data) });
  return {
    connection,
    eventsOf(instanceId) {
      const list: InstanceEvent[] = [];
      events.set(instanceId, list);
      return list;
    },
    open(instanceId, onMessage) {
      const subject = answerSubject({ instanceId, receiverId: RECEIVER_ID, sequence: randomUUID() });
      waiting.set(subject, onMessage);
      return { subject, close: () => void waiting.delete(subject) };
    },
  };
}

interface FollowOptions {
  readonly instanceId: string;
  readonly folder: string;
  readonly events: InstanceEvent[];
  readonly mailbox: Mailbox;
  readonly timeoutMs: number;
}

function follow(child: Child, options: FollowOptions): RunningRuntime {
  const { instanceId, events, mailbox } = options;
  const lines: PrintedLine[] = [];
  const rawLines: string[] = [];
  let stderr = "";
  const gone = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.once("close", (code, signal) => resolve({ code, signal }));
  });
  createInterface({ input: child.stdout }).on("line", (text) => {
    const line = decodePrintedLine(text);
    if (line === null) rawLines.push(text);
    else lines.push(line);
  });
  child.stderr.on("data", (bytes: Buffer) => {
    stderr += bytes.toString();
  });

  const ask = async (
    subject: string,
    bytes: Uint8Array,
    isLast: (bytes: Uint8Array, count: number) => boolean,
    timeoutMs: number,
  ): Promise<Uint8Array[]> => {
    const received: Uint8Array[] = [];
    let isDone = false;
    const box = mailbox.open(instanceId, (answer) => {
      received.push(answer);
      isDone = isLast(answer, received.length);
    });
    mailbox.connection.publish(subject, bytes, { reply: box.subject });
    try {
      await until(() => isDone, {
        timeoutMs,
        what: `an answer on ${subject}; stderr: ${stderr}; lines: ${lines.map((line) => line.text).join("|")}`,
      });
    } finally {
      box.close();
    }
    return received;
  };

  return {
    instanceId,
    folder: options.folder,
    pid: child.pid ?? 0,
    events,
    lines,
    rawLines,
    stderr: () => stderr,
    async ready() {
      const isDecided = () => events.some((event) => event.kind === "ready" || event.kind === "failed") || child.exitCode !== null;
      await until(isDecided, { timeoutMs: 20_000, what: `ready or failed; stderr: ${stderr}` });
      const ready = events.find((event) => event.kind === "ready");
      if (ready === undefined) throw new Error(`it never became ready: ${JSON.stringify(events)} ${stderr}`);
      return ready.loadMs;
    },
    async request({ body = "", ...fields } = {}) {
      const header = requestHeader({ timeoutMs: options.timeoutMs, ...fields });
      const [bytes] = await ask(requestSubject(instanceId), encodeEnvelope(header, Buffer.from(body)), () => true, ANSWER_TIMEOUT_MS);
      return decodeEnvelope<AnswerHeader>(bytes ?? new Uint8Array());
    },
    async pull(header) {
      const isLast = (bytes: Uint8Array, count: number) =>
        decodeEnvelope<AnswerHeader>(bytes).header.kind === "gone" || count === header.chunkCount;
      const received = await ask(pullSubject(instanceId), encodeEnvelope({ v: 1, ...header }), isLast, ANSWER_TIMEOUT_MS);
      return received.map((bytes) => decodeEnvelope<AnswerHeader>(bytes));
    },
    async ping(timeoutMs = 2_000) {
      const [bytes] = await ask(pingSubject(instanceId), new Uint8Array(), () => true, timeoutMs);
      // A pong's shape is what these tests look at.
      return JSON.parse(Buffer.from(bytes ?? new Uint8Array()).toString()) as Pong;
    },
    signal: (name) => void child.kill(name),
    exited: () => gone,
  };
}

export function requestHeader(fields: Partial<RequestHeader> = {}): RequestHeader {
  return {
    v: 1,
    id: randomUUID(),
    method: "GET",
    path: "/",
    query: "",
    route: "GET /",
    params: null,
    headers: ["Host", "app.localhost:3000"],
    sourceIp: "127.0.0.1",
    scheme: "http",
    httpVersion: "1.1",
    startEpochMs: Date.now(),
    timeoutMs: 10_000,
    ...fields,
  };
}

export function manifestOf(fields: Partial<InstanceManifest>): InstanceManifest {
  return {
    v: 1,
    instanceId: "i1",
    appId: APP_ID,
    appName: "rig app",
    environment: "staging",
    functionName: "src/http/get-index",
    generation: "current",
    folder: "/nowhere",
    timeoutMs: 10_000,
    concurrency: 32,
    rawJson: false,
    bareQuery: false,
    sessionSecret: "5e".repeat(32),
    memoryBytesMax: 512_000_000,
    watchMemory: false,
    broker: { url: "nats://127.0.0.1:4222", jwt: "jwt", seed: "seed" },
    ...fields,
  };
}

async function writeFiles(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  await mkdir(folder);
  for (const [name, content] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    await writeFile(path.join(folder, name), content);
  }
}

async function startBroker(home: string, signer: BrokerSigner, port: number): Promise<{ readonly url: string; readonly child: Child }> {
  const trust = await signer.trust();
  const app = await signer.appAccount(APP_ID, "staging");
  const accounts = [...trust.preloaded, app].map((account) => `${account.publicKey}: ${account.jwt}`);
  const config = path.join(home, "broker.conf");
  const settings = [
    `listen: "127.0.0.1:${port}"`,
    `operator: ${trust.operatorJwt}`,
    `system_account: ${trust.system.publicKey}`,
    "resolver: MEMORY",
    `resolver_preload: {\n${accounts.join("\n")}\n}`,
    "max_payload: 8MB",
  ];
  await writeFile(config, settings.join("\n"));
  const child = spawn(natsServerPath(), ["-c", config], { stdio: ["ignore", "pipe", "pipe"] });
  let printed = "";
  child.stderr.on("data", (bytes: Buffer) => {
    printed += bytes.toString();
  });
  await until(() => /Listening for client connections on \S+:\d+[\s\S]*Server is ready/.test(printed), {
    timeoutMs: 10_000,
    what: `the broker listens: ${printed}`,
  });
  const found = /Listening for client connections on \S+:(\d+)/.exec(printed)?.[1] ?? "";
  return { url: `nats://127.0.0.1:${found}`, child };
}

function connectAs(url: string, credentials: Credentials): Promise<NatsConnection> {
  const authenticator = jwtAuthenticator(credentials.jwt, new TextEncoder().encode(credentials.seed));
  return connect({ servers: url, authenticator, maxReconnectAttempts: -1, reconnectTimeWait: 50 });
}

async function stopChild(child: Child): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const closed = once(child, "close");
  child.kill("SIGKILL");
  await closed;
}
