// What the bench reads: wrk's report, /proc, CPU profiles; and what it makes of it.
import { describe, expect, it } from "vitest";
import { CELLS, type CellResult, type RowResult, compareSection } from "../../../bench/compare.ts";
import { cpuBetween, cpuOfTrees, memoryBytesOf, parseStat, treesOf } from "../../../bench/cpu.ts";
import { luaScript, parseReport } from "../../../bench/load.ts";
import { growthMegabytesPerMillion } from "../../../bench/memory.ts";
import { summarise } from "../../../bench/profile-summary.ts";
import { routesOf } from "../../../bench/routes.ts";
import { nginxConfig } from "../../../bench/rows/nginx.ts";
import { buildRouteTable } from "../../../gateway/routing/table.ts";
import { matchRoute } from "../../../gateway/routing/match.ts";

describe("parseReport", () => {
  const output = "Running 1s test\n  32 connections\nbench-report 12000 2000000 1 0 2 0 3 640.000000 2100.000000\n";

  it("reads rate and latencies out of what the script printed", () => {
    expect(parseReport(output)).toMatchObject({ requestCount: 12_000, durationS: 2, requestsPerS: 6_000, p50Ms: 0.64, p99Ms: 2.1 });
  });

  it("counts refused answers, socket errors and timeouts as failed", () => {
    expect(parseReport(output).failedCount).toBe(6);
  });

  it("refuses an output without a report", () => {
    expect(() => parseReport("unable to connect to 127.0.0.1:1")).toThrow(/no report/);
  });
});

describe("luaScript", () => {
  it("sends a body only where there is one", () => {
    expect(luaScript({ method: "GET", bodyBytes: 0 })).not.toContain("wrk.body");
    expect(luaScript({ method: "POST", bodyBytes: 1_000 })).toContain('string.rep("x", 1000)');
  });
});

describe("parseStat", () => {
  it("finds its fields behind a name with spaces and parentheses", () => {
    const stat = "42 (a (b) c) S 7 42 42 0 -1 4194560 1 0 0 0 250 50 9 9 20 0 1 0 100 1000 10";
    expect(parseStat(stat)).toEqual({ pid: 42, parentPid: 7, cpuMs: 3_000 });
  });

  it("knows nothing of a process that ended meanwhile", () => {
    expect(parseStat("")).toBeNull();
  });
});

describe("CPU time of a row", () => {
  const facts = [
    { pid: 1, parentPid: 0 },
    { pid: 20, parentPid: 10 },
    { pid: 10, parentPid: 1 },
    { pid: 30, parentPid: 20 },
    { pid: 11, parentPid: 1 },
  ];

  it("belongs to the roots and to everything below them, whatever their order", () => {
    expect(treesOf(facts, [10])).toEqual(new Set([10, 20, 30]));
  });

  it("is what was added between two looks, a process that began meanwhile included", () => {
    expect(
      cpuBetween(
        new Map([
          [1, 100],
          [2, 50],
        ]),
        new Map([
          [1, 130],
          [3, 5],
        ]),
      ),
    ).toBe(35);
  });

  it("is read from the running system", async () => {
    expect((await cpuOfTrees([process.pid])).get(process.pid)).toBeGreaterThan(0);
    expect(await memoryBytesOf(process.pid)).toBeGreaterThan(1_000_000);
  });
});

describe("compareSection", () => {
  const cell = (requestsPerS: number, failedCount = 0): CellResult => ({
    report: { requestCount: 1, failedCount, durationS: 1, requestsPerS, p50Ms: 1, p99Ms: 2 },
    cpuUsPerRequest: 10,
  });
  // Every cell is there.
  const row = (name: string, rates: number[], failedCount = 0): RowResult => ({
    name,
    rounds: rates.map((rate) => Object.fromEntries(CELLS.map((key) => [key, cell(rate, failedCount)])) as RowResult["rounds"][number]),
  });
  const rows = [
    row("bare node:http", [100]),
    row("nginx → container", [50]),
    row("http-proxy → container", [10]),
    row("ours, docker", [10, 60, 90], 1),
  ];
  const section = compareSection({ rows, foreignShare: 0.123 }, { machine: "a machine", roundCount: 3 });
  const ours = section.split("\n").find((line) => line.includes("ours, docker"));

  it("takes the median of the rounds and compares it with the other rows", () => {
    expect(ours).toMatch(/\| +60 \| +0\.600× \| +1\.20× \| +6\.00× \|/);
  });

  it("says how much of the machine others used", () => {
    expect(section).toContain("Other programs used 12 % of the machine");
  });

  it("adds up every failed request of every round", () => {
    expect(ours).toMatch(/\| +21 \|$/);
  });
});

describe("growthMegabytesPerMillion", () => {
  const samples = (megabytesAt: (index: number) => number) =>
    Array.from({ length: 21 }, (_, index) => ({ requestCount: index * 50_000, gatewayBytes: megabytesAt(index) * 1e6, instanceBytes: 0 }));

  it("is 0 for memory that is flat after its first quarter", () => {
    expect(
      growthMegabytesPerMillion(
        samples((index) => Math.min(index, 4) * 10),
        (one) => one.gatewayBytes,
      ),
    ).toBe(0);
  });

  it("finds a leak of 100 bytes per request", () => {
    expect(
      growthMegabytesPerMillion(
        samples((index) => 80 + index * 5),
        (one) => one.gatewayBytes,
      ),
    ).toBeCloseTo(100);
  });
});

describe("summarise", () => {
  const frame = (functionName: string) => ({ functionName, url: "", lineNumber: 0 });
  const profile = {
    nodes: [
      { id: 1, callFrame: frame("(root)"), children: [2, 3] },
      { id: 2, callFrame: frame("(idle)") },
      { id: 3, callFrame: frame("outer"), children: [4] },
      { id: 4, callFrame: frame("inner"), children: [5] },
      { id: 5, callFrame: frame("outer") },
    ],
    samples: [2, 3, 4, 5],
    timeDeltas: [60, 20, 10, 10],
  };

  it("leaves idle time out of the shares", () => {
    expect(summarise(profile).busyShare).toBeCloseTo(0.4);
  });

  it("counts a function that calls itself once", () => {
    const outer = summarise(profile).functions.find((one) => one.name === "outer");
    expect([outer?.selfShare, outer?.totalShare]).toEqual([0.75, 1]);
  });
});

describe("the routes of the routing bench", () => {
  it("are all different, and each path finds its own", () => {
    const routes = routesOf(5_000);
    const table = buildRouteTable(routes);
    expect(new Set(routes.map((route) => route.path)).size).toBe(5_000);
    expect(matchRoute(table, { method: "GET", path: "/area-2001/items/x" })?.key).toBe("GET /area-2001/items/:item");
  });
});

describe("nginxConfig", () => {
  const options = { port: 8_080, address: "192.0.2.1:80", isRoot: false };

  it("keeps its connections to the app, and names another user only where it may become it", () => {
    const config = nginxConfig({ ...options, upstream: "kept" });
    expect(config).toContain("keepalive 64;");
    expect(config).not.toContain("user ");
  });

  it("says nothing of connections where nginx is to do as it does by itself", () => {
    const config = nginxConfig({ ...options, upstream: "one each" });
    expect(config).toContain("server 192.0.2.1:80;");
    expect(config).not.toMatch(/keepalive 64|proxy_http_version|Connection/);
  });
});
