// The block that `up` shows at the end: readable with few and with many routes, static files and a proxy.
import { describe, expect, it } from "vitest";
import type { AppSource, FunctionSource } from "../../../orchestrator/apps/app-source.ts";
import { type ReadyFacts, readyLines, readyValue } from "../../../orchestrator/commands/ready-block.ts";
import { upSettings } from "../../../orchestrator/config.ts";

const SETTINGS = upSettings("/shop", { engine: "process", stagingPort: "1", productionPort: "2", apiPort: "3", watch: true });

const fn = (method: FunctionSource["method"], path: string, name: string): FunctionSource => ({
  name,
  folder: `/shop/${name}`,
  kind: "http",
  method,
  path,
  generation: "current",
  settings: {},
  packages: [],
});

const app = (changes: Partial<AppSource>): AppSource => ({
  folder: "/shop",
  appName: "shop",
  generation: "current",
  functions: [fn("GET", "/", "src/http/get-index"), fn("DELETE", "/shop/:item", "lib/x")],
  shared: [],
  site: null,
  proxyUrls: {},
  settings: { rawJson: false, bareQuery: false, allowsInstallScripts: false, functionBytesMax: 1 },
  variables: { staging: { SECRET: "hunter2" }, production: {} },
  warnings: [],
  watchedFolders: [],
  ...changes,
});

const facts = (changes: Partial<AppSource> = {}, others: Partial<ReadyFacts> = {}): ReadyFacts => ({
  settings: SETTINGS,
  app: app(changes),
  engineLine: "process: x",
  isPromoted: true,
  sizedSite: null,
  ...others,
});

describe("the ready block", () => {
  it("shows addresses, and a line for each route", () => {
    expect(readyLines(facts())).toEqual([
      "",
      "  shop is up",
      "",
      "  staging         http://localhost:1",
      "  production      http://localhost:2",
      "  management API  http://localhost:3",
      "  engine          process: x",
      "  routes          GET    /             src/http/get-index",
      "                  DELETE /shop/:item   lib/x",
      "",
      "  Save a file to reload its function. Ctrl-C stops everything.",
      "",
    ]);
  });

  it("says that production waits for a first promotion", () => {
    expect(readyLines(facts({}, { isPromoted: false })).join("\n")).toContain("orchestrator promote");
  });

  it("shows twenty routes and counts the rest", () => {
    const functions = Array.from({ length: 50 }, (_, index) => fn("GET", `/${index}`, `f${index}`));
    const lines = readyLines(facts({ functions }));
    expect(lines.filter((line) => line.includes("GET"))).toHaveLength(20);
    expect(lines).toContain("                  … and 30 more");
  });

  it("shows static files, the proxy and a generation that is not the usual one", () => {
    const site = { folder: "/shop/web/dist", fingerprint: "off", isSpa: false, ignore: [] } as const;
    const proxyUrls = { staging: "http://a.example", production: "http://b.example" };
    const lines = readyLines(
      facts({ functions: [], generation: "simple", site, proxyUrls }, { sizedSite: { fileCount: 1, answersRoot: true } }),
    );
    expect(lines.slice(7, -3)).toEqual([
      "  generation      simple",
      "  static          1 file of web/dist/ below /_static",
      "  proxy           paths without a route go to http://a.example on staging",
      "  proxy           paths without a route go to http://b.example on production",
    ]);
  });

  it.each<[AppSource["proxyUrls"], string]>([
    [{}, "2 files of public/ below /_static and on every path without a route"],
    [{ staging: "http://a.example" }, "2 files of public/ below /_static and, where there is no proxy, on every path without a route"],
    [{ staging: "http://a.example", production: "http://a.example" }, "2 files of public/ below /_static"],
  ])("says where files answer beside the proxies %j", (proxyUrls, text) => {
    const site = { folder: "/shop/public", fingerprint: "off", isSpa: false, ignore: [] } as const;
    const lines = readyLines(facts({ site, proxyUrls }, { sizedSite: { fileCount: 2, answersRoot: true } }));
    expect(lines).toContain(`  static          ${text}`);
  });

  it("tells programs the same, and nobody a variable", () => {
    const value = readyValue(facts());
    expect(value).toMatchObject({ app: "shop", generation: "current", staging: "http://localhost:1", staticFiles: 0, proxy: {} });
    expect(JSON.stringify([value, readyLines(facts())])).not.toContain("hunter2");
  });
});

describe("--generation", () => {
  const flags = { engine: "process", stagingPort: "1", productionPort: "2", apiPort: "3", watch: true };

  it.each(["current", "legacy", "simple", "declared"])("takes %s", (generation) => {
    expect(upSettings("/shop", { ...flags, generation }).generation).toBe(generation);
  });

  it("refuses what is no generation of an app", () => {
    expect(() => upSettings("/shop", { ...flags, generation: "json" })).toThrow(
      expect.objectContaining({
        code: "SETTING_INVALID",
        detail: expect.objectContaining({
          problems: ['--generation: should be one of current, legacy, simple, declared, got "json"'],
        }) as unknown,
      }),
    );
  });
});

describe("--listen", () => {
  const flags = { engine: "process", stagingPort: "1", productionPort: "2", apiPort: "3", watch: true };

  it("is loopback where nothing is said, and the block shows anything else", () => {
    expect(SETTINGS.listen).toEqual(["127.0.0.1", "::1"]);
    expect(readyLines(facts()).join("\n")).not.toContain("listens on");
    const settings = upSettings("/shop", { ...flags, listen: ["0.0.0.0", "::"] });
    expect(readyLines({ ...facts(), settings })).toContain("  listens on      0.0.0.0, ::");
  });

  it.each([
    [["localhost"], '--listen: should be an address such as 0.0.0.0, :: or 192.0.2.7, got "localhost"'],
    [["192.0.2.7", "192.0.2.7"], "--listen: should name each address once, got 192.0.2.7 192.0.2.7"],
  ])("refuses %j", (listen, problem) => {
    const detail = expect.objectContaining({ problems: [problem] }) as unknown;
    expect(() => upSettings("/shop", { ...flags, listen })).toThrow(expect.objectContaining({ code: "SETTING_INVALID", detail }));
  });
});
