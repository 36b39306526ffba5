// What an instance is allowed and told, as plain values.
import { describe, expect, it } from "vitest";

import type { InstanceSpec } from "../../../orchestrator/engines/engine.ts";
import { instanceArguments, instanceEnvironment } from "../../../orchestrator/engines/process-command.ts";
import { knownInstance, observed, recordOf } from "../../../orchestrator/engines/process-record.ts";
import { createUsers, firstUidOf } from "../../../orchestrator/engines/process-users.ts";

const spec: InstanceSpec = {
  instanceId: "i1",
  appId: "a1",
  environment: "staging",
  functionName: "src/http/get-index",
  buildId: "b1",
  configId: "c0f1",
  manifest: {
    v: 1,
    instanceId: "i1",
    appId: "a1",
    appName: "app",
    environment: "staging",
    functionName: "src/http/get-index",
    generation: "current",
    timeoutMs: 10_000,
    concurrency: 32,
    rawJson: false,
    bareQuery: false,
    sessionSecret: "5e".repeat(32),
    memoryBytesMax: 512_000_000,
    broker: { url: "nats://127.0.0.1:4222", jwt: "jwt", seed: "seed" },
  },
  variables: { GREETING: "hej", TMPDIR: "/elsewhere", ORCHESTRATOR_INSTANCE: "forged" },
  limits: { memoryBytesMax: 512_000_000, cpuCountMax: 1, pidCountMax: 64, tmpBytesMax: 1_000_000 },
};
const places = {
  runtimeFolder: "/h/runtime/r1",
  guardFile: "/h/runtime/r1/guard.mjs",
  mainFile: "/h/runtime/r1/main.js",
  buildFolder: "/h/builds/b1",
  temporaryFolder: "/h/tmp/i1",
};

describe("the command line of an instance", () => {
  it("lets it read the runtime, its build and its temporary folder, and write to that one only", () => {
    const rights = instanceArguments(spec, places).filter((argument) => argument.startsWith("--allow"));
    expect(rights).toEqual([
      "--allow-worker",
      "--allow-fs-read=/h/runtime/r1",
      "--allow-fs-read=/h/builds/b1",
      "--allow-fs-read=/h/tmp/i1",
      "--allow-fs-write=/h/tmp/i1",
    ]);
    expect(instanceArguments(spec, places)).toContain("--permission");
  });

  it("keeps the heap below what the instance may use", () => {
    expect(instanceArguments(spec, places)).toContain("--max-old-space-size=366");
  });
});

describe("the environment of an instance", () => {
  it("is its variables, its manifest and its temporary folder, the last two of which its variables cannot change", () => {
    const { ORCHESTRATOR_INSTANCE: manifest = "", ...rest } = instanceEnvironment(spec, places);
    expect(rest).toEqual({ GREETING: "hej", TMPDIR: "/h/tmp/i1" });
    expect(JSON.parse(manifest)).toEqual({ ...spec.manifest, folder: "/h/builds/b1/src/http/get-index", watchMemory: true });
  });
});

describe("the record of an instance", () => {
  const state = { identity: { pid: 5, startedAt: "x" }, startedEpochMs: 7 };

  it("comes back from a state file as it was written", () => {
    const extra: unknown = JSON.parse(JSON.stringify(recordOf(spec, "r1", 1_880_000_001)));
    const known = knownInstance({ ...state, extra });
    expect(known?.record).toEqual(recordOf(spec, "r1", 1_880_000_001));
    expect(known && observed(known, false)).toEqual({
      instanceId: "i1",
      appId: "a1",
      environment: "staging",
      functionName: "src/http/get-index",
      buildId: "b1",
      configId: "c0f1",
      state: "exited",
      startedEpochMs: 7,
    });
  });

  it("comes back from a state file of the days before instances had variables", () => {
    const { configId: _, ...extra } = recordOf(spec, "r1", null);
    expect(knownInstance({ ...state, extra })?.record).toMatchObject({ instanceId: "i1", configId: "" });
  });

  it.each([null, "text", {}, { ...recordOf(spec, "r1", null), environment: "moon" }, { ...recordOf(spec, "r1", null), uid: "0" }])(
    "is none for %j",
    (extra) => {
      expect(knownInstance({ ...state, extra })).toBe(null);
    },
  );
});

describe("user ids", () => {
  it("are never given twice, also not those of an earlier orchestrator's instances", () => {
    const users = createUsers("p1");
    users.occupy(firstUidOf("p1") + 1);
    expect([users.take(), users.take()]).toEqual([firstUidOf("p1"), firstUidOf("p1") + 2]);
  });

  it("come round again once they were released, and run out before they repeat", () => {
    const users = createUsers("p1");
    const all = Array.from({ length: 4_096 }, () => users.take());
    expect(new Set(all).size).toBe(4_096);
    expect(() => users.take()).toThrow("taken");
    users.release(firstUidOf("p1") + 9);
    expect(users.take()).toBe(firstUidOf("p1") + 9);
  });

  it("lie between what other programs hand out and 2³¹, for any platform", () => {
    for (const platformId of ["p1", "p2", "another", ""]) {
      expect(firstUidOf(platformId)).toBeGreaterThan(1_879_048_191);
      expect(firstUidOf(platformId) + 4_096).toBeLessThan(2 ** 31);
    }
    expect(firstUidOf("p1")).not.toBe(firstUidOf("p2"));
  });
});
