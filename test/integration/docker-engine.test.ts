// What only Docker can show: a live container inspected option by option, images reused, nothing left behind.
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { InstanceExit } from "../../orchestrator/engines/engine.ts";
import { INSTANCE_MANIFEST_VARIABLE } from "../../runtime-image/contract/instance-manifest.ts";
import {
  bareRuntime,
  createTestEngine,
  docker,
  instanceSpec,
  listOwn,
  newBuildId,
  newPlatformId,
  removeBuildImages,
  startScript,
} from "../support/docker-rig.ts";
import { until } from "../support/until.ts";

const platformId = newPlatformId();
const engine = createTestEngine(platformId);
const STAY = "setInterval(() => {}, 1000);";
// What vitest's matchers are to the type checker: unknown.
const matching = (text: string | RegExp): unknown => expect.stringMatching(text);
const nameOf = (instanceId: string) => `orchestrator-${platformId}-${instanceId}`;

beforeAll(() => engine.prepare());
afterAll(async () => {
  await engine.dispose();
  await removeBuildImages(platformId);
});

const REPORT = `
const fs = require("node:fs");
const attempt = (act) => { try { return act() ?? "done"; } catch (error) { return error.code; } };
const status = Object.fromEntries(fs.readFileSync("/proc/self/status", "utf8").split("\\n").map((line) => line.split(":\\t")));
console.log(JSON.stringify({
  uid: process.getuid(),
  user: require("node:os").userInfo().username,
  hostname: require("node:os").hostname(),
  capabilities: [status.CapEff, status.CapPrm, status.CapBnd],
  noNewPrivileges: status.NoNewPrivs,
  seccomp: status.Seccomp,
  writeRoot: attempt(() => fs.writeFileSync("/x", "")),
  writeOwnFiles: attempt(() => fs.writeFileSync("/app/src/http/get-index/index.js", "")),
  writeTmp: attempt(() => fs.writeFileSync("/tmp/x", "x")),
  overfillTmp: attempt(() => fs.writeFileSync("/tmp/big", Buffer.alloc(2_000_000))),
  tmpMount: fs.readFileSync("/proc/self/mounts", "utf8").split("\\n").find((line) => line.includes(" /tmp ")),
  ipv6: fs.readFileSync("/proc/sys/net/ipv6/conf/all/disable_ipv6", "utf8").trim(),
  interfaces: Object.keys(require("node:os").networkInterfaces()),
  memory: process.constrainedMemory(),
  limits: fs.readFileSync("/proc/self/limits", "utf8"),
  socket: fs.existsSync("/var/run/docker.sock"),
  shm: fs.existsSync("/dev/shm"),
  variables: Object.keys(process.env).sort(),
}));
`;

interface Inspected {
  readonly HostConfig: Readonly<Record<string, unknown>>;
  readonly NetworkSettings: { readonly Networks: Readonly<Record<string, unknown>> };
  readonly Mounts: readonly unknown[];
  readonly Config: { readonly Labels: Readonly<Record<string, string>> };
}

async function inspect(name: string): Promise<Inspected> {
  return JSON.parse(await docker("inspect", "--format", "{{json .}}", name)) as Inspected; // Docker's own answer, read by the test below.
}

describe("a running instance", () => {
  it("has no rights, no writable root, a sized /tmp, its own memory limit and no IPv6, seen from inside", async () => {
    const { lines, ended } = await startScript(engine, REPORT, { instanceId: "inside", variables: { GREETING: "hi" } });
    await ended;
    const seen = JSON.parse(lines[0]?.text ?? "{}") as Record<string, unknown>; // What REPORT above prints.
    expect(seen).toMatchObject({
      uid: 10001,
      user: "function",
      hostname: "function",
      capabilities: ["0000000000000000", "0000000000000000", "0000000000000000"],
      noNewPrivileges: "1",
      seccomp: "2",
      writeRoot: "EROFS",
      writeOwnFiles: matching(/^E(ROFS|ACCES)$/),
      writeTmp: "done",
      overfillTmp: "ENOSPC",
      ipv6: "1",
      interfaces: ["lo", "eth0"],
      memory: 95_997_952, // 96,000,000 in whole pages.
      socket: false,
      shm: false,
      variables: ["GREETING", "HOME", "HOSTNAME", "NODE_COMPILE_CACHE", INSTANCE_MANIFEST_VARIABLE, "PATH"].sort(),
    });
    expect(seen["tmpMount"]).toMatch(/nosuid,nodev,noexec/);
    expect(seen["limits"]).toMatch(/Max core file size\s+0\s+0/);
  });

  it("is what Docker says it should be, option by option, and says whose it is", async () => {
    await startScript(engine, STAY, { instanceId: "outside", environment: "production" });
    const seen = await inspect(nameOf("outside"));
    expect(seen.HostConfig).toMatchObject({
      CapDrop: ["ALL"],
      CapAdd: null,
      Privileged: false,
      ReadonlyRootfs: true,
      Memory: 96_000_000,
      MemorySwap: 96_000_000,
      NanoCpus: 500_000_000,
      PidsLimit: 64,
      IpcMode: "none",
      PidMode: "",
      Binds: null,
      PublishAllPorts: false,
      RestartPolicy: { Name: "no" },
      NetworkMode: `orchestrator-${platformId}-production`,
      LogConfig: { Type: "json-file", Config: { "max-size": "8m", "max-file": "2" } },
    });
    expect(seen.HostConfig["SecurityOpt"]).toEqual(["no-new-privileges"]);
    expect(seen.HostConfig["PortBindings"] ?? {}).toEqual({});
    expect(Object.keys(seen.NetworkSettings.Networks)).toEqual([`orchestrator-${platformId}-production`]);
    expect(seen.Mounts).toEqual([]);
    expect(seen.Config.Labels).toMatchObject({
      "orchestrator.platform": platformId,
      "orchestrator.home": "/test/home",
      "orchestrator.role": "instance",
      "orchestrator.app": "shop",
      "orchestrator.environment": "production",
      "orchestrator.function": "src/http/get-index",
      "orchestrator.instance": "outside",
    });
    await engine.stop("outside", { graceMs: 0 });
  });

  it("still counts as running, and can be stopped, while it is paused", async () => {
    await startScript(engine, STAY, { instanceId: "paused" });
    await docker("pause", nameOf("paused"));
    expect((await engine.list()).find(({ instanceId }) => instanceId === "paused")?.state).toBe("running");
    await engine.stop("paused", { graceMs: 200 });
    expect((await engine.list()).some(({ instanceId }) => instanceId === "paused")).toBe(false);
  });

  it("is told apart from others when memory ends it", async () => {
    const exits: InstanceExit[] = [];
    const watching = new AbortController();
    engine.watchExits((exit) => exits.push(exit), watching.signal);
    await startScript(engine, "const kept = []; setInterval(() => kept.push(Buffer.alloc(20_000_000, 1)), 5);", { instanceId: "hungry" });
    await startScript(engine, "process.exit(3);", { instanceId: "leaving" });
    await until(() => exits.length === 2, { timeoutMs: 20_000 });
    watching.abort();
    expect(exits).toContainEqual({ instanceId: "hungry", exitCode: 137, outOfMemory: true });
    expect(exits).toContainEqual({ instanceId: "leaving", exitCode: 3, outOfMemory: false });
  });

  it("has a line longer than Docker's buffer handed over whole", async () => {
    const { lines, ended } = await startScript(engine, 'console.log("a".repeat(40_000)); console.error("b");', { instanceId: "wordy" });
    await ended;
    expect(lines.map(({ stream, text }) => `${stream} ${text.length}`).toSorted()).toEqual(["stderr 1", "stdout 40000"]);
  });
});

describe("a build", () => {
  it("is made once per content, and its image says whose it is", async () => {
    const source = {
      buildId: newBuildId(),
      functionName: "src/http/get-a",
      files: [{ path: "src/http/get-index/index.js", bytes: Buffer.from("1"), isExecutable: false }],
    };
    const together = await Promise.all([engine.build(source), engine.build(source)]);
    expect(together.map(({ reused }) => reused)).toEqual([false, false]);
    expect(await engine.build(source)).toEqual({ reused: true });
    const tags = await docker(
      "image",
      "ls",
      "--format",
      "{{.Repository}}:{{.Tag}}",
      "--filter",
      `label=orchestrator.build=${source.buildId}`,
    );
    expect(tags).toMatch(new RegExp(`^orchestrator-build:${source.buildId}-[0-9a-f]{8}$`));
    const labels: unknown = JSON.parse(await docker("image", "inspect", "--format", "{{json .Config.Labels}}", tags));
    expect(labels).toMatchObject({
      "orchestrator.platform": platformId,
      "orchestrator.role": "build",
      "orchestrator.function": "src/http/get-a",
    });
  });

  it("is carried over when the runtime image has changed, files as they were", async () => {
    const buildId = newBuildId();
    const files = [
      {
        path: "src/http/get-index/index.js",
        bytes: Buffer.from('console.log(require("./lib/a.js"), require("node:fs").statSync("/app/src/http/get-index/run").mode & 0o777);'),
        isExecutable: false,
      },
      { path: "src/http/get-index/lib/a.js", bytes: Buffer.from('module.exports = "carried";'), isExecutable: false },
      { path: "src/http/get-index/run", bytes: Buffer.from("x"), isExecutable: true },
    ];
    await engine.build({ buildId, functionName: "src/http/get-index", files });
    const upgraded = createTestEngine(platformId, { runtimeBundle: () => bareRuntime("bare-runtime-2") });
    await upgraded.prepare();
    await upgraded.start(instanceSpec({ instanceId: "carried", buildId }));
    const lines: string[] = [];
    await upgraded.followLogs("carried", { sinceEpochMs: 0, signal: AbortSignal.timeout(20_000) }, ({ text }) => lines.push(text));
    expect(lines).toEqual(["carried 493"]);
    expect(await docker("image", "ls", "--quiet", "--filter", `label=orchestrator.build=${buildId}`)).toContain("\n");
  });

  it("of one platform is not taken away by another that made the same, and both are one layer on the disk", async () => {
    const otherId = newPlatformId();
    const other = createTestEngine(otherId);
    await other.prepare();
    const source = {
      buildId: newBuildId(),
      functionName: "src/http/get-index",
      files: [{ path: "src/http/get-index/index.js", bytes: Buffer.from('console.log("still there");'), isExecutable: false }],
    };
    try {
      await engine.build(source);
      expect(await other.build(source)).toEqual({ reused: false });
      const named = await docker("image", "ls", "--quiet", "--filter", `label=orchestrator.build=${source.buildId}`);
      const layers = await docker("image", "inspect", "--format", "{{json .RootFS.Layers}}", ...new Set(named.split("\n")));
      expect(layers.split("\n")).toHaveLength(2);
      expect(new Set(layers.split("\n")).size).toBe(1);
      await other.removeBuild(source.buildId);
      expect((await other.listBuilds()).map(({ buildId }) => buildId)).toEqual([]);
      expect((await engine.listBuilds()).map(({ buildId }) => buildId)).toContain(source.buildId);
      await engine.start(instanceSpec({ instanceId: "kept", buildId: source.buildId }));
      const lines: string[] = [];
      await engine.followLogs("kept", { sinceEpochMs: 0, signal: AbortSignal.timeout(20_000) }, ({ text }) => lines.push(text));
      expect(lines).toEqual(["still there"]);
    } finally {
      await other.dispose();
      await removeBuildImages(otherId);
    }
  });

  it("is removed on every runtime image, except where a container was made from it, by whomever", async () => {
    const source = {
      buildId: newBuildId(),
      functionName: "src/http/get-index",
      files: [{ path: "src/http/get-index/index.js", bytes: Buffer.from(STAY), isExecutable: false }],
    };
    const imagesOf = async (): Promise<string[]> => {
      const names = await docker("image", "ls", "--format", "{{.Tag}}", "--filter", `label=orchestrator.build=${source.buildId}`);
      return names.split("\n").filter((name) => name !== "");
    };
    await engine.build(source);
    const upgraded = createTestEngine(platformId, { runtimeBundle: () => bareRuntime("bare-runtime-3") });
    await upgraded.prepare();
    await upgraded.start(instanceSpec({ instanceId: "upgraded", buildId: source.buildId }));
    expect(await imagesOf()).toHaveLength(2);
    await upgraded.removeBuild(source.buildId);
    expect(await imagesOf()).toHaveLength(1);
    await docker("kill", nameOf("upgraded"));
    await upgraded.removeBuild(source.buildId);
    expect(await imagesOf()).toHaveLength(1); // Its container has exited, and can still be looked at.
    await upgraded.stop("upgraded", { graceMs: 0 });
    await upgraded.removeBuild(source.buildId);
    expect(await imagesOf()).toEqual([]);
  });

  it("that the engine does not have cannot be started, and the error says what to do", async () => {
    const start = engine.start(instanceSpec({ instanceId: "unbuilt", buildId: newBuildId() }));
    await expect(start).rejects.toMatchObject({ code: "ENGINE_FAILED", detail: { remedy: matching("Deploy") } });
    expect(await docker("ps", "--all", "--quiet", "--filter", `name=${nameOf("unbuilt")}`)).toBe("");
  });
});

describe("the engine", () => {
  it("removes what an earlier run left half-made, and nothing that runs", async () => {
    await startScript(engine, STAY, { instanceId: "alive" });
    const image = await docker("inspect", "--format", "{{.Image}}", nameOf("alive"));
    const labels = ["--label", `orchestrator.platform=${platformId}`, "--label", "orchestrator.home=/test/home"];
    await docker(
      "create",
      "--name",
      nameOf("half"),
      ...labels,
      "--label",
      "orchestrator.role=instance",
      "--label",
      "orchestrator.instance=half",
      image,
    );
    await docker("create", "--name", nameOf("build-x"), ...labels, "--label", "orchestrator.role=build", image);
    await engine.prepare();
    const names = (await docker("ps", "--all", "--format", "{{.Names}}", "--filter", `label=orchestrator.platform=${platformId}`)).split(
      "\n",
    );
    expect(names).toContain(nameOf("alive"));
    expect(names).not.toContain(nameOf("half"));
    expect(names).not.toContain(nameOf("build-x"));
  });

  it("names the socket and what to do when no engine answers there", async () => {
    const away = createTestEngine(newPlatformId(), { docker: { kind: "socket", path: "/nowhere/docker.sock" } });
    await expect(away.prepare()).rejects.toMatchObject({
      code: "ENGINE_UNAVAILABLE",
      message: matching("/nowhere/docker.sock"),
      detail: { remedy: matching("Start the Docker engine") },
    });
  });

  it("says what to do when a network's addresses are taken", async () => {
    const subnet = await docker(
      "network",
      "inspect",
      "--format",
      "{{(index .IPAM.Config 0).Subnet}}",
      `orchestrator-${platformId}-staging`,
    );
    const colliding = createTestEngine(newPlatformId(), { subnets: { staging: subnet } });
    await expect(colliding.prepare()).rejects.toMatchObject({ code: "ENGINE_FAILED", detail: { remedy: matching("subnet") } });
    await colliding.dispose();
  });

  it("leaves no container and no network of its own behind, and keeps the builds and what is another platform's", async () => {
    const ownId = newPlatformId();
    const own = createTestEngine(ownId);
    await own.prepare();
    await startScript(own, STAY, { instanceId: "last" });
    expect(await listOwn("container", ownId)).toHaveLength(1);
    expect(await listOwn("network", ownId)).toHaveLength(2);
    await createTestEngine(ownId, { homeLabel: "/moved/home" }).dispose();
    expect(await listOwn("container", ownId)).toEqual([]);
    expect(await listOwn("network", ownId)).toEqual([]);
    expect(await listOwn("image", ownId)).not.toEqual([]);
    await own.dispose(); // Twice is fine.
    expect(await listOwn("network", platformId)).toHaveLength(2);
    await removeBuildImages(ownId);
  });

  it("leaves no network behind when it is disposed of while it makes them", async () => {
    const ownId = newPlatformId();
    for (const afterMs of [0, 10, 20, 40, 80, 160, 320]) {
      const own = createTestEngine(ownId);
      const preparation = own.prepare();
      await delay(afterMs);
      await own.dispose();
      await preparation;
      expect(await listOwn("network", ownId)).toEqual([]);
    }
  });

  it("says which network somebody else's container is on, and removes the other", async () => {
    const ownId = newPlatformId();
    const own = createTestEngine(ownId);
    await own.prepare();
    const images = await docker("image", "ls", "--quiet", "--filter", "label=orchestrator.image=node-base");
    const guest = ["--rm", "--name", `guest-${ownId}`, "--network", `orchestrator-${ownId}-production`];
    await docker("run", "--detach", ...guest, images.split("\n")[0] ?? "", "-e", STAY);
    try {
      const refusal = { code: "ENGINE_FAILED", detail: { detail: matching(`orchestrator-${ownId}-production .* 1 containers`) } };
      await expect(own.dispose()).rejects.toMatchObject(refusal);
      expect(await listOwn("network", ownId)).toHaveLength(1);
    } finally {
      await docker("rm", "--force", `guest-${ownId}`);
    }
    await own.dispose();
    expect(await listOwn("network", ownId)).toEqual([]);
  });
});
