// orchestrator deliveries, delivery, route: what was sent to be built, how it went, and routes that are built when they come and go.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CANCEL, DELIVERY, GREEN, LOG, RED, VERIFIED } from "../../support/delivery-answers.ts";
import { runHere, type ScriptedApi, startScriptedApi } from "../../support/scripted-api.ts";

let home = "";
let api: ScriptedApi;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "orchestrator-delivery-"));
  api = await startScriptedApi(home);
});
afterEach(async () => {
  await api.stop();
  await rm(home, { recursive: true });
});

const paths = (): string[] => api.asked.map(({ method, path }) => `${method} ${path}`);

describe("orchestrator deliveries", () => {
  it("lists them, with the first line of their message", async () => {
    api.answer({
      "GET /api/deliveries": {
        json: {
          deliveries: [
            DELIVERY,
            {
              ...DELIVERY,
              number: 6,
              deliveryId: "shop-6",
              source: { kind: "upload", commit: null, ref: null, message: null },
              state: "green",
              releaseId: "5d41402abc4b2a76",
            },
          ],
        },
      },
    });
    const { stdout } = await runHere(api, "deliveries", "--app", "shop", "-n", "2");
    expect(stdout).toBe(
      [
        "number  delivery  state  created (UTC)         by  from                         release           message",
        "7       shop-7    red    2026-01-02T03:04:05Z  ci  git 0123456 refs/heads/main  -                 Sell shoes",
        "6       shop-6    green  2026-01-02T03:04:05Z  ci  upload                       5d41402abc4b2a76",
        "",
      ].join("\n"),
    );
    expect(paths()).toEqual(["GET /api/deliveries?app=shop&count=2"]);
  });

  it("says how to make the first one", async () => {
    api.answer({ "GET /api/deliveries": { json: { deliveries: [] } } });
    expect((await runHere(api, "deliveries")).stdout).toBe("no deliveries; make one with: orchestrator deploy\n");
  });

  it("are given to programs as they are", async () => {
    const answer = { deliveries: [DELIVERY] };
    api.answer({ "GET /api/deliveries": { json: answer } });
    expect(JSON.parse((await runHere(api, "deliveries", "--json")).stdout)).toEqual(answer);
  });

  it("takes no count that is none", async () => {
    const { exitCode, stderr } = await runHere(api, "deliveries", "--count", "many");
    expect([exitCode, api.asked]).toEqual([2, []]);
    expect(stderr).toContain('--count: should be a whole number, got "many"');
  });
});

describe("orchestrator delivery log", () => {
  it("shows all of it, and how it ended, which is no failure of looking", async () => {
    api.answer({ "GET /api/deliveries/shop-7": { json: DELIVERY }, [LOG]: { lines: [...VERIFIED, RED] } });
    expect(await runHere(api, "delivery", "log", "shop-7")).toEqual({
      exitCode: 0,
      stdout: "verify … ok 0.2 s\ntest    | 1 of 2 tests failed\n",
      stderr: "delivery 7 of shop (shop-7, git 0123456 refs/heads/main) is red: The step test ended with 1.\n",
    });
  });

  it("ends as deploy does where it is followed", async () => {
    api.answer({ "GET /api/deliveries/shop-7": { json: DELIVERY }, [LOG]: { lines: [...VERIFIED, RED] } });
    const { exitCode, stderr } = await runHere(api, "delivery", "log", "shop-7", "-f");
    expect(exitCode).toBe(1);
    expect(stderr).toContain("DEPLOY_FAILED");
  });

  it("does not wait for one that is not there", async () => {
    api.answer({ "GET /api/deliveries/shop-8": { status: 404, json: { code: "DELIVERY_NOT_FOUND", detail: '"shop-8".' } } });
    const { exitCode, stderr } = await runHere(api, "delivery", "log", "shop-8", "--follow");
    expect([exitCode, stderr]).toEqual([1, 'DELIVERY_NOT_FOUND: There is no such delivery. "shop-8".\n']);
  });
});

describe("orchestrator delivery cancel", () => {
  it("says what became of it", async () => {
    api.answer({ [CANCEL]: { json: { ...DELIVERY, state: "cancelled", detail: null } } });
    const { exitCode, stdout } = await runHere(api, "delivery", "cancel", "shop-7");
    expect([exitCode, stdout]).toEqual([0, "delivery 7 of shop (shop-7, git 0123456 refs/heads/main) is cancelled\n"]);
  });
});

describe("orchestrator route", () => {
  const files = ["app.arc", "src/http/post-api-submit/index.js"];

  it("adds one, says what it wrote, and follows its delivery", async () => {
    api.answer({ "POST /api/routes": { json: { deliveryId: "shop-7", files } }, [LOG]: { lines: [...VERIFIED, GREEN] } });
    const { exitCode, stdout } = await runHere(api, "route", "add", "POST /api/submit", "--app", "shop");
    expect(exitCode).toBe(0);
    expect(stdout).toBe(
      "wrote app.arc\nwrote src/http/post-api-submit/index.js\nverify … ok 0.2 s\ntest    | 1 of 2 tests failed\nstaging runs release 5d41402abc4b2a76\n",
    );
    expect(api.asked[0]).toMatchObject({ path: "/api/routes?app=shop", body: Buffer.from('{"route":"POST /api/submit","kind":"http"}') });
  });

  it("removes one, and ends with 1 where what is left is red", async () => {
    api.answer({ "DELETE /api/routes": { json: { deliveryId: "shop-7", files: ["app.arc"] } }, [LOG]: { lines: [RED] } });
    const { exitCode, stdout } = await runHere(api, "route", "rm", "POST /api/submit");
    expect([exitCode, stdout]).toEqual([1, "changed app.arc\n"]);
    expect(paths()[0]).toBe("DELETE /api/routes?route=POST+%2Fapi%2Fsubmit");
  });

  it("prints nothing but the id where it does not wait", async () => {
    api.answer({ "POST /api/routes": { json: { deliveryId: "shop-7", files } } });
    expect((await runHere(api, "route", "add", "POST /api/submit", "--detach")).stdout).toBe("shop-7\n");
  });

  it("follows nothing where an app is served from its folder", async () => {
    api.answer({ "POST /api/routes": { json: { deliveryId: null, files } } });
    const { exitCode, stderr } = await runHere(api, "route", "add", "POST /api/submit");
    expect([exitCode, paths()]).toEqual([0, ["POST /api/routes"]]);
    expect(stderr).toContain("served from this folder");
  });

  it("passes a refusal on", async () => {
    api.answer({ "POST /api/routes": { status: 409, json: { code: "ROUTE_TAKEN" } } });
    const { exitCode, stderr } = await runHere(api, "route", "add", "POST /api/submit");
    expect([exitCode, stderr]).toEqual([1, "ROUTE_TAKEN: The app has this route already.\n"]);
  });
});
