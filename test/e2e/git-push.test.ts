// Owners who push: what their terminal shows, what is refused, and which tag goes to production.
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { hostForSuite } from "../support/hosting-rig.ts";
import { handler, writeFiles } from "../support/platform.ts";
import { problemOf } from "../support/problems.ts";
import { until } from "../support/until.ts";

const says = (text: string): string => handler(`return { statusCode: 200, body: ${JSON.stringify(text)} };`);
const app = (text: string): Record<string, string> => ({
  "app.arc": "@app\nshop\n\n@http\nget /\n",
  "src/http/get-index/index.js": says(text),
});

interface Pushed {
  readonly exitCode: number;
  readonly text: string; // What the terminal shows.
}

describe("an app that is pushed", () => {
  const rig = hostForSuite({ engine: "process" });
  let folder = "";
  let url = "";

  const git = async (...args: readonly string[]): Promise<Pushed> =>
    new Promise((done) => {
      const env = { PATH: process.env["PATH"] ?? "", HOME: folder, GIT_CONFIG_NOSYSTEM: "1", GIT_TERMINAL_PROMPT: "0", LC_ALL: "C" };
      const identity = [
        "-c",
        "user.name=Ann",
        "-c",
        "user.email=ann@example.org",
        "-c",
        "init.defaultBranch=main",
        "-c",
        "advice.detachedHead=false",
      ];
      const options = { cwd: folder, env, timeout: 60_000 };
      execFile("git", [...identity, ...args], options, (error, stdout, stderr) =>
        done({ exitCode: typeof error?.code === "number" ? error.code : Number(error !== null), text: `${stdout}${stderr}` }),
      );
    });
  const gitOk = async (...args: readonly string[]): Promise<string> => {
    const { exitCode, text } = await git(...args);
    if (exitCode !== 0) expect.fail(`git ${args.join(" ")}: ${text}`);
    return text;
  };
  const commit = async (text: string, files: Record<string, string> = app(text)): Promise<string> => {
    await writeFiles(folder, files);
    await gitOk("add", "--all");
    await gitOk("commit", "--message", `Says ${text}`);
    return (await gitOk("rev-parse", "HEAD")).trim();
  };
  const urlWith = (token: string): string => `http://x:${token}@127.0.0.1:${rig.platform.ports.api}/git/shop.git`;

  it("is on staging when the push ends, which shows its steps", async () => {
    await rig.json("app", "create", "shop");
    folder = await rig.folder({});
    url = urlWith((await readFile(join(rig.platform.home, "api-token"), "utf8")).trim());
    await gitOk("init");
    const id = await commit("one");
    const pushed = await gitOk("push", url, "main");
    for (const line of ["remote: delivery shop-1: Says one", "remote: verify ok", "remote: deploy ok", "remote: staging runs release"])
      expect(pushed).toContain(line);
    expect((await rig.visit("staging", "shop")).text).toBe("one");
    expect(problemOf(await rig.visit("production", "shop"))).toMatchObject({ code: "NOTHING_DEPLOYED" });
    const { releases } = await rig.json("releases", "--app", "shop");
    expect(releases).toMatchObject([{ commit: id, message: "Says one", live: ["staging"] }]);
  });

  it("is refused when it is red, so that the branch stays where it was and staging too", async () => {
    const before = await gitOk("ls-remote", url, "refs/heads/main");
    await commit("broken", { ...app("broken"), "src/http/get-index/index.js": "exports.handler = 1 +;\n" });
    const { exitCode, text } = await git("push", url, "main");
    expect(exitCode).not.toBe(0);
    expect(text).toMatch(/remote: .*src\/http\/get-index\/index\.js/);
    expect(text).toContain("delivery shop-2 is red");
    expect(await gitOk("ls-remote", url, "refs/heads/main")).toBe(before);
    expect((await rig.visit("staging", "shop")).text).toBe("one");
  });

  it("runs its tests, whose lines are shown, and is refused when they fail", async () => {
    const scripts = {
      "package.json": JSON.stringify({ scripts: { test: "node test.mjs" } }),
      "test.mjs": "console.log('two is one'); process.exit(1);",
    };
    await commit("untested", { ...app("untested"), ...scripts });
    const { exitCode, text } = await git("push", url, "main");
    expect(exitCode).not.toBe(0);
    expect(text).toContain("two is one");
    expect(text).toContain("test: npm run test ended with exit code 1");
    await commit("tested", { ...app("tested"), "test.mjs": "console.log('fine');" });
    expect(await gitOk("push", url, "main")).toContain("fine");
    expect((await rig.visit("staging", "shop")).text).toBe("tested");
  });

  it("goes to production by a tag of a commit that is green, and by no other", async () => {
    await gitOk("tag", "v1.0.0");
    expect(await gitOk("push", url, "v1.0.0")).toContain("v1.0.0: production runs release");
    expect((await rig.visit("production", "shop")).text).toBe("tested");
    await commit("unpushed");
    await gitOk("tag", "--annotate", "v1.1.0", "--message", "The next one");
    const { exitCode, text } = await git("push", url, "v1.1.0");
    expect(exitCode).not.toBe(0);
    expect(text).toContain("RELEASE_NOT_FOUND");
    expect((await rig.visit("production", "shop")).text).toBe("tested");
    const both = await gitOk("push", url, "main", "v1.1.0");
    expect(both).toContain("v1.1.0: production runs release");
    expect((await rig.visit("production", "shop")).text).toBe("unpushed");
    expect(await gitOk("push", url, "HEAD:refs/tags/nightly")).not.toContain("production");
  });

  it("stores other branches without delivering them, and can be cloned with what was deployed since", async () => {
    await gitOk("checkout", "-b", "idea");
    await commit("idea");
    expect(await gitOk("push", url, "idea")).toContain("idea is stored; only main is delivered");
    expect((await rig.visit("staging", "shop")).text).toBe("unpushed");
    await rig.ok("deploy", await rig.folder(app("deployed")), "--app", "shop", "-m", "From a folder");
    const clone = await rig.folder({});
    await gitOk("clone", url, clone);
    expect(await readFile(join(clone, "src/http/get-index/index.js"), "utf8")).toBe(says("deployed"));
    await gitOk("checkout", "main");
    const { exitCode, text } = await git("push", url, "main:main", "--no-force");
    expect([exitCode, text]).toEqual([1, expect.stringMatching(/rejected|fetch first/)]);
  });

  it("is as if never pushed when the orchestrator dies in the middle, and can be pushed again", async () => {
    await gitOk("fetch", url, "main");
    await gitOk("reset", "--hard", "FETCH_HEAD");
    const before = await gitOk("ls-remote", url, "refs/heads/main");
    const slow = {
      "test.mjs": "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500);",
      "package.json": JSON.stringify({ scripts: { test: "node test.mjs" } }),
    };
    await commit("late", { ...app("late"), ...slow });
    const pushing = git("push", url, "HEAD:main");
    const last = async (): Promise<{ readonly state?: string }> => {
      const { deliveries } = await rig.json("deliveries", "--app", "shop");
      return (deliveries as { state: string }[])[0] ?? {}; // What the command prints.
    };
    await until(async () => (await last()).state === "running", { timeoutMs: 20_000 });
    rig.platform.process.kill("SIGKILL");
    expect((await pushing).exitCode).not.toBe(0);
    await rig.startAgain();
    await until(async () => (await last()).state === "red", { timeoutMs: 20_000 });
    expect(await gitOk("ls-remote", url, "refs/heads/main")).toBe(before);
    expect((await rig.visit("staging", "shop")).text).toBe("deployed");
    await gitOk("push", url, "HEAD:main");
    expect((await rig.visit("staging", "shop")).text).toBe("late");
  });

  it("needs a token that may deploy", async () => {
    const { token } = await rig.json("token", "create", "reader", "--role", "read");
    await commit("two");
    for (const wrong of ["0".repeat(64), "nothing"]) expect((await git("push", urlWith(wrong), "main", "--force")).exitCode).not.toBe(0);
    const reading = await git("push", urlWith(String(token)), "main", "--force");
    expect(reading.exitCode).not.toBe(0);
    expect((await git("ls-remote", urlWith(String(token)))).exitCode).toBe(0);
    expect((await git("ls-remote", url.replace("shop.git", "other.git"))).exitCode).not.toBe(0);
    expect((await rig.visit("staging", "shop")).text).toBe("late");
    const { entries } = await rig.json("audit");
    expect(entries).toEqual(expect.arrayContaining([expect.objectContaining({ method: "PUSH", tokenName: "home" })]));
  });
});
