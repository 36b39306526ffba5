// An app with packages that are not there yet, from the outside: what `orchestrator up` says and does when they cannot be had.
import { once } from "node:events";
import { readdir, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { dockerLeftoversOf, processesOf } from "../support/leftovers.ts";
import { beginUp, ENGINE_NAMES, type EngineName, handler, makeApp } from "../support/platform.ts";
import { until } from "../support/until.ts";

const apps: string[] = [];
const servers: Server[] = [];
afterEach(async () => {
  for (const app of apps.splice(0)) await rm(app, { recursive: true, force: true });
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

/** A registry on this machine; a container does not reach it, which makes npm there wait just the same. */
async function registryOf(answer: "404" | "never"): Promise<string> {
  const server = createServer((_request, response) => (answer === "404" ? response.writeHead(404).end("{}") : undefined));
  servers.push(server.listen(0, "127.0.0.1"));
  await once(server, "listening");
  const address = server.address();
  return `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}/`;
}

async function up(registry: string, engine: EngineName) {
  const app = await makeApp({
    "src/http/get-index/index.js": `const leftPad = require("left-pad");\n${handler("return { body: leftPad('1', 3) };")}`,
    "src/http/get-index/package.json": JSON.stringify({ name: "f", dependencies: { "left-pad": "1.3.0" } }),
    "src/http/get-index/.npmrc": `registry=${registry}\n`,
  });
  apps.push(app);
  return { app, ...(await beginUp(app, engine)) };
}

describe("packages that no registry has", () => {
  it("end the start with the function's folder and what npm says, and nothing is left running", async () => {
    const { app, finished, texts } = await up(await registryOf("404"), "process");
    expect((await finished).exitCode).toBe(1);
    expect(texts.stdout).toContain("installing the packages of src/http/get-index");
    for (const word of ["INSTALL_FAILED", "src/http/get-index", "404", "left-pad", "npm install"]) expect(texts.stderr).toContain(word);
    expect(await processesOf(app)).toEqual([]);
    expect((await readdir(join(app, "src/http/get-index"))).toSorted()).toEqual([".npmrc", "index.js", "package.json"]);
  });
});

describe.each(ENGINE_NAMES)("a registry that never answers, on engine %s", (engine) => {
  it("does not keep a stop waiting, and nothing is left running", async () => {
    const { app, child, finished, texts } = await up(await registryOf("never"), engine);
    await until(() => texts.stdout.includes("installing the packages"), { timeoutMs: 60_000, what: `it installs: ${texts.stderr}` });
    const askedMs = performance.now();
    child.kill("SIGINT");
    const { exitCode } = await finished;
    expect(performance.now() - askedMs).toBeLessThan(15_000);
    expect(exitCode).toBe(0);
    expect(texts.stdout).toContain("nothing is left running");
    expect(await processesOf(app)).toEqual([]);
    expect(await dockerLeftoversOf(join(app, ".orchestrator"))).toEqual([]);
  });
});
