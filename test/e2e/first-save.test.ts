// A file that is saved in the very moment in which an app is ready is not missed.
import { rm } from "node:fs/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { handler, makeApp, startPlatform, writeFiles } from "../support/platform.ts";
import { until } from "../support/until.ts";

const INDEX = "src/http/get-index/index.js";

describe("an edit while an app starts", () => {
  it("is served, although files were not watched when it was saved", async () => {
    const app = await makeApp({ "app.arc": "@app\nfirst\n\n@http\nget /\n", [INDEX]: handler('return { body: "before" };') });
    const starting = startPlatform({
      app,
      engine: "process",
      onEvent: async (event) => {
        // By then the first version was read and is being started.
        if (event.text?.startsWith("broker:") === true) await writeFiles(app, { [INDEX]: handler('return { body: "after" };') });
      },
    });
    const platform = await starting;
    onTestFinished(async () => {
      await platform.stop();
      await rm(app, { recursive: true, force: true });
    });
    await until(async () => (await platform.get("staging", "/")).text === "after", { timeoutMs: 10_000 });
    expect((await platform.get("staging", "/")).text).toBe("after");
  });
});
