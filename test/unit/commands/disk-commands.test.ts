// orchestrator collect and doctor: what they ask for, what they say of the disk, and that doctor looks itself where nobody answers.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { diskLines } from "../../../orchestrator/commands/disk-lines.ts";
import type { DiskReport } from "../../../orchestrator/doctor/disk-use.ts";
import { runHere, type ScriptedApi, startScriptedApi } from "../../support/scripted-api.ts";

const GB = 1_000_000_000;
const PART = { fileCount: 12, isWhole: true };

let home = "";
let api: ScriptedApi;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "orchestrator-disk-"));
  api = await startScriptedApi(home);
});
afterEach(async () => {
  await api.stop();
  await rm(home, { recursive: true });
});

const reportOf = (fields: Partial<DiskReport> = {}): DiskReport => ({
  home,
  parts: [
    { part: "sites", bytes: 12_000_000, ...PART },
    { part: "broker", bytes: 3.21 * GB, ...PART },
    { part: "npm-cache", bytes: 0, ...PART },
  ],
  bytes: 3.222 * GB,
  isWhole: true,
  freeBytes: 40 * GB,
  engine: { kind: "docker", buildCount: 7, buildBytes: 21_000_000, imageBytes: 155_000_000, freeBytes: 41 * GB },
  ...fields,
});

describe("the room that a platform takes, for people", () => {
  it("is a table, the largest part first, with what an engine keeps elsewhere", () => {
    expect(diskLines({ ...reportOf(), home: "/srv/o" })).toEqual([
      "/srv/o takes",
      "  broker                3.2 GB  documents, sessions, what is deployed",
      "  sites                12.0 MB  static files of releases",
      "  the home              3.2 GB  40.0 GB free on its disk",
      "  images of builds     21.0 MB  in Docker: 7 builds",
      "  what they stand on  155.0 MB  in Docker: the runtime, Node and npm; 41.0 GB free on the engine's disk",
    ]);
  });

  it("says where there is more than was measured", () => {
    const parts = [{ part: "installs", bytes: 5 * GB, fileCount: 12, isWhole: false }] as const;
    const lines = diskLines({ ...reportOf({ parts, isWhole: false, engine: null }), home: "/srv/\u001b[2Jo" });
    expect(lines).toContainEqual(expect.stringMatching(/installs +5\.0 GB\+ /));
    expect(lines.at(-1)).toContain("and more");
    expect(lines.join("")).not.toContain("\u001b");
  });
});

describe("orchestrator doctor", () => {
  it("asks the platform that runs on the home, and shows what it says", async () => {
    api.answer({ "GET /api/disk": { json: reportOf() } });
    const { stdout } = await runHere(api, "doctor");
    expect(stdout).toContain(`${home} takes`);
    expect(stdout).toMatch(/broker +3\.2 GB/);
    expect(stdout).toMatch(/ok +disk use +3\.2 GB in the home/);
    const { stdout: json } = await runHere(api, "doctor", "--json", "--home", home);
    expect(JSON.parse(json)).toMatchObject({
      disk: reportOf(),
      checks: expect.arrayContaining([expect.objectContaining({ name: "disk use" })]) as unknown,
    });
  });

  it("looks into the home itself where nothing answers, or what answers is no use or another one's", async () => {
    await mkdir(join(home, "broker"));
    await writeFile(join(home, "broker", "data"), Buffer.alloc(250_000, 1));
    for (const reply of [{ status: 404, json: {} }, { json: { home } }, { json: reportOf({ home: "/another" }) }]) {
      api.answer({ "GET /api/disk": reply });
      const { stdout } = await runHere(api, "doctor", "--json", "--home", home);
      expect(JSON.parse(stdout)).toMatchObject({ disk: { home, engine: null, isWhole: true } });
      expect(stdout).toMatch(/"part":"broker","bytes":2\d{5},/);
    }
    const { stdout } = await runHere({ port: 1 }, "doctor", "--home", home);
    expect(stdout).toMatch(/broker +25\d\.\d KB/);
  });

  it("waits for an answer for two seconds at most", async () => {
    api.answer({ "GET /api/disk": { write: () => undefined } });
    const startMs = performance.now();
    const { stdout } = await runHere(api, "doctor", "--json", "--home", home);
    expect(performance.now() - startMs).toBeLessThan(6_000); // Docker and the broker have deadlines of their own.
    expect(JSON.parse(stdout)).toMatchObject({ disk: { home, engine: null } });
  });

  it("says nothing of the room that a home takes which is not there", async () => {
    const { stdout } = await runHere({ port: 1 }, "doctor", "--json", "--home", join(home, "none"));
    expect(JSON.parse(stdout)).toMatchObject({ disk: null });
    expect(stdout).not.toContain("disk use");
  });
});

describe("orchestrator collect", () => {
  const NOTHING = { releaseCount: 0, buildCount: 0, siteCount: 0, installCount: 0, outdatedCount: 0, bytesFreed: 0 };

  it("says what was forgotten and removed, and how much room that gave", async () => {
    const collected = { releaseCount: 3, buildCount: 5, siteCount: 1, installCount: 2, outdatedCount: 1, bytesFreed: 2.5 * GB };
    api.answer({ "POST /api/collect": { json: collected } });
    const { stdout, exitCode } = await runHere(api, "collect");
    expect(stdout).toBe("forgot 3 releases; removed 5 builds, 1 site, 2 installs, 1 of earlier versions; 2.5 GB freed\n");
    expect(exitCode).toBe(0);
    expect(api.asked.map(({ method, path }) => `${method} ${path}`)).toEqual(["POST /api/collect?keptMs=1209600000"]);
    expect(JSON.parse((await runHere(api, "collect", "--json")).stdout)).toEqual(collected);
  });

  it("says so where nothing could go", async () => {
    api.answer({ "POST /api/collect": { json: NOTHING } });
    expect((await runHere(api, "collect")).stdout).toBe("there is nothing that could go\n");
  });

  it("takes a number of days, and refuses what is none", async () => {
    api.answer({ "POST /api/collect": { json: NOTHING } });
    await runHere(api, "collect", "--keep-days", "0");
    expect(api.asked.at(-1)?.path).toBe("/api/collect?keptMs=0");
    for (const days of ["15", "-1", "1.5", "soon"]) {
      const { exitCode, stderr } = await runHere(api, "collect", `--keep-days=${days}`);
      expect(exitCode).toBe(2);
      expect(stderr).toContain("--keep-days: should be a number from 0 to 14");
    }
  });
});
