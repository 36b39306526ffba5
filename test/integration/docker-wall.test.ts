// The wall for real: what a function's container can open, and what it cannot.
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createServer, type AddressInfo, type Server } from "node:net";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createDockerClient } from "../../orchestrator/docker/client.ts";
import { bridgeName, shortHash } from "../../orchestrator/engines/docker-labels.ts";
import { createDockerWall } from "../../orchestrator/engines/docker-wall.ts";
import type { Builder } from "../../orchestrator/engines/engine.ts";
import { type OwnNpm, findOwnNpm } from "../../orchestrator/npm/own-npm.ts";
import { createTestEngine, docker, listOwn, newPlatformId, removeBuildImages, startScript } from "../support/docker-rig.ts";
import { until } from "../support/until.ts";

const run = promisify(execFile);
const isRoot = process.getuid?.() === 0; // Rules and network namespaces can only be looked at by root.

/** Tries every "host:port" of TARGETS and prints which it could open. */
const TRY_ALL = `
const attempt = (target) => new Promise((resolve) => {
  const [host, port] = target.split(":");
  const socket = require("node:net").connect({ host, port: Number(port), timeout: 700 });
  socket.on("connect", () => { resolve([target, true]); socket.destroy(); });
  for (const name of ["error", "timeout"]) socket.on(name, () => { resolve([target, false]); socket.destroy(); });
});
Promise.all(process.env.TARGETS.split(",").map(attempt)).then((results) => console.log(JSON.stringify(Object.fromEntries(results))));
`;
const LISTEN = `
const address = require("node:os").networkInterfaces().eth0[0].address;
require("node:net").createServer().listen(4000, () => console.log(address));
`;

async function listen(host: string): Promise<{ server: Server; port: number }> {
  const server = createServer((socket) => socket.destroy());
  server.listen({ host, port: 0 });
  await once(server, "listening");
  // A listening TCP server has an address of this kind.
  return { server, port: (server.address() as AddressInfo).port };
}

/** A machine outside: its own network namespace, reached by routing only. */
async function startOutside(name: string): Promise<{ address: string; stop(): Promise<void> }> {
  const [near, far] = ["203.0.113.1", "203.0.113.2"];
  await run("ip", ["netns", "add", name]);
  await run("ip", ["link", "add", `${name}h`, "type", "veth", "peer", "name", `${name}c`, "netns", name]);
  await run("ip", ["addr", "add", `${near}/30`, "dev", `${name}h`]);
  await run("ip", ["link", "set", `${name}h`, "up"]);
  await run("ip", ["-n", name, "addr", "add", `${far}/30`, "dev", `${name}c`]);
  await run("ip", ["-n", name, "link", "set", `${name}c`, "up"]);
  await run("ip", ["-n", name, "route", "add", "default", "via", near]);
  const script = 'require("node:net").createServer((s) => s.destroy()).listen(4001, () => console.log("up"))';
  const child: ChildProcess = spawn("ip", ["netns", "exec", name, process.execPath, "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (child.stdout !== null) await once(createInterface({ input: child.stdout }), "line");
  return {
    address: `${far}:4001`,
    async stop() {
      child.kill("SIGKILL");
      await run("ip", ["netns", "delete", name]);
    },
  };
}

describe.each(["any", "helper"] as const)("the wall, put up through %s", (wallThrough) => {
  const platformId = newPlatformId();
  const engine = createTestEngine(platformId, { wallThrough });
  const rules = async () =>
    (await run("iptables", ["-S"])).stdout.split("\n").filter((line) => line.includes(`ORC-${shortHash(platformId)}`));
  const tryFrom = async (environment: "staging" | "production", targets: readonly string[]): Promise<Record<string, boolean>> => {
    const { lines, ended } = await startScript(engine, TRY_ALL, {
      instanceId: `try-${environment}`,
      environment,
      variables: { TARGETS: targets.join(",") },
    });
    await ended;
    await engine.stop(`try-${environment}`, { graceMs: 0 });
    return JSON.parse(lines[0]?.text ?? "{}") as Record<string, boolean>; // What TRY_ALL above prints.
  };
  const gatewayOf = async (environment: string): Promise<string> =>
    docker("network", "inspect", "--format", "{{(index .IPAM.Config 0).Gateway}}", `orchestrator-${platformId}-${environment}`);
  const allFalse = (targets: readonly string[]) => Object.fromEntries(targets.map((target) => [target, false]));

  let open: Awaited<ReturnType<typeof listen>>;
  let broker: Awaited<ReturnType<typeof listen>>;
  let hostTargets: string[] = [];

  beforeAll(async () => {
    await engine.prepare();
    open = await listen("0.0.0.0");
    broker = await listen(engine.brokerHost());
    const ownAddresses = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
    const hosts = new Set([
      await gatewayOf("staging"),
      await gatewayOf("production"),
      await docker("network", "inspect", "--format", "{{(index .IPAM.Config 0).Gateway}}", "bridge"),
      ...ownAddresses.filter(({ family }) => family === "IPv4").map(({ address }) => address),
    ]);
    hostTargets = [...hosts].map((host) => `${host}:${open.port}`);
  });
  afterEach(() => engine.stop("neighbour", { graceMs: 0 }));
  afterAll(async () => {
    open.server.close();
    broker.server.close();
    await engine.dispose();
    await removeBuildImages(platformId);
  });

  it("lets a function open nothing of the host before the broker is known", async () => {
    const targets = [...hostTargets, `${engine.brokerHost()}:${broker.port}`];
    expect(await tryFrom("staging", targets)).toEqual(allFalse(targets));
  });

  it.each(["staging", "production"] as const)(
    "lets a function in %s open the broker, and nothing else on any address of the host",
    async (environment) => {
      const brokerTarget = `${engine.brokerHost()}:${broker.port}`;
      await engine.allowBroker?.({ host: engine.brokerHost(), port: broker.port });
      expect(hostTargets.length).toBeGreaterThanOrEqual(4);
      expect(await tryFrom(environment, [brokerTarget, ...hostTargets])).toEqual({ ...allFalse(hostTargets), [brokerTarget]: true });
    },
  );

  it.each(["staging", "production"] as const)("keeps a function in staging from one in %s", async (environment) => {
    const { lines } = await startScript(engine, LISTEN, { instanceId: "neighbour", environment });
    await until(() => lines.length > 0, { timeoutMs: 10_000 });
    const target = `${lines[0]?.text}:4000`;
    expect(await tryFrom("staging", [target])).toEqual({ [target]: false });
  });

  it.skipIf(!isRoot)("lets a function reach the outside", async () => {
    const outside = await startOutside(`t${shortHash(platformId).slice(0, 6)}`);
    try {
      expect(await tryFrom("production", [outside.address])).toEqual({ [outside.address]: true });
    } finally {
      await outside.stop();
    }
  });

  it.skipIf(!isRoot)("stands once however often it is put up, carries the platform's name, and goes with the platform", async () => {
    await engine.prepare();
    const before = await rules();
    await engine.prepare();
    expect(await rules()).toEqual(before);
    expect(before.filter((rule) => rule.startsWith("-A INPUT"))).toHaveLength(3);
    expect(before.find((rule) => rule.startsWith("-A INPUT"))).toContain(bridgeName(platformId, "install"));
    expect(before.filter((rule) => rule.startsWith("-A")).every((rule) => rule.includes(`orchestrator:${platformId}`))).toBe(true);
    await engine.dispose();
    expect(await rules()).toEqual([]);
  });
});

describe("the wall around a builder", () => {
  const platformId = newPlatformId();
  const engine = createTestEngine(platformId);
  let folder = "";
  let npm: OwnNpm | null = null;
  beforeAll(async () => {
    await engine.prepare();
    folder = await mkdtemp(join(tmpdir(), "builder-wall-"));
    npm = await findOwnNpm({ nodePath: process.execPath, searchPath: process.env["PATH"] ?? "", extraCaCerts: null });
    await writeFile(join(folder, "try.js"), TRY_ALL.replace("process.env.TARGETS", "process.argv[2]"));
    await writeFile(join(folder, "listen.js"), LISTEN);
    await writeFile(join(folder, "package.json"), '{"scripts": {"try": "node try.js", "listen": "node listen.js"}}');
  });
  afterAll(async () => {
    await engine.dispose();
    await removeBuildImages(platformId);
    await rm(folder, { recursive: true, force: true });
  });

  const open = async (id: string): Promise<Builder> => {
    if (npm === null) throw new Error("this machine has no npm, which these tests need");
    const limits = { memoryBytesMax: 400_000_000, cpuCountMax: 1, pidCountMax: 64, diskBytesMax: 100_000_000 };
    return engine.openBuilder({ id, folder, npm, limits, signal: AbortSignal.timeout(100_000) });
  };
  const runIn = async (builder: Builder, args: readonly string[], onLine: (line: string) => void): Promise<void> =>
    void (await builder.runNpm({ args: ["run", "--silent", ...args], timeoutMs: 60_000, signal: AbortSignal.timeout(100_000), onLine }));
  const tryFrom = async (builder: Builder, targets: readonly string[]): Promise<unknown> => {
    const lines: string[] = [];
    await runIn(builder, ["try", "--", targets.join(",")], (line) => lines.push(line));
    return JSON.parse(lines.join(""));
  };
  const allFalse = (targets: readonly string[]) => Object.fromEntries(targets.map((target) => [target, false]));

  it("lets its scripts open nothing of the host, not even the broker, no function and no other builder", async () => {
    const gateway = await listen("0.0.0.0");
    const broker = await listen(engine.brokerHost());
    await engine.allowBroker?.({ host: engine.brokerHost(), port: broker.port });
    const { lines } = await startScript(engine, LISTEN, { instanceId: "neighbour" });
    const other = await open("other");
    const otherLines: string[] = [];
    const listening = runIn(other, ["listen"], (line) => otherLines.push(line));
    const builder = await open("one");
    try {
      await until(() => lines.length > 0 && otherLines.length > 0, { timeoutMs: 20_000 });
      const ownGateway = await docker(
        "network",
        "inspect",
        "--format",
        "{{(index .IPAM.Config 0).Gateway}}",
        `orchestrator-${platformId}-install`,
      );
      const ownAddresses = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
      const hosts = new Set([ownGateway, ...ownAddresses.filter(({ family }) => family === "IPv4").map(({ address }) => address)]);
      const targets = [
        ...[...hosts].map((host) => `${host}:${gateway.port}`), // Gateways and the management API listen like this at the most.
        `${engine.brokerHost()}:${broker.port}`,
        `${lines[0]?.text}:4000`,
        `${otherLines[0]}:4000`,
      ];
      expect(await tryFrom(builder, targets)).toEqual(allFalse(targets));
    } finally {
      await Promise.all([builder.close(), other.close(), engine.stop("neighbour", { graceMs: 0 })]);
      await listening;
      gateway.server.close();
      broker.server.close();
    }
  });

  it.skipIf(!isRoot)("lets its scripts reach the outside", async () => {
    const outside = await startOutside(`t${shortHash(platformId).slice(0, 6)}`);
    const builder = await open("outward");
    try {
      expect(await tryFrom(builder, [outside.address])).toEqual({ [outside.address]: true });
    } finally {
      await builder.close();
      await outside.stop();
    }
  });
});

describe("a wall that cannot be put up", () => {
  it("says so with the reason, and leaves nothing behind", async () => {
    const platform = { platformId: newPlatformId(), homeLabel: "/test/home" };
    const wall = createDockerWall(createDockerClient({ kind: "socket", path: "/var/run/docker.sock" }), platform, {
      image: () => "orchestrator-no-such-image:1",
      via: "helper",
    });
    expect(await wall.raise(null)).toContain("orchestrator-no-such-image:1");
    expect(await listOwn("container", platform.platformId)).toEqual([]);
  });
});
