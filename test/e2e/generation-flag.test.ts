// up --generation: it wins over the manifest, is remembered by the home, and replaces instances without a new build.
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { handler, makeApp, runCommand, startPlatform } from "../support/platform.ts";
import { until } from "../support/until.ts";

describe("up --generation", () => {
  it("wins over the manifest, also the next time, until it is taken back", async () => {
    const app = await makeApp({
      "app.arc": "@app\nages\n\n@generation legacy\n\n@http\nget /\n/also\n  method get\n  src src/http/get-index\n",
      "src/http/get-index/index.js": handler("return { body: request.method ?? request.version };"),
    });
    const home = await mkdtemp(join(tmpdir(), "orchestrator-home-"));
    onTestFinished(async () => {
      for (const folder of [app, home]) await rm(folder, { recursive: true, force: true });
    });
    const answersWith = async (...flags: string[]): Promise<[generation: unknown, text: string, also: string]> => {
      const platform = await startPlatform({ app, engine: "process", home, flags });
      try {
        const ready: object | undefined = platform.events.find((event) => event.event === "ready");
        const generation: unknown = ready !== undefined && "generation" in ready ? ready.generation : undefined;
        return [generation, (await platform.get("staging", "/")).text, (await platform.get("staging", "/also")).text];
      } finally {
        await platform.stop();
      }
    };
    expect(await answersWith()).toEqual(["legacy", "1.0", "1.0"]);
    const builds = await readdir(join(home, "builds"));
    expect(await answersWith("--generation", "simple")).toEqual(["simple", "get", "get"]);
    expect(await answersWith()).toEqual(["simple", "get", "get"]);
    expect(await answersWith("--generation", "current")).toEqual(["current", "2.0", "2.0"]);
    expect(await answersWith("--generation", "declared")).toEqual(["legacy", "1.0", "1.0"]);
    expect(await readdir(join(home, "builds"))).toEqual(builds);
  });

  it("is what a route that is added begins with", async () => {
    const app = await makeApp({
      "app.arc": "@app\nages\n\n@http\nget /\n",
      "src/http/get-index/index.js": handler('return { body: "ok" };'),
    });
    onTestFinished(async () => rm(app, { recursive: true, force: true }));
    const platform = await startPlatform({ app, engine: "process", flags: ["--generation", "simple"] });
    try {
      const added = await runCommand(["route", "add", "GET /new/:name", "--home", platform.home, "--api-port", `${platform.ports.api}`]);
      expect(added.exitCode).toBe(0);
      await until(async () => (await platform.get("staging", "/new/ann")).text !== "ok", { timeoutMs: 20_000, what: "the new route" });
      expect((await platform.get("staging", "/new/ann")).text).toContain("ann");
    } finally {
      await platform.stop();
    }
  });
});
