// Published adapters for events of AWS, each with a real web framework behind it, in functions of this platform.
import { rm } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FRAMEWORKS, FRAMEWORK_PACKAGES, frameworkApp } from "../support/framework-apps.ts";
import { providePackages } from "../support/own-packages.ts";
import { type Answer, type RunningPlatform, type SendOptions, makeApp, startPlatform } from "../support/platform.ts";

const EVERY_BYTE = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
const FORM = { "content-type": "application/x-www-form-urlencoded" };

// What an event holds does not depend on the engine: each payload is played on one of them, so that both are.
const PAYLOADS = [
  ["2.0", "http", "docker"],
  ["1.0", "rest", "process"],
] as const;

describe.each(PAYLOADS)("adapters of payload version %s (%s) on engine %s", (_version, gateway, engine) => {
  let platform: RunningPlatform;
  let app = "";

  beforeAll(async () => {
    app = await makeApp(frameworkApp(gateway));
    await providePackages(app, FRAMEWORK_PACKAGES);
    platform = await startPlatform({ app, engine, flags: ["--no-watch"] });
  });

  afterAll(async () => {
    await platform.stop();
    await rm(app, { recursive: true, force: true });
  });

  describe.each(FRAMEWORKS)("%s", (framework) => {
    const get = async (path: string, options?: SendOptions): Promise<Answer> => platform.get("staging", `/${framework}${path}`, options);
    const json = (answer: Answer): unknown => JSON.parse(answer.text);

    it("reads a query", async () => {
      const query = json(await get("/query?a=1&b=x%20y%26z")) as Record<string, unknown>; // What the app above answers.
      expect(Object.entries(query).map(([name, value]) => [name, String(value)])).toEqual([
        ["a", "1"],
        ["b", "x y&z"],
      ]);
    });

    it("reads a query that is not there", async () => {
      expect(json(await get("/query"))).toEqual({});
    });

    it("reads JSON, and answers it with a status of its own", async () => {
      const body = JSON.stringify({ a: { b: ["žluť", 1, null] } });
      const answer = await get("/json", { method: "POST", body, headers: { "content-type": "application/json" } });
      expect({ status: answer.status, json: json(answer) }).toEqual({ status: 201, json: { a: { b: ["žluť", 1, null] } } });
    });

    it("reads a form", async () => {
      expect(json(await get("/form", { method: "POST", body: "name=Ada+Lovelace&x=%26", headers: FORM }))).toEqual({
        name: "Ada Lovelace",
        x: "&",
      });
    });

    it("reads cookies, and sets several", async () => {
      const answer = await get("/cookies", { headers: { cookie: "a=1; b=2" } });
      expect(answer.text.split(/; */)).toEqual(["a=1", "b=2"]);
      expect(answer.headers["set-cookie"]).toEqual(["one=1; Path=/", "two=2; HttpOnly"]);
    });

    it("answers bytes", async () => {
      const answer = await get("/binary");
      expect(answer.headers["content-type"]).toBe("application/octet-stream");
      expect(answer.body.equals(EVERY_BYTE)).toBe(true);
    });

    it("redirects", async () => {
      expect(await get("/redirect")).toMatchObject({ status: 302, headers: { location: `/${framework}/there` } });
    });

    it("reads headers whatever their case", async () => {
      expect((await get("/headers", { headers: { "X-Mine": "As Is" } })).text).toBe("As Is");
    });

    it("finds an escaped slash inside of a parameter", async () => {
      expect((await get("/items/a%2Fb%20c")).text).toBe("a/b c");
    });

    it("has its own answer for what it does not know", async () => {
      expect(await get("/nowhere")).toMatchObject({ status: 404, text: `${framework} knows no /${framework}/nowhere` });
    });

    it("answers HEAD without a body", async () => {
      expect(await get("/binary", { method: "HEAD" })).toMatchObject({ status: 200, text: "" });
    });
  });
});
