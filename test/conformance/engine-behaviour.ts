// The one list of what every engine does, played with real functions on a real broker.
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";

import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";

import { LIBRARY_STUBS } from "../../orchestrator/builds/library-stubs.ts";
import type { Engine } from "../../orchestrator/engines/engine.ts";
import { decodePrintedLine } from "../../runtime-image/contract/log-line.ts";
import { until } from "../support/until.ts";
import { APP_ID, ENVIRONMENT } from "./engine-broker.ts";
import { keepingBuilds } from "./engine-builds.ts";
import { BROKEN, GREEDY, HOSTILE, LOADING, POLITE } from "./engine-functions.ts";
import { CONFIG_ID, FUNCTION_NAME, createRig, sourceOf, textFile } from "./engine-rig.ts";
import type { Rig } from "./engine-rig.ts";

/** What one engine may do otherwise; the reason is printed in the test's name. */
export type Exemptible = "child processes" | "threads that leave the sandbox";

export interface EngineBehaviourOptions {
  readonly exempt: Partial<Record<Exemptible, string>>;
  /** Ends an instance as a crash of it would, from outside. */
  kill(instanceId: string): Promise<void>;
  /** Whatever of the engine's is left on the machine, builds excepted: nothing after dispose(). */
  leftovers(): Promise<readonly string[]>;
}

/** Each call of makeEngine gives another object for the same platform, as an orchestrator that starts again has it. */
export function engineBehaviour(name: string, makeEngine: () => Engine, options: EngineBehaviourOptions): void {
  const exemptions = Object.entries(options.exempt).map(([what, reason]) => `${what}: ${reason}`);
  describe(`engine ${name}${exemptions.map((text) => ` [not asked of it: ${text}]`).join("")}`, () => {
    let rig: Rig | null = null;
    const of = (): Rig => {
      assert(rig !== null, "beforeAll made it");
      return rig;
    };
    beforeAll(async () => {
      process.env[SECRET_NAME] = SECRET;
      rig = await createRig(makeEngine());
    });
    afterEach(() => of().stopAll());
    afterAll(async () => {
      delete process.env[SECRET_NAME];
      await rig?.engine.dispose();
      await rig?.close();
    });

    running(of);
    exiting(of, options);
    startingAgain(of, makeEngine, options);
    keepingBuilds(of);
    printing(of);
    walls(of, options);
    limits(of);

    it("leaves nothing behind when it is disposed of", async () => {
      await of().start({ code: POLITE });
      await of().engine.dispose();
      expect(await options.leftovers()).toEqual([]);
      await of().engine.prepare(); // And can begin anew.
      expect(await of().engine.list()).toEqual([]);
    });

    it("leaves nothing behind of what it was just making when it is disposed of, and makes nothing any more", async () => {
      for (const afterMs of [0, 30, 100, 200, 400, 700]) {
        const launches = [1, 2, 3].map(async (number) => of().launch({ code: `${POLITE}\n// ${number} ${afterMs}\n` }));
        for (const launch of launches) launch.catch(() => undefined); // It was taken from under it.
        await delay(afterMs);
        await of().engine.dispose();
        expect(await options.leftovers()).toEqual([]);
        await expect(of().launch({ code: POLITE })).rejects.toMatchObject({ code: "NOT_RUNNING" });
        await Promise.allSettled(launches);
        expect(await options.leftovers()).toEqual([]);
        await of().engine.prepare();
      }
    });
  });
}

const SECRET_NAME = "ORCHESTRATOR_CONFORMANCE_TOKEN";
const SECRET = "a-token-of-the-orchestrator";
const EXIT_TIMEOUT_MS = 10_000;

function running(of: () => Rig): void {
  it("starts an instance that reports ready and answers a request", async () => {
    const { instanceId } = await of().start({ code: POLITE });
    expect(await of().ask(instanceId, "/shop?item=1")).toEqual({ status: 200, body: "hello /shop?item=1" });
  });

  it("gives a function the slice of the app that its build is, links included, and the library without an install", async () => {
    const files = [
      textFile(`${FUNCTION_NAME}/node_modules/own/index.js`, 'exports.value = "own";'),
      textFile(`${FUNCTION_NAME}/node_modules/@architect/shared/greeting.js`, 'exports.text = "hello";'),
      textFile("node_modules/.store/linked/index.js", 'exports.value = "linked";'),
      { ...textFile("node_modules/linked", ""), linksTo: ".store/linked" },
      textFile("src/lib/price.js", "module.exports = 7;"),
      ...LIBRARY_STUBS,
    ];
    const { instanceId } = await of().start({ code: LOADING, files });
    expect(JSON.parse((await of().ask(instanceId, "/")).body)).toEqual({
      "own package": "own",
      "package of the app": "linked",
      shared: "hello",
      "file of the app": 7,
      imported: "own",
      library: "function",
      "imported library": "function",
      data: "function",
      folder: true,
    });
    expect(await of().engine.build(sourceOf(LOADING, files))).toEqual({ reused: true });
  });

  it("makes a build once, and another one for a changed file", async () => {
    const code = `${POLITE}// ${Math.random()}\n`;
    expect(await of().engine.build(sourceOf(code))).toEqual({ reused: false });
    expect(await of().engine.build(sourceOf(code))).toEqual({ reused: true });
    expect(await of().engine.build(sourceOf(`${code}// changed\n`))).toEqual({ reused: false });
  });

  it("lists an instance with all that it was started as", async () => {
    const beforeEpochMs = Date.now();
    const { instanceId, buildId } = await of().start({ code: POLITE });
    const [listed, ...others] = await of().engine.list();
    expect(others).toEqual([]);
    expect(listed).toMatchObject({
      instanceId,
      buildId,
      configId: CONFIG_ID,
      appId: APP_ID,
      environment: ENVIRONMENT,
      functionName: FUNCTION_NAME,
      state: "running",
    });
    expect(listed?.startedEpochMs).toBeGreaterThanOrEqual(beforeEpochMs - 1_000);
    expect(listed?.startedEpochMs).toBeLessThanOrEqual(Date.now() + 1_000);
  });

  it("gives a function the variables it was started with, and no secret of the orchestrator's", async () => {
    const { instanceId } = await of().start({ code: POLITE, variables: { GREETING: "hej" } });
    const { body } = await of().ask(instanceId, "/environment");
    expect(JSON.parse(body)).toMatchObject({ GREETING: "hej" });
    expect(body).not.toContain(SECRET_NAME);
    expect(body).not.toContain(SECRET);
    expect(body).not.toContain("jwt");
  });
}

function exiting(of: () => Rig, options: EngineBehaviourOptions): void {
  it("lets an instance that it stops finish a request, and then keeps nothing of it", async () => {
    const { instanceId } = await of().start({ code: POLITE });
    const answer = of().ask(instanceId, "/slow");
    await of().lines(instanceId, (lines) => lines.some(({ text }) => text.includes("slow began")));
    await of().engine.stop(instanceId, { graceMs: 10_000 });
    expect(await answer).toEqual({ status: 200, body: "slow ended" });
    expect(await of().engine.list()).toEqual([]);
  });

  it("ends an instance that does not finish within its grace", async () => {
    const { instanceId } = await of().start({ code: POLITE.replace("700", "60_000") });
    const answer = of().ask(instanceId, "/slow", { timeoutMs: 3_000 });
    answer.catch(() => undefined); // Asked for below.
    await of().lines(instanceId, (lines) => lines.some(({ text }) => text.includes("slow began")));
    await of().engine.stop(instanceId, { graceMs: 300 });
    expect(await of().engine.list()).toEqual([]);
    await expect(answer).rejects.toThrow("did not answer");
  });

  it("stops an instance that it never knew without a word", async () => {
    await expect(of().engine.stop("neverknown", { graceMs: 1_000 })).resolves.toBeUndefined();
  });

  it("reports an instance that was killed, and lists it as exited until it is stopped", async () => {
    const { instanceId } = await of().start({ code: POLITE });
    await options.kill(instanceId);
    await until(() => of().exits.some((exit) => exit.instanceId === instanceId), { timeoutMs: EXIT_TIMEOUT_MS });
    expect(of().exits.filter((exit) => exit.instanceId === instanceId)).toEqual([{ instanceId, exitCode: 137, outOfMemory: false }]);
    expect((await of().engine.list()).map(({ state }) => state)).toEqual(["exited"]);
    await of().engine.stop(instanceId, { graceMs: 0 });
    expect(await of().engine.list()).toEqual([]);
  });

  it("reports a function that fails while it is loaded, with the stack it printed", async () => {
    const { instanceId } = await of().launch({ code: BROKEN });
    const lines = await of().lines(instanceId, (some) => some.some(({ text }) => text.includes("broken on load")));
    expect(lines.some(({ text }) => text.includes("index.js"))).toBe(true);
    await until(() => of().exits.some((exit) => exit.instanceId === instanceId), { timeoutMs: EXIT_TIMEOUT_MS });
    expect(of().exits.find((exit) => exit.instanceId === instanceId)).toEqual({ instanceId, exitCode: 1, outOfMemory: false });
    expect(of().events.find((event) => event.instanceId === instanceId)).toMatchObject({ kind: "failed", code: "HANDLER_LOAD_FAILED" });
  });
}

function startingAgain(of: () => Rig, makeEngine: () => Engine, options: EngineBehaviourOptions): void {
  it("finds, follows and stops what an earlier orchestrator started, without disturbing it", async () => {
    const { instanceId } = await of().start({ code: POLITE });
    const later = makeEngine();
    await later.prepare();
    await of().allowBroker(later);
    expect(await later.list()).toEqual(await of().engine.list());
    expect((await of().ask(instanceId, "/still")).body).toBe("hello /still");
    const exits: string[] = [];
    const over = new AbortController();
    later.watchExits((exit) => exits.push(exit.instanceId), over.signal);
    await later.stop(instanceId, { graceMs: 5_000 });
    expect(await later.list()).toEqual([]);
    await until(() => exits.includes(instanceId), { timeoutMs: EXIT_TIMEOUT_MS });
    over.abort();
  });

  it("reports the death of what an earlier orchestrator started", async () => {
    const { instanceId } = await of().start({ code: POLITE });
    const later = makeEngine();
    await later.prepare();
    await of().allowBroker(later);
    const exits: string[] = [];
    const over = new AbortController();
    later.watchExits((exit) => exits.push(exit.instanceId), over.signal);
    await options.kill(instanceId);
    await until(() => exits.length > 0, { timeoutMs: EXIT_TIMEOUT_MS });
    over.abort();
    expect(exits).toEqual([instanceId]);
  });
}

function printing(of: () => Rig): void {
  it("tells what is printed line by line: tagged with level and request, and as it is past the console", async () => {
    const { instanceId } = await of().start({ code: POLITE });
    const beforeEpochMs = Date.now();
    await of().ask(instanceId, "/print", { requestId: "request-7" });
    const lines = await of().lines(instanceId, (some) =>
      ["for people", "of trouble", "past the console"].every((part) => some.some(({ text }) => text.includes(part))),
    );
    const printed = lines.map(({ text }) => decodePrintedLine(text)).filter((line) => line !== null);
    expect(printed.map(({ level, requestId, text }) => `${level} ${requestId} ${text}`)).toEqual(
      expect.arrayContaining(["info request-7 a line for people", "error request-7 a line of trouble"]),
    );
    expect(printed.every(({ epochMs }) => epochMs >= beforeEpochMs - 1_000)).toBe(true);
    const raw = lines.find(({ text }) => text.includes("past the console"));
    expect(raw).toMatchObject({ stream: "stdout", text: "a line past the console" });
    expect(raw?.epochMs).toBeGreaterThanOrEqual(beforeEpochMs - 1_000);
  });

  it("tells no tagged line from before the moment that is asked for", async () => {
    const { instanceId } = await of().start({ code: POLITE });
    await of().ask(instanceId, "/print", { requestId: "early" });
    await of().lines(instanceId, (lines) => lines.some(({ text }) => text.includes("of trouble")));
    const sinceEpochMs = Date.now() + 1;
    await until(() => Date.now() > sinceEpochMs, { timeoutMs: 1_000 });
    await of().ask(instanceId, "/print", { requestId: "late" });
    const lines = await of().lines(instanceId, (some) => some.some(({ text }) => text.includes("of trouble")), sinceEpochMs);
    expect(lines.map(({ text }) => decodePrintedLine(text)?.requestId)).not.toContain("early");
  });
}

function walls(of: () => Rig, options: EngineBehaviourOptions): void {
  it("lets a function write into its temporary folder and nowhere else", async () => {
    const { instanceId } = await of().start({ code: HOSTILE });
    expect((await of().ask(instanceId, "/write-temporary")).body).toBe("done");
    const attempts = ["write-own-build", "add-to-own-build", "write-beside-temporary", "write-root", "write-etc"];
    expect(await successes(of(), instanceId, attempts, /^(ERR_ACCESS_DENIED|EROFS|EACCES|EPERM)$/)).toEqual([]);
  });

  it("lets no function read the build of another, by its path or by a link", async () => {
    const other = await of().start({ code: POLITE });
    const { instanceId } = await of().start({ code: HOSTILE });
    const attempts = ["read-build", "list-builds", "link-to-build", "hard-link-to-build"].map(
      (attempt) => `${attempt}?build=${other.buildId}`,
    );
    expect(await successes(of(), instanceId, attempts, /^(ERR_ACCESS_DENIED|ENOENT|NOT_THERE|EPERM|EACCES)$/)).toEqual([]);
  });

  unlessExempt(options, "child processes", "lets no function start a child process or become another program", async () => {
    const { instanceId } = await of().start({ code: HOSTILE });
    const attempts = ["start-child", "become-other", "native-module"];
    expect(await successes(of(), instanceId, attempts, /^ERR_(ACCESS_DENIED|DLOPEN_DISABLED)$/)).toEqual([]);
  });

  unlessExempt(
    options,
    "threads that leave the sandbox",
    "lets no function leave its sandbox through a thread, while it loads or later",
    async () => {
      const { instanceId } = await of().start({ code: HOSTILE, variables: { TRY_EARLY: "yes" } });
      const early = (await of().ask(instanceId, "/early")).body;
      expect(early).toMatch(/^\{"free-thread":"ERR_ACCESS_DENIED","hooks-thread":"ERR_ACCESS_DENIED"\}$/);
      expect(await successes(of(), instanceId, ["free-thread", "hooks-thread"], /^ERR_ACCESS_DENIED$/)).toEqual([]);
    },
  );
}

/** What was not refused in one of the ways that the pattern names. */
async function successes(rig: Rig, instanceId: string, attempts: readonly string[], refusal: RegExp): Promise<readonly string[]> {
  const outcomes: string[] = [];
  for (const attempt of attempts) {
    const { body } = await rig.ask(instanceId, `/${attempt}`);
    if (!refusal.test(body)) outcomes.push(`${attempt}: ${body}`);
  }
  return outcomes;
}

function limits(of: () => Rig): void {
  it("ends an instance that takes more memory than it may, says so, and leaves the others alone", async () => {
    const bystander = await of().start({ code: POLITE });
    const { instanceId } = await of().start({ code: GREEDY, limits: { memoryBytesMax: 160_000_000 } });
    const answer = of().ask(instanceId, "/memory", { timeoutMs: 20_000 });
    answer.catch(() => undefined); // It never comes.
    await until(() => of().exits.some((exit) => exit.instanceId === instanceId), { timeoutMs: 20_000 });
    expect(of().exits.find((exit) => exit.instanceId === instanceId)).toMatchObject({ outOfMemory: true });
    expect((await of().ask(bystander.instanceId, "/here")).status).toBe(200);
  });

  for (const kind of ["threads", "children"] as const)
    it(`bounds how many ${kind} a function may start, and leaves the others alone`, async () => {
      const bystander = await of().start({ code: POLITE });
      const { instanceId } = await of().start({ code: GREEDY, limits: { pidCountMax: 32 } });
      const isGone = (): boolean => of().exits.some((exit) => exit.instanceId === instanceId);
      // Node ends itself where the kernel refuses it a thread: that is a bound as well.
      const outcome = await Promise.race([
        of()
          .ask(instanceId, `/${kind}`, { timeoutMs: 60_000 })
          .then(({ body }) => Number(body)),
        until(isGone, { timeoutMs: 60_000 }).then(() => 0),
      ]);
      expect(outcome).toBeLessThan(32);
      expect((await of().ask(bystander.instanceId, "/here")).status).toBe(200);
    });
}

function unlessExempt(options: EngineBehaviourOptions, what: Exemptible, sentence: string, test: () => Promise<void>): void {
  // What an engine is exempt from stands, with its reason, in the name of its list.
  // oxlint-disable-next-line vitest/expect-expect, vitest/valid-title, vitest/no-conditional-tests -- The test is the caller's.
  if (options.exempt[what] === undefined) it(sentence, test);
}
