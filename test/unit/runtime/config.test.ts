// What an instance is told, checked at the door.
import { describe, expect, it } from "vitest";
import { INSTANCE_MANIFEST_VARIABLE, MANIFEST_ON_INPUT, type InstanceManifest } from "../../../runtime-image/contract/instance-manifest.ts";
import { ConfigError, setFunctionVariables, takeManifest } from "../../../runtime-image/runtime/config.ts";

const MANIFEST: InstanceManifest = {
  v: 1,
  instanceId: "i1",
  appId: "a1",
  appName: "shop",
  environment: "production",
  functionName: "src/http/get-index",
  generation: "current",
  folder: "/function",
  timeoutMs: 10_000,
  concurrency: 32,
  rawJson: false,
  bareQuery: false,
  sessionSecret: "5e".repeat(32),
  memoryBytesMax: 512_000_000,
  watchMemory: false,
  broker: { url: "nats://10.0.0.1:4222", jwt: "secret-jwt", seed: "secret-seed" },
};

const take = (manifest: unknown) =>
  takeManifest({ [INSTANCE_MANIFEST_VARIABLE]: typeof manifest === "string" ? manifest : JSON.stringify(manifest) });

function problemsOf(manifest: unknown): readonly string[] {
  try {
    take(manifest);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

describe("takeManifest", () => {
  it("reads the manifest and leaves no trace of it for user code", () => {
    const variables: Record<string, string | undefined> = { [INSTANCE_MANIFEST_VARIABLE]: JSON.stringify(MANIFEST), OTHER: "stays" };
    expect(takeManifest(variables)).toEqual(MANIFEST);
    expect(variables).toEqual({ OTHER: "stays" });
  });

  it("reads it from standard input where it is told to, and the variables with it", () => {
    const variables: Record<string, string | undefined> = { [INSTANCE_MANIFEST_VARIABLE]: MANIFEST_ON_INPUT, OTHER: "stays" };
    const input = JSON.stringify({ manifest: MANIFEST, variables: { GREETING: "hello = there\n", EMPTY: "" } });
    expect(takeManifest(variables, () => input)).toEqual(MANIFEST);
    expect(variables).toEqual({ OTHER: "stays", GREETING: "hello = there\n", EMPTY: "" });
  });

  it.each(["", "{", "{}", '{"manifest":{}}', '{"secret-jwt'])("refuses the input %j, and repeats nothing of it", (input) => {
    const read = (): InstanceManifest => takeManifest({ [INSTANCE_MANIFEST_VARIABLE]: MANIFEST_ON_INPUT }, () => input);
    expect(read).toThrow(ConfigError);
    expect(read).not.toThrow("secret");
  });

  it("reports every problem at once, and no secret", () => {
    const problems = problemsOf({
      ...MANIFEST,
      v: 2,
      instanceId: "a.b",
      generation: "newest",
      folder: "here",
      timeoutMs: 0,
      broker: { url: 7, jwt: "secret-jwt" },
    });
    expect(problems.map((problem) => problem.split(":")[0])).toEqual([
      "v",
      "instanceId",
      "generation",
      "folder",
      "timeoutMs",
      "broker.url",
      "broker.seed",
    ]);
    expect(problems.join()).not.toContain("secret");
  });

  it.each([
    ["no JSON", "{"],
    ["no object", "[]"],
    ["nothing", ""],
  ])("refuses %s", (_name, text) => {
    expect(problemsOf(text)).toHaveLength(1);
  });
});

describe("setFunctionVariables", () => {
  it("sets what handlers have always found, and keeps the rest", () => {
    const variables: Record<string, string | undefined> = { OWN: "1", TZ: "Asia/Tokyo" };
    setFunctionVariables(MANIFEST, variables);
    expect(variables).toEqual({
      OWN: "1",
      TZ: "UTC",
      NODE_ENV: "production",
      ARC_ENV: "production",
      ARC_APP_NAME: "shop",
      ARC_HTTP: "aws_proxy",
      AWS_LAMBDA_FUNCTION_NAME: "src/http/get-index",
      LAMBDA_TASK_ROOT: "/function",
    });
  });
});
