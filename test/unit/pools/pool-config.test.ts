// What makes instances of one build differ: everything that they are told, in any order, and nothing of it to be read.
import { describe, expect, it } from "vitest";
import { configIdOf } from "../../../orchestrator/pools/pool-config.ts";

const FN = { generation: "current", timeoutMs: 1_000, concurrency: 32, memoryBytesMax: 1, rawJson: false, bareQuery: false } as const;
const idOf = (changes: object = {}, fn: object = {}, secret = "s"): string =>
  configIdOf({ appName: "shop", variables: { A: "1", B: "2" }, ...changes, fn: { ...FN, ...fn } }, secret);

describe("configIdOf", () => {
  it("is the same for the same things in another order", () => {
    expect(idOf({ variables: { B: "2", A: "1" } })).toBe(idOf());
    expect(idOf()).toMatch(/^[0-9a-f]{16}$/);
  });

  it.each<[string, object, object]>([
    ["a value", { variables: { A: "1", B: "3" } }, {}],
    ["a key", { variables: { A: "1" } }, {}],
    ["the app's name", { appName: "other" }, {}],
    ["the generation", {}, { generation: "legacy" }],
    ["the time limit", {}, { timeoutMs: 2_000 }],
    ["the concurrency", {}, { concurrency: 1 }],
    ["the memory", {}, { memoryBytesMax: 2 }],
    ["how bodies arrive", {}, { rawJson: true, bareQuery: false }],
  ])("differs with %s", (_what, changes, fn) => {
    expect(idOf(changes, fn)).not.toBe(idOf());
  });

  it("cannot be worked out from the variables alone", () => {
    expect(idOf({}, {}, "another secret")).not.toBe(idOf());
  });
});
