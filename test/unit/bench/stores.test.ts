// What the section on stores says of its figures.
import { describe, expect, it } from "vitest";
import { luaScript } from "../../../bench/load.ts";
import { storesSection, type StoresResult } from "../../../bench/stores.ts";

const row = (name: string, getMs: number, setMs: number) => ({
  name,
  getsMs: [getMs],
  setsMs: [setMs],
  getsPerS: [1_000],
  setsPerS: [100],
});
const figures = (singleP50Ms: number) => ({ singleP50Ms, requestsPerS: 1_000, p99Ms: 5, failedCount: 0 });

const RESULT: StoresResult = {
  stores: [row("ours", 0.2, 0.4), row("Redis", 0.1, 0.3), row("PostgreSQL", 0.1, 0.3)],
  tables: [
    { documentCount: 1_000, pagesMs: [4], countsMs: [1] },
    { documentCount: 100_000, pagesMs: [20], countsMs: [50] },
  ],
  sessions: [{ engine: "process", plain: figures(0.4), session: figures(0.64) }],
  machine: "a machine",
};

describe("the section on stores", () => {
  it("says of each target how far it is, and which are missed", () => {
    const verdicts = storesSection(RESULT)
      .split("\n")
      .filter((line) => line.startsWith("- "));
    expect(verdicts.map((line) => [/: ([\d.]+)×/.exec(line)?.[1], line.endsWith("**missed**")])).toEqual([
      ["2.00", false],
      ["1.33", true],
      ["5.00", false],
      ["1.60", true],
    ]);
  });

  it("has a row for each store, each table and each engine", () => {
    const section = storesSection(RESULT);
    for (const text of ["| ours ", "| Redis ", "| PostgreSQL ", "|   100,000 |", "| process |"]) expect(section).toContain(text);
  });
});

describe("a load with headers", () => {
  it("sends them with each request", () => {
    const script = luaScript({ method: "GET", bodyBytes: 0, headers: { cookie: '_idx="a"' } });
    expect(script).toContain('wrk.headers["cookie"] = "_idx=\\"a\\""');
  });
});
