// The one list of what a builder of every engine does, played with real npm and real scripts. No registry is needed.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, readdir, readlink, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";

import type { Builder, BuilderLimits, BuilderOutcome, Engine } from "../../orchestrator/engines/engine.ts";
import { findOwnNpm } from "../../orchestrator/npm/own-npm.ts";
import type { OwnNpm } from "../../orchestrator/npm/own-npm.ts";
import { until } from "../support/until.ts";
import * as scripts from "./builder-scripts.ts";

/** What a builder of one engine may do otherwise; the reason is printed in the test's name. */
export type BuilderExemptible = "other builders" | "number of processes";

export interface BuilderBehaviourOptions {
  readonly exempt: Partial<Record<BuilderExemptible, string>>;
  /** Whatever of builders is left on the machine, files, containers or processes. */
  leftovers(): Promise<readonly string[]>;
}

interface Ran {
  readonly outcome: BuilderOutcome;
  readonly lines: readonly string[]; // Without those that npm itself puts before.
}

interface Opened {
  readonly builder: Builder;
  readonly folder: string;
  run(script: string, options?: { readonly timeoutMs?: number; readonly signal?: AbortSignal; onLine?(line: string): void }): Promise<Ran>;
  cancelAll(): void;
}

interface Rig {
  readonly engine: Engine;
  open(files: Readonly<Record<string, string>>, limits?: Partial<BuilderLimits>): Promise<Opened>;
  newFolder(): Promise<string>;
  closeAll(): Promise<void>;
  remove(): Promise<void>;
}

const LIMITS: BuilderLimits = { memoryBytesMax: 400_000_000, cpuCountMax: 1, pidCountMax: 128, diskBytesMax: 120_000_000 };
const SECRETS = { ORCHESTRATOR_CONFORMANCE_TOKEN: "a-token-of-the-orchestrator", NATS_CREDENTIALS: "nkeys-of-the-broker", GREETING: "hej" };
const ENDED_WELL: BuilderOutcome = { kind: "ended", exitCode: 0 };

/** Each call of makeEngine gives another object for the same platform, as an orchestrator that starts again has it. */
export function builderBehaviour(name: string, makeEngine: () => Engine, options: BuilderBehaviourOptions): void {
  const exemptions = Object.entries(options.exempt).map(([what, reason]) => `${what}: ${reason}`);
  describe(`a builder of the engine ${name}${exemptions.map((text) => ` [not asked of it: ${text}]`).join("")}`, () => {
    let rig: Rig | null = null;
    const of = (): Rig => {
      assert(rig !== null, "beforeAll made it");
      return rig;
    };
    beforeAll(async () => {
      Object.assign(process.env, SECRETS);
      rig = await createRig(makeEngine());
    });
    afterEach(() => of().closeAll());
    afterAll(async () => {
      for (const secret of Object.keys(SECRETS)) Reflect.deleteProperty(process.env, secret);
      await rig?.engine.dispose();
      await rig?.remove();
    });

    running(of);
    takingOut(of);
    ending(of);
    bounding(of, options);
    closing(of, makeEngine, options);
  });
}

function running(of: () => Rig): void {
  it("runs a script, and tells its exit code and what it prints to either stream, in order", async () => {
    const { run } = await of().open({ "scripts/print.js": scripts.PRINT, "scripts/fail.js": scripts.FAIL });
    expect(await run("print")).toEqual({ outcome: ENDED_WELL, lines: ["one", "two", "three", "four"] });
    expect((await run("fail")).outcome).toEqual({ kind: "ended", exitCode: 7 });
    expect((await run("unknown")).outcome).toMatchObject({ kind: "ended", exitCode: 1 });
  });

  it("gives scripts the source and what was installed, development packages and their commands included", async () => {
    const { builder, folder } = await of().open({
      "package.json": JSON.stringify({
        name: "app",
        version: "1.0.0",
        scripts: { build: "own-tool && mkdir -p made && cp src/a.txt made/b.txt && cat made/b.txt" },
        dependencies: { greeting: "file:packages/greeting" },
        devDependencies: { "own-tool": "file:packages/own-tool" },
      }),
      "packages/greeting/package.json": JSON.stringify({ name: "greeting", version: "1.0.0", main: "index.js" }),
      "packages/greeting/index.js": 'module.exports = "hello";',
      "packages/own-tool/package.json": JSON.stringify({ name: "own-tool", version: "1.0.0", bin: "tool.js" }),
      "packages/own-tool/tool.js": '#!/usr/bin/env node\nconsole.log("tool says", require("greeting"));',
      "src/a.txt": "text of the source\n",
    });
    const npm = (...args: readonly string[]): Promise<Ran> => runNpm(builder, args);
    expect((await npm("install", "--offline", "--install-links", "--no-audit", "--no-fund")).outcome).toEqual(ENDED_WELL);
    expect(await npm("run", "build")).toEqual({ outcome: ENDED_WELL, lines: ["tool says hello", "text of the source"] });
    expect((await readdir(folder)).toSorted()).toEqual(["package.json", "packages", "src"]); // The owner's own folder is only read.
  });

  it("leaves node_modules and .git of the source behind", async () => {
    const { run } = await of().open({
      "scripts/list.js": scripts.LIST,
      "node_modules/x/index.js": "",
      ".git/config": "",
      "src/node_modules/y/index.js": "",
      "src/.keep": "",
    });
    expect((await run("list")).lines).toEqual(["package.json", "scripts", "scripts/list.js", "src", "src/.keep"]);
  });

  it("gives scripts a clean environment and nothing to read from", async () => {
    const { run } = await of().open({ "scripts/environment.js": scripts.ENVIRONMENT });
    const { lines } = await run("environment");
    const { variables, input } = JSON.parse(lines.join("")) as { variables: Record<string, string>; input: string }; // What the script prints.
    expect(input).toBe("");
    expect(variables).toMatchObject({ CI: "true" });
    expect(Object.keys(variables).filter((name) => /ORCHESTRATOR|NATS|DOCKER|GREETING/i.test(name))).toEqual([]);
    const values = Object.values(variables).join("\n");
    for (const secret of Object.values(SECRETS)) expect(values).not.toContain(secret);
  });

  it("hands over so much of a flood of output and no more, and lets the script end", async () => {
    const { run } = await of().open({ "scripts/flood.js": scripts.FLOOD });
    const { outcome, lines } = await run("flood", { timeoutMs: 60_000 });
    expect(outcome).toEqual(ENDED_WELL);
    expect(lines.join("\n").length).toBeLessThan(17_000_000);
    expect(lines.at(-1)).toContain("the rest is left out");
  });

  it("keeps what is written from one call to the next", async () => {
    const { run } = await of().open({ "scripts/write.js": scripts.WRITE, "scripts/list.js": scripts.LIST });
    await run("write");
    expect((await run("list")).lines).toContain("dist/out.txt");
  });
}

function takingOut(of: () => Rig): void {
  it("takes out what scripts wrote, as they wrote it, without packages", async () => {
    const { builder, run } = await of().open({ "scripts/write.js": scripts.WRITE });
    await run("write");
    const into = join(await of().newFolder(), "taken");
    await builder.takeOut(into);
    const names = (await readdir(into, { recursive: true })).toSorted();
    expect(names).toEqual(
      ["dist", "dist/again.txt", "dist/linked", "dist/out.txt", "dist/run.sh", "package.json", "scripts", "scripts/write.js"].toSorted(),
    );
    expect(await readFile(join(into, "dist/out.txt"), "utf8")).toBe("made by a build");
    expect(await readFile(join(into, "dist/again.txt"), "utf8")).toBe("made by a build");
    expect(await readlink(join(into, "dist/linked"))).toBe("out.txt");
    expect((await stat(join(into, "dist/run.sh"))).mode & 0o777).toBe(0o755);
    expect((await stat(join(into, "dist/out.txt"))).mode & 0o7777).toBe(0o644); // It was made setuid and writable for all.
  });

  it.each([
    ["a link to a file of the machine", scripts.LINK_OUT, "dist/leak"],
    ["a link that leads out through another", scripts.LINK_THROUGH, "dist/leak"],
    ["a socket", scripts.SOCKET, "dist/socket"],
    ["a name with a line break", scripts.LINE_BREAK, String.raw`dist/a\nb`],
    ["a tower of folders", scripts.TOWER, "f/f/f/f"],
  ])("refuses %s by its name, and writes nothing", async (_what, code, entry) => {
    const { builder, run } = await of().open({ "scripts/make.js": code });
    expect((await run("make")).outcome).toEqual(ENDED_WELL);
    const into = await of().newFolder();
    await expect(builder.takeOut(into)).rejects.toMatchObject({
      code: "SOURCE_REFUSED",
      detail: { detail: expect.stringContaining(entry) as unknown },
    });
    expect(await readdir(into)).toEqual([]);
  });

  it("refuses a source that links out, by the link's name", async () => {
    await expect(of().open({ "src/leak": "-> /etc/passwd" })).rejects.toMatchObject({
      code: "SOURCE_REFUSED",
      detail: { detail: expect.stringContaining("src/leak") as unknown },
    });
  });
}

function ending(of: () => Rig): void {
  /** How often the sleeper wrote, now and a moment later. */
  const beats = async ({ run }: Opened): Promise<readonly number[]> => (await run("count")).lines.map(Number);

  it("ends a script that takes too long, with all that it started, also what went away from it", async () => {
    const opened = await of().open({ "scripts/leave.js": scripts.LEAVE_AND_STAY, "scripts/count.js": scripts.COUNT });
    expect((await opened.run("leave", { timeoutMs: 6_000 })).outcome).toEqual({ kind: "timed-out" });
    const [first = 0, second] = await beats(opened);
    expect(first).toBeGreaterThan(0);
    expect(second).toBe(first);
  });

  it("ends what a script left running when it ended itself", async () => {
    const opened = await of().open({ "scripts/leave.js": scripts.LEAVE, "scripts/count.js": scripts.COUNT });
    expect((await opened.run("leave")).outcome).toEqual(ENDED_WELL);
    const [first = 0, second] = await beats(opened);
    expect(first).toBeGreaterThan(0);
    expect(second).toBe(first);
  });

  it("ends a script that is cancelled, and goes on with the next", async () => {
    const { run } = await of().open({ "scripts/stay.js": scripts.STAY, "scripts/print.js": scripts.PRINT });
    const cancelling = new AbortController();
    const lines: string[] = [];
    const ran = run("stay", { signal: cancelling.signal, onLine: (line) => lines.push(line) });
    await until(() => lines.includes("staying"), { timeoutMs: 20_000 });
    cancelling.abort();
    expect((await ran).outcome).toEqual({ kind: "cancelled" });
    expect((await run("print")).outcome).toEqual(ENDED_WELL);
  });

  it("ends everything when its order is cancelled", async () => {
    const { run, cancelAll } = await of().open({ "scripts/stay.js": scripts.STAY });
    const lines: string[] = [];
    const ran = run("stay", { onLine: (line) => lines.push(line) });
    await until(() => lines.includes("staying"), { timeoutMs: 20_000 });
    cancelAll();
    expect((await ran).outcome).toEqual({ kind: "cancelled" });
    expect((await run("stay")).outcome).toEqual({ kind: "cancelled" });
  });
}

function bounding(of: () => Rig, options: BuilderBehaviourOptions): void {
  it("ends a script that takes more memory than it may, says so, and goes on with the next", async () => {
    const { run } = await of().open({ "scripts/memory.js": scripts.MEMORY, "scripts/print.js": scripts.PRINT });
    expect((await run("memory")).outcome).toEqual({ kind: "out-of-memory" });
    expect((await run("print")).outcome).toEqual(ENDED_WELL);
  });

  it("ends a script that fills the disk with many files, or with one", async () => {
    for (const code of [scripts.MANY_FILES, scripts.ONE_FILE]) {
      const { run } = await of().open({ "scripts/fill.js": code });
      expect((await run("fill")).outcome).toEqual({ kind: "disk-full" });
    }
  });

  unlessExempt(options, "number of processes", "bounds how many processes there are, and goes on with the next script", async () => {
    const { run } = await of().open({ "scripts/many.js": scripts.MANY_PROCESSES, "scripts/print.js": scripts.PRINT }, { pidCountMax: 64 });
    const { lines, outcome } = await run("many", { timeoutMs: 20_000 });
    expect(outcome.kind).not.toBe("timed-out");
    expect(Number(lines.at(-1) ?? 0)).toBeLessThan(64);
    expect((await run("print")).outcome).toEqual(ENDED_WELL);
  });

  unlessExempt(options, "other builders", "keeps two builders apart: neither reads the other's files nor ends its processes", async () => {
    const one = await of().open({ "scripts/stay.js": scripts.STAY_A_WHILE, secret: "of one" });
    const lines: string[] = [];
    const ran = one.run("stay", { onLine: (line) => lines.push(line) });
    await until(() => lines.some((line) => line.startsWith("/")), { timeoutMs: 20_000 });
    const place = lines.find((line) => line.startsWith("/")) ?? "";
    const other = await of().open({ "scripts/intrude.js": scripts.INTRUDE.replace("PLACE", place) });
    const intruded = await other.run("intrude");
    expect(intruded).toEqual({ outcome: ENDED_WELL, lines: ["nothing"] });
    expect((await ran).outcome).toEqual(ENDED_WELL);
  });
}

function closing(of: () => Rig, makeEngine: () => Engine, options: BuilderBehaviourOptions): void {
  it("leaves nothing once it is closed, also while a script runs in it, and can be closed twice", async () => {
    const { builder, run } = await of().open({ "scripts/leave.js": scripts.LEAVE_AND_STAY });
    const lines: string[] = [];
    const ran = run("leave", { onLine: (line) => lines.push(line) });
    await until(() => lines.includes("left"), { timeoutMs: 20_000 });
    await Promise.all([builder.close(), builder.close()]);
    await builder.close();
    expect((await ran).outcome).toEqual({ kind: "cancelled" });
    expect(await options.leftovers()).toEqual([]);
  });

  it("that an orchestrator left which was killed is removed by the next one, with what runs in it", async () => {
    const { run } = await of().open({ "scripts/leave.js": scripts.LEAVE_AND_STAY });
    const lines: string[] = [];
    const ran = run("leave", { onLine: (line) => lines.push(line) });
    ran.catch(() => undefined); // Its container was taken from under it.
    await until(() => lines.includes("left"), { timeoutMs: 20_000 });
    const later = makeEngine();
    await later.prepare();
    expect(await options.leftovers()).toEqual([]);
    await Promise.allSettled([ran]);
  });

  it("that is open goes when its engine is disposed of, and stays when that is prepared once more", async () => {
    const { run } = await of().open({ "scripts/print.js": scripts.PRINT });
    await of().engine.prepare();
    expect((await run("print")).outcome).toEqual(ENDED_WELL);
    await of().engine.dispose();
    expect(await options.leftovers()).toEqual([]);
    await of().engine.prepare();
  });
}

async function createRig(engine: Engine): Promise<Rig> {
  await engine.prepare();
  const top = await mkdtemp(join(tmpdir(), "builder-conformance-"));
  const npm = await findOwnNpm({ nodePath: process.execPath, searchPath: process.env["PATH"] ?? "", extraCaCerts: null });
  assert(npm !== null, "this machine has no npm, which these tests need");
  const opened = new Set<Builder>();
  let count = 0;
  const newFolder = async (): Promise<string> => {
    const folder = join(top, `folder-${++count}`);
    await mkdir(folder);
    return folder;
  };
  return {
    engine,
    newFolder,
    async open(files, limits = {}) {
      const folder = await newFolder();
      await writeApp(folder, files);
      const cancelling = new AbortController();
      const builder = await engine.openBuilder(orderOf({ folder, npm, limits, signal: cancelling.signal, id: `b${++count}` }));
      opened.add(builder);
      return {
        builder,
        folder,
        run: (script, options) => runNpm(builder, ["run", script], options),
        cancelAll: () => cancelling.abort(),
      };
    },
    async closeAll() {
      await Promise.all([...opened].map((builder) => builder.close()));
      opened.clear();
    },
    remove: () => rm(top, { recursive: true, force: true }),
  };
}

const orderOf = (given: {
  readonly id: string;
  readonly folder: string;
  readonly npm: OwnNpm;
  readonly signal: AbortSignal;
  readonly limits: Partial<BuilderLimits>;
}): Parameters<Engine["openBuilder"]>[0] => ({ ...given, limits: { ...LIMITS, ...given.limits } });

/** "scripts/x.js" is what "npm run x" runs, unless the app says otherwise; "-> y" is a link to y. */
async function writeApp(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  const names = Object.keys(files).flatMap((path) => /^scripts\/(\w+)\.js$/.exec(path)?.[1] ?? []);
  const own = Object.fromEntries(names.map((name) => [name, `node scripts/${name}.js`]));
  for (const [path, text] of Object.entries({
    "package.json": JSON.stringify({ name: "app", version: "1.0.0", scripts: own }),
    ...files,
  })) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    if (text.startsWith("-> ")) await symlink(text.slice(3), join(folder, path));
    else await writeFile(join(folder, path), text);
  }
}

async function runNpm(
  builder: Builder,
  args: readonly string[],
  options: { readonly timeoutMs?: number; readonly signal?: AbortSignal; onLine?(line: string): void } = {},
): Promise<Ran> {
  const lines: string[] = [];
  const outcome = await builder.runNpm({
    args,
    timeoutMs: options.timeoutMs ?? 30_000,
    signal: options.signal ?? new AbortController().signal,
    onLine(line) {
      options.onLine?.(line);
      if (line !== "" && !line.startsWith("> ")) lines.push(line);
    },
  });
  return { outcome, lines };
}

function unlessExempt(options: BuilderBehaviourOptions, what: BuilderExemptible, sentence: string, test: () => Promise<void>): void {
  // What an engine is exempt from stands, with its reason, in the name of its list.
  // oxlint-disable-next-line vitest/expect-expect, vitest/valid-title, vitest/no-conditional-tests -- The test is the caller's.
  if (options.exempt[what] === undefined) it(sentence, test);
}
