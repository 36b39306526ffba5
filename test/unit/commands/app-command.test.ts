// orchestrator app: where an app will answer, how it is pushed to without a token being shown, and that none is removed by mistake.
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { typedName } from "../../../orchestrator/commands/typed-name.ts";
import { runHere, type ScriptedApi, startScriptedApi, TOKEN } from "../../support/scripted-api.ts";

const run = promisify(execFile);
const TIMEOUT_MS = 20_000;

const APP = {
  name: "shop",
  appId: "a1",
  isDefault: false,
  source: "repository",
  hosts: { staging: ["shop-staging.localhost", "shop.localhost"], production: ["shop.localhost", "shop.example.org"] },
  live: { staging: "5d41402abc4b2a76", production: null },
  createdEpochMs: 0,
  createdBy: "home",
  gitUrl: "http://localhost:3330/git/shop.git",
};

let base = "";
let home = "";
let api: ScriptedApi;
beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), "orchestrator-app-"));
  home = join(base, "a home's $place");
  await mkdir(home);
  await writeFile(join(home, "api-token"), `${TOKEN}\n`);
  api = await startScriptedApi(home);
});
afterEach(async () => {
  await api.stop();
  await rm(base, { recursive: true });
});

const paths = (): string[] => api.asked.map(({ method, path }) => `${method} ${path}`);

describe("orchestrator app create", () => {
  it("says where the app will answer and how it is pushed to, and no token", async () => {
    api.answer({ "POST /api/apps": { json: APP } });
    const { exitCode, stdout } = await runHere(api, "app", "create", "shop");
    expect(exitCode).toBe(0);
    expect(stdout).toContain("  staging     shop-staging.localhost, shop.localhost\n  production  shop.localhost, shop.example.org\n");
    expect(stdout).toContain("  orchestrator deploy --app shop\n");
    expect(stdout).toContain("  git remote add orchestrator http://x:<token>@localhost:3330/git/shop.git\n");
    expect(stdout).toContain(join(home, "api-token"));
    expect(stdout).not.toContain(TOKEN);
    expect(api.asked[0]?.body.toString()).toBe('{"name":"shop"}');
  });

  it("gives a line that lets git read the token where it lies, in a folder of any name", async () => {
    api.answer({ "POST /api/apps": { json: APP } });
    const { stdout } = await runHere(api, "app", "create", "shop");
    const line = stdout.split("\n").find((one) => one.startsWith("  git config "));
    const options = {
      cwd: base,
      timeout: TIMEOUT_MS,
      env: { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null" },
    };
    await run("git", ["init", "--quiet"], options);
    await run("sh", ["-c", line ?? ""], options);
    const question = "protocol=http\\nhost=localhost:3330\\npath=git/shop.git\\n\\n";
    const { stdout: answer } = await run("sh", ["-c", `printf '${question}' | git credential fill`], options);
    expect(answer.split("\n")).toEqual(expect.arrayContaining(["username=x", `password=${TOKEN}`]));
  });

  it("tells nothing of git where the app is that of a folder", async () => {
    api.answer({ "POST /api/apps": { json: { ...APP, gitUrl: null } } });
    expect((await runHere(api, "app", "create", "shop")).stdout).not.toContain("git");
  });

  it("passes a refusal on", async () => {
    api.answer({ "POST /api/apps": { status: 409, json: { code: "APP_NAME_TAKEN" } } });
    const { exitCode, stderr } = await runHere(api, "app", "create", "shop");
    expect([exitCode, stderr]).toEqual([1, "APP_NAME_TAKEN: Another app has this name.\n"]);
  });
});

describe("orchestrator app ls", () => {
  it("shows what is live, and on which hosts", async () => {
    api.answer({ "GET /api/apps": { json: { apps: [{ ...APP, name: "hello", isDefault: true, source: "folder" }, APP] } } });
    const { stdout } = await runHere(api, "app", "ls");
    expect(stdout.split("\n")[1]).toMatch(
      /^hello \(default\) {2}folder {6}5d41402abc4b2a76 {2}- {16}shop-staging\.localhost, shop\.localhost {2}/,
    );
    expect(stdout.split("\n")[2]).toMatch(/^shop {13}repository {2}5d41402abc4b2a76/);
  });

  it("says how to make the first one", async () => {
    api.answer({ "GET /api/apps": { json: { apps: [] } } });
    expect((await runHere(api, "app", "ls")).stdout).toBe("no apps; make one with: orchestrator app create <name>\n");
  });
});

describe("orchestrator app rm", () => {
  it("refuses to guess where nobody can be asked", async () => {
    const { exitCode, stderr } = await runHere(api, "app", "rm", "shop");
    expect([exitCode, api.asked]).toEqual([2, []]);
    expect(stderr).toContain("orchestrator app rm shop --yes");
  });

  it("removes it where it is told to", async () => {
    api.answer({ "DELETE /api/apps/shop": { json: { name: "shop" } } });
    const { exitCode, stdout } = await runHere(api, "app", "rm", "shop", "--yes");
    expect([exitCode, stdout]).toEqual([0, 'the app "shop" is gone, with everything that it had\n']);
  });

  it("leaves other paths alone, whatever the name", async () => {
    await runHere(api, "app", "rm", "../tokens/ci", "--yes");
    expect(paths()).toEqual(["DELETE /api/apps/..%2Ftokens%2Fci"]);
  });
});

describe("a name that is typed", () => {
  beforeEach(() => {
    vi.spyOn(process.stderr, "write").mockReturnValue(true);
  });
  afterEach(() => {
    vi.restoreAllMocks();
  });

  it.each([
    ["as it is", "shop\n", "shop"],
    ["with spaces around", "  shop \r\n", "shop"],
    ["as nothing", "\n", ""],
  ])("is taken %s", async (_what, text, expected) => {
    const input = new PassThrough();
    input.write(text);
    expect(await typedName("Name? ", input)).toBe(expected);
  });

  it("is none where the input ends", async () => {
    const input = new PassThrough();
    const typed = typedName("Name? ", input);
    input.end();
    expect(await typed).toBeNull();
  });
});

describe("orchestrator app domain", () => {
  it("adds a domain to production, unless another environment is named", async () => {
    const path = "PUT /api/apps/shop/domains/shop.example.org";
    api.answer({ [path]: { json: APP } });
    const { stdout } = await runHere(api, "app", "domain", "add", "shop", "shop.example.org");
    expect(stdout).toContain("  production  shop.localhost, shop.example.org\n");
    await runHere(api, "app", "domain", "add", "shop", "shop.example.org", "--environment", "staging");
    expect(api.asked.map(({ body }) => body.toString())).toEqual(['{"environment":"production"}', '{"environment":"staging"}']);
  });

  it("takes one away", async () => {
    api.answer({ "DELETE /api/apps/shop/domains/shop.example.org": { json: APP } });
    expect((await runHere(api, "app", "domain", "rm", "shop", "shop.example.org")).exitCode).toBe(0);
  });
});
