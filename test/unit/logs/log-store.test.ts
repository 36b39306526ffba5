// What functions print is kept, found again and followed.
import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { encodePrintedLine } from "../../../runtime-image/contract/log-line.ts";
import { type LogEntry, createLogStore, readEntries } from "../../../orchestrator/logs/log-store.ts";

let folder = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "orchestrator-logs-"));
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

const source = (functionName: string, environment: "staging" | "production" = "staging", appId = "a1") => ({
  appId,
  environment,
  functionName,
  instanceId: `of ${functionName}`,
});
const raw = (text: string, epochMs: number, stream: "stdout" | "stderr" = "stdout") => ({ stream, text, epochMs });

describe("a log store", () => {
  it("tags a line of the runtime with its request, and takes any other line as it is", () => {
    const store = createLogStore(folder);
    const printed = encodePrintedLine({ epochMs: 5, level: "warn", requestId: "r1", text: "careful" }).trimEnd();
    store.append(source("src/http/get-index"), raw(printed, 9));
    store.append(source("src/http/get-index"), raw("Segmentation fault", 10, "stderr"));
    expect(store.tail({}, 10)).toMatchObject([
      { epochMs: 5, level: "warn", requestId: "r1", text: "careful", environment: "staging", functionName: "src/http/get-index" },
      { epochMs: 10, level: "error", requestId: null, text: "Segmentation fault" },
    ]);
  });

  it("finds one function by its short name, and one environment", () => {
    const store = createLogStore(folder);
    store.append(source("src/http/get-index"), raw("a", 1));
    store.append(source("src/http/get-other"), raw("b", 2));
    store.append(source("src/http/get-index", "production"), raw("c", 3));
    const texts = (filter: Parameters<typeof store.tail>[0]): string[] => store.tail(filter, 10).map((entry) => entry.text);
    expect(texts({ functionName: "get-index" })).toEqual(["a", "c"]);
    expect(texts({ functionName: "index" })).toEqual([]);
    expect(texts({ environment: "production" })).toEqual(["c"]);
  });

  it("says of which app a line is, and finds those of one app", () => {
    const store = createLogStore(folder, (appId) => ({ a1: "shop", a2: "blog" })[appId] ?? null);
    const heard: string[] = [];
    store.follow({ app: "blog" }, (entry) => heard.push(entry.text));
    store.append(source("f"), raw("of shop", 1));
    store.append(source("f", "staging", "a2"), raw("of blog", 2));
    store.append(source("f", "staging", "a3"), raw("of nobody", 3));
    expect(store.tail({}, 10).map((entry) => entry.app)).toEqual(["shop", "blog", null]);
    expect(store.tail({ app: "shop" }, 10).map((entry) => entry.text)).toEqual(["of shop"]);
    expect(heard).toEqual(["of blog"]);
  });

  it("reads lines of the first days, which do not say their app", async () => {
    const line = { epochMs: 1, environment: "staging", functionName: "f", instanceId: "i", requestId: null, level: "info", text: "old" };
    await writeFile(join(folder, "staging.ndjson"), `${JSON.stringify(line)}\n`);
    expect(readEntries(folder, {})).toEqual([{ ...line, app: null }]);
    expect(readEntries(folder, { app: "shop" })).toEqual([]);
    expect(createLogStore(folder).lastEpochMs("i")).toBe(1);
  });

  it("keeps the newest when asked for fewer", () => {
    const store = createLogStore(folder);
    for (const epochMs of [1, 2, 3]) store.append(source("f"), raw(`${epochMs}`, epochMs));
    expect(store.tail({}, 2).map((entry) => entry.text)).toEqual(["2", "3"]);
  });

  it("tells followers of what fits until they stop", () => {
    const store = createLogStore(folder);
    const heard: LogEntry[] = [];
    const stop = store.follow({ functionName: "f" }, (entry) => heard.push(entry));
    store.append(source("f"), raw("one", 1));
    store.append(source("g"), raw("two", 2));
    stop();
    store.append(source("f"), raw("three", 3));
    expect(heard.map((entry) => entry.text)).toEqual(["one"]);
    store.flush();
  });

  it("remembers over a restart when each instance last spoke, and passes over a line that a crash cut off", async () => {
    const first = createLogStore(folder);
    first.append(source("f"), raw("one", 7));
    first.flush();
    await writeFile(join(folder, "production.ndjson"), '{"epochMs":8,"te');
    expect(createLogStore(folder).lastEpochMs("of f")).toBe(7);
    expect(readEntries(folder, {}).map((entry) => entry.text)).toEqual(["one"]);
  });

  it("keeps two bounded files, readable by its owner alone", async () => {
    const store = createLogStore(folder);
    const long = "x".repeat(1_000_000);
    for (let count = 0; count < 40; count += 1) {
      store.append(source("f"), raw(long, count));
      store.flush();
    }
    const sizes = await Promise.all(["staging.ndjson", "staging.ndjson.1"].map(async (name) => stat(join(folder, name))));
    for (const { size, mode } of sizes) {
      expect(size).toBeLessThan(18_000_000);
      expect(mode & 0o777).toBe(0o600);
    }
  });
});
