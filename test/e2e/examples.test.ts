// Plays every example on every engine: the requests of its expect.json, and the answers that they should get.
import type { ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EXAMPLES, EXAMPLE_NAMES, commandsIn, play, readExample, startBeside } from "../support/example.ts";
import { CHECKOUT, ENGINE_NAMES, type RunningPlatform, startPlatform } from "../support/platform.ts";

describe.each(EXAMPLE_NAMES)("example %s", (name) => {
  const example = readExample(name);

  it("is run by the one line that its README shows, and README.md with it", () => {
    const beside = example.beside === undefined ? "" : `node examples/${name}/${example.beside} & `;
    const line = `${beside}npx --no orchestrator up examples/${name}`;
    expect(commandsIn(readFileSync(join(EXAMPLES, name, "README.md"), "utf8"))).toEqual([line]);
    expect(readFileSync(join(CHECKOUT, "README.md"), "utf8")).toContain(line);
  });

  describe.each(ENGINE_NAMES)("on engine %s", (engine) => {
    let platform: RunningPlatform;
    let beside: ChildProcess | null = null;

    beforeAll(async () => {
      if (example.beside !== undefined) beside = await startBeside(name, example.beside);
      platform = await startPlatform({ app: join(EXAMPLES, name), engine, flags: ["--promote", "--no-watch"] });
    });

    afterAll(async () => {
      await platform.stop();
      beside?.kill();
    });

    it.each(["staging", "production"] as const)("answers as it says on %s", async (environment) => {
      const { got, wanted } = await play(example, async (path, options) => platform.get(environment, path, options));
      expect(got).toEqual(wanted);
    });
  });
});
