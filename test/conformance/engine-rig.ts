// Drives an engine as the platform does: builds and starts functions, plays the gateway to them, and collects what they say.
import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { BuildFile, BuildSource, Engine, InstanceExit, InstanceLimits, LogLine } from "../../orchestrator/engines/engine.ts";
import { ENVELOPE_VERSION, decodeEnvelope, encodeEnvelope } from "../../runtime-image/contract/envelope.ts";
import type { AnswerHeader, RequestHeader } from "../../runtime-image/contract/envelope.ts";
import type { InstanceEvent } from "../../runtime-image/contract/instance-events.ts";
import { EVERY_EVENT, answerSubject, answersTo, requestSubject } from "../../runtime-image/contract/subjects.ts";
import { until } from "../support/until.ts";
import { APP_ID, ENVIRONMENT, startTestBroker } from "./engine-broker.ts";
import type { TestBroker } from "./engine-broker.ts";

export interface FunctionToStart {
  readonly code: string;
  readonly files?: readonly BuildFile[]; // What its build holds besides.
  readonly variables?: Readonly<Record<string, string>>;
  readonly limits?: Partial<InstanceLimits>;
}

export interface Answer {
  readonly status: number;
  readonly body: string;
}

export interface Rig {
  readonly engine: Engine;
  readonly events: readonly InstanceEvent[];
  readonly exits: readonly InstanceExit[];
  /** Starts without waiting for what becomes of it. */
  launch(wanted: FunctionToStart): Promise<{ instanceId: string; buildId: string }>;
  /** Starts and waits until it is ready. */
  start(wanted: FunctionToStart): Promise<{ instanceId: string; buildId: string }>;
  ask(instanceId: string, path: string, options?: { readonly requestId?: string; readonly timeoutMs?: number }): Promise<Answer>;
  /** Collects lines until the condition holds. */
  lines(instanceId: string, isEnough: (lines: readonly LogLine[]) => boolean, sinceEpochMs?: number): Promise<readonly LogLine[]>;
  /** Tells a second engine of the same platform where the broker is, as an orchestrator that starts again does. */
  allowBroker(engine: Engine): Promise<void>;
  stopAll(): Promise<void>;
  close(): Promise<void>;
}

export const FUNCTION_NAME = "src/http/get-index";
const RECEIVER_ID = "conformance";
const READY_TIMEOUT_MS = 20_000;
const LIMITS: InstanceLimits = { memoryBytesMax: 256_000_000, cpuCountMax: 1, pidCountMax: 64, tmpBytesMax: 16_000_000 };

export async function createRig(engine: Engine): Promise<Rig> {
  await engine.prepare();
  const folder = await mkdtemp(join(tmpdir(), "engine-conformance-"));
  const broker = await startTestBroker(folder, engine.brokerHost());
  await engine.allowBroker?.(broker.address);
  const events: InstanceEvent[] = [];
  const exits: InstanceExit[] = [];
  const waiting = createWaiting(broker);
  const over = new AbortController();
  broker.gateway.subscribe(EVERY_EVENT, { callback: (_error, message) => void events.push(message.json<InstanceEvent>()) });
  engine.watchExits((exit) => exits.push(exit), over.signal);
  await broker.gateway.flush();

  const launch = (wanted: FunctionToStart): Promise<{ instanceId: string; buildId: string }> => launchOn(engine, broker, wanted);
  return {
    engine,
    events,
    exits,
    launch,
    async start(wanted) {
      const launched = await launch(wanted);
      const isSettled = (): boolean => events.some(({ kind, instanceId }) => kind !== "retiring" && instanceId === launched.instanceId);
      await until(isSettled, { timeoutMs: READY_TIMEOUT_MS, what: `instance ${launched.instanceId} says that it is ready` });
      const failed = events.find(({ kind, instanceId }) => kind === "failed" && instanceId === launched.instanceId);
      if (failed !== undefined) throw new Error(JSON.stringify(failed));
      return launched;
    },
    ask: (instanceId, path, options = {}) => waiting.ask(instanceId, requestHeader(path, options), options.timeoutMs ?? 10_000),
    lines: (instanceId, isEnough, sinceEpochMs = 0) => collectLines(engine, { instanceId, sinceEpochMs }, isEnough),
    allowBroker: async (other) => other.allowBroker?.(broker.address),
    async stopAll() {
      const instances = await engine.list();
      await Promise.all(instances.map(({ instanceId }) => engine.stop(instanceId, { graceMs: 0 })));
    },
    async close() {
      over.abort();
      await broker.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export const CONFIG_ID = "c0f1";

export function sourceOf(code: string, more: readonly BuildFile[] = []): BuildSource {
  const files = [textFile(`${FUNCTION_NAME}/index.js`, code), ...more];
  return { buildId: createHash("sha256").update(JSON.stringify(files)).digest("hex"), functionName: FUNCTION_NAME, files };
}

export const textFile = (path: string, text: string): BuildFile => ({ path, bytes: Buffer.from(text), isExecutable: false });

async function launchOn(engine: Engine, broker: TestBroker, wanted: FunctionToStart): Promise<{ instanceId: string; buildId: string }> {
  const source = sourceOf(wanted.code, wanted.files);
  const instanceId = randomBytes(6).toString("hex");
  const limits = { ...LIMITS, ...wanted.limits };
  await engine.build(source);
  const labels = { instanceId, appId: APP_ID, environment: ENVIRONMENT, functionName: FUNCTION_NAME };
  await engine.start({
    ...labels,
    buildId: source.buildId,
    configId: CONFIG_ID,
    variables: wanted.variables ?? {},
    limits,
    manifest: {
      v: 1,
      ...labels,
      appName: "conformance",
      generation: "current",
      timeoutMs: 60_000,
      concurrency: 32,
      rawJson: false,
      bareQuery: false,
      sessionSecret: "5e".repeat(32),
      memoryBytesMax: limits.memoryBytesMax,
      broker: await broker.instanceAccess(instanceId),
    },
  });
  return { instanceId, buildId: source.buildId };
}

function requestHeader(
  pathAndQuery: string,
  { requestId = randomBytes(6).toString("hex") }: { readonly requestId?: string },
): RequestHeader {
  const [path = "/", query = ""] = pathAndQuery.split("?");
  return {
    v: ENVELOPE_VERSION,
    id: requestId,
    method: "GET",
    path,
    query,
    route: "$default",
    params: null,
    headers: ["host", "conformance.test"],
    sourceIp: "127.0.0.1",
    scheme: "http",
    httpVersion: "1.1",
    startEpochMs: Date.now(),
    timeoutMs: 60_000,
  };
}

interface Waiting {
  ask(instanceId: string, header: RequestHeader, timeoutMs: number): Promise<Answer>;
}

function createWaiting({ gateway }: TestBroker): Waiting {
  const answers = new Map<string, (answer: Answer) => void>();
  let sequence = 0;
  gateway.subscribe(answersTo(RECEIVER_ID), {
    callback: (_error, message) => {
      const { header, body } = decodeEnvelope<AnswerHeader>(message.data);
      const status = header.kind === "whole" ? header.status : 0;
      answers.get(message.subject)?.({
        status,
        body: header.kind === "whole" ? Buffer.from(body).toString("utf8") : JSON.stringify(header),
      });
    },
  });
  return {
    ask(instanceId, header, timeoutMs) {
      sequence += 1;
      const subject = answerSubject({ instanceId, receiverId: RECEIVER_ID, sequence: String(sequence) });
      return new Promise<Answer>((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error(`${instanceId} did not answer ${header.path} within ${timeoutMs} ms`)), timeoutMs);
        answers.set(subject, (answer) => {
          clearTimeout(timer);
          answers.delete(subject);
          resolve(answer);
        });
        gateway.publish(requestSubject(instanceId), encodeEnvelope(header), { reply: subject });
      });
    },
  };
}

async function collectLines(
  engine: Engine,
  from: { readonly instanceId: string; readonly sinceEpochMs: number },
  isEnough: (lines: readonly LogLine[]) => boolean,
): Promise<readonly LogLine[]> {
  const lines: LogLine[] = [];
  const over = new AbortController();
  const following = engine.followLogs(from.instanceId, { sinceEpochMs: from.sinceEpochMs, signal: over.signal }, (line) =>
    lines.push(line),
  );
  try {
    await until(() => isEnough(lines), { timeoutMs: 10_000, what: `enough lines of ${from.instanceId}` }).catch((cause: unknown) => {
      throw new Error(`got only ${JSON.stringify(lines)}`, { cause });
    });
  } finally {
    over.abort();
    await following;
  }
  return lines;
}
