// The layer that the files of a build make.
import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { buildEntries } from "../../../orchestrator/images/build-tar.ts";
import { loadedLibraries } from "../../../orchestrator/images/own-node-files.ts";

const file = (path: string, isExecutable = false) => ({ path, bytes: Buffer.from(path), isExecutable });

describe("the layer of a build", () => {
  it("names every folder once before the files in it", () => {
    const entries = buildEntries("/app", [file("lib/deep/a.js"), file("lib/b.js"), file("index.js")]);
    expect(entries.map((entry) => `${entry.kind} ${entry.path}`)).toEqual([
      "folder app",
      "folder app/lib",
      "folder app/lib/deep",
      "file app/lib/deep/a.js",
      "file app/lib/b.js",
      "file app/index.js",
    ]);
  });

  it("keeps what is executable and lets nobody but root write", () => {
    const entries = buildEntries("/app", [file("run.sh", true), file("index.js")]);
    expect(entries.map((entry) => (entry.kind === "link" ? entry.target : entry.mode.toString(8)))).toEqual(["755", "755", "644"]);
  });

  it.each(["../up.js", "/etc/passwd", "a/../../b", ".."])("refuses the path %s", (path) => {
    expect(() => buildEntries("/app", [file(path)])).toThrow("leads out");
  });
});

describe("the libraries of this Node", () => {
  it("are found with the loader, and all lie on this machine", () => {
    const libraries = loadedLibraries();
    expect(libraries.some((path) => path.includes("ld-linux"))).toBe(true);
    expect(libraries.filter((path) => !existsSync(path))).toEqual([]);
  });
});
