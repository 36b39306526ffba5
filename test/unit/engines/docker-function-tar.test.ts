// The layer that a function's files make.
import { describe, expect, it } from "vitest";
import { functionEntries } from "../../../orchestrator/images/function-tar.ts";
import { librariesIn } from "../../../orchestrator/images/own-node-files.ts";

const file = (path: string, isExecutable = false) => ({ path, bytes: Buffer.from(path), isExecutable });

describe("the layer of a function", () => {
  it("names every folder once before the files in it", () => {
    const entries = functionEntries("/function", [file("lib/deep/a.js"), file("lib/b.js"), file("index.js")]);
    expect(entries.map((entry) => `${entry.kind} ${entry.path}`)).toEqual([
      "folder function",
      "folder function/lib",
      "folder function/lib/deep",
      "file function/lib/deep/a.js",
      "file function/lib/b.js",
      "file function/index.js",
    ]);
  });

  it("keeps what is executable and lets nobody but root write", () => {
    const entries = functionEntries("/function", [file("run.sh", true), file("index.js")]);
    expect(entries.map((entry) => entry.mode.toString(8))).toEqual(["755", "755", "644"]);
  });

  it.each(["../up.js", "/etc/passwd", "a/../../b", ".."])("refuses the path %s", (path) => {
    expect(() => functionEntries("/function", [file(path)])).toThrow("leads out");
  });
});

describe("the libraries of a binary", () => {
  it("are read from what ldd prints, the loader included", () => {
    const printed =
      "\tlinux-vdso.so.1 (0x00007ff)\n\tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f)\n\t/lib64/ld-linux-x86-64.so.2 (0x0000)\n";
    expect(librariesIn(printed)).toEqual(["/lib/x86_64-linux-gnu/libm.so.6", "/lib64/ld-linux-x86-64.so.2"]);
  });
});
