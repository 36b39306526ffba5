// The names that the library exports, its small helpers, and what it says of things that this platform does not have.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { LIBRARY_EXPORTS } from "../../../runtime-image/contract/library-packages.ts";
import { data, functions } from "../../../runtime-image/library/main.ts";
import { siteFileAsked } from "../../../runtime-image/library/site-file.ts";
import { version1, version2 } from "../../support/library-events.ts";
import { layTestInstance } from "../../support/library-instance.ts";

const library = { functions, data };

beforeEach(() => void layTestInstance());

describe("the library's packages", () => {
  it.each(Object.entries(LIBRARY_EXPORTS))("%s exports what its stub passes on, and nothing else", (_name, { from, names }) => {
    expect(Object.keys(library[from]).toSorted()).toEqual([...names].toSorted());
  });

  it("are the originals' and ours", () => {
    expect(Object.keys(LIBRARY_EXPORTS)).toEqual(["@architect/functions", "@orchestrator/functions", "@begin/data", "@orchestrator/data"]);
  });

  it("have the helpers under all their names", () => {
    const { http } = functions;
    expect(Object.keys(http.helpers)).toEqual(["bodyParser", "interpolate", "static", "url"]);
    expect([http.async, http.middleware, functions.middleware].every((one) => one === http.async)).toBe(true);
    expect(functions.static).toBe(http.helpers.static);
  });
});

describe("static and url", () => {
  it("give the path of a file, and leave a page's path as it is", () => {
    expect(functions.static("css/app.css")).toBe("/_static/css/app.css");
    expect(functions.static("/css/app.css")).toBe("/_static/css/app.css");
    expect(functions.http.helpers.url("/login")).toBe("/login");
  });

  it("give the fingerprinted name where the app's files have one", async () => {
    const folder = mkdtempSync(path.join(tmpdir(), "orchestrator-static-"));
    const shared = path.join(folder, "node_modules/@architect/shared");
    mkdirSync(shared, { recursive: true });
    writeFileSync(path.join(shared, "static.json"), JSON.stringify({ "app.css": "app-0123456789.css" }));
    vi.spyOn(process, "cwd").mockReturnValue(folder);
    vi.resetModules();
    const fresh = await import("../../../runtime-image/library/static-path.ts");
    expect([fresh.staticPath("/app.css"), fresh.staticPath("other.css"), fresh.staticPath("constructor")]).toEqual([
      "/_static/app-0123456789.css",
      "/_static/other.css",
      "/_static/constructor",
    ]);
    vi.restoreAllMocks();
    rmSync(folder, { recursive: true });
  });
});

describe("proxy.public", () => {
  const asked = async (options: unknown, event: unknown): Promise<unknown> =>
    functions.proxy
      .public(options)(event)
      .then(
        (answer) => answer,
        (thrown: unknown) => siteFileAsked(thrown),
      );

  it.each([
    ["the path that was asked for", undefined, version2({ path: "/docs/a.html" }), { path: "/docs/a.html", isSpa: false }],
    ["the path under payload version 1", undefined, version1({ path: "/a.css" }), { path: "/a.css", isSpa: false }],
    ["any path of a single page app", { spa: true }, version2({ path: "/users/7" }), { path: "/users/7", isSpa: true }],
    ["what an alias names", { alias: { "/home": "index.html" } }, version2({ path: "/home" }), { path: "/index.html", isSpa: false }],
  ])("asks for the site's file: %s", async (_name, options, event, expected) => {
    expect(await asked(options, event)).toEqual(expected);
  });

  it("answers the first page with what ssr renders", async () => {
    const options = { ssr: (request: { path: string }) => ({ html: `rendered ${request.path}` }) };
    expect(await asked(options, version2())).toMatchObject({ statusCode: 200, body: "rendered /" });
    expect(await asked(options, version2({ path: "/a.css" }))).toEqual({ path: "/a.css", isSpa: false });
  });

  it("is called http.proxy, too, and works behind other functions", async () => {
    const handler = functions.http.async(async () => undefined, functions.http.proxy({ spa: true }));
    await expect(handler(version2({ path: "/x" }))).rejects.toSatisfy((thrown) => siteFileAsked(thrown)?.path === "/x");
  });
});

describe("what this platform does not have", () => {
  const { events, queues, scheduled, tables, services, ws } = functions;
  it.each([
    ["events.publish()", events.publish],
    ["events.subscribe()", events.subscribe],
    ["queues.publish()", queues.publish],
    ["queues.subscribe()", queues.subscribe],
    ["scheduled()", scheduled],
    ["tables()", tables],
    ["services()", services],
    ["ws.send()", ws.send],
    ["ws.close()", ws.close],
    ["ws.info()", ws.info],
    ["ws.api()", ws.api],
  ])("says so when it is used: %s", (name, use) => {
    expect(() => use({})).toThrow(`${name} is not part of this platform. `);
  });
});
