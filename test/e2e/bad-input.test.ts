// What `orchestrator up` says when something is wrong, and that it leaves nothing half-started behind.
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { once } from "node:events";
import { afterEach, describe, expect, it } from "vitest";
import { processesOf } from "../support/leftovers.ts";
import { freePort, handler, makeApp, runCommand, UP_TIMEOUT_MS } from "../support/platform.ts";

const HELLO = { "app.arc": "@app\nhello\n\n@http\nget /\n", "src/http/get-index/index.js": handler("return { statusCode: 200 };") };
const made: string[] = [];

afterEach(async () => {
  for (const folder of made.splice(0)) await rm(folder, { recursive: true, force: true });
});

async function up(files: Record<string, string | Buffer>, flags: readonly string[] = [], env: Record<string, string> = {}) {
  const app = await makeApp(files);
  made.push(app);
  const ports = ["--staging-port", `${await freePort()}`, "--production-port", `${await freePort()}`, "--api-port", `${await freePort()}`];
  const finished = await runCommand(["up", app, "--engine", "process", ...ports, ...flags], { env, timeoutMs: UP_TIMEOUT_MS });
  return { ...finished, leftovers: await processesOf(app) };
}

describe("orchestrator up", () => {
  it.each([
    [
      "a route without a folder",
      { ...HELLO, "app.arc": "@http\nget /\nget /nope\n" },
      ["MANIFEST_INVALID", "src/http/get-nope", "index.js"],
    ],
    ["a manifest that cannot be parsed", { ...HELLO, "app.arc": "@http\nget /[\n" }, ["MANIFEST_INVALID", "app.arc", "line: 2"]],
    ["two routes for the same requests", { ...HELLO, "app.arc": "@http\nget /\nget /\n" }, ["MANIFEST_INVALID", '"get /" and "get /"']],
    [
      "a missing handler file",
      { "app.arc": HELLO["app.arc"], "src/http/get-index/main.js": "" },
      ["HANDLER_MISSING", "src/http/get-index", "index.js"],
    ],
    [
      "a syntax error",
      { ...HELLO, "src/http/get-index/index.js": "exports.handler = {\n  ;" },
      ["FUNCTION_INVALID", "src/http/get-index/index.js:2:3"],
    ],
    [
      "a folder over 5 MB",
      { ...HELLO, "src/http/get-index/big.bin": Buffer.alloc(5_000_001) },
      ["FUNCTION_TOO_LARGE", "src/http/get-index/big.bin", "5.00 MB"],
    ],
    ["a folder without routes", { "readme.txt": "" }, ["APP_FOLDER_INVALID", "orchestrator init"]],
  ])("names the place and the remedy for %s", async (_what, files, words) => {
    const { exitCode, stderr, leftovers } = await up(files);
    for (const word of words) expect(stderr).toContain(word);
    expect(exitCode).toBe(1);
    expect(leftovers).toEqual([]);
  });

  it("names what a function exports where it exports no handler, and stops everything again", async () => {
    const { exitCode, stderr, leftovers } = await up({ ...HELLO, "src/http/get-index/index.js": "exports.hander = () => 1;\n" });
    expect(stderr).toContain("HANDLER_MISSING");
    expect(stderr).toContain("hander");
    expect(exitCode).toBe(1);
    expect(leftovers).toEqual([]);
  });

  it("names every wrong setting at once", async () => {
    const { exitCode, stderr } = await runCommand([
      "up",
      ".",
      "--engine",
      "podman",
      "--staging-port",
      "99999",
      "--nats",
      "http://x",
      "--trust-proxy",
      "lan",
    ]);
    for (const word of ["--engine", "--staging-port", "--nats", "--trust-proxy"]) expect(stderr).toContain(word);
    expect(exitCode).toBe(2);
  });

  it("refuses an unknown flag and suggests the one that was meant", async () => {
    const { exitCode, stderr } = await runCommand(["up", ".", "--no-wach"]);
    expect(stderr).toContain("--no-watch");
    expect(exitCode).toBe(2);
  });

  it("names the port that is taken and the flag to choose another", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const { exitCode, stderr, leftovers } = await up(HELLO, ["--staging-port", `${port}`]);
    server.close();
    expect(stderr).toContain("PORT_IN_USE");
    expect(stderr).toContain(`${port}`);
    expect(stderr).toContain("--staging-port");
    expect(exitCode).toBe(1);
    expect(leftovers).toEqual([]);
  });

  it("names the socket and the remedy where no Docker engine answers", async () => {
    const { exitCode, stderr } = await up(HELLO, ["--engine", "docker"], { DOCKER_HOST: "unix:///nowhere/docker.sock" });
    expect(stderr).toContain("ENGINE_UNAVAILABLE");
    expect(stderr).toContain("/nowhere/docker.sock");
    expect(stderr).toContain("--engine process");
    expect(exitCode).toBe(1);
  });

  it("refuses a nats-server that is too old, by path and version", async () => {
    const folder = await mkdtemp(join(tmpdir(), "orchestrator-old-"));
    made.push(folder);
    const path = join(folder, "nats-server");
    await writeFile(path, "#!/bin/sh\necho 'nats-server: v2.9.10'\n");
    await chmod(path, 0o755);
    const { exitCode, stderr, leftovers } = await up(HELLO, [], { NATS_SERVER: path });
    for (const word of ["NATS_TOO_OLD", path, "2.9.10", "2.10.27", "./setup"]) expect(stderr).toContain(word);
    expect(exitCode).toBe(1);
    expect(leftovers).toEqual([]);
  });
});

describe("other commands", () => {
  it("say so where nothing runs", async () => {
    const { exitCode, stderr } = await runCommand(["promote", "--api-port", `${await freePort()}`]);
    expect(stderr).toContain("NOT_RUNNING");
    expect(exitCode).toBe(1);
  });
});
