// A gateway that is replaced while its app is asked all the time: no request fails, whoever is killed meanwhile.
import { once } from "node:events";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type IncomingMessage, request } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { readState } from "../../orchestrator/processes/detached.ts";
import { HAND_OVER_SIGNAL } from "../../runtime-image/contract/gateway-config.ts";
import { pidsOf } from "../support/hand-overs.ts";
import { processesOf } from "../support/leftovers.ts";
import { type RunningPlatform, handler, makeApp, startPlatform } from "../support/platform.ts";
import { type SteadyLoad, startLoad } from "../support/steady-load.ts";
import { startUpstream, type Upstream } from "../support/test-upstream.ts";
import { until } from "../support/until.ts";

const ROUND_COUNT = 5;
const NOTICE_TIMEOUT_MS = 5_000;
const HAND_OVER_TIMEOUT_MS = 12_000;
const BACK_TIMEOUT_MS = 5_000;
const TRUSTING = ["--trust-proxy", "127.0.0.1"];

const APP = (proxyUrl: string): Record<string, string> => ({
  "app.arc": `@app\nrestarted\n\n@http\nany /load\nget /slow\npost /upload\nget /whence\n\n@proxy\nstaging ${proxyUrl}\nproduction ${proxyUrl}\n`,
  "src/http/any-load/index.js": handler('return { body: "loaded" };'),
  "src/http/get-slow/index.js": handler('await require("node:timers/promises").setTimeout(2_000); return { body: "slow" };'),
  "src/http/post-upload/index.js": handler('return { body: String(Buffer.from(request.body, "base64").length) };'),
  "src/http/get-whence/index.js": handler("return { body: request.requestContext.http.sourceIp };"),
});

describe("a gateway under constant load", () => {
  let upstream: Upstream;
  let app = "";
  let platform: RunningPlatform;

  beforeAll(async () => {
    upstream = await startUpstream({ "*": (_request, response) => response.end("proxied") });
    app = await makeApp(APP(upstream.url));
    platform = await startPlatform({ app, engine: "process", flags: ["--no-watch"] });
  });

  afterAll(async () => {
    await platform.stop();
    await rm(platform.home, { recursive: true, force: true });
    await rm(app, { recursive: true, force: true });
    await upstream.close();
  });

  const gateways = (file: string): string => join(platform.home, "gateways", file);
  const written = async (): Promise<number> => (await readState(gateways("staging.state.json")))?.identity.pid ?? 0;
  const running = async (): Promise<number[]> => pidsOf(gateways("staging.json"));

  const log = async (): Promise<string> => readFile(gateways("staging.log"), "utf8");
  const whence = async (): Promise<string> =>
    (await platform.get("staging", "/whence", { headers: { "x-forwarded-for": "203.0.113.7" } })).text;

  const underLoad = async (work: (load: SteadyLoad) => Promise<void>): Promise<SteadyLoad> => {
    const load = startLoad({ port: platform.ports.staging, path: "/load" });
    try {
      await answersBeyond(load, 100);
      await work(load);
      await answersBeyond(load, load.counts.answered + 100);
    } finally {
      await load.stop();
    }
    return load;
  };
  const answersBeyond = async (load: SteadyLoad, count: number): Promise<void> =>
    until(() => load.counts.answered > count, { timeoutMs: 10_000, what: `more than ${count} answers` });

  /** Resolves when the orchestrator knows who listens now. */
  const handOver = async (): Promise<number> => {
    const before = await written();
    process.kill(before, HAND_OVER_SIGNAL);
    await until(async () => (await written()) !== before, {
      timeoutMs: HAND_OVER_TIMEOUT_MS + NOTICE_TIMEOUT_MS,
      what: "the orchestrator follows the successor",
    });
    return written();
  };
  const onlyOne = async (): Promise<void> =>
    until(async () => (await running()).length === 1, { timeoutMs: 20_000, what: "one gateway of staging is left" });
  const killOrchestrator = async (): Promise<void> => {
    platform.process.kill("SIGKILL");
    await once(platform.process, "exit");
  };
  const startAgain = async (flags: readonly string[] = []): Promise<void> => {
    const { home, ports } = platform;
    platform = await startPlatform({ app, engine: "process", home, ports, flags: ["--no-watch", ...flags] });
  };

  it("hands over to its successor five times without a failed request", async () => {
    const pids = [await written()];
    const load = await underLoad(async ({ counts }) => {
      for (let round = 0; round < ROUND_COUNT; round += 1) {
        pids.push(await handOver());
        await until(() => counts.closes > round, { timeoutMs: 5_000, what: "kept connections were told to close" });
      }
    });
    expect(load.failures).toEqual([]);
    expect(new Set(pids).size).toBe(ROUND_COUNT + 1);
    await onlyOne();
    expect(await running()).toEqual([pids.at(-1)]);
  });

  it("finishes a slow request, an upload and a WebSocket that are in progress", async () => {
    const webSocket = new WebSocket(`ws://127.0.0.1:${platform.ports.staging}/ws`);
    await once(webSocket, "open");
    const slow = platform.get("staging", "/slow");
    const upload = request({ host: "127.0.0.1", port: platform.ports.staging, path: "/upload", method: "POST", agent: false });
    upload.setHeader("content-length", 200_000);
    upload.write(Buffer.alloc(100_000));
    const load = await underLoad(async () => {
      await handOver();
      for (const word of ["one", "two", "three"]) {
        webSocket.send(word);
        const [data] = (await once(webSocket, "message", { signal: AbortSignal.timeout(5_000) })) as [Buffer]; // What ws emits by default.
        expect(data.toString()).toBe(word);
      }
      upload.end(Buffer.alloc(100_000));
      const [answer] = (await once(upload, "response")) as [IncomingMessage]; // What a request emits.
      const [body] = (await once(answer, "data")) as [Buffer];
      expect(body.toString()).toBe("200000");
      expect((await slow).text).toBe("slow");
    });
    const closed = once(webSocket, "close");
    webSocket.close(1000);
    expect((await closed)[0]).toBe(1000);
    expect(load.failures).toEqual([]);
  });

  const moments: readonly (readonly [string, () => Promise<void>])[] = [
    ["was asked for", async () => undefined],
    ["has a successor that starts", async () => until(async () => (await running()).length > 1, { timeoutMs: 5_000 })],
    ["has a successor that serves", async () => until(async () => (await log()).includes('"successorPid"'), { timeoutMs: 12_000 })],
  ];

  it.each(moments)("is one again where the orchestrator was killed when a hand-over %s", async (_when, moment) => {
    await onlyOne();
    await writeFile(gateways("staging.log"), "");
    const before = await written();
    const load = await underLoad(async () => {
      process.kill(before, HAND_OVER_SIGNAL);
      await moment();
      await killOrchestrator();
      await startAgain();
      await until(async () => (await written()) !== before, { timeoutMs: HAND_OVER_TIMEOUT_MS + NOTICE_TIMEOUT_MS });
    });
    expect(load.failures).toEqual([]);
    await onlyOne();
    expect(await running()).toEqual([await written()]);
  });

  it("has the settings of the last orchestrator, where the one before was killed while it had it replaced", async () => {
    const load = await underLoad(async () => {
      await killOrchestrator();
      const broken = startAgain(TRUSTING).catch((cause: unknown) => String(cause));
      await until(async () => (await running()).length > 1, { timeoutMs: 20_000, what: "the gateway is being replaced" });
      const [orchestrator] = (await processesOf(platform.home)).filter(({ command }) => command.includes("bin.mjs up"));
      process.kill(orchestrator?.pid ?? 0, "SIGKILL");
      expect(await broken).toContain("SIGKILL");
      await startAgain();
    });
    expect(load.failures).toEqual([]);
    expect(await whence()).toBe("127.0.0.1");
    await onlyOne();
    expect(await running()).toEqual([await written()]);
  });

  it("gets the settings of an orchestrator that was killed and started with others", async () => {
    const before = await written();
    expect(await whence()).toBe("127.0.0.1");
    const load = await underLoad(async () => {
      await killOrchestrator();
      await startAgain(TRUSTING);
    });
    expect(load.failures).toEqual([]);
    expect(await written()).not.toBe(before);
    expect(await whence()).toBe("203.0.113.7");
    await onlyOne();
  });

  it("serves on where no successor can start, and its log says why", async () => {
    const pid = await written();
    const config = await readFile(gateways("staging.json"), "utf8");
    const load = await underLoad(async () => {
      await writeFile(gateways("staging.json"), config.replace("/gateway/main.ts", "/gateway/gone.ts"));
      process.kill(pid, HAND_OVER_SIGNAL);
      await until(async () => (await log()).includes("no successor took over; this gateway serves on"), {
        timeoutMs: HAND_OVER_TIMEOUT_MS,
        what: "the log says that no successor took over",
      });
      await writeFile(gateways("staging.json"), config);
    });
    expect(await log()).toContain("It ended with exit code 1 before it served.");
    expect(load.failures).toEqual([]);
    expect(await running()).toEqual([pid]);
    await underLoad(async () => void (await handOver()));
  });

  it("is started again within a moment where it is killed", async () => {
    await onlyOne();
    const killed = await written();
    process.kill(killed, "SIGKILL");
    const status = async (): Promise<number> =>
      platform.get("staging", "/load").then(
        (answer) => answer.status,
        () => 0,
      );
    await until(async () => (await status()) === 200, { timeoutMs: BACK_TIMEOUT_MS, what: "it answers again" });
    expect(await running()).not.toContain(killed);
  });

  it("leaves nothing running at the end, also in the middle of a hand-over", async () => {
    process.kill(await written(), HAND_OVER_SIGNAL);
    await until(async () => (await running()).length > 1, { timeoutMs: 5_000 });
    expect(await platform.stop()).toBe(0);
    expect(await processesOf(platform.home)).toEqual([]);
  });
});
