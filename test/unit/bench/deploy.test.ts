// What the benches of deploys and of many apps read out of what they see, and what they say of it.
import { describe, expect, it } from "vitest";
import { type AppsResult, appsSection } from "../../../bench/apps.ts";
import { buildsMsIn, type DeployResult, deploySection } from "../../../bench/deploy.ts";
import { luaScript } from "../../../bench/load.ts";
import { inodesTo } from "../../../bench/sockets.ts";

describe("the log of a delivery", () => {
  const begun = { atMs: 100, event: { kind: "step", step: "deploy", state: "running", durationMs: null } };
  const verified = { atMs: 20, event: { kind: "step", step: "verify", state: "running", durationMs: null } };
  const built = { atMs: 2_600, event: { kind: "line", step: "deploy", text: "20 of 20 functions built" } };

  it("says how long the builds took, without what came before", () => {
    expect(buildsMsIn({ lines: [verified, begun, built] })).toBe(2_500);
  });

  it("is refused where it tells of no builds", () => {
    expect(() => buildsMsIn({ lines: [verified, begun] })).toThrow(/does not tell of its builds/);
  });
});

describe("connections of a process", () => {
  const head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode";
  const row = (remote: string, state: string, inode: number): string =>
    `   0: 0100007F:A1B2 ${remote} ${state} 00000000:00000000 00:00000000 00000000     0        0 ${inode} 1 0000000000000000 20 4 30 10 -1`;

  it("are those that are established, to that port, of whichever address", () => {
    const table = [head, row("0100007F:107E", "01", 11), row("0100007F:107E", "06", 12), row("0100007F:107F", "01", 13)].join("\n");
    expect(inodesTo(table, 4_222)).toEqual(["11"]);
    expect(inodesTo([head, row("00000000000000000000000001000000:107E", "01", 14)].join("\n"), 4_222)).toEqual(["14"]);
  });
});

describe("luaScript", () => {
  it("asks hosts in turn where some are named, with requests that are formatted once", () => {
    const script = luaScript({ method: "GET", bodyBytes: 0, hosts: ["a.localhost", "b.localhost"] });
    expect(script).toContain('ipairs({ "a.localhost", "b.localhost" })');
    expect(luaScript({ method: "GET", bodyBytes: 0 })).not.toContain("function request");
  });
});

describe("the section of deploys", () => {
  const result: DeployResult = {
    engine: "docker",
    unchanged: { commandMs: [1_000, 1_200], apiMs: [500] },
    served: { commandMs: [4_500], apiMs: [4_000] },
    first: [{ buildsMs: 3_000, greenMs: 9_000, plainMs: [6_000, 4_000] }],
    idleMs: [2],
    busyMs: [3, 80],
    requestCount: 1_000,
    failures: [],
  };

  it("compares with the faster way of building, and says what was missed", () => {
    const section = deploySection([result], "a machine");
    expect(section).toContain("nothing changed → deployed (docker), p50: 1.10 s, at most 2 s wanted\n");
    expect(section).toContain("one function changed → served (docker), p50: 4.50 s, at most 4 s wanted: **missed**");
    expect(section).toContain("of the faster `docker build`: 0.750 ×, at most 1 × wanted\n");
    expect(section).toContain("(docker), p99: 79.2 ms, at most 50 ms wanted: **missed**");
  });

  it("has nothing to compare with where there is no docker", () => {
    const section = deploySection([{ ...result, engine: "process", first: [{ buildsMs: 1, greenMs: 2, plainMs: null }] }], "a machine");
    expect(section).not.toContain("faster `docker build`");
    expect(section).toMatch(/\| process +\| +2 \| +1 \| +– \| +– \| +– \|/);
  });
});

describe("the section of many apps", () => {
  const standing = { bytes: 100_000_000, connectionCount: 1, cpuShare: 0.012 };
  const result = (appCount: number): AppsResult => ({
    appCount,
    createMs: [10],
    deployMs: [200],
    updateMs: [5],
    findNs: 20,
    putUs: 3,
    requestsPerS: 9_000,
    cpuUsPerRequest: 80,
    listMs: [4],
    commandListMs: [300],
    idle: { orchestrator: standing, gateway: standing, broker: standing },
    asked: { bytes: 150_000_000, connectionCount: appCount + 1 },
    diskBytes: 73_000_000,
    handOverMs: 900,
    restartMs: 1_000,
    startMs: 2_000,
  });

  it("has a line for each count in each of its tables", () => {
    const section = appsSection([result(10), result(500)], "a machine");
    expect(section.match(/^\| +500 \|/gm)).toHaveLength(3);
    expect(section).toContain("1.20 %");
  });
});
