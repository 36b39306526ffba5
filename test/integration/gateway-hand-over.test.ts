// A gateway that hands over to its successor: real processes and real sockets, under constant load, with everything that can be in progress or go wrong.
import { readFile, writeFile } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { once } from "node:events";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { GatewayConfig } from "../../runtime-image/contract/gateway-config.ts";
import { createWorld, fn, freePort, live, startInstance, text, type ScriptedInstance, type World } from "../support/gateway-world.ts";
import { failedHandOver, handOver, pidsOf, successorPid } from "../support/hand-overs.ts";
import { readAnswers } from "../support/raw-http.ts";
import { type SteadyLoad, startLoad } from "../support/steady-load.ts";
import { until } from "../support/until.ts";

const SLOW_MS = 2_000;

let world: World;
let instance: ScriptedInstance;
let load: SteadyLoad | null = null;
let port: number;
let letGo: () => void; // Answers /held.

beforeEach(async () => {
  port = await freePort();
  world = await createWorld({ config: { listen: [{ host: "127.0.0.1", port }] } });
  instance = await startInstance(world, "one", ({ header, body, respond }) => {
    const answer = (): void => text(respond, `${header.method} ${header.path} ${body.length}`);
    if (header.path === "/held") letGo = answer;
    else setTimeout(answer, header.path.startsWith("/slow") ? SLOW_MS : 3);
  });
  await world.put({ deployment: live(world, [fn("ANY", "/*", { instanceIds: ["one"] })]) });
  await until(async () => (await fetch(`http://127.0.0.1:${port}/up`)).status === 200, { timeoutMs: 5_000 });
});

afterEach(async () => {
  await load?.stop();
  load = null;
  await instance.kill();
  await world.close();
});

const beginLoad = (): SteadyLoad => (load = startLoad({ port, path: "/load" }));
const answersBeyond = (from: SteadyLoad, count: number): Promise<void> =>
  until(() => from.counts.answered > count, { timeoutMs: 10_000, what: `more than ${count} answers` });

const configNow = async (): Promise<GatewayConfig> => JSON.parse(await readFile(world.gateway.configFile, "utf8")) as GatewayConfig; // Written by the world.
const reconfigure = async (change: (config: GatewayConfig) => unknown): Promise<void> =>
  writeFile(world.gateway.configFile, JSON.stringify(change(await configNow())));

interface RawClient {
  readonly socket: Socket;
  readonly received: () => string;
  readonly closed: Promise<unknown>;
}

async function dial(): Promise<RawClient> {
  const socket = connect({ host: "127.0.0.1", port, noDelay: true });
  let received = "";
  socket.on("data", (part: Buffer) => void (received += part.toString("latin1")));
  socket.on("error", (cause) => (received += `\n${String(cause)}`));
  const closed = once(socket, "close");
  await once(socket, "connect");
  return { socket, received: () => received, closed };
}

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`;

/** Sends, and reads until so many answers are there. */
async function answersOn(client: RawClient, bytes: string, count: number): Promise<ReturnType<typeof readAnswers>> {
  client.socket.write(bytes);
  await until(() => client.received().split("HTTP/1.1 ").length > count && client.received().endsWith(" 0"), { timeoutMs: 10_000 });
  return readAnswers(client.received());
}

describe("a hand-over", () => {
  it("loses no request of a constant load, five times in a row, and leaves one process", async () => {
    const running = beginLoad();
    await answersBeyond(running, 200);
    const pids = [world.gateway.pid];
    for (let round = 0; round < 5; round += 1) {
      pids.push((await handOver(world)).pid);
      await answersBeyond(running, running.counts.answered + 200);
    }
    await running.stop();
    expect(running.failures).toEqual([]);
    expect(running.counts.closes).toBeGreaterThan(5);
    expect(new Set(pids).size).toBe(6);
    await until(async () => (await pidsOf(world.gateway.configFile)).length === 1, {
      timeoutMs: 15_000,
      what: "the earlier ones are gone",
    });
    expect(await pidsOf(world.gateway.configFile)).toEqual([pids.at(-1)]);
    expect(await world.gateway.exited).toBe(0);
    expect(world.gateway.output() + (await readFile(world.gateway.successorLog, "utf8"))).not.toContain('"level":"error"');
  });

  it("lets everything that was begun finish: a slow request, a body on its way, a burst of which only the last answer says close", async () => {
    const [slow, upload, burst] = await Promise.all([dial(), dial(), dial()]);
    slow.socket.write(get("/slow"));
    upload.socket.write("POST /upload HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n12345");
    burst.socket.write(get("/slow") + get("/slow-too") + get("/slow-as-well"));
    await until(() => instance.received.filter(({ path }) => path === "/slow").length === 2, { timeoutMs: 5_000 });
    await handOver(world);
    upload.socket.write("67890");
    await Promise.all([slow, upload, burst].map(({ closed }) => closed));
    const [slowly, uploaded, inTurn] = [slow, upload, burst].map(({ received }) => readAnswers(received()));
    expect(slowly?.map(({ body }) => body)).toEqual(["GET /slow 0"]);
    expect(uploaded?.map(({ body }) => body)).toEqual(["POST /upload 10"]);
    expect(inTurn?.map(({ body }) => body)).toEqual(["GET /slow 0", "GET /slow-too 0", "GET /slow-as-well 0"]);
    expect(inTurn?.map(({ headers }) => headers["connection"])).toEqual(["keep-alive", "keep-alive", "close"]);
    expect([slowly?.[0], uploaded?.[0]].map((answer) => answer?.headers["connection"])).toEqual(["close", "close"]);
  });

  it("tells connections that wait for a request, also for their first, to close with the answer to it", async () => {
    const [kept, fresh] = await Promise.all([dial(), dial()]);
    await answersOn(kept, get("/before"), 1);
    await handOver(world);
    const [, after] = await answersOn(kept, get("/after"), 2);
    const [first] = await answersOn(fresh, get("/first"), 1);
    expect([after?.headers["connection"], first?.headers["connection"]]).toEqual(["close", "close"]);
    await Promise.all([kept.closed, fresh.closed]);
  });

  it("does not process what comes behind the announced end, and ends the connection without a reset", async () => {
    const [client, second, third] = await Promise.all([dial(), dial(), dial()]);
    await Promise.all([client, second, third].map(async (one) => answersOn(one, get("/before"), 1)));
    await handOver(world);
    client.socket.write(get("/held") + get("/last"));
    await until(() => instance.received.some(({ path }) => path === "/last"), { timeoutMs: 5_000 });
    await answersOn(second, get("/after-it"), 2); // By now the answer to /last is there as well, with its announcement.
    client.socket.write(get("/behind"));
    await answersOn(third, get("/after-that"), 2); // And by now /behind was read.
    letGo();
    for (let count = 0; count < 200 && !client.socket.readableEnded; count += 1) {
      client.socket.write(get("/behind"));
      await new Promise((resolve) => setImmediate(resolve));
    }
    client.socket.end();
    await client.closed;
    expect(readAnswers(client.received()).map(({ body }) => body)).toEqual(["GET /before 0", "GET /held 0", "GET /last 0"]);
    expect(instance.received.map(({ path }) => path)).not.toContain("/behind");
  });

  it("passes on the addresses that the new config shares, gives up the others, and binds what is new", async () => {
    const [second, third] = [await freePort(), await freePort()];
    await reconfigure((config) => ({ ...config, listen: [...config.listen, { host: "127.0.0.1", port: second }] }));
    const running = beginLoad();
    await handOver(world);
    expect((await fetch(`http://127.0.0.1:${second}/up`)).status).toBe(200);
    await reconfigure((config) => ({
      ...config,
      listen: [
        { host: "127.0.0.1", port },
        { host: "127.0.0.1", port: third },
      ],
    }));
    await handOver(world);
    expect((await fetch(`http://127.0.0.1:${third}/up`)).status).toBe(200);
    const isRefused = (): Promise<boolean> =>
      fetch(`http://127.0.0.1:${second}/up`).then(
        () => false,
        () => true,
      );
    await until(isRefused, { timeoutMs: 2_000, what: "the address that is no longer wanted is closed" });
    await running.stop();
    expect(running.failures).toEqual([]);
  });

  it("to one that serves other limits has them in force at once", async () => {
    await reconfigure((config) => ({ ...config, limits: { ...config.limits, targetBytesMax: 100 } }));
    const before = await world.status();
    const after = await handOver(world);
    expect(after.configHash).not.toBe(before.configHash);
    const statuses = await Promise.all(
      [1, 2, 3].map(async () => (await fetch(`http://127.0.0.1:${port}/${"a".repeat(200)}`, { headers: { connection: "close" } })).status),
    );
    expect(statuses).toContain(414);
  });
});

describe("a hand-over that fails", () => {
  const good = async (): Promise<void> => {
    const before = (await world.status()).pid;
    expect((await handOver(world)).pid).not.toBe(before);
  };

  it("says that the code is missing, and loses nothing", async () => {
    const running = beginLoad();
    const config = await readFile(world.gateway.configFile, "utf8");
    await reconfigure((one) => ({ ...one, program: { ...one.program, mainFile: "/nonexistent/main.ts" } }));
    expect(await failedHandOver(world)).toContain("It ended with exit code 1 before it served.");
    await writeFile(world.gateway.configFile, config);
    await good();
    await running.stop();
    expect(running.failures).toEqual([]);
  });

  it.each([
    ["is no JSON", () => "{", /could not be read as JSON/],
    ["names no program", (config: GatewayConfig) => JSON.stringify({ ...config, program: undefined }), /program: is missing/],
    ["is wrong", (config: GatewayConfig) => JSON.stringify({ ...config, trustedProxies: ["nonsense"] }), /trustedProxies\[0\]/],
    [
      "names a Node that is not there",
      (config: GatewayConfig) => JSON.stringify({ ...config, program: { ...config.program, nodePath: "/nonexistent/node" } }),
      /cannot be started: spawn \/nonexistent\/node ENOENT/,
    ],
  ])("says that the config %s", async (_what, broken, reason) => {
    const config = await readFile(world.gateway.configFile, "utf8");
    await writeFile(world.gateway.configFile, broken(await configNow()));
    expect(await failedHandOver(world)).toMatch(reason);
    expect((await fetch(`http://127.0.0.1:${port}/up`)).status).toBe(200);
    await writeFile(world.gateway.configFile, config);
    await good();
  });

  it("says that a new address is taken", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const address = other.address();
    const taken = typeof address === "object" && address !== null ? address.port : 0;
    await reconfigure((config) => ({ ...config, listen: [...config.listen, { host: "127.0.0.1", port: taken }] }));
    const running = beginLoad();
    expect(await failedHandOver(world)).toContain(`127.0.0.1:${taken} is taken.`);
    await running.stop();
    expect(running.failures).toEqual([]);
    other.close();
  });

  it("because the successor says nothing ends that one in time", async () => {
    const mainFile = join(dirname(world.gateway.configFile), "main.silent.mjs");
    await writeFile(mainFile, "setInterval(() => undefined, 1_000);\n");
    await reconfigure((config) => ({ ...config, program: { ...config.program, mainFile } }));
    const running = beginLoad();
    expect(await failedHandOver(world)).toBe("It was not ready in time. It lacks any word of it.");
    await running.stop();
    expect(running.failures).toEqual([]);
    await until(async () => (await pidsOf(world.gateway.configFile)).length === 1, { timeoutMs: 2_000 });
  });

  it("because the successor is killed leaves the next one its chance", async () => {
    const running = beginLoad();
    const reason = await failedHandOver(world, async () => {
      process.kill(await successorPid(world, [world.gateway.pid]), "SIGKILL");
    });
    expect(reason).toBe("It ended with SIGKILL before it served.");
    await good();
    await running.stop();
    expect(running.failures).toEqual([]);
  });

  it("because the broker is away waits for it to come back, or says what is missing", async () => {
    await reconfigure((config) => ({ ...config, broker: { ...config.broker, url: "nats://127.0.0.1:1" } }));
    expect(await failedHandOver(world)).toBe(
      "It was not ready in time. It lacks what is deployed, snapshot 1 of app app, the connection to the functions of app app.",
    );
    expect((await fetch(`http://127.0.0.1:${port}/up`)).status).toBe(200);
  });
});

describe("in the middle of a hand-over", () => {
  it("the sudden end of the gateway ends its successor too, also one that does not listen to it yet", async () => {
    const mainFile = join(dirname(world.gateway.configFile), "main.slow.mjs");
    const { program } = await configNow();
    await writeFile(
      mainFile,
      `const { setTimeout: later } = await import("node:timers/promises");\nawait later(1_000);\nawait import(${JSON.stringify(program?.mainFile)});\n`,
    );
    await reconfigure((config) => ({ ...config, program: { ...config.program, mainFile } }));
    process.kill(world.gateway.pid, "SIGUSR2");
    await successorPid(world, [world.gateway.pid]);
    process.kill(world.gateway.pid, "SIGKILL");
    await until(async () => (await pidsOf(world.gateway.configFile)).length === 0, { timeoutMs: 5_000, what: "both are gone" });
    expect(await readFile(world.gateway.successorLog, "utf8")).toContain("The gateway before this one ended first.");
  });

  it("a stop ends both", async () => {
    process.kill(world.gateway.pid, "SIGUSR2");
    await successorPid(world, [world.gateway.pid]);
    process.kill(world.gateway.pid, "SIGTERM");
    expect(await world.gateway.exited).toBe(0);
    await until(async () => (await pidsOf(world.gateway.configFile)).length === 0, { timeoutMs: 5_000, what: "both are gone" });
  });

  it("another signal changes nothing", async () => {
    const running = beginLoad();
    process.kill(world.gateway.pid, "SIGUSR2");
    await successorPid(world, [world.gateway.pid]);
    process.kill(world.gateway.pid, "SIGUSR2");
    await until(async () => (await world.status().catch(() => null))?.pid !== world.gateway.pid, { timeoutMs: 12_000 });
    process.kill(world.gateway.pid, "SIGUSR2"); // It finishes what it has, and starts nobody.
    expect(await world.gateway.exited).toBe(0);
    expect((await pidsOf(world.gateway.configFile)).length).toBe(1);
    await running.stop();
    expect(running.failures).toEqual([]);
  });
});
