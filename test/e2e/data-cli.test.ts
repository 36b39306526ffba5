// The owner's commands for documents and backups, as a person runs them: on a platform that serves, killed half-way, restored elsewhere.
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CHECKOUT, type Finished, handler, makeApp, runCommand, type RunningPlatform, send, startPlatform } from "../support/platform.ts";
import { until } from "../support/until.ts";

const APP = {
  "app.arc": "@app\nkept\n@http\nget /\nget /secret\npost /visit\n",
  "src/http/get-secret/index.js": handler('return { body: process.env.SECRET ?? "none" };'),
  "src/http/get-index/index.js": `const data = require("@begin/data");\n${handler("return data.get({ table: 'people' });")}`,
  "src/http/post-visit/index.js": `const { http } = require("@architect/functions");\n${handler(
    "return { cookies: [await http.session.write({ visits: 1 })], body: 'ok' };",
  )}`,
};
const LARGE_COUNT = 1_200;

let app = "";
let folder = "";
let platform: RunningPlatform;

const flagsOf = ({ ports, home }: RunningPlatform): string[] => ["--api-port", String(ports.api), "--home", home];
const run = (args: readonly string[], env: Record<string, string> = {}): Promise<Finished> =>
  runCommand([...args, ...flagsOf(platform)], { env });
const data = (...args: string[]): Promise<Finished> => run(["data", ...args]);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "orchestrator-data-"));
  app = await makeApp(APP);
  platform = await startPlatform({ app, engine: "process", flags: ["--no-watch"] });
});

afterAll(async () => {
  await platform.stop();
  for (const one of [app, folder]) await rm(one, { recursive: true, force: true });
});

describe("orchestrator data", () => {
  it("writes what functions read, shows it, counts it and destroys it", async () => {
    expect(await data("set", "people", "ada", '{"name":"Ada"}')).toMatchObject({ exitCode: 0, stderr: "" });
    expect(await data("set", "people", "Wai'ale'ale", '{"name":"ʻā"}')).toMatchObject({ exitCode: 0 });
    expect(JSON.parse((await platform.get("staging", "/")).text)).toEqual([
      { table: "people", key: "Wai'ale'ale", name: "ʻā" },
      { table: "people", key: "ada", name: "Ada" },
    ]);
    expect(JSON.parse((await data("get", "people", "ada")).stdout)).toEqual({ table: "people", key: "ada", name: "Ada" });
    expect((await data("count", "people")).stdout).toBe("2\n");
    expect((await data("ls")).stdout).toBe("table   documents\npeople  2\n");
    expect((await data("ls", "people", "--begin", "a")).stdout).toBe('key  document\nada  {"name":"Ada"}\n');
    const page = JSON.parse((await data("ls", "people", "--limit", "1", "--json")).stdout) as { cursor: string }; // The command wrote it.
    expect((await data("ls", "people", "--cursor", page.cursor)).stdout).toContain("ada");
    expect((await data("rm", "people", "ada", "nobody")).exitCode).toBe(3);
    expect((await data("count", "people", "--json")).stdout).toBe('{"count":1}\n');
  });

  it("says with its exit code that a document is not there, and that a command line is wrong", async () => {
    expect(await data("get", "people", "nobody", "--json")).toMatchObject({ exitCode: 3, stdout: '{"document":null}\n' });
    expect(await data("set", "people", "x", "[1]")).toMatchObject({ exitCode: 2 });
    expect(await data("set", "people", "x", '{"key":"y"}')).toMatchObject({ exitCode: 2 });
    expect(await data("ls", "--environment", "test")).toMatchObject({ exitCode: 2 });
    expect((await data("get", "t".repeat(51), "x")).stderr).toContain("too many characters; max 50");
  });

  it("writes at a revision, and not where somebody else wrote first", async () => {
    expect((await data("set", "people", "grace", '{"n":1}', "--revision", "0")).exitCode).toBe(0);
    const refused = await data("set", "people", "grace", '{"n":2}', "--revision", "0");
    expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining("DOCUMENT_CHANGED")]);
    const { revision } = JSON.parse((await data("get", "people", "grace", "--json")).stdout) as { revision: number }; // The command wrote it.
    expect((await data("set", "people", "grace", '{"n":2}', "--revision", String(revision))).exitCode).toBe(0);
  });

  it("keeps environments apart, and production for admins", async () => {
    expect((await data("ls", "--environment", "production", "--json")).stdout).toBe('{"tables":[]}\n');
    const tokenFor = async (role: string): Promise<Record<string, string>> => {
      const made = await run(["token", "create", `for-${role}`, "--role", role]);
      return { ORCHESTRATOR_API_TOKEN: made.stdout.trim() };
    };
    const [reader, deployer] = [await tokenFor("read"), await tokenFor("deploy")];
    expect((await run(["data", "ls"], reader)).stderr).toContain("API_FORBIDDEN");
    expect((await run(["backup", join(folder, "no.gz")], reader)).stderr).toContain("API_FORBIDDEN");
    expect((await run(["data", "ls"], deployer)).exitCode).toBe(0);
    expect((await run(["data", "ls", "--environment", "production"], deployer)).stderr).toContain("API_FORBIDDEN");
    expect(existsSync(join(folder, "no.gz"))).toBe(false);
  });
});

describe("orchestrator data import", () => {
  it("names each bad line, writes the good ones, and exports them byte for byte", async () => {
    const file = join(folder, "lines.ndjson");
    const good = Array.from({ length: 30 }, (_, n) => JSON.stringify({ table: "lines", key: `k${String(n).padStart(2, "0")}`, n }));
    await writeFile(file, `${good.slice(0, 10).join("\n")}\nnot json\n${good.slice(10).join("\n")}\n{"table":"lines"}\n`);
    const imported = await data("import", file);
    expect(imported).toMatchObject({ exitCode: 3, stdout: "staging: 30 documents written, 2 bad lines left out\n" });
    expect(imported.stderr).toMatch(/line 11: is no JSON[^]*line 32: Key is not defined/);
    const exported = await data("export", "--table", "lines");
    expect([exported.exitCode, exported.stdout]).toEqual([0, `${good.join("\n")}\n`]);
    expect(await data("import", file, "--from-line", "31", "--json")).toMatchObject({ exitCode: 3 });
  });

  it("goes on from the line that it names when it was interrupted", async () => {
    const child = startChild(["data", "import", "-", "--json"], platform);
    const texts = textsOf(child);
    const lines = (from: number, to: number): string =>
      Array.from({ length: to - from + 1 }, (_, index) => `{"table":"resumed","key":"k${from + index}"}\n`).join("");
    child.stdin?.write(lines(1, 2_500)); // Two whole batches are sent at once, the rest waits for more.
    await until(async () => (await data("count", "resumed")).stdout === "2000\n", { timeoutMs: 30_000 });
    child.kill("SIGINT");
    await once(child, "close");
    expect(child.exitCode).toBe(130);
    const { nextLine } = JSON.parse(texts.stdout) as { nextLine: number }; // The command wrote it.
    expect((await data("count", "resumed")).stdout).toBe(`${nextLine - 1}\n`);
    const file = join(folder, "resumed.ndjson");
    await writeFile(file, lines(1, 3_000));
    expect((await data("import", file, "--from-line", String(nextLine))).stdout).toBe(
      `staging: ${3_000 - nextLine + 1} documents written\n`,
    );
    expect((await data("count", "resumed")).stdout).toBe("3000\n");
  });
});

describe("orchestrator data export", () => {
  it("ends quietly when its reader has seen enough, and with an error when the orchestrator goes away", async () => {
    const file = join(folder, "many.ndjson");
    const text = "x".repeat(2_000);
    await writeFile(file, Array.from({ length: 4_000 }, (_, n) => `{"table":"many","key":"k${n}","text":"${text}"}\n`).join(""));
    expect((await data("import", file)).exitCode).toBe(0);
    const left = startChild(["data", "export", "--table", "many"], platform);
    left.stdout?.once("data", () => left.stdout?.destroy());
    let stderr = "";
    left.stderr?.setEncoding("utf8").on("data", (part: string) => (stderr += part));
    await once(left, "close");
    expect([left.exitCode, stderr]).toEqual([3, ""]);
    const cut = startChild(["data", "export", "--table", "many"], platform);
    cut.stdout?.once("data", () => platform.process.kill("SIGKILL"));
    const texts = textsOf(cut);
    await once(cut, "close");
    expect([cut.exitCode, texts.stderr]).toEqual([1, expect.stringContaining("NOT_RUNNING")]);
    platform = await startAgain(platform, app);
    expect((await data("rm", "many", ...Array.from({ length: 500 }, (_, n) => `k${n}`))).exitCode).toBe(0);
  });
});

describe("orchestrator backup and restore", () => {
  let exported = "";
  let made: Finished | null = null;
  const backupFile = (): string => join(folder, "backup.gz");

  beforeAll(async () => {
    const file = join(folder, "large.ndjson");
    const document = (n: number): string => JSON.stringify({ table: "large", key: `k${n}`, text: randomBytes(12_000).toString("hex") });
    await writeFile(file, Array.from({ length: LARGE_COUNT }, (_, n) => `${document(n)}\n`).join(""));
    await data("import", file);
    await platform.get("staging", "/visit", { method: "POST" }); // Has a session written.
    exported = (await data("export")).stdout;
    made = await run(["backup", backupFile(), "--json"]);
  });

  it("writes a whole file that only its owner can read, and leaves nothing beside it", async () => {
    expect([made?.exitCode, made?.stderr]).toEqual([0, ""]);
    const documentCount = exported.split("\n").length - 1;
    expect(documentCount).toBeGreaterThan(LARGE_COUNT);
    const facts = { environment: "staging", appName: "kept", counts: { sessions: 1, data: documentCount } };
    expect(JSON.parse(made?.stdout ?? "")).toMatchObject(facts);
    expect((await stat(backupFile())).mode & 0o777).toBe(0o600);
    expect((await readdir(folder)).filter((name) => name.includes("partial"))).toEqual([]);
  });

  it("brings a fresh home to byte-equal documents, and refuses one that is not empty", async () => {
    const fresh = await startPlatform({ app, engine: "process", flags: ["--no-watch"] });
    try {
      const restored = await runCommand(["restore", backupFile(), "--json", ...flagsOf(fresh)]);
      expect([restored.exitCode, JSON.parse(restored.stdout)]).toMatchObject([0, { counts: { sessions: 1 }, removedCount: 0 }]);
      expectSame((await runCommand(["data", "export", ...flagsOf(fresh)])).stdout, exported);
      const again = await runCommand(["restore", backupFile(), ...flagsOf(fresh)]);
      expect([again.exitCode, again.stderr]).toEqual([1, expect.stringContaining("RESTORE_REFUSED")]);
      expect(await runCommand(["data", "rm", "large", "k1", ...flagsOf(fresh)])).toMatchObject({ exitCode: 0 });
      expect((await runCommand(["restore", backupFile(), "--replace", ...flagsOf(fresh)])).exitCode).toBe(0);
      expectSame((await runCommand(["data", "export", ...flagsOf(fresh)])).stdout, exported);
    } finally {
      await fresh.stop();
    }
  });

  it("brings functions of a fresh home the variables that were set, with the passphrase alone", async () => {
    const file = join(folder, "variables.gz");
    const passphrase = ["--passphrase-file", join(folder, "passphrase")];
    await writeFile(join(folder, "passphrase"), "correct horse battery\n");
    await writeFile(join(folder, "other"), "correct horse cavalry\n");
    expect((await run(["env", "set", "SECRET=of-the-old-home"])).exitCode).toBe(0);
    expect((await run(["backup", file, ...passphrase])).stdout).toContain("1 environment variable in it, encrypted");
    expect((await run(["env", "rm", "SECRET"])).exitCode).toBe(0);
    const fresh = await startPlatform({ app, engine: "process", flags: ["--no-watch"] });
    try {
      const restore = async (...flags: string[]): Promise<Finished> =>
        runCommand(["restore", file, "--replace", ...flags, ...flagsOf(fresh)]);
      expect((await restore("--passphrase-file", join(folder, "other"))).stderr).toContain("PASSPHRASE_WRONG");
      expect([(await fresh.get("staging", "/secret")).text, (await fresh.get("staging", "/")).text]).toEqual(["none", "[]"]);
      expect((await restore(...passphrase)).exitCode).toBe(0);
      expect((await fresh.get("staging", "/secret")).text).toBe("of-the-old-home");
    } finally {
      await fresh.stop();
    }
  });

  it("says that a damaged file is one, and writes nothing of it", async () => {
    const bytes = await readFile(backupFile());
    const file = join(folder, "cut.gz");
    await writeFile(file, bytes.subarray(0, bytes.length - 1_000));
    const args = ["restore", file, "--environment", "production"];
    expect((await run(args)).stderr).toContain("BACKUP_INVALID");
    // Not even past the command, which looks before it sends.
    const refused = await send(platform.ports.api, "/api/restore/production", {
      method: "POST",
      headers: { authorization: `Bearer ${await tokenOf(platform)}`, host: `localhost:${platform.ports.api}` },
      body: await readFile(file),
    });
    expect(JSON.parse(refused.text)).toMatchObject({ code: "BACKUP_INVALID" });
    expect((await data("ls", "--environment", "production", "--json")).stdout).toBe('{"tables":[]}\n');
    expect(await readdir(join(platform.home, "restores"))).toEqual([]);
  });

  it("leaves no file where the backup is killed half-way, and none broken where the orchestrator is", async () => {
    const file = join(folder, "killed.gz");
    const child = startChild(["backup", file], platform);
    await until(() => existsSync(`${file}.partial`), { timeoutMs: 20_000 });
    child.kill("SIGKILL");
    await once(child, "close");
    expect(existsSync(file)).toBe(false);
    await writeFile(file, "what was there before");
    const second = startChild(["backup", file], platform);
    const texts = textsOf(second);
    await until(() => sizeOf(`${file}.partial`).then((size) => size > 0), { timeoutMs: 20_000 });
    platform.process.kill("SIGKILL");
    await once(second, "close");
    expect([second.exitCode, texts.stderr]).toEqual([1, expect.stringMatching(/BACKUP_FAILED|NOT_RUNNING/)]);
    expect(await readFile(file, "utf8")).toBe("what was there before");
    platform = await startAgain(platform, app);
    expect((await run(["backup", file])).exitCode).toBe(0);
  });

  it("begins a restore anew that was killed on either side", async () => {
    const into = ["--environment", "production"];
    const begun = startChild(["restore", backupFile(), ...into], platform);
    await untilWriting(platform);
    begun.kill("SIGKILL");
    await once(begun, "close");
    await until(async () => (await statusOf(platform)).kind === "broken-off", { timeoutMs: 20_000 });
    const second = startChild(["restore", backupFile(), ...into], platform);
    await untilWriting(platform);
    platform.process.kill("SIGKILL");
    await once(second, "close");
    expect(second.exitCode).toBe(1);
    platform = await startAgain(platform, app);
    expect((await statusOf(platform)).kind).toBe("broken-off");
    const third = await run(["restore", backupFile(), ...into, "--json"]);
    expect([third.exitCode, JSON.parse(third.stdout)]).toMatchObject([0, { wentOn: true }]);
    expectSame((await data("export", ...into)).stdout, exported);
    expect((await statusOf(platform)).kind).toBe("none");
  });
});

/** Which lines differ, before that they are byte for byte the same: the whole would fill screens. */
function expectSame(text: string, expected: string): void {
  const keysOf = (lines: string): string[] => lines.split("\n").map((line) => line.slice(0, 40));
  expect(keysOf(text)).toEqual(keysOf(expected));
  expect(text === expected).toBe(true);
}

const startChild = (args: readonly string[], { ports, home }: RunningPlatform): ChildProcess =>
  spawn(process.execPath, [join(CHECKOUT, "orchestrator/bin.mjs"), ...args, ...flagsOf({ ports, home } as RunningPlatform)], {
    env: { ...process.env, NO_COLOR: "1" },
  });

function textsOf(child: ChildProcess): { stdout: string; stderr: string } {
  const texts = { stdout: "", stderr: "" };
  child.stdout?.setEncoding("utf8").on("data", (part: string) => (texts.stdout += part));
  child.stderr?.setEncoding("utf8").on("data", (part: string) => (texts.stderr += part));
  return texts;
}

const sizeOf = async (path: string): Promise<number> =>
  stat(path).then(
    ({ size }) => size,
    () => 0,
  );
const tokenOf = async ({ home }: RunningPlatform): Promise<string> => (await readFile(join(home, "api-token"), "utf8")).trim();

interface Status {
  readonly kind: string;
  readonly phase?: string;
  readonly doneCount?: number;
}

async function statusOf(running: RunningPlatform): Promise<Status> {
  const { api } = running.ports;
  const headers = { authorization: `Bearer ${await tokenOf(running)}`, host: `localhost:${api}` };
  return JSON.parse((await send(api, "/api/restore/production", { headers })).text) as Status; // The schema of the route says so.
}

const untilWriting = async (running: RunningPlatform): Promise<void> =>
  until(
    async () => {
      const { phase, doneCount = 0 } = await statusOf(running);
      return phase === "writing" && doneCount > 50;
    },
    { timeoutMs: 30_000 },
  );

/** On the same home and ports, as after a crash. */
const startAgain = async ({ home, ports }: RunningPlatform, folderOfApp: string): Promise<RunningPlatform> => {
  const again = await startPlatform({ app: folderOfApp, engine: "process", home, ports, flags: ["--no-watch"] });
  return {
    ...again,
    stop: async () => {
      const exitCode = await again.stop();
      await rm(home, { recursive: true, force: true });
      return exitCode;
    },
  };
};
