// @proxy of a deployed app: each environment passes on to its own upstream, WebSockets included, and functions come first.
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { ENGINE_NAMES, type RunningPlatform, handler, makeApp, startPlatform } from "../support/platform.ts";
import { problemOf } from "../support/problems.ts";
import { startUpstream, type Upstream } from "../support/test-upstream.ts";

describe.each(ENGINE_NAMES)("@proxy on engine %s", (engine) => {
  let platform: RunningPlatform;
  let app = "";
  let upstreams: Readonly<Record<"staging" | "production", Upstream>>;

  beforeAll(async () => {
    const named = (name: string) =>
      startUpstream({ "*": ({ method, url, body }, response) => response.end(`${name}: ${method} ${url} ${body.toString()}`) });
    upstreams = { staging: await named("one"), production: await named("another") };
    app = await makeApp({
      "app.arc": `@app\nproxied\n\n@http\nget /\nget /mine\n\n@proxy\nstaging ${upstreams.staging.url}\nproduction ${upstreams.production.url}/base\n`,
      "src/http/get-index/index.js": handler('return { body: "index" };'),
      "src/http/get-mine/index.js": handler('return { body: "mine" };'),
    });
    platform = await startPlatform({ app, engine, flags: ["--promote", "--no-watch"] });
  });

  afterAll(async () => {
    await platform.stop();
    await rm(app, { recursive: true, force: true });
    await Promise.all(Object.values(upstreams).map((upstream) => upstream.close()));
  });

  it("passes on what no function is declared for, each environment to its own", async () => {
    for (const environment of ["staging", "production"] as const)
      expect([(await platform.get(environment, "/")).text, (await platform.get(environment, "/mine")).text]).toEqual(["index", "mine"]);
    expect((await platform.get("staging", "/elsewhere?x=1", { method: "POST", body: "said" })).text).toBe("one: POST /elsewhere?x=1 said");
    expect((await platform.get("production", "/mine", { method: "DELETE" })).text).toBe("another: DELETE /base/mine ");
  });

  it("joins WebSockets with the environment's upstream", async () => {
    const webSocket = new WebSocket(`ws://127.0.0.1:${platform.ports.staging}/ws`);
    await once(webSocket, "open");
    webSocket.send("hello");
    const [data] = (await once(webSocket, "message")) as [Buffer]; // What ws emits by default.
    expect(data.toString()).toBe("hello");
    expect([upstreams.staging.webSockets.length, upstreams.production.webSockets.length]).toEqual([1, 0]);
    webSocket.close();
    await once(webSocket, "close");
  });

  it("says 502 where the upstream is away, why on staging only, and functions go on", async () => {
    await Promise.all(Object.values(upstreams).map((upstream) => upstream.close()));
    const [staging, production] = [await platform.get("staging", "/elsewhere"), await platform.get("production", "/elsewhere")];
    expect(problemOf(staging)).toMatchObject({
      status: 502,
      code: "PROXY_FAILED",
      detail: expect.stringContaining("ECONNREFUSED") as unknown,
    });
    expect(problemOf(production)).toEqual({ status: 502, code: "PROXY_FAILED", detail: null });
    expect((await platform.get("staging", "/mine")).text).toBe("mine");
  });
});
