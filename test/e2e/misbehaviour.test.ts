// Functions and clients that misbehave: each gets the error that is its own, and everybody else keeps being answered.
import { createHash, randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { request as startRequest } from "node:http";
import { connect } from "node:net";
import { once } from "node:events";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { processesOf } from "../support/leftovers.ts";
import { BROKEN, type FatalRoute, MISBEHAVING_APP, NEIGHBOUR } from "../support/misbehaving-app.ts";
import {
  type Answer,
  ENGINE_NAMES,
  type RunningPlatform,
  type SendOptions,
  makeApp,
  startPlatform,
  writeFiles,
} from "../support/platform.ts";
import { problemOf } from "../support/problems.ts";
import { exchange } from "../support/raw-http.ts";
import { until } from "../support/until.ts";

const BACK_WITHIN_MS = 15_000; // For another instance to start on a busy machine.

describe.each(ENGINE_NAMES)("misbehaviour on engine %s", (engine) => {
  let platform: RunningPlatform;
  let app = "";
  let processes: readonly string[] = [];

  /** Gateways, broker: whatever of the platform itself must outlive every test of this file. */
  const platformProcesses = async (): Promise<string[]> =>
    (await processesOf(platform.home))
      .filter(({ command }) => /gateway|nats/.test(command))
      .map(({ pid }) => String(pid))
      .toSorted();

  beforeAll(async () => {
    app = await makeApp(MISBEHAVING_APP);
    platform = await startPlatform({ app, engine });
    processes = await platformProcesses();
  });

  afterEach(async () => {
    const { status, text } = await get("/");
    if (status !== 200 || !text.endsWith("neighbour")) throw new Error(`the neighbour answered ${status} ${text}`);
  });

  afterAll(async () => {
    await platform.stop();
    await rm(app, { recursive: true, force: true });
  });

  const get = async (path: string, options?: SendOptions): Promise<Answer> => platform.get("staging", path, options);
  const calm = async (way: string): Promise<Answer> => get(`/calm?way=${encodeURIComponent(way)}`);
  const fatal = async (route: FatalRoute, way: string, options?: SendOptions): Promise<Answer> =>
    get(`/${route}?way=${encodeURIComponent(way)}`, options);
  const printed = (text: string): number =>
    platform.events.filter((event) => event.event === "printed" && event.text?.includes(text) === true).length;
  /** Waits until another instance answers than the one that was there before. */
  const replaced = async (route: FatalRoute, life: string): Promise<void> => {
    const isReplaced = async (): Promise<boolean> => {
      const answer = await fatal(route, "live");
      return answer.status === 200 && answer.text !== life;
    };
    await until(isReplaced, { timeoutMs: BACK_WITHIN_MS, what: `/${route} is served by another instance` });
  };

  describe("of a function that throws while it is loaded", () => {
    const failures = () =>
      platform.events.filter(
        (event) => event.event === "warning" && event.text?.startsWith(`staging: ${BROKEN}: HANDLER_LOAD_FAILED`) === true,
      );

    it("is told at the start, with its reason, and the others answer", async () => {
      const before = platform.events.slice(
        0,
        platform.events.findIndex((event) => event.event === "ready"),
      );
      expect(before).toContainEqual(
        expect.objectContaining({
          event: "warning",
          text: expect.stringMatching(/staging: src\/http\/get-broken does not start and is tried again: .*no luck at load/) as unknown,
        }),
      );
      expect((await get("/")).status).toBe(200);
      expect((await calm("fine")).status).toBe(200);
    });

    it("answers 503 with the reason", async () => {
      await until(() => failures().length >= 2, { timeoutMs: BACK_WITHIN_MS });
      const answer = await get("/broken");
      expect(problemOf(answer)).toMatchObject({
        status: 503,
        code: "FUNCTION_FAILING",
        detail: expect.stringContaining("no luck at load") as unknown,
      });
      expect(answer.headers["retry-after"]).toBe("1");
    });

    it("is tried less and less often", async () => {
      await until(() => failures().length >= 5, { timeoutMs: 30_000 });
      const times = failures().map((event) => Date.parse(event.time));
      const gaps = times.slice(1, 5).map((time, index) => time - (times[index] ?? 0));
      expect(gaps.map((gap, index) => gap >= [0, 250, 500, 1_000][index]!)).toEqual([true, true, true, true]); // Both have four.
    });

    it("keeps no other function from being deployed", async () => {
      await writeFiles(app, { [`${NEIGHBOUR}/index.js`]: 'exports.handler = async () => ({ body: "another neighbour" });\n' });
      await until(async () => (await get("/")).text === "another neighbour", { timeoutMs: BACK_WITHIN_MS });
      expect((await get("/broken")).status).toBe(503);
    });

    it("ends when the function is mended", async () => {
      await writeFiles(app, { [`${BROKEN}/index.js`]: 'exports.handler = async () => ({ body: "mended" });\n' });
      await until(async () => (await get("/broken")).text === "mended", { timeoutMs: BACK_WITHIN_MS });
      expect((await get("/broken")).status).toBe(200);
    });
  });

  describe("of a handler", () => {
    it.each([
      ["throws", /Error: a bad day[^]*index\.js:\d/],
      ["rejects", /TypeError: a worse day/],
      ["rejects later", /Error: a late day/],
      ["throws text", /just text/],
      ["throws undefined", /undefined/],
      ["throws what cannot be printed", /cannot be printed/],
      ["recurses", /Maximum call stack size/],
      ["recurses later", /Maximum call stack size/],
    ])("that %s: 500", async (way, detail) => {
      expect(problemOf(await calm(way))).toEqual({ status: 500, code: "HANDLER_THREW", detail: expect.stringMatching(detail) as unknown });
      expect(await calm("fine")).toMatchObject({ status: 200, text: "fine" });
    });

    it.each(["answers a circle", "answers a proxy that throws"])("that %s: 502", async (way) => {
      expect(problemOf(await calm(way))).toMatchObject({ status: 502, code: "HANDLER_ANSWER_INVALID" });
      expect((await calm("fine")).status).toBe(200);
    });

    it("that never answers: 504 at its timeout, while others of the same instance are answered", async () => {
      const startMs = performance.now();
      const never = calm("never answers");
      for (let count = 0; count < 5; count += 1) expect((await calm("fine")).status).toBe(200);
      expect(problemOf(await never)).toMatchObject({ status: 504, code: "HANDLER_TIMED_OUT" });
      expect(performance.now() - startMs).toBeGreaterThan(990);
      expect((await calm("fine")).status).toBe(200);
    });

    it("that answers several times: the first answer counts", async () => {
      for (let count = 0; count < 3; count += 1) expect(await get("/twice")).toMatchObject({ status: 200, text: "first" });
    });

    it("that prints five thousand lines and one of a megabyte: it is answered, and the long line is cut", async () => {
      expect(await get("/chatty")).toMatchObject({ status: 200, text: "said it" });
      await until(() => printed("the end") > 0, { timeoutMs: BACK_WITHIN_MS });
      expect(printed("cut: the line had 1000000 bytes")).toBe(1);
      for (const event of platform.events) expect(event.text?.length ?? 0).toBeLessThanOrEqual(65_536);
    });
  });

  describe("that ends an instance", () => {
    it("a timer that throws fails its own request; another one of the same instance finishes", async () => {
      const { text: life } = await fatal("timer", "live");
      const other = fatal("timer", "takes its time");
      await until(() => printed("taking my time") === 1, { timeoutMs: 5_000 });
      expect(problemOf(await fatal("timer", "throws in a timer"))).toMatchObject({
        status: 500,
        code: "HANDLER_THREW",
        detail: expect.stringContaining("in a timer") as unknown,
      });
      expect(await other).toMatchObject({ status: 200, text: life });
      await replaced("timer", life);
    });

    it("a timer that throws after its answer takes nothing from another request", async () => {
      const { text: life } = await fatal("timer", "live");
      const before = printed("taking my time");
      const other = fatal("timer", "takes its time");
      await until(() => printed("taking my time") > before, { timeoutMs: 5_000 });
      expect(await fatal("timer", "throws in a timer after its answer")).toMatchObject({ status: 200, text: life });
      expect(await other).toMatchObject({ status: 200, text: life });
      await replaced("timer", life);
    });

    it("a rejection that nobody handles: 500, or what was answered before", async () => {
      const { text: first } = await fatal("rejection", "live");
      expect(problemOf(await fatal("rejection", "forgets a rejection"))).toMatchObject({
        status: 500,
        code: "HANDLER_THREW",
        detail: expect.stringContaining("forgotten") as unknown,
      });
      await replaced("rejection", first);
      const { text: second } = await fatal("rejection", "live");
      expect(await fatal("rejection", "forgets a rejection after its answer")).toMatchObject({ status: 200, text: second });
      await replaced("rejection", second);
    });

    it.each<[FatalRoute, string]>([
      ["exit", "exits with 0"],
      ["exit", "exits with 1"],
      ["crash", "aborts"],
      ["memory", "fills buffers"],
      ["memory", "fills the heap"],
    ])("/%s %s: 502, soon, and another instance takes over", async (route, way) => {
      const { text: life } = await fatal(route, "live");
      expect(problemOf(await fatal(route, way, { method: "POST" }))).toMatchObject({ status: 502, code: "INSTANCE_LOST" });
      await replaced(route, life);
    });

    it("a signal to itself lets what it has be finished, and another instance takes over", async () => {
      const { text: life } = await fatal("crash", "live");
      expect(await fatal("crash", "stops itself")).toMatchObject({ status: 200, text: life });
      await replaced("crash", life);
    });

    it("process.exit() is told in the log, with the requests that it cost", async () => {
      const text = "ended its process with exit code 0, 1 of its requests unanswered";
      await until(() => printed(text) > 0, { timeoutMs: 5_000 });
      expect(printed(text)).toBe(1);
    });

    it("a loop for ever: 504 at its timeout, and another instance takes over", async () => {
      const { text: life } = await fatal("block", "live");
      const startMs = performance.now();
      expect(problemOf(await fatal("block", "blocks"))).toMatchObject({ status: 504, code: "HANDLER_TIMED_OUT" });
      expect(performance.now() - startMs).toBeGreaterThan(990);
      await replaced("block", life);
      await until(() => printed("The event loop was blocked") > 0, { timeoutMs: 5_000 });
      expect(printed("The event loop was blocked")).toBe(1);
    });
  });

  describe("of a client", () => {
    it("that goes away while it waits: more of them than one instance takes at once leave room for the next", async () => {
      const clients = Array.from({ length: 40 }, () =>
        startRequest({ host: "127.0.0.1", port: platform.ports.staging, path: "/slow?ms=1000", agent: false }),
      );
      for (const client of clients) client.once("error", () => undefined).end();
      await until(() => printed("slow began") >= 20, { timeoutMs: 10_000 });
      for (const client of clients) client.destroy();
      expect(await get("/slow?ms=1&id=next")).toMatchObject({ status: 200, text: "next" });
    });

    it("that goes away in the middle of its body, or of its headers", async () => {
      for (const bytes of ["POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nnot all", "POST /echo HTTP/1.1\r\nHos"]) {
        const socket = connect({ host: "127.0.0.1", port: platform.ports.staging });
        await once(socket, "connect");
        await new Promise((sent) => socket.write(bytes, sent));
        socket.destroy();
      }
      expect(await get("/echo", { method: "POST", body: "whole" })).toMatchObject({ status: 200, text: "whole" });
    });

    it("that sends a byte at a time is answered, and nobody waits for it", async () => {
      const bytes = Buffer.from("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nConnection: close\r\n\r\nbytes");
      const over = new AbortController();
      const slow = exchange(
        platform.ports.staging,
        Array.from(bytes, (byte) => Buffer.of(byte)),
        { pauseMs: 10 },
      ).finally(() => over.abort());
      let answeredCount = 0;
      while (!over.signal.aborted) {
        expect((await get("/echo", { method: "POST", body: "quick" })).text).toBe("quick");
        answeredCount += 1;
      }
      expect(await slow).toMatchObject([{ status: 200, body: "bytes" }]);
      expect(answeredCount).toBeGreaterThan(5);
    });

    it("200 at once on one function: each gets its own answer", async () => {
      const ids = Array.from({ length: 200 }, (_, index) => `request ${index}`);
      const answers = await Promise.all(ids.map(async (id) => get(`/slow?ms=50&id=${encodeURIComponent(id)}`)));
      expect(answers.map(({ status, text }) => `${status} ${text}`)).toEqual(ids.map((id) => `200 ${id}`));
    });

    it("that posts 6 MB gets exactly those bytes back", async () => {
      const body = randomBytes(6_000_000);
      const sha256 = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");
      const answers = await Promise.all(Array.from({ length: 3 }, async () => get("/echo", { method: "POST", body })));
      for (const answer of answers)
        expect([answer.status, answer.body.length, sha256(answer.body)]).toEqual([200, body.length, sha256(body)]);
    });
  });

  it("has cost the platform none of its own processes", async () => {
    expect(await platformProcesses()).toEqual(processes);
    expect(processes.length).toBeGreaterThanOrEqual(3);
  });
});
