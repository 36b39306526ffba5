// A real broker, a real gateway process, and instances that a test scripts: what the gateway's integration tests run in.
import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, jwtAuthenticator, type NatsConnection } from "nats";
import {
  decodeEnvelope,
  encodeEnvelope,
  type AnswerHeader,
  type PullHeader,
  type RequestHeader,
} from "../../runtime-image/contract/envelope.ts";
import { stopProcess } from "../../orchestrator/processes/detached.ts";
import { processesWithArgument } from "../../orchestrator/processes/identity.ts";
import type { GatewayConfig, GatewayStatus } from "../../runtime-image/contract/gateway-config.ts";
import { ANSWER_CHUNK_BYTES, HEADER_BYTES_MAX, REQUEST_BODY_BYTES_MAX, TARGET_BYTES_MAX } from "../../runtime-image/contract/limits.ts";
import type { AppSnapshot, FunctionSnapshot } from "../../runtime-image/contract/snapshot.ts";
import { gatewayStatusSubject, pingSubject, pullSubject, requestSubject, snapshotBucket } from "../../runtime-image/contract/subjects.ts";
import { natsServerPath } from "./nats-binary.ts";
import { until } from "./until.ts";

const CHECKOUT = join(import.meta.dirname, "..", "..");
const ENVIRONMENT = "staging";
const SUCCESSOR_LOG = "gateway.log"; // The first one's output goes to pipes.
const GATEWAY_MAIN = join(CHECKOUT, "gateway", "main.ts");

export interface World {
  readonly url: string; // Of the broker.
  readonly port: number; // Of the gateway.
  readonly gateway: {
    readonly pid: number;
    readonly output: () => string;
    readonly exited: Promise<number | null>;
    /** Closes the pipes that it logs into. */
    readonly deafen: () => void;
    readonly configFile: string; // What a successor will read.
    readonly successorLog: string;
  };
  client(): NatsConnection;
  put(snapshot: Partial<AppSnapshot> & Pick<AppSnapshot, "deployment">): Promise<void>;
  remove(appId: string): Promise<void>;
  status(): Promise<GatewayStatus>;
  restartBroker(): Promise<void>;
  close(): Promise<void>;
}

export interface WorldOptions {
  readonly config?: Partial<GatewayConfig>;
  readonly makesBucket?: boolean;
}

export async function createWorld(options: WorldOptions = {}): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), "gateway-test-"));
  const brokerPort = await freePort();
  const url = `nats://127.0.0.1:${brokerPort}`;
  let broker = startBroker(folder, brokerPort);
  let client = await connectPatiently(url);
  if (options.makesBucket !== false) await client.jetstream().views.kv(snapshotBucket(ENVIRONMENT));
  const gateway = startGateway(folder, { broker: { url, jwt: "", seed: "" }, ...options.config });
  await gatewayListens(gateway);
  let sequence = 0;

  const bucket = () => client.jetstream().views.kv(snapshotBucket(ENVIRONMENT));
  const serves = async (test: (sequences: GatewayStatus["sequences"]) => boolean): Promise<boolean> =>
    status().then(
      ({ sequences }) => test(sequences),
      () => false, // It may not be connected yet.
    );
  const status = async (): Promise<GatewayStatus> =>
    (await client.request(gatewayStatusSubject(ENVIRONMENT), undefined, { timeout: 2_000 })).json<GatewayStatus>();
  return {
    url,
    port: portIn(gateway.output()),
    gateway: {
      pid: gateway.child.pid ?? 0,
      output: gateway.output,
      exited: gateway.exited,
      deafen: gateway.deafen,
      configFile: gateway.configFile,
      successorLog: join(folder, SUCCESSOR_LOG),
    },
    client: () => client,
    async put(snapshot) {
      sequence++;
      const full: AppSnapshot = { v: 1, appId: "app", appName: "app", hosts: [], isDefault: true, sequence, ...snapshot };
      await (await bucket()).put(full.appId, JSON.stringify(full));
      await until(() => serves((sequences) => sequences[full.appId] === full.sequence), {
        timeoutMs: 5_000,
        what: "the snapshot is taken",
      });
    },
    async remove(appId) {
      await (await bucket()).delete(appId);
      await until(() => serves((sequences) => !(appId in sequences)), { timeoutMs: 5_000, what: "the app is gone" });
    },
    status,
    async restartBroker() {
      await client.close();
      await end(broker);
      broker = startBroker(folder, brokerPort);
      client = await connectPatiently(url);
    },
    async close() {
      await end(gateway.child);
      const successors = await processesWithArgument(gateway.configFile);
      await Promise.all(successors.map((identity) => stopProcess(identity, { graceMs: 5_000 })));
      await client.close();
      await end(broker);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export const live = (world: World, functions: readonly FunctionSnapshot[], releaseId = "release"): AppSnapshot["deployment"] => ({
  kind: "live",
  releaseId,
  broker: { url: world.url, jwt: "", seed: "" },
  functions,
});

export const fn = (method: FunctionSnapshot["method"], path: string, more: Partial<FunctionSnapshot> = {}): FunctionSnapshot => ({
  name: `src/http/${method.toLowerCase()}-${path === "/" ? "index" : path.slice(1).replaceAll("/", "-")}`,
  method,
  path,
  generation: "current",
  concurrency: 32,
  timeoutMs: 5_000,
  instanceIds: [],
  ...more,
});

export type Respond = (header: AnswerHeader, body?: Uint8Array) => void;
export type Script = (request: { readonly header: RequestHeader; readonly body: Uint8Array; readonly respond: Respond }) => void;

export interface ScriptedInstance {
  readonly id: string;
  readonly received: RequestHeader[];
  readonly pulledBytes: () => number;
  /** As if its process was killed. */
  kill(): Promise<void>;
  /** As if its container was paused: it stays connected and says nothing, pings included. */
  freeze(): void;
  thaw(): void;
}

/** Without credentials for a broker that asks for none. */
export async function startInstance(
  broker: { readonly url: string; readonly credentials?: { readonly jwt: string; readonly seed: string } },
  id: string,
  script: Script,
): Promise<ScriptedInstance> {
  const { url, credentials } = broker;
  const authenticator =
    credentials === undefined ? {} : { authenticator: jwtAuthenticator(credentials.jwt, new TextEncoder().encode(credentials.seed)) };
  const connection = await connect({ servers: url, ...authenticator, maxReconnectAttempts: -1, reconnectTimeWait: 50, reconnectJitter: 0 });
  const received: RequestHeader[] = [];
  const held = new Map<string, Uint8Array>();
  let isFrozen = false;
  let pulledBytes = 0;
  connection.subscribe(requestSubject(id), {
    callback: (_error, message) => {
      if (isFrozen) return;
      const { header, body } = decodeEnvelope<RequestHeader>(message.data);
      received.push(header);
      const respond: Respond = (answer, bytes = new Uint8Array(0)) => {
        if (isFrozen || connection.isClosed()) return;
        if (answer.kind === "held") held.set(answer.streamId, bytes);
        message.respond(encodeEnvelope(answer, answer.kind === "held" ? undefined : bytes));
      };
      script({ header, body, respond });
    },
  });
  connection.subscribe(pingSubject(id), {
    callback: (_error, message) => {
      if (!isFrozen) message.respond(JSON.stringify({ instanceId: id, state: "ready", requestCount: 0 }));
    },
  });
  connection.subscribe(pullSubject(id), {
    callback: (_error, message) => {
      if (isFrozen) return;
      const { header } = decodeEnvelope<PullHeader>(message.data);
      const bytes = held.get(header.streamId);
      if (header.chunkCount === 0) held.delete(header.streamId);
      else if (bytes === undefined) message.respond(encodeEnvelope({ v: 1, kind: "gone" }));
      else
        for (let index = 0; index < header.chunkCount; index++) {
          const offset = header.offset + index * ANSWER_CHUNK_BYTES;
          if (offset >= bytes.length) break;
          const chunk = bytes.subarray(offset, offset + ANSWER_CHUNK_BYTES);
          pulledBytes += chunk.length;
          message.respond(encodeEnvelope({ v: 1, kind: "chunk", offset }, chunk));
        }
    },
  });
  await connection.flush();
  return {
    id,
    received,
    pulledBytes: () => pulledBytes,
    kill: () => connection.close(),
    freeze: () => void (isFrozen = true),
    thaw: () => void (isFrozen = false),
  };
}

export const text = (respond: Respond, value: string, status = 200): void => {
  const body = Buffer.from(value);
  respond({ v: 1, kind: "whole", status, headers: ["content-type", "text/plain"], bodyBytes: body.length }, body);
};

export const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      const port = typeof address === "object" && address !== null ? address.port : 0;
      server.close(() => resolve(port));
    });
  });

function startBroker(folder: string, port: number): ChildProcess {
  const file = join(folder, "broker.conf");
  writeFileSync(
    file,
    `listen: "127.0.0.1:${port}"\nmax_payload: 8000000\nmax_pending: 1073741824\nwrite_deadline: "60s"\njetstream { store_dir: "${folder}/js" }\nlog_file: "${folder}/broker.log"\n`,
  );
  return spawn(natsServerPath(), ["-c", file], { stdio: "ignore" });
}

async function connectPatiently(url: string): Promise<NatsConnection> {
  let connection: NatsConnection | null = null;
  await until(
    async () => {
      connection = await connect({ servers: url, timeout: 1_000 }).catch(() => null);
      return connection !== null;
    },
    { timeoutMs: 10_000, what: "the broker answers" },
  );
  if (connection === null) throw new Error("the broker does not answer");
  return connection;
}

export interface GatewayChild {
  readonly child: ChildProcess;
  readonly output: () => string;
  readonly configFile: string;
  readonly exited: Promise<number | null>;
  readonly deafen: () => void;
}

export function startGateway(folder: string, config: Partial<GatewayConfig> & Pick<GatewayConfig, "broker">): GatewayChild {
  const file = join(folder, "gateway.json");
  const full: GatewayConfig = {
    v: 1,
    gatewayId: "g1",
    environment: ENVIRONMENT,
    listen: [{ host: "127.0.0.1", port: 0 }],
    trustedProxies: [],
    sitesFolder: "/nonexistent/sites",
    program: {
      nodePath: process.execPath,
      nodeArguments: [],
      mainFile: GATEWAY_MAIN,
      variables: {},
      logFile: join(folder, SUCCESSOR_LOG),
      version: "",
    },
    limits: { requestBodyBytesMax: REQUEST_BODY_BYTES_MAX, headerBytesMax: HEADER_BYTES_MAX, targetBytesMax: TARGET_BYTES_MAX },
    ...config,
  };
  writeFileSync(file, JSON.stringify(full), { mode: 0o600 });
  const child = spawn(process.execPath, [GATEWAY_MAIN, file], { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => void (output += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => void (output += chunk.toString()));
  const exited = new Promise<number | null>((resolve) => child.once("exit", resolve));
  const deafen = (): void => {
    child.stdout.destroy();
    child.stderr.destroy();
  };
  return { child, configFile: file, output: () => output, exited, deafen };
}

export const gatewayListens = (gateway: GatewayChild): Promise<void> =>
  until(() => gateway.output().includes('"listening"') || gateway.child.exitCode !== null, {
    timeoutMs: 10_000,
    what: "the gateway listens",
  });

export const portIn = (output: string): number => Number(/"addresses":\["127\.0\.0\.1:(\d+)"/.exec(output)?.[1] ?? 0);

export function end(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    child.once("exit", () => resolve());
    child.kill("SIGTERM");
    setTimeout(() => child.kill("SIGKILL"), 5_000).unref();
  });
}
