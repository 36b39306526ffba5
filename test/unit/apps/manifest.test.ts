// What manifests say, in each of their forms, and what is said about wrong ones.
import { describe, expect, it } from "vitest";
import { readManifest } from "../../../orchestrator/apps/manifest.ts";
import { parseManifestText } from "../../../orchestrator/apps/manifest-text.ts";

const read = (text: string) => readManifest(parseManifestText(text, "arc"), "fallback");

describe("readManifest", () => {
  it("reads name, routes and folders from the text form", () => {
    const { value, problems } = read("@app\nshop\n\n@http\nget /\npost /api/submit\n/foo\n  method any\n  src lib/foo\n");
    expect(problems).toEqual([]);
    expect(value.appName).toBe("shop");
    expect(value.routes).toEqual([
      { method: "GET", path: "/", source: null },
      { method: "POST", path: "/api/submit", source: null },
      { method: "ANY", path: "/foo", source: "lib/foo" },
    ]);
  });

  it.each([
    ["pairs", '{"http":[["get","/"]]}'],
    ["objects", '{"http":[{"get":"/"}]}'],
    ["blocks", '{"http":[{"/":{"method":"get"}}]}'],
  ])("reads routes from JSON written as %s", (_form, text) => {
    const { value, problems } = readManifest(parseManifestText(text, "json"), "fallback");
    expect(problems).toEqual([]);
    expect(value.routes).toEqual([{ method: "GET", path: "/", source: null }]);
  });

  it("takes the folder's name where the manifest has none", () => {
    expect(read("@http\nget /\n").value.appName).toBe("fallback");
  });

  it.each([
    ["@http\nget /\n", "current"],
    ["@http\nget /\n@aws\napigateway http\n", "current"],
    ["@http\nget /\n@aws\napigateway rest\n", "legacy"],
    ["@http\nget /\n@aws\napigateway httpv1\n", "legacy"],
    ["@http\nget /\n@aws\napigateway rest\n@generation\nsimple\n", "simple"],
  ])("reads the generation of %j as %s", (text, generation) => {
    const { value, problems } = read(text);
    expect(problems).toEqual([]);
    expect(value.generation).toBe(generation);
  });

  it("names every problem at once, each with its place", () => {
    const { problems } = read(
      "@app\nBig_Shop\n\n@http\nfetch /\nget shop\nget /a/:\npost /x /y\n@aws\ntimeout 901\nmemory 1\napigateway soap\n@generation\nnext\n",
    );
    expect(problems).toHaveLength(8);
    expect(problems.join("\n")).toContain("@http route 1");
    expect(problems.join("\n")).toContain("@http route 2");
    expect(problems.join("\n")).toContain("@aws timeout");
    expect(problems.join("\n")).toContain("@generation");
  });

  it("turns the units of the settings into ours", () => {
    expect(read("@http\nget /\n@aws\ntimeout 30\nmemory 256\n").value.settings).toEqual({ timeoutMs: 30_000, memoryBytesMax: 256_000_000 });
  });
});
