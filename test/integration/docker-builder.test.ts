// What only Docker can show of a builder: its container seen from inside and outside, and scripts that work against what bounds them.
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Builder, BuilderOutcome } from "../../orchestrator/engines/engine.ts";
import { type OwnNpm, findOwnNpm } from "../../orchestrator/npm/own-npm.ts";
import { createTestEngine, docker, newPlatformId, removeBuildImages } from "../support/docker-rig.ts";
import { until } from "../support/until.ts";

const platformId = newPlatformId();
const engine = createTestEngine(platformId);
const LIMITS = { memoryBytesMax: 300_000_000, cpuCountMax: 0.5, pidCountMax: 64, diskBytesMax: 80_000_000 };
let top = "";
let npm: OwnNpm | null = null;
let opened: Builder | null = null;
let count = 0;

beforeAll(async () => {
  await engine.prepare();
  top = await mkdtemp(join(tmpdir(), "docker-builder-"));
  npm = await findOwnNpm({ nodePath: process.execPath, searchPath: process.env["PATH"] ?? "", extraCaCerts: null });
});
afterEach(async () => opened?.close());
afterAll(async () => {
  await engine.dispose();
  await removeBuildImages(platformId);
  await rm(top, { recursive: true, force: true });
});

interface Opened {
  readonly builder: Builder;
  readonly container: string;
  run(script: string, onLine?: (line: string) => void): Promise<{ readonly outcome: BuilderOutcome; readonly lines: readonly string[] }>;
}

async function open(scripts: Readonly<Record<string, string>>): Promise<Opened> {
  if (npm === null) throw new Error("this machine has no npm, which these tests need");
  const folder = await mkdtemp(join(top, "app-"));
  for (const [name, code] of Object.entries(scripts)) await writeFile(join(folder, `${name}.js`), code);
  const own = Object.fromEntries(Object.keys(scripts).map((name) => [name, `node ${name}.js`]));
  await writeFile(join(folder, "package.json"), JSON.stringify({ scripts: own }));
  const id = `b${++count}`;
  const builder = await engine.openBuilder({ id, folder, npm, signal: AbortSignal.timeout(100_000), limits: LIMITS });
  opened = builder;
  return {
    builder,
    container: `orchestrator-${platformId}-builder-${id}`,
    async run(script, onLine = () => {}) {
      const lines: string[] = [];
      const call = { args: ["run", "--silent", script], timeoutMs: 30_000, signal: AbortSignal.timeout(100_000) };
      const outcome = await builder.runNpm({ ...call, onLine: (line) => (lines.push(line), onLine(line)) });
      return { outcome, lines };
    },
  };
}

const REPORT = `
const fs = require("node:fs");
const attempt = (act) => { try { return act() ?? "done"; } catch (error) { return error.code; } };
const status = Object.fromEntries(fs.readFileSync("/proc/self/status", "utf8").split("\\n").map((line) => line.split(":\\t")));
console.log(JSON.stringify({
  uid: process.getuid(),
  capabilities: [status.CapEff, status.CapPrm, status.CapBnd],
  noNewPrivileges: status.NoNewPrivs,
  seccomp: status.Seccomp,
  writeRoot: attempt(() => fs.writeFileSync("/x", "")),
  writeNpm: attempt(() => fs.writeFileSync("/opt/npm/bin/npm-cli.js", "")),
  writeSettings: attempt(() => fs.writeFileSync("/builder/settings/npmrc", "")),
  writeSource: attempt(() => fs.writeFileSync("made", "")),
  writeHome: attempt(() => fs.writeFileSync(process.env.HOME + "/made", "")),
  writeTmp: attempt(() => fs.writeFileSync("/tmp/made", "")),
  endFirst: attempt(() => void process.kill(1, "SIGKILL")),
  ipv6: fs.readFileSync("/proc/sys/net/ipv6/conf/all/disable_ipv6", "utf8").trim(),
  interfaces: Object.keys(require("node:os").networkInterfaces()),
  memory: process.constrainedMemory(),
  limits: fs.readFileSync("/proc/self/limits", "utf8"),
  socket: fs.existsSync("/var/run/docker.sock"),
}));
`;

interface Inspected {
  readonly HostConfig: Readonly<Record<string, unknown>>;
  readonly Config: { readonly Labels: Readonly<Record<string, string>>; readonly Env: readonly string[] };
  readonly Mounts: readonly unknown[];
}

describe("a builder's container", () => {
  it("has no rights, may write to its own folders only, and cannot end what watches it, seen from inside", async () => {
    const { run } = await open({ report: REPORT });
    const { outcome, lines } = await run("report");
    expect(outcome).toEqual({ kind: "ended", exitCode: 0 });
    const seen = JSON.parse(lines.join("")) as Record<string, unknown>; // What REPORT above prints.
    expect(seen).toMatchObject({
      uid: 10001,
      capabilities: ["0000000000000000", "0000000000000000", "0000000000000000"],
      noNewPrivileges: "1",
      seccomp: "2",
      writeRoot: "EACCES",
      writeNpm: "EACCES",
      writeSettings: "EACCES",
      writeSource: "done",
      writeHome: "done",
      writeTmp: "done",
      endFirst: "done", // The kernel takes the signal, and leaves the first process of a container alone.
      ipv6: "1",
      interfaces: ["lo", "eth0"],
      memory: 299_999_232, // 300,000,000 in whole pages.
      socket: false,
    });
    expect(seen["limits"]).toMatch(/Max file size\s+80000000\s+80000000/);
    expect(seen["limits"]).toMatch(/Max core file size\s+0\s+0/);
  });

  it("is what Docker says it should be, says whose it is, and does not run between two calls", async () => {
    const { container, run } = await open({ report: REPORT });
    await run("report");
    const seen = JSON.parse(await docker("inspect", "--format", "{{json .}}", container)) as Inspected; // Docker's own answer.
    expect(seen.HostConfig).toMatchObject({
      CapDrop: ["ALL"],
      CapAdd: null,
      Privileged: false,
      Memory: 300_000_000,
      MemorySwap: 300_000_000,
      NanoCpus: 500_000_000,
      PidsLimit: 64,
      PidMode: "",
      Binds: null,
      PublishAllPorts: false,
      RestartPolicy: { Name: "no" },
      NetworkMode: `orchestrator-${platformId}-install`,
      SecurityOpt: ["no-new-privileges"],
    });
    expect(seen.Mounts).toEqual([]);
    expect(seen.Config.Labels).toMatchObject({ "orchestrator.platform": platformId, "orchestrator.role": "builder" });
    expect(seen.Config.Env.filter((line) => /ORCHESTRATOR|NATS|TOKEN|SECRET/i.test(line))).toEqual([]);
    expect(await docker("inspect", "--format", "{{.State.Running}}", container)).toBe("false");
  });

  it("that someone else removed is missed with a word of what to do", async () => {
    const { container, run } = await open({ stay: 'console.log("staying"); setInterval(() => {}, 1_000);' });
    const seen: string[] = [];
    const ran = run("stay", (line) => seen.push(line));
    ran.catch(() => undefined); // Asked for below.
    await until(() => seen.includes("staying"), { timeoutMs: 20_000 });
    await docker("rm", "--force", container);
    await expect(ran).rejects.toMatchObject({ code: "ENGINE_FAILED", detail: { remedy: "Deliver the app again." } });
  });
});

describe("a script that works against its builder", () => {
  it("does not hide what it writes in folders that no path reaches", async () => {
    const hide = `
const fs = require("node:fs");
const name = "f".repeat(250);
for (let depth = 0; depth < 30; depth += 1) { fs.mkdirSync(name); process.chdir(name); }
let count = 0;
setInterval(() => { fs.writeFileSync("file" + count, Buffer.alloc(4_000_000, 1)); if ((count += 1) > 200) process.exit(9); }, 10);
`;
    const { run, builder } = await open({ hide });
    expect((await run("hide")).outcome).toEqual({ kind: "disk-full" });
    await expect(builder.takeOut(join(top, "hidden"))).rejects.toMatchObject({ code: "SOURCE_REFUSED" });
    expect(await readdir(top)).not.toContain("hidden");
  });

  it("puts nothing where it is not looked for, and nothing in the way of what is taken out", async () => {
    const plant = `
const fs = require("node:fs");
fs.writeFileSync("made", "by the script");
fs.writeFileSync("/builder/outgoing/planted", "");
fs.symlinkSync("/etc", "/builder/outgoing/link");
fs.mkdirSync("closed");
`;
    const { run, builder } = await open({ plant });
    expect((await run("plant")).outcome).toEqual({ kind: "ended", exitCode: 0 });
    await builder.takeOut(join(top, "taken"));
    expect((await readdir(join(top, "taken"))).toSorted()).toEqual(["closed", "made", "package.json", "plant.js"]);
    await builder.takeOut(join(top, "taken-again"));
    expect(await readdir(join(top, "taken-again"))).toContain("made");
  });

  it("closes a folder, and is told which", async () => {
    const { run, builder } = await open({ close: 'const fs = require("node:fs"); fs.mkdirSync("closed"); fs.chmodSync("closed", 0);' });
    await run("close");
    await expect(builder.takeOut(join(top, "closed"))).rejects.toMatchObject({
      code: "SOURCE_REFUSED",
      detail: { detail: expect.stringContaining("closed/") as unknown },
    });
  });
});
