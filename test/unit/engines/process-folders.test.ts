// What a folder of a build holds, and what it never does.
import { chmod, mkdir, mkdtemp, readFile, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { createBuilds } from "../../../orchestrator/engines/process-builds.ts";
import { holdsFiles, makeFolder, problemOfPath, removeHalfMade } from "../../../orchestrator/engines/process-folders.ts";

const FILES = [
  { path: "index.js", bytes: Buffer.from("exports.handler = 1"), isExecutable: false },
  { path: "node_modules/.bin/tool", bytes: Buffer.from("#!"), isExecutable: true },
];

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "process-folders-test-"));
});
afterEach(() => rm(home, { recursive: true, force: true }));

describe("a path of a build's file", () => {
  it.each(["../x", "a/../../x", "/etc/x", "", ".", "a//b", "a/./b", "a\\b", "a\0b", "a/", "C:\\x"])("is refused when it is %j", (path) => {
    expect(problemOfPath(path)).toHaveLength(1);
  });
  it.each(["index.js", "a/b/c.js", "..a/b..", ".hidden", "with space", "né.js"])("is taken when it is %j", (path) => {
    expect(problemOfPath(path)).toEqual([]);
  });
});

describe("a folder", () => {
  it("holds read-only files, executable where they were", async () => {
    await makeFolder(join(home, "b1"), FILES);
    expect(await readFile(join(home, "b1/index.js"), "utf8")).toBe("exports.handler = 1");
    expect((await stat(join(home, "b1/index.js"))).mode & 0o777).toBe(0o444);
    expect((await stat(join(home, "b1/node_modules/.bin/tool"))).mode & 0o777).toBe(0o555);
    expect(await readdir(home)).toEqual(["b1"]);
  });

  it("is not made at all where one of its files cannot be", async () => {
    await expect(makeFolder(join(home, "b1"), [...FILES, { path: "../evil", bytes: Buffer.from("") }])).rejects.toThrow("cannot be built");
    await expect(makeFolder(join(home, "b1"), [...FILES, { path: "index.js/deeper", bytes: Buffer.from("") }])).rejects.toThrow(
      /EEXIST|ENOTDIR/,
    );
    expect(await readdir(home)).toEqual([]);
  });

  it("counts as damaged when a file is empty, missing, or all of it is gone", async () => {
    const folder = join(home, "b1");
    expect(await holdsFiles(folder, [])).toBe(false);
    await makeFolder(folder, FILES);
    expect(await holdsFiles(folder, FILES)).toBe(true);
    await chmod(join(folder, "index.js"), 0o644);
    await writeFile(join(folder, "index.js"), "");
    expect(await holdsFiles(folder, FILES)).toBe(false);
    await rm(join(folder, "index.js"));
    expect(await holdsFiles(folder, FILES)).toBe(false);
  });

  it("that was left half made is removed, and nothing else", async () => {
    await makeFolder(join(home, "b1"), FILES);
    await mkdir(join(home, ".making-b2-abc"));
    await removeHalfMade(home);
    expect(await readdir(home)).toEqual(["b1"]);
  });
});

describe("builds", () => {
  it("are made once, also when several ask at once", async () => {
    const builds = createBuilds();
    const folder = join(home, "b1");
    const results = await Promise.all([1, 2, 3].map(() => builds.make(folder, FILES)));
    expect(results.map(({ reused }) => reused)).toEqual([false, true, true]);
    expect(await builds.make(folder, FILES)).toEqual({ reused: true });
  });

  it("are made again where a power failure left an empty file", async () => {
    const folder = join(home, "b1");
    await createBuilds().make(folder, FILES);
    await chmod(join(folder, "index.js"), 0o644);
    await writeFile(join(folder, "index.js"), "");
    expect(await createBuilds().make(folder, FILES)).toEqual({ reused: false });
    expect(await readFile(join(folder, "index.js"), "utf8")).toBe("exports.handler = 1");
  });
});
