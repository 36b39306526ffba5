// Fills the V8 compile cache while an image is built: plays one start and one request, so that what they need is compiled.
import { createServer, type AddressInfo, type Server } from "node:net";
import { flushCompileCache } from "node:module";
import path from "node:path";
import { encodeEnvelope, ENVELOPE_VERSION, type RequestHeader } from "../contract/envelope.ts";
import type { InstanceManifest } from "../contract/instance-manifest.ts";
import { connectBus } from "./bus.ts";
import { functionFacts } from "./context.ts";
import { createCurrentGeneration } from "./generations/current.ts";
import { createHeldAnswers } from "./held-answers.ts";
import { createInvoker } from "./invoke.ts";
import { createLifecycle } from "./lifecycle.ts";
import { createSharedState } from "./shared-state.ts";

const CONNECT_TIMEOUT_MS = 2_000;
const INFO = { server_id: "warm-up", version: "2.10.27", proto: 1, max_payload: 1_000_000, headers: true, nonce: "warm-up" };
const SEED = `SUA${"A".repeat(55)}`; // Signs for nobody: a key of zeros.

export async function warmUp(): Promise<void> {
  await import(path.join(import.meta.dirname, "watchdog.js"));
  const server = await startMockBroker();
  try {
    // An address of a listening server on TCP is an object.
    await playInstance(`nats://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.close();
  }
  flushCompileCache();
}

async function playInstance(url: string): Promise<void> {
  const manifest = manifestFor(url);
  const bus = await connectBus(manifest.broker, { name: "warm-up", timeoutMs: CONNECT_TIMEOUT_MS });
  const publish = (subject: string, bytes: Uint8Array) => bus.publish(subject, bytes);
  const shared = createSharedState();
  const log = { print: () => undefined, flushNow: () => undefined };
  const held = createHeldAnswers({ publish, bytesMax: 1, nowMs: () => 0 });
  const parts = { facts: functionFacts(manifest), folder: "/", log, held, shared, publish };
  const handler = () => Promise.resolve({ statusCode: 200, headers: { "content-type": "text/html" }, cookies: ["a=b"], body: "warm" });
  const invoker = createInvoker({ handler, adapter: createCurrentGeneration({ apiId: "warm" }), ...parts });
  const lifecycle = createLifecycle({ manifest, bus, invoker, held, shared, log, replyPrefix: "o.warm.", exit: () => undefined });
  await lifecycle.serve(0);
  invoker.receive(encodeEnvelope(REQUEST, Buffer.from("warm")), "o.warm.r.1");
  await bus.flush();
  await bus.close();
}

/** Says what a broker says until it is flushed, and nothing else. */
async function startMockBroker(): Promise<Server> {
  const server = createServer((socket) => {
    socket.write(`INFO ${JSON.stringify(INFO)}\r\n`);
    socket.on("data", (bytes: Buffer) => {
      for (const line of bytes.toString("latin1").split("\r\n")) if (line === "PING") socket.write("PONG\r\n");
    });
    socket.on("error", () => undefined); // The other end is this same process, which is done with it.
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  return server;
}

const manifestFor = (url: string): InstanceManifest => ({
  v: 1,
  instanceId: "warm",
  appId: "warm",
  appName: "warm",
  environment: "staging",
  functionName: "warm",
  generation: "current",
  folder: "/",
  timeoutMs: 1_000,
  concurrency: 1,
  memoryBytesMax: 1,
  watchMemory: false,
  broker: { url, jwt: "warm", seed: SEED },
});

const REQUEST: RequestHeader = {
  v: ENVELOPE_VERSION,
  id: "warm",
  method: "POST",
  path: "/a",
  query: "a=b&c=d%20e",
  route: "POST /:a",
  params: { a: "a" },
  headers: ["Host", "localhost", "Cookie", "a=b; c=d", "Accept", "*/*"],
  sourceIp: "127.0.0.1",
  scheme: "http",
  httpVersion: "1.1",
  startEpochMs: 0,
  timeoutMs: 1_000,
};
