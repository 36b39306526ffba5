// How requests reach instances, and what happens when instances, the broker or the gateway itself go away.
import { Agent, request as httpRequest } from "node:http";
import { connect as connectSocket } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { FunctionSnapshot } from "../../runtime-image/contract/snapshot.ts";
import {
  createWorld,
  fn,
  live,
  startInstance,
  text,
  type Respond,
  type ScriptedInstance,
  type Script,
  type World,
} from "../support/gateway-world.ts";
import { until } from "../support/until.ts";

let world: World;
let base: string;
const started: ScriptedInstance[] = [];
let counter = 0;

beforeAll(async () => {
  world = await createWorld();
  base = `http://127.0.0.1:${world.port}`;
});

afterEach(async () => {
  await Promise.all(started.splice(0).map((instance) => instance.kill()));
});

afterAll(() => world.close());

const instance = async (script: Script): Promise<ScriptedInstance> => {
  const one = await startInstance(world, `d${++counter}`, script);
  started.push(one);
  return one;
};
const answersNothing: Script = () => undefined;
const answersItsName: Script = ({ header, respond }) => text(respond, header.id);

const serve = (
  instanceIds: readonly string[],
  more: Partial<FunctionSnapshot> = {},
  beside: readonly FunctionSnapshot[] = [],
): Promise<void> => world.put({ deployment: live(world, [fn("ANY", "/", { instanceIds, ...more }), ...beside]) });

const timed = async (run: () => Promise<Response>): Promise<{ status: number; code: string | null; ms: number }> => {
  const startMs = performance.now();
  const answer = await run();
  const body = await answer.text();
  const code = answer.headers.get("content-type") === "application/problem+json" ? (JSON.parse(body) as { code: string }).code : null; // Our own problem details.
  return { status: answer.status, code, ms: performance.now() - startMs };
};
const get = () => timed(() => fetch(base));
const post = () => timed(() => fetch(base, { method: "POST", body: "x" }));

describe("choosing an instance", () => {
  it("gives the next request to the instance with the fewest in flight", async () => {
    const waiting: Respond[] = [];
    const script: Script = ({ respond }) => void waiting.push(respond);
    const [one, two, three] = [await instance(script), await instance(script), await instance(script)];
    await serve([one.id, two.id, three.id]);
    const answers = Array.from({ length: 9 }, get);
    await until(() => waiting.length === 9, { timeoutMs: 2_000 });
    expect([one, two, three].map(({ received }) => received.length)).toEqual([3, 3, 3]);
    for (const respond of waiting) text(respond, "done");
    await Promise.all(answers);
  });

  it("never goes over the concurrency of an instance, queues the rest in order, and refuses what waits too long", async () => {
    const waiting: Respond[] = [];
    const only = await instance(({ respond }) => void waiting.push(respond));
    await serve([only.id], { concurrency: 1, timeoutMs: 20_000 });
    const first = get();
    await until(() => waiting.length === 1, { timeoutMs: 2_000 });
    const second = get();
    const third = get();
    await until(async () => (await world.status()).requestCount === 3, { timeoutMs: 2_000 });
    expect(waiting.length).toBe(1);
    const [respond] = waiting;
    if (respond !== undefined) text(respond, "one");
    expect((await first).status).toBe(200);
    await until(() => waiting.length === 2, { timeoutMs: 2_000 });
    const refused = await Promise.race([second, third]);
    expect(refused).toMatchObject({ status: 503, code: "NO_CAPACITY" });
    expect(refused.ms).toBeGreaterThan(4_900);
    expect(refused.ms).toBeLessThan(6_500);
    if (waiting[1] !== undefined) text(waiting[1], "two");
    const statuses = (await Promise.all([second, third])).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([200, 503]));
  });

  it("lets requests wait for the first instance, and says at once where a function fails to start", async () => {
    await serve([]);
    const waits = get();
    await until(async () => (await world.status()).requestCount === 1, { timeoutMs: 2_000 });
    const late = await instance(answersItsName);
    await serve([late.id]);
    expect((await waits).status).toBe(200);
    await serve([], { failure: { code: "HANDLER_LOAD_FAILED", message: "no" } });
    const failing = await get();
    expect(failing).toMatchObject({ status: 503, code: "FUNCTION_FAILING" });
    expect(failing.ms).toBeLessThan(500);
  });

  it("delivers a POST elsewhere at once where nobody listens on an instance's subject", async () => {
    const alive = await instance(answersItsName);
    await serve(["nobody1", alive.id, "nobody2"]);
    for (let round = 0; round < 6; round++) {
      const { status, ms } = await post();
      expect(status).toBe(200);
      expect(ms).toBeLessThan(500);
    }
  });

  it("never gives up on the last instance: a POST waits until it is back", async () => {
    await serve(["comesback1"]);
    const waits = post();
    await until(async () => (await world.status()).requestCount === 1, { timeoutMs: 2_000 });
    started.push(await startInstance(world, "comesback1", answersItsName));
    const { status, ms } = await waits;
    expect(status).toBe(200);
    expect(ms).toBeLessThan(1_500);
  });

  it("ends a request at its function's timeout, and ignores what comes later", async () => {
    const waiting: Respond[] = [];
    const slow = await instance(({ respond }) => void waiting.push(respond));
    await serve([slow.id], { timeoutMs: 1_000 });
    const { status, code, ms } = await get();
    expect({ status, code }).toEqual({ status: 504, code: "HANDLER_TIMED_OUT" });
    expect(ms).toBeGreaterThan(990);
    expect(ms).toBeLessThan(1_500);
    for (const respond of waiting) text(respond, "late");
    expect(world.gateway.output()).not.toContain("could not be handled");
  });
});

describe("losing an instance", () => {
  it("answers a GET from another instance and a POST with 502 within a second of a kill", async () => {
    const dying = await instance(answersNothing);
    await serve([dying.id]);
    const [reading, writing] = [get(), post()];
    await until(() => dying.received.length === 2, { timeoutMs: 2_000 });
    const killedMs = performance.now();
    await dying.kill();
    const other = await instance(answersItsName);
    await serve([other.id]);
    expect(await writing).toMatchObject({ status: 502, code: "INSTANCE_LOST" });
    expect((await reading).status).toBe(200);
    expect(performance.now() - killedMs).toBeLessThan(1_000);
  });

  it("notices a frozen instance, sets it aside, and takes it back when it answers again", async () => {
    const frozen = await instance(answersItsName);
    const other = await instance(answersItsName);
    await serve([frozen.id]);
    frozen.freeze();
    const reading = get();
    await until(async () => (await world.status()).requestCount === 1, { timeoutMs: 2_000 });
    await serve([frozen.id, other.id]);
    const answer = await reading;
    expect(answer.status).toBe(200);
    expect(answer.ms).toBeLessThan(1_300);
    for (let round = 0; round < 5; round++) expect((await post()).ms).toBeLessThan(500);
    frozen.thaw();
    await until(
      async () => {
        await get();
        return frozen.received.length > 0;
      },
      { timeoutMs: 3_000 },
    );
  });

  it("takes a busy handler for alive as long as its instance answers pings", async () => {
    const busy = await instance(({ respond }) => void setTimeout(() => text(respond, "done"), 2_000));
    await serve([busy.id]);
    const answers = await Promise.all([get(), post()]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  });

  it("delivers an idempotent request at most twice", async () => {
    const dying: ScriptedInstance[] = [];
    const script: Script = () => void setImmediate(() => void Promise.all(dying.map((one) => one.kill())));
    dying.push(await instance(script));
    const second = await instance(({ respond: _respond }) => void setImmediate(() => void second.kill()));
    await serve([dying[0]?.id ?? "", second.id]);
    const answer = await get();
    expect(answer).toMatchObject({ status: 502, code: "INSTANCE_LOST" });
    expect((dying[0]?.received.length ?? 0) + second.received.length).toBe(2);
  });
});

describe("large answers", () => {
  const LARGE = Buffer.alloc(6_000_000, "large ");
  let streamCount = 0;
  const holds: Script = ({ respond }) =>
    respond(
      { v: 1, kind: "held", status: 200, headers: ["content-type", "text/plain"], bodyBytes: LARGE.length, streamId: `s${++streamCount}` },
      LARGE,
    );

  it("arrive whole, and a small one beside 32 of them does not wait for them", async () => {
    const large = await instance(holds);
    const small = await instance(answersItsName);
    await serve([large.id], { timeoutMs: 60_000 }, [fn("GET", "/small", { instanceIds: [small.id] })]);
    const startMs = performance.now();
    const bodies = Promise.all(Array.from({ length: 32 }, async () => Buffer.from(await (await fetch(base)).arrayBuffer()).equals(LARGE)));
    await until(() => large.pulledBytes() > LARGE.length, { timeoutMs: 10_000 });
    const { status, ms } = await timed(() => fetch(`${base}/small`));
    expect(status).toBe(200);
    expect(await bodies).toEqual(Array.from({ length: 32 }, () => true));
    const totalMs = performance.now() - startMs;
    expect(ms).toBeLessThan(Math.max(300, totalMs / 4));
    await until(async () => (await world.status()).requestCount === 0, { timeoutMs: 2_000 });
  });

  it("are pulled no faster than a slow client reads, and let go when it leaves", async () => {
    const large = await instance(holds);
    await serve([large.id]);
    const before = large.pulledBytes();
    const sockets = Array.from({ length: 8 }, () => {
      const socket = connectSocket(world.port, "127.0.0.1", () => {
        socket.pause();
        socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
      });
      return socket;
    });
    await until(() => large.received.length === 8 && large.pulledBytes() > before, { timeoutMs: 5_000 });
    const settled = { bytes: -1, sinceMs: 0 };
    await until(
      () => {
        const bytes = large.pulledBytes();
        if (bytes !== settled.bytes) Object.assign(settled, { bytes, sinceMs: performance.now() });
        return performance.now() - settled.sinceMs > 500;
      },
      { timeoutMs: 10_000 },
    );
    expect(settled.bytes).toBeLessThan(8 * LARGE.length);
    for (const socket of sockets) socket.destroy();
    await until(async () => (await world.status()).requestCount === 0, { timeoutMs: 2_000 });
  });

  it("cut the connection where the instance dies in the middle, so that no short body looks complete", async () => {
    const held = LARGE.subarray(0, 1_000_000);
    const large = await instance(({ respond }) =>
      respond({ v: 1, kind: "held", status: 200, headers: [], bodyBytes: LARGE.length, streamId: "half" }, held),
    );
    await serve([large.id]);
    const outcome = new Promise<string>((resolve) => {
      const request = httpRequest(base, (answer) => {
        answer.resume();
        answer.on("end", () => resolve("complete"));
        answer.on("error", () => resolve("cut"));
      });
      request.on("error", () => resolve("refused"));
      request.end();
    });
    await until(() => large.pulledBytes() === held.length, { timeoutMs: 5_000 });
    await large.kill();
    expect(await outcome).toBe("cut");
    await until(async () => (await world.status()).requestCount === 0, { timeoutMs: 2_000 });
  });

  it("are an error like any other where the instance is gone before the first byte", async () => {
    const large = await instance(({ respond }) => {
      respond({ v: 1, kind: "held", status: 200, headers: [], bodyBytes: LARGE.length, streamId: "none" }, LARGE.subarray(0, 0));
      setImmediate(() => void large.kill());
    });
    await serve([large.id]);
    expect(await get()).toMatchObject({ status: 502, code: "INSTANCE_LOST" });
  });
});

describe("losing the broker", () => {
  it("answers from the instances again within seconds of a restart, sends idempotent requests again, and fails a POST in flight", async () => {
    let isAnswering = false;
    const patient = await instance(({ header, respond }) => {
      if (isAnswering) text(respond, header.method);
    });
    await serve([patient.id], { timeoutMs: 20_000 });
    const [reading, writing] = [get(), post()];
    await until(() => patient.received.length === 2, { timeoutMs: 2_000 });
    isAnswering = true;
    await world.restartBroker();
    expect(await writing).toMatchObject({ status: 502, code: "INSTANCE_LOST" });
    expect((await reading).status).toBe(200);
    expect((await post()).status).toBe(200);
    const newer = await instance(answersItsName);
    await serve([newer.id]); // Snapshots arrive again, too.
    expect((await get()).status).toBe(200);
  });
});

describe("stopping", () => {
  it("finishes what it has, closes connections with their last answer, and exits with 0", async () => {
    const own = await createWorld();
    const waiting: Respond[] = [];
    const slow = await startInstance(own, "stop1", ({ respond }) => void waiting.push(respond));
    await own.put({ deployment: live(own, [fn("GET", "/", { instanceIds: [slow.id] })]) });
    const agent = new Agent({ keepAlive: true });
    const answer = new Promise<{ status: number | undefined; connection: string | undefined }>((resolve, reject) => {
      const request = httpRequest({ host: "127.0.0.1", port: own.port, agent }, (response) => {
        response.resume();
        response.on("end", () => resolve({ status: response.statusCode, connection: response.headers.connection }));
      });
      request.on("error", reject).end();
    });
    await until(() => waiting.length === 1, { timeoutMs: 2_000 });
    process.kill(own.gateway.pid, "SIGTERM");
    await until(() => own.gateway.output().includes('"stopping"'), { timeoutMs: 2_000 });
    await expect(fetch(`http://127.0.0.1:${own.port}`)).rejects.toThrow("fetch failed");
    for (const respond of waiting) text(respond, "done");
    expect(await answer).toEqual({ status: 200, connection: "close" });
    expect(await own.gateway.exited).toBe(0);
    agent.destroy();
    await slow.kill();
    await own.close();
  });

  it("keeps serving and stops when told, also where nobody takes what it logs any more", async () => {
    const own = await createWorld();
    await own.put({ deployment: { kind: "none" } });
    own.gateway.deafen();
    await own.restartBroker(); // Something to complain about.
    await until(
      () =>
        own.status().then(
          () => true,
          () => false,
        ),
      { timeoutMs: 5_000 },
    );
    expect((await fetch(`http://127.0.0.1:${own.port}`)).status).toBe(503);
    process.kill(own.gateway.pid, "SIGTERM");
    expect(await own.gateway.exited).toBe(0);
    await own.close();
  });

  it("says so where its port is taken", async () => {
    const own = await createWorld({ config: { listen: [{ host: "127.0.0.1", port: world.port }] } });
    expect(await own.gateway.exited).toBe(1);
    expect(own.gateway.output()).toContain("PORT_IN_USE");
    await own.close();
  });

  it("answers GATEWAY_STARTING until it has learnt its snapshots", async () => {
    const own = await createWorld({ makesBucket: false });
    const answer = await fetch(`http://127.0.0.1:${own.port}`);
    expect(answer.status).toBe(503);
    expect(await answer.text()).toContain("GATEWAY_STARTING");
    await own.put({ deployment: { kind: "none" } }); // The bucket comes into being with it.
    expect(await (await fetch(`http://127.0.0.1:${own.port}`)).text()).toContain("NOTHING_DEPLOYED");
    await own.close();
  });
});
