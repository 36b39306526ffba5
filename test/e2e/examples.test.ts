// Plays every example on every engine: the requests of its expect.json, and the answers that they should get.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CHECKOUT, ENGINE_NAMES, type RunningPlatform, startPlatform } from "../support/platform.ts";

interface Expectation {
  readonly name: string;
  readonly request: { readonly method: string; readonly path: string; readonly headers?: Record<string, string>; readonly body?: string };
  readonly answer: { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string };
}

const EXAMPLES = join(CHECKOUT, "examples");
const names = readdirSync(EXAMPLES);

describe.each(names)("example %s", (name) => {
  it("says what it answers", () => {
    expect(existsSync(join(EXAMPLES, name, "expect.json"))).toBe(true);
  });

  describe.each(ENGINE_NAMES)("on engine %s", (engine) => {
    // This file is ours, and the test below fails on whatever it does not say.
    const { requests } = JSON.parse(readFileSync(join(EXAMPLES, name, "expect.json"), "utf8")) as { requests: Expectation[] };
    let platform: RunningPlatform;

    beforeAll(async () => {
      platform = await startPlatform({ app: join(EXAMPLES, name), engine, flags: ["--promote"] });
    });

    afterAll(async () => {
      await platform.stop();
    });

    it.each(["staging", "production"] as const)("answers as it says on %s", async (environment) => {
      for (const expected of requests) {
        const answer = await platform.get(environment, expected.request.path, expected.request);
        expect({ name: expected.name, status: answer.status }).toEqual({ name: expected.name, status: expected.answer.status });
        expect(answer.headers).toMatchObject(expected.answer.headers ?? {});
        expect(answer.text).toBe(expected.answer.body ?? answer.text);
      }
    });
  });
});
