// orchestrator releases, promote, rollback, diff, gateway restart: what they ask for, what they say, and how they end.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { runHere, type ScriptedApi, startScriptedApi } from "../../support/scripted-api.ts";

const RELEASE = {
  releaseId: "5d41402abc4b2a76",
  createdEpochMs: Date.UTC(2026, 0, 2, 3, 4, 5),
  by: "ci",
  commit: "0123456789abcdef0123456789abcdef01234567",
  message: "Sell shoes\nand hats",
  deliveryId: "shop-7",
  outcome: "green",
  live: ["staging", "production"],
  functionCount: 12,
};

let home = "";
let api: ScriptedApi;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "orchestrator-releases-"));
  api = await startScriptedApi(home);
});
afterEach(async () => {
  await api.stop();
  await rm(home, { recursive: true });
});

const paths = (): string[] => api.asked.map(({ method, path }) => `${method} ${path}`);

describe("orchestrator releases", () => {
  it("shows who made them, when, of which commit, and where they are live", async () => {
    const earlier = { ...RELEASE, releaseId: "7d793037a0760186", commit: null, message: null, outcome: "red", live: [], functionCount: 3 };
    api.answer({ "GET /api/releases": { json: { releases: [RELEASE, earlier] } } });
    const { stdout } = await runHere(api, "releases", "--app", "shop");
    expect(stdout).toBe(
      [
        "release           created (UTC)         by  commit   outcome  live on              functions  message",
        "5d41402abc4b2a76  2026-01-02T03:04:05Z  ci  0123456  green    staging, production  12         Sell shoes",
        "7d793037a0760186  2026-01-02T03:04:05Z  ci  -        red      -                    3",
        "",
      ].join("\n"),
    );
    expect(paths()).toEqual(["GET /api/releases?app=shop&count=20"]);
  });

  it("lets nothing of a message or a name act on a terminal", async () => {
    const hostile = { ...RELEASE, message: "\u001b]0;x\u0007\u202eevil", by: "\u001b[2Jx" };
    api.answer({ "GET /api/releases": { json: { releases: [hostile] } } });
    // oxlint-disable-next-line no-control-regex -- Those are just what must not be there.
    expect((await runHere(api, "releases")).stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/);
  });

  it("are given to programs as they are", async () => {
    api.answer({ "GET /api/releases": { json: { releases: [RELEASE] } } });
    expect(JSON.parse((await runHere(api, "releases", "--json")).stdout)).toEqual({ releases: [RELEASE] });
  });

  it("says which field of an answer is not as it should be", async () => {
    api.answer({ "GET /api/releases": { json: { releases: [{ ...RELEASE, live: "staging" }] } } });
    const { exitCode, stdout, stderr } = await runHere(api, "releases");
    expect([exitCode, stdout]).toEqual([1, ""]);
    expect(stderr).toContain("answer.releases[0].live: should be a list");
  });
});

describe("orchestrator promote", () => {
  it("takes what is live on staging", async () => {
    api.answer({ "POST /api/promote": { json: { releaseId: "5d41402abc4b2a76", environment: "production", failures: [] } } });
    expect(await runHere(api, "promote")).toEqual({ exitCode: 0, stdout: "production runs release 5d41402abc4b2a76\n", stderr: "" });
    expect(paths()).toEqual(["POST /api/promote"]);
  });

  it("takes a release that is named", async () => {
    api.answer({ "POST /api/promote": { json: { releaseId: "5d41402abc4b2a76", failures: [] } } });
    await runHere(api, "promote", "5d41", "--app", "shop");
    expect(paths()).toEqual(["POST /api/promote?app=shop&release=5d41"]);
  });

  it("ends with 1 where the release is not green", async () => {
    api.answer({ "POST /api/promote": { status: 409, json: { code: "RELEASE_NOT_GREEN", detail: "5d41402abc4b2a76 is red." } } });
    const { exitCode, stderr } = await runHere(api, "promote", "5d41");
    expect([exitCode, stderr]).toEqual([1, "RELEASE_NOT_GREEN: The release is not green. 5d41402abc4b2a76 is red.\n"]);
  });
});

describe("orchestrator rollback", () => {
  it.each([
    [[], "POST /api/rollback?environment=production"],
    [["7d79"], "POST /api/rollback?environment=production&release=7d79"],
    [["--environment", "staging", "--app", "shop"], "POST /api/rollback?app=shop&environment=staging"],
  ])("with %j asks for %s", async (args, path) => {
    const environment = path.includes("staging") ? "staging" : "production";
    api.answer({ "POST /api/rollback": { json: { releaseId: "7d793037a0760186", environment, failures: [] } } });
    const { exitCode, stdout } = await runHere(api, "rollback", ...args);
    expect([exitCode, stdout]).toEqual([0, `${environment} runs release 7d793037a0760186 again\n`]);
    expect(paths()).toEqual([path]);
  });

  it("ends with 3 where a function does not start", async () => {
    const failures = [{ functionName: "get-index", code: "INSTANCE_LOST", message: "it ended" }];
    api.answer({ "POST /api/rollback": { json: { releaseId: "7d793037a0760186", environment: "production", failures } } });
    const { exitCode, stderr } = await runHere(api, "rollback", "--json");
    expect([exitCode, stderr]).toEqual([3, "get-index does not start and is tried again: INSTANCE_LOST: it ended\n"]);
  });

  it("knows two environments", async () => {
    const { exitCode, stderr } = await runHere(api, "rollback", "--environment", "moon");
    expect([exitCode, api.asked]).toEqual([2, []]);
    expect(stderr).toContain('--environment: should be one of staging, production, got "moon"');
  });
});

describe("orchestrator diff", () => {
  const DIFF = {
    from: "7d793037a0760186",
    to: "5d41402abc4b2a76",
    functions: [
      { name: "src/http/get-index", route: "GET /", change: "rebuilt", settings: [{ name: "timeoutMs", from: "10000", to: "" }] },
      { name: "src/http/post-api-submit", route: "POST /api/submit", change: "added", settings: [] },
      { name: "src/http/get-old", route: "GET /old", change: "removed", settings: [] },
      { name: "src/http/get-x", route: "GET /x", change: "settings", settings: [{ name: "concurrency", from: "32", to: "1" }] },
    ],
    site: "changed",
    proxies: [{ environment: "staging", from: null, to: "http://old.example" }],
  };

  it("shows what a promote would change", async () => {
    api.answer({ "GET /api/releases/diff": { json: DIFF } });
    expect((await runHere(api, "diff")).stdout).toBe(
      [
        "from 7d793037a0760186 to 5d41402abc4b2a76",
        "  ~ GET /             other code  src/http/get-index",
        '      timeoutMs: 10000 → ""',
        "  + POST /api/submit  added  src/http/post-api-submit",
        "  - GET /old          removed  src/http/get-old",
        "  ~ GET /x            other settings  src/http/get-x",
        "      concurrency: 32 → 1",
        "  ~ static files changed",
        "  ~ proxy of staging: none → http://old.example",
        "",
      ].join("\n"),
    );
    expect(paths()).toEqual(["GET /api/releases/diff?from=production&to=staging"]);
  });

  it("compares any two, and says where nothing differs", async () => {
    api.answer({ "GET /api/releases/diff": { json: { ...DIFF, functions: [], site: "same", proxies: [] } } });
    const { stdout } = await runHere(api, "diff", "7d79", "staging", "--app", "shop");
    expect(stdout).toBe("from 7d793037a0760186 to 5d41402abc4b2a76: nothing differs\n");
    expect(paths()).toEqual(["GET /api/releases/diff?from=7d79&to=staging&app=shop"]);
  });
});

describe("orchestrator gateway restart", () => {
  it("says when the new one answers", async () => {
    api.answer({ "POST /api/gateways/production/restart": { json: { environment: "production" } } });
    expect(await runHere(api, "gateway", "restart", "production")).toEqual({
      exitCode: 0,
      stdout: "a new gateway answers for production\n",
      stderr: "",
    });
  });

  it("knows two environments", async () => {
    const { exitCode, stderr } = await runHere(api, "gateway", "restart", "../apps");
    expect([exitCode, api.asked]).toEqual([2, []]);
    expect(stderr).toContain('environment: should be one of staging, production, got "../apps"');
  });
});
