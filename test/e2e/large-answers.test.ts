// Answers of 6 MB: whole and exact, many at once, without making small answers wait and without piling up for slow readers.
import { createCipheriv, createHash } from "node:crypto";
import { readFile, rm } from "node:fs/promises";
import { type IncomingMessage, request as startRequest } from "node:http";
import { type Socket, connect } from "node:net";
import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { processesOf } from "../support/leftovers.ts";
import { ENGINE_NAMES, type RunningPlatform, handler, makeApp, startPlatform } from "../support/platform.ts";
import { readAnswers } from "../support/raw-http.ts";
import { until } from "../support/until.ts";

const BYTES = 6_000_000;
const PARALLEL_COUNT = 32;
// Of each connection the kernel takes some 4 MB itself, so slow readers ask for several answers on one.
const SLOW_READER_COUNT = 5;
const ANSWERS_PER_READER = 6;
const GROWTH_BYTES_MAX = 100_000_000; // Measured: 45 to 62 MB; 190 to 215 MB for a gateway that takes what it cannot pass on.
const END_MS_MAX = 8_000; // An instance that still holds an answer waits for 11 s before it ends.

const BODY_COUNT = 8;
/** Made once per number, so that an instance's memory goes into its answers and not into making them. */
const SOURCE = `const { createCipheriv } = require("node:crypto");
const bodies = Array.from({ length: ${BODY_COUNT} }, (_, number) => createCipheriv("aes-128-ctr", Buffer.alloc(16, 1), Buffer.alloc(16, number)).update(Buffer.alloc(${BYTES})).toString("base64"));
exports.handler = async ({ pathParameters }) => ({ headers: { "content-type": "application/octet-stream" }, body: bodies[pathParameters.number], isBase64Encoded: true });
`;

const APP = {
  "app.arc": "@app\nlarge\n\n@http\nget /\nget /large/:number\n",
  "src/http/get-index/index.js": handler('return { body: "small" };'),
  "src/http/get-large-000number/index.js": SOURCE,
};

const HASHES = Array.from({ length: BODY_COUNT }, (_, number) =>
  sha256(createCipheriv("aes-128-ctr", Buffer.alloc(16, 1), Buffer.alloc(16, number)).update(Buffer.alloc(BYTES))),
);

function sha256(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}

describe.each(ENGINE_NAMES)("large answers on engine %s", (engine) => {
  let platform: RunningPlatform;
  let app = "";
  let gatewayPid = 0;

  beforeAll(async () => {
    app = await makeApp(APP);
    platform = await startPlatform({ app, engine, flags: ["--no-watch"] });
    gatewayPid = await gatewayOf(platform);
  });

  afterAll(async () => {
    await platform.stop();
    await rm(app, { recursive: true, force: true });
  });

  const large = async (number: number): Promise<string> => download(platform.ports.staging, `/large/${number}`);
  const expected = (number: number): string => `200 ${BYTES} ${HASHES[number] ?? ""}`;
  const residentBytes = async (): Promise<number> =>
    Number(/VmRSS:\s+(\d+) kB/.exec(await readFile(`/proc/${gatewayPid}/status`, "utf8"))?.[1]) * 1024;

  /** Asks for small answers, one after the other, until the work is done; how long each took, in milliseconds. */
  const beside = async (work: Promise<unknown>, look: () => Promise<void> = async () => undefined): Promise<number[]> => {
    const end = new AbortController();
    const over = work.finally(() => end.abort());
    const durations: number[] = [];
    while (!end.signal.aborted) {
      const startMs = performance.now();
      const { status, text } = await platform.get("staging", "/");
      durations.push(performance.now() - startMs);
      expect([status, text]).toEqual([200, "small"]);
      await look();
    }
    await over;
    return durations;
  };

  it(`arrive whole and exact, ${PARALLEL_COUNT} at once, while small ones beside them are answered soon`, async () => {
    const startMs = performance.now();
    const numbers = Array.from({ length: PARALLEL_COUNT }, (_, index) => index % BODY_COUNT);
    let wholeMs = 0;
    const downloads = Promise.all(numbers.map(large)).finally(() => (wholeMs = performance.now() - startMs));
    const durations = await beside(downloads);
    expect(await downloads).toEqual(numbers.map(expected));
    expect(durations.length).toBeGreaterThan(5);
    expect(Math.max(...durations)).toBeLessThan(wholeMs / 2);
  });

  it("wait in their instance for readers that stopped reading: nobody else waits, the gateway does not grow, and they are whole in the end", async () => {
    const numbers = Array.from({ length: ANSWERS_PER_READER }, (_, number) => number);
    const before = await residentBytes();
    const readers = await Promise.all(
      Array.from({ length: SLOW_READER_COUNT }, async () => askAndStopReading(platform.ports.staging, numbers)),
    );
    let highest = before;
    const others = Promise.all([5, 6, 7].map(large));
    const durations = await beside(others, async () => {
      highest = Math.max(highest, await residentBytes());
    });
    expect(await others).toEqual([5, 6, 7].map(expected));
    expect(durations.length).toBeGreaterThan(1);
    expect(highest - before).toBeLessThan(GROWTH_BYTES_MAX);
    for (const reader of readers) {
      const answers = readAnswers(Buffer.concat(await reader.toArray()).toString("latin1"));
      expect(answers.map(({ body }) => sha256(Buffer.from(body, "latin1")))).toEqual(numbers.map((number) => HASHES[number]));
    }
  });

  it("are let go of when their readers leave, so that the next ones are whole", async () => {
    for (let round = 0; round < 3; round += 1) {
      const readers = await Promise.all(
        Array.from({ length: SLOW_READER_COUNT }, async () => askAndStopReading(platform.ports.staging, [1, 2, 3, 4, 5, 6])),
      );
      expect(await large(round)).toBe(expected(round));
      for (const reader of readers) reader.destroy();
    }
    expect(await Promise.all([3, 4, 5].map(large))).toEqual([3, 4, 5].map(expected));
  });

  it("are not sent to HEAD, which says how large they are", async () => {
    const answer = await platform.get("staging", "/large/1", { method: "HEAD" });
    expect(answer).toMatchObject({ status: 200, text: "", headers: { "content-length": `${BYTES}` } });
  });

  it("are not waited for at the end, where the gateway was told to stop before their readers left", async () => {
    const ending = await startPlatform({ app, engine, flags: ["--no-watch"] });
    try {
      const port = ending.ports.staging;
      const readers = await Promise.all(Array.from({ length: SLOW_READER_COUNT }, async () => askAndStopReading(port, [1, 2, 3])));
      expect(await download(port, "/large/1")).toBe(expected(1)); // By now the others are made.
      const pid = await gatewayOf(ending);
      process.kill(pid, "SIGTERM");
      const isClosed = async (): Promise<boolean> =>
        ending.get("staging", "/").then(
          () => false,
          () => true,
        );
      await until(isClosed, { timeoutMs: 5_000, what: "the gateway takes nobody new" });
      for (const reader of readers) reader.destroy();
      const isGone = async (): Promise<boolean> => !(await processesOf(ending.home)).some((one) => one.pid === pid);
      await until(isGone, { timeoutMs: 5_000, what: "the gateway ended" });
      const startMs = performance.now();
      await ending.stop();
      expect(performance.now() - startMs).toBeLessThan(END_MS_MAX);
    } finally {
      await ending.stop();
    }
  });
});

async function gatewayOf({ home }: RunningPlatform): Promise<number> {
  const gateway = (await processesOf(home)).find(({ command }) => command.includes("gateway/main") && command.includes("staging"));
  if (gateway === undefined) throw new Error("no process looks like the gateway of staging");
  return gateway.pid;
}

/** Status, length and hash of what came. Hashed as it comes: hashing 32 bodies in the end would make small answers look late. */
async function download(port: number, path: string): Promise<string> {
  const request = startRequest({ host: "127.0.0.1", port, path, agent: false }).end();
  const [answer] = (await once(request, "response")) as [IncomingMessage]; // What the event is documented to bring.
  const hash = createHash("sha256");
  for await (const part of answer) hash.update(part as Buffer); // No encoding was set.
  return `${answer.statusCode} ${answer.headers["content-length"] ?? ""} ${hash.digest("hex")}`;
}

/** A connection that asks for answers and reads nothing of them until its bytes are asked for. */
async function askAndStopReading(port: number, numbers: readonly number[]): Promise<Socket> {
  const socket = connect({ host: "127.0.0.1", port });
  socket.on("error", () => undefined); // Some are destroyed by their test.
  socket.pause();
  await once(socket, "connect");
  const last = numbers.length - 1;
  const requests = numbers.map(
    (number, index) => `GET /large/${number} HTTP/1.1\r\nHost: a\r\n${index === last ? "Connection: close\r\n" : ""}\r\n`,
  );
  await new Promise((sent) => socket.write(requests.join(""), sent));
  return socket;
}
