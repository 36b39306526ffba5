// The door of the repositories from outside: protocols and clients, requests that are none, and what stands between a push and its hook.
import { chmod, readFile, readdir, readlink, rm, stat, writeFile } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FLUSH, pkt } from "../../orchestrator/git/pkt-line.ts";
import {
  ACCEPTED,
  client,
  type GitWorld,
  mustClient,
  quarantinesIn,
  startClient,
  startGitWorld,
  type WorldSettings,
} from "../support/git-world.ts";
import { until } from "../support/until.ts";

const APP = "app1";
const NOTHING = "0".repeat(40);
const PUSH_TYPE = "application/x-git-receive-pack-request";
const FETCH_TYPE = "application/x-git-upload-pack-request";

describe("the door of the repositories", () => {
  let world: GitWorld;
  let work: string;
  const open = async (settings: WorldSettings = {}): Promise<void> => {
    world = await startGitWorld(settings);
    work = await world.newFolder("work");
    await mustClient(work, ["init", "-q", "-b", "main"]);
    await mustClient(work, ["remote", "add", "origin", world.urlOf(APP)]);
    await writeFile(join(work, "one.txt"), "one");
    await mustClient(work, ["add", "."]);
    await mustClient(work, ["commit", "-q", "-m", "adds one.txt"]);
  };
  beforeEach(async () => open());
  afterEach(async () => world.close());

  const push = async (...args: readonly string[]) => client(work, ["push", "origin", ...args]);
  const post = async (service: string, body: Uint8Array, headers: Record<string, string>): Promise<Response> =>
    fetch(`${world.urlOf(APP)}/${service}`, { method: "POST", body, headers, signal: AbortSignal.timeout(10_000) });
  const commandsOf = (...lines: readonly (string | Uint8Array)[]): Buffer => {
    const [first = "", ...rest] = lines.map((line) => Buffer.from(line));
    return Buffer.concat([
      pkt(Buffer.concat([Buffer.from(first), Buffer.from("\0 report-status side-band-64k")])),
      ...rest.map(pkt),
      FLUSH,
    ]);
  };

  it.each(["0", "1", "2"])("serves clients that speak protocol version %s", async (version) => {
    await push("main");
    await mustClient(work, ["tag", "v1"]);
    await push("v1");
    const folder = `clone-${version}`;
    await mustClient(world.folder, ["-c", `protocol.version=${version}`, "clone", "-q", world.urlOf(APP), folder]);
    expect(await readFile(join(world.folder, folder, "one.txt"), "utf8")).toBe("one");
    await mustClient(join(world.folder, folder), ["-c", `protocol.version=${version}`, "fetch", "-q", "--tags", "origin"]);
    expect(await mustClient(join(world.folder, folder), ["tag"])).toBe("v1");
  });

  it("serves shallow clones, and takes what is pushed from them", async () => {
    await mustClient(work, ["commit", "-q", "--allow-empty", "-m", "two"]);
    await push("main");
    await mustClient(world.folder, ["clone", "-q", "--depth", "1", world.urlOf(APP), "shallow"]);
    const shallow = join(world.folder, "shallow");
    expect(await mustClient(shallow, ["rev-list", "--count", "HEAD"])).toBe("1");
    await mustClient(shallow, ["commit", "-q", "--allow-empty", "-m", "three"]);
    await mustClient(shallow, ["push", "-q", "origin", "main"]);
    expect((await world.repositories.head(APP))?.commit).toBe(await mustClient(shallow, ["rev-parse", "HEAD"]));
  });

  it("reads requests that are compressed", async () => {
    await push("main");
    const body = gzipSync(Buffer.concat([pkt("command=ls-refs\n"), Buffer.from("0001"), pkt("ref-prefix refs/heads/"), FLUSH]));
    const headers = { "content-type": FETCH_TYPE, "content-encoding": "gzip", "git-protocol": "version=2" };
    const answer = await post("git-upload-pack", body, headers);
    expect(answer.headers.get("content-type")).toBe("application/x-git-upload-pack-result");
    expect(await answer.text()).toContain(`${(await world.repositories.head(APP))?.commit} refs/heads/main`);
    const broken = await post("git-upload-pack", Buffer.from("no gzip"), headers);
    expect(await broken.text()).toContain("ERR BODY_MALFORMED");
    expect(world.reports).toEqual([]);
  });

  it.each([
    ["a file, as old clients ask for them", "GET", "/HEAD", {}, 404],
    ["refs, as old clients ask for them", "GET", "/info/refs", {}, 404],
    ["refs of an unknown service", "GET", "/info/refs?service=git-upload-archive", {}, 404],
    ["an object", "GET", "/objects/pack/pack-1.pack", {}, 404],
    ["a push by GET", "GET", "/git-receive-pack", {}, 405],
    ["a push of another type", "POST", "/git-receive-pack", { "content-type": "text/plain" }, 415],
    ["a push in an unknown compression", "POST", "/git-receive-pack", { "content-type": PUSH_TYPE, "content-encoding": "br" }, 415],
  ])("refuses %s", async (_what, method, path, headers, status) => {
    const answer = await fetch(`${world.urlOf(APP)}${path}`, { method, headers, signal: AbortSignal.timeout(10_000) });
    expect(answer.status).toBe(status);
    expect(answer.headers.get("content-type")).toBe("text/plain; charset=utf-8");
  });

  it("tells who may only read that this token may not push", async () => {
    await world.close();
    await open({ mayPush: false });
    const end = await push("main");
    expect(end.exitCode).not.toBe(0);
    expect(end.said).toContain("remote: This token may read the app's source and not push to it.");
    const answer = await post("git-receive-pack", FLUSH, { "content-type": PUSH_TYPE });
    expect(answer.status).toBe(403);
  });

  it.each([
    ["a line end", `${NOTHING} ${"1".repeat(40)} refs/heads/x\n${NOTHING} ${"2".repeat(40)} refs/heads/main`],
    ["a way out", `${NOTHING} ${"1".repeat(40)} refs/heads/../../x`],
    ["an escape character", `${NOTHING} ${"1".repeat(40)} refs/heads/\u001b[2J`],
    ["bytes that are no UTF-8", Buffer.concat([Buffer.from(`${NOTHING} ${"1".repeat(40)} refs/heads/`), Buffer.from([0xff, 0xfe])])],
    ["no prefix", `${NOTHING} ${"1".repeat(40)} HEAD`],
    ["a lock's ending", `${NOTHING} ${"1".repeat(40)} refs/heads/main.lock`],
  ])("refuses a push to a ref with %s in its name, before anything is received", async (_what, line) => {
    const answer = await post("git-receive-pack", commandsOf(line), { "content-type": PUSH_TYPE });
    const text = await answer.text();
    expect(text).toContain("unpack refused");
    expect(text).toContain("PUSH_REFUSED: The push cannot be taken. The ref ");
    expect(text.includes("\u001b")).toBe(false);
    expect(world.pushes).toEqual([]);
  });

  it.each([
    ["nothing but noise", Buffer.from("hello, this is no git")],
    ["a length that is none", Buffer.from("00zz")],
    ["a list that breaks off", pkt(`${NOTHING} ${NOTHING} refs/heads/main`)],
    ["a command that is none", commandsOf("delete everything")],
    ["a ref that is named twice", commandsOf(`${NOTHING} ${"1".repeat(40)} refs/heads/a`, `${NOTHING} ${"2".repeat(40)} refs/heads/a`)],
  ])("refuses a push that is %s", async (_what, body) => {
    const answer = await post("git-receive-pack", body, { "content-type": PUSH_TYPE });
    expect(await answer.text()).toMatch(/unpack refused|BODY_MALFORMED/);
    expect(world.pushes).toEqual([]);
    expect(world.reports).toEqual([]);
    expect((await push("main")).exitCode).toBe(0);
  });

  it("ends git where a client goes away while it sends, and keeps nothing of it", async () => {
    const sending = httpRequest(`${world.urlOf(APP)}/git-receive-pack`, { method: "POST", headers: { "content-type": PUSH_TYPE } });
    sending.on("error", () => undefined); // That is what the test is about.
    sending.write(commandsOf(`${NOTHING} ${"1".repeat(40)} refs/heads/main`));
    sending.write(Buffer.from("PACK\0\0\0\u0002\0\0\u0001\0")); // 256 objects are announced.
    await until(async () => (await quarantinesIn(world, APP)).length === 1, { timeoutMs: 10_000, what: "git takes it" });
    sending.destroy();
    await until(async () => (await quarantinesIn(world, APP)).length === 0, { timeoutMs: 10_000, what: "git is gone" });
    expect(world.reports).toEqual([]);
  });

  it("hands a push over to its own hook only, on a socket that nobody else can reach", async () => {
    const home = join(world.folder, "home");
    const socketPath = join(home, "push", "push.sock");
    expect((await stat(join(home, "push"))).mode & 0o777).toBe(0o700);
    expect((await stat(socketPath)).mode & 0o777).toBe(0o600);
    for (const hello of ['{"nonce":"0000","quarantine":null,"updates":""}\n', "no JSON\n", '"nonce"\n']) {
      const socket = connect(socketPath);
      let heard = "";
      socket.on("data", (chunk) => (heard += chunk.toString())).on("error", () => undefined);
      const closed = new Promise((done) => socket.once("close", done));
      socket.write(hello);
      await closed;
      expect(heard).toBe("");
    }
    expect(world.pushes).toEqual([]);
  });

  it("refuses the nonce of a push that was shown already", async () => {
    const hooks = join(world.folder, "home", "repositories", ".git-home", "hooks");
    let answered = "nothing";
    world.receive(async ({ signal }) => {
      // The environment of the hook that runs at this moment, as another process of the same user could read it.
      const environment = await environmentOf(join(hooks, "pre-receive.cjs"));
      const socket = connect(environment.get("ORCHESTRATOR_PUSH_SOCKET") ?? "");
      answered = "";
      socket.on("data", (chunk) => (answered += chunk.toString())).on("error", () => undefined);
      const closed = new Promise((done) => socket.once("close", done));
      socket.write(`${JSON.stringify({ nonce: environment.get("ORCHESTRATOR_PUSH_NONCE"), quarantine: null, updates: "" })}\n`);
      await closed;
      signal.throwIfAborted();
      return ACCEPTED;
    });
    expect((await push("main")).exitCode).toBe(0);
    expect(answered).toBe("");
    expect(world.pushes).toHaveLength(1);
  });

  it.each(["lost its right to run", "was removed", "was changed"])("has pushes judged although the hook %s", async (what) => {
    await push("main");
    const hook = join(world.folder, "home", "repositories", ".git-home", "hooks", "pre-receive");
    if (what === "lost its right to run") await chmod(hook, 0o600);
    if (what === "was removed") await rm(hook);
    if (what === "was changed") await writeFile(hook, "#!/bin/sh\nexit 0\n");
    await mustClient(work, ["commit", "-q", "--allow-empty", "-m", "two"]);
    expect((await push("main")).exitCode).toBe(0);
    expect(world.pushes).toHaveLength(2);
  });

  it("works in a home whose path is long and has every odd character", async () => {
    await world.close();
    await open({ homeName: `a home: "quoted"; 'so' \\ # ä/${"deep".repeat(30)}` });
    const out = join(world.folder, "out");
    world.receive(async ({ updates, checkOut, signal }) => {
      await checkOut(updates[0]?.peeledCommit ?? "", { into: out, signal });
      return ACCEPTED;
    });
    expect(await push("main")).toMatchObject({ exitCode: 0 });
    expect(await readFile(join(out, "one.txt"), "utf8")).toBe("one");
    await mustClient(world.folder, ["clone", "-q", world.urlOf(APP), "clone"]);
  });

  it("leaves no process, no socket and no folder behind", async () => {
    await push("main");
    const pushing = startClient(work, ["push", "origin", "main:other"]);
    world.receive(
      async ({ signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason as Error));
        }),
    );
    await until(() => world.pushes.length === 2, { timeoutMs: 10_000, what: "the push is received" });
    expect((await processesIn(join(world.folder, "home"))).length).toBeGreaterThanOrEqual(2); // Git, and its hook.
    await world.door.close();
    await pushing.ended;
    expect(await readdir(join(world.folder, "home", "push"))).toEqual([]);
    expect(await processesIn(world.folder)).toEqual([]);
  });
});

describe("a machine without git", () => {
  it("is told of by the door and by whatever else needs it, and not before", async () => {
    const world = await startGitWorld({ searchPath: "/nonexistent" });
    try {
      const end = await client(world.folder, ["ls-remote", world.urlOf(APP)]);
      expect(end.exitCode).not.toBe(0);
      expect(end.said).toContain("remote: GIT_MISSING: This machine has no git.");
      expect(end.said).toContain("remote: Install git");
      await expect(world.repositories.ensure(APP)).rejects.toMatchObject({ code: "GIT_MISSING" });
    } finally {
      await world.close();
    }
  });
});

/** Processes that have this path among their arguments, or work somewhere in it. */
async function processesIn(path: string): Promise<string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name) && name !== String(process.pid));
  const facts = pids.map(async (pid) => {
    const read = [readFile(`/proc/${pid}/cmdline`, "utf8"), readlink(`/proc/${pid}/cwd`)];
    return (await Promise.all(read.map(async (text) => text.catch(() => "")))).join(" in ");
  });
  return (await Promise.all(facts)).filter((text) => text.includes(path));
}

async function environmentOf(argument: string): Promise<Map<string, string>> {
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const args = (await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")).split("\0");
    if (!args.includes(argument)) continue;
    const pairs = (await readFile(`/proc/${pid}/environ`, "utf8")).split("\0").map((pair) => pair.split("="));
    return new Map(pairs.map(([name = "", value = ""]) => [name, value]));
  }
  throw new Error(`no process has the argument ${argument}`);
}
