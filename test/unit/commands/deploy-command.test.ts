// orchestrator deploy: what is sent, what is shown while it is built, and how each way to end looks.
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { BEGUN, CANCEL, DELIVERY, endOf, GREEN, LOG, RED, VERIFIED } from "../../support/delivery-answers.ts";
import { CHECKOUT } from "../../support/platform.ts";
import { runHere, type Said, type ScriptedApi, startScriptedApi, TOKEN } from "../../support/scripted-api.ts";
import { until } from "../../support/until.ts";

let folder = "";
let api: ScriptedApi;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "orchestrator-deploy-"));
  await writeFile(join(folder, "app.arc"), "@http\nget /\n");
  api = await startScriptedApi(folder);
});
afterEach(async () => {
  await api.stop();
  await rm(folder, { recursive: true });
});

const deploy = async (...args: readonly string[]): Promise<Said> => runHere(api, "deploy", folder, ...args);
const paths = (): string[] => api.asked.map(({ method, path }) => `${method} ${path}`);

describe("orchestrator deploy", () => {
  it("sends the folder, shows its steps, and ends with 0 when it is green", async () => {
    api.answer({ ...BEGUN, [LOG]: { lines: [...VERIFIED, { kind: "step", step: "test", state: "done", durationMs: 3_100 }, GREEN] } });
    expect(await deploy()).toEqual({
      exitCode: 0,
      stdout: "verify … ok 0.2 s\ntest    | 1 of 2 tests failed\ntest … ok 3.1 s\nstaging runs release 5d41402abc4b2a76\n",
      stderr: "",
    });
    expect(api.asked[0]).toMatchObject({ path: "/api/deliveries", contentType: "application/gzip" });
    expect(gunzipSync(api.asked[0]?.body ?? "").toString()).toContain("@http\nget /\n");
    expect(paths().slice(1)).toEqual(["GET /api/deliveries/shop-7/log?follow=true"]);
  });

  it("says for which app and what it changes", async () => {
    api.answer({ ...BEGUN, [LOG]: { lines: [GREEN] } });
    await deploy("--app", "shop", "--message", "Sell shoes & hats");
    expect(paths()[0]).toBe("POST /api/deliveries?app=shop&message=Sell+shoes+%26+hats");
  });

  it("ends with 1 when it is red, with every problem and what to do", async () => {
    api.answer({ ...BEGUN, [LOG]: { lines: [...VERIFIED, { kind: "step", step: "test", state: "failed", durationMs: 3_100 }, RED] } });
    const { exitCode, stdout, stderr } = await deploy("--promote");
    expect(exitCode).toBe(1);
    expect(stdout).toContain("test … FAILED 3.1 s\n");
    expect(stderr).toBe(
      "DEPLOY_FAILED: The deploy failed; what was live stays live. The step test ended with 1.\n" +
        "  - test/submit.js: expected 201, got 500\n  Run npm test in the app's folder.\n",
    );
    expect(paths()).not.toContain("POST /api/promote");
  });

  it("lets nothing of what scripts print act on a terminal", async () => {
    const detail = "\u001b[2J\u001b]0;title\u0007over\nnext";
    api.answer({ ...BEGUN, [LOG]: { lines: [endOf("red", { detail, problems: ["\u001b[31mred"], remedy: "\u0007try" })] } });
    const { stderr } = await deploy();
    expect(stderr).toBe("DEPLOY_FAILED: The deploy failed; what was live stays live. over\nnext\n  - red\n  try\n");
  });

  it.each([
    ["cancelled", "DELIVERY_CANCELLED"],
    ["superseded", "DEPLOY_SUPERSEDED"],
  ])("ends with 1 when it is %s", async (state, code) => {
    api.answer({ ...BEGUN, [LOG]: { lines: [endOf(state)] } });
    const { exitCode, stderr } = await deploy();
    expect(exitCode).toBe(1);
    expect(stderr).toContain(`${code}: `);
    expect(stderr).toContain("orchestrator delivery log shop-7");
  });

  it("promotes the very release that became green, where that is asked for", async () => {
    const promoted = { releaseId: "5d41402abc4b2a76", environment: "production", failures: [] };
    api.answer({ ...BEGUN, [LOG]: { lines: [GREEN] }, "POST /api/promote": { json: promoted } });
    const { exitCode, stdout } = await deploy("--promote", "--app", "shop");
    expect([exitCode, stdout]).toEqual([0, "staging runs release 5d41402abc4b2a76\nproduction runs release 5d41402abc4b2a76\n"]);
    expect(paths().at(-1)).toBe("POST /api/promote?app=shop&release=5d41402abc4b2a76");
  });

  it("ends with 3 where something of what was promoted does not start", async () => {
    const failures = [{ functionName: "get-index", code: "HANDLER_LOAD_FAILED", message: "no such file" }];
    api.answer({ ...BEGUN, [LOG]: { lines: [GREEN] }, "POST /api/promote": { json: { releaseId: "5d41402abc4b2a76", failures } } });
    const { exitCode, stderr } = await deploy("--promote");
    expect([exitCode, stderr]).toEqual([3, "get-index does not start and is tried again: HANDLER_LOAD_FAILED: no such file\n"]);
  });

  it("prints the id and does not wait, where that is asked for", async () => {
    api.answer(BEGUN);
    expect(await deploy("--detach")).toEqual({
      exitCode: 0,
      stdout: "shop-7\n",
      stderr: "follow it with: orchestrator delivery log shop-7 --follow\n",
    });
    expect(paths()).toHaveLength(1);
  });

  it("cannot both promote and not wait", async () => {
    const { exitCode, stderr } = await deploy("--detach", "--promote");
    expect(exitCode).toBe(2);
    expect(stderr).toContain("--promote: is not possible with --detach");
    expect(api.asked).toEqual([]);
  });

  it("gives programs the log as it is, one object a line, and the error", async () => {
    api.answer({ ...BEGUN, [LOG]: { lines: [...VERIFIED, RED] } });
    const { exitCode, stdout } = await deploy("--json");
    const values = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as object);
    expect(exitCode).toBe(1);
    expect(values.slice(0, -1)).toEqual([{ deliveryId: "shop-7" }, ...VERIFIED, RED]);
    expect(values.at(-1)).toMatchObject({ event: "error", code: "DEPLOY_FAILED", problems: ["test/submit.js: expected 201, got 500"] });
  });

  it("says which folder is none", async () => {
    const { exitCode, stderr } = await runHere(api, "deploy", join(folder, "nowhere"));
    expect(exitCode).toBe(1);
    expect(stderr).toContain(`${join(folder, "nowhere")} is no folder`);
    expect(api.asked).toEqual([]);
  });

  it("passes a refusal on, which may come before all was sent", async () => {
    const detail = 'It was asked for "shop".';
    api.answer({ "POST /api/deliveries": { status: 404, json: { code: "APP_UNKNOWN", detail, remedy: "See: orchestrator app ls" } } });
    const { exitCode, stderr } = await deploy("--app", "shop");
    expect([exitCode, stderr]).toEqual([1, `APP_UNKNOWN: The platform hosts no app of this name. ${detail}\n  See: orchestrator app ls\n`]);
  });

  it.each([
    ["no JSON", { write: (response: ServerResponse) => void response.end("<html>") }],
    ["something else", { json: { id: 7 } }],
  ])("says so where the answer is %s", async (_what, reply) => {
    api.answer({ "POST /api/deliveries": reply });
    const { exitCode, stderr } = await deploy();
    expect(exitCode).toBe(1);
    expect(stderr).toContain("The answer to POST /api/deliveries is not what this command expects.");
  });
});

describe("a log that is followed", () => {
  const cutAfter = (...lines: readonly object[]) => ({
    write(response: ServerResponse): void {
      response.writeHead(200).write(lines.map((line) => `${JSON.stringify(line)}\n`).join(""), () => response.destroy());
    },
  });

  it("is read on where it breaks off, and nothing is shown twice", async () => {
    api.answer({ ...BEGUN, [LOG]: [cutAfter(...VERIFIED), { lines: VERIFIED }, { lines: [...VERIFIED, GREEN] }] });
    const { exitCode, stdout } = await deploy();
    expect([exitCode, stdout]).toEqual([0, "verify … ok 0.2 s\ntest    | 1 of 2 tests failed\nstaging runs release 5d41402abc4b2a76\n"]);
    expect(paths().filter((path) => path.includes("/log"))).toHaveLength(3);
  });

  it("is shown anew from where it is another one: the orchestrator began it again", async () => {
    const again = [VERIFIED[0], { kind: "step", step: "verify", state: "done", durationMs: 5_000 }, GREEN];
    api.answer({ ...BEGUN, [LOG]: [cutAfter(...VERIFIED), { lines: again }] });
    const { stdout } = await deploy();
    expect(stdout).toBe("verify … ok 0.2 s\ntest    | 1 of 2 tests failed\nverify … ok 5.0 s\nstaging runs release 5d41402abc4b2a76\n");
  });

  it("does not wait for a stream to end that has said the end", async () => {
    const write = (response: ServerResponse): void => void response.writeHead(200).write(`${JSON.stringify(GREEN)}\n`);
    api.answer({ ...BEGUN, [LOG]: { write } });
    expect((await deploy()).exitCode).toBe(0);
  });

  it.each([
    ["no JSON", "{", "holds a line that is no JSON"],
    ["no line of a log", '{"kind":"step","step":"dance","state":"done","durationMs":1}', "is not what this command expects"],
  ])("is refused where a line is %s", async (_what, line, text) => {
    api.answer({ ...BEGUN, [LOG]: { write: (response) => void response.end(`${line}\n`) } });
    const { exitCode, stderr } = await deploy();
    expect(exitCode).toBe(1);
    expect(stderr).toContain(text);
  });
});

describe("Ctrl-C", () => {
  let child: ChildProcess | null = null;
  afterEach(() => {
    child?.kill("SIGKILL");
  });

  /** As a user runs it. */
  function start(...args: readonly string[]): { readonly child: ChildProcess; readonly texts: { stdout: string; stderr: string } } {
    const env = { ...process.env, NO_COLOR: "1", ORCHESTRATOR_API_TOKEN: TOKEN };
    child = spawn(process.execPath, [join(CHECKOUT, "orchestrator/bin.mjs"), ...args, "--api-port", String(api.port)], { env });
    const texts = { stdout: "", stderr: "" };
    child.stdout?.setEncoding("utf8").on("data", (part: string) => (texts.stdout += part));
    child.stderr?.setEncoding("utf8").on("data", (part: string) => (texts.stderr += part));
    return { child, texts };
  }

  const hasAsked = (path: string) => () => paths().includes(path);

  /** A log that goes on, and ends as it is told. */
  function openLog(): { readonly reply: { write(response: ServerResponse): void }; end(line: object): void } {
    let log: ServerResponse | null = null;
    return {
      reply: {
        write(response) {
          log = response;
          response.writeHead(200).write(`${JSON.stringify(VERIFIED[0])}\n`);
        },
      },
      end: (line) => void log?.end(`${JSON.stringify(line)}\n`),
    };
  }

  it("cancels a deploy, which then ends with 130", async () => {
    const log = openLog();
    const cancelled = {
      write(response: ServerResponse): void {
        response.end(JSON.stringify({ ...DELIVERY, state: "cancelled" }));
        log.end(endOf("cancelled"));
      },
    };
    api.answer({ ...BEGUN, [LOG]: log.reply, [CANCEL]: cancelled });
    const running = start("deploy", folder);
    await until(hasAsked("GET /api/deliveries/shop-7/log?follow=true"), { timeoutMs: 10_000 });
    running.child.kill("SIGINT");
    await once(running.child, "close");
    expect(paths().at(-1)).toBe(CANCEL);
    expect(running.child.exitCode).toBe(130);
    expect(running.texts.stderr).toContain("interrupted; delivery shop-7 is cancelled");
  });

  it("that comes too late is told so", async () => {
    const log = openLog();
    const over = {
      write(response: ServerResponse): void {
        response.writeHead(409).end(JSON.stringify({ code: "DELIVERY_OVER" }));
        log.end(GREEN);
      },
    };
    api.answer({ ...BEGUN, [LOG]: log.reply, [CANCEL]: over });
    const running = start("deploy", folder);
    await until(hasAsked("GET /api/deliveries/shop-7/log?follow=true"), { timeoutMs: 10_000 });
    running.child.kill("SIGINT");
    await once(running.child, "close");
    expect(running.child.exitCode).toBe(130);
    expect(running.texts.stderr).toContain("interrupted too late: staging runs release 5d41402abc4b2a76");
  });

  it("twice more leaves an orchestrator alone that does not cancel", async () => {
    api.answer({ ...BEGUN, [LOG]: openLog().reply, [CANCEL]: { write: () => undefined } });
    const running = start("deploy", folder);
    await until(hasAsked("GET /api/deliveries/shop-7/log?follow=true"), { timeoutMs: 10_000 });
    running.child.kill("SIGINT");
    await until(hasAsked(CANCEL), { timeoutMs: 5_000 });
    running.child.kill("SIGTERM");
    await until(() => running.texts.stderr.includes("Cancelling it"), { timeoutMs: 5_000 });
    running.child.kill("SIGINT");
    await once(running.child, "close");
    expect(running.child.exitCode).toBe(130);
    expect(running.texts.stderr).toContain("what became of delivery shop-7 is not known here");
  });

  it("while the folder is sent deploys nothing", async () => {
    let isReceiving = false;
    await writeFile(join(folder, "large.bin"), randomBytes(20_000_000)); // More than sockets hold.
    await api.stop();
    const slow = createServer((request, response) => {
      if (request.url === "/") return void response.end(JSON.stringify({ home: folder }));
      isReceiving = true; // It reads nothing, and answers nothing.
    }).listen(api.port, "127.0.0.1");
    try {
      const running = start("deploy", folder);
      await until(() => isReceiving, { timeoutMs: 10_000 });
      running.child.kill("SIGINT");
      await once(running.child, "close");
      expect([running.child.exitCode, running.texts.stdout]).toEqual([130, ""]);
      expect(running.texts.stderr).toBe("interrupted while it was sent; nothing is deployed\n");
    } finally {
      slow.closeAllConnections();
      slow.close();
      api = await startScriptedApi(folder); // For afterEach.
    }
  });

  it("only stops looking at a log that is followed", async () => {
    api.answer({ "GET /api/deliveries/shop-7": { json: { ...DELIVERY, state: "running" } }, [LOG]: openLog().reply });
    const running = start("delivery", "log", "shop-7", "--follow");
    await until(hasAsked("GET /api/deliveries/shop-7/log?follow=true"), { timeoutMs: 10_000 });
    running.child.kill("SIGINT");
    await once(running.child, "close");
    expect(running.child.exitCode).toBe(130);
    expect(paths()).not.toContain(CANCEL);
  });
});
