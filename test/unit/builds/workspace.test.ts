// The folder in which an app is traced: it always holds exactly what it was told, and what it links to is never touched.
import { mkdir, mkdtemp, readFile, readdir, readlink, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type WorkspaceEntry, createWorkspace, withSurroundings } from "../../../orchestrator/builds/workspace.ts";

let top = "";
beforeEach(async () => {
  top = await mkdtemp(join(tmpdir(), "orchestrator-workspace-"));
  await mkdir(join(top, "app/lib/deep"), { recursive: true });
  await writeFile(join(top, "app/lib/deep/a.js"), "the app's own");
});
afterEach(async () => rm(top, { recursive: true }));

const file = (text: string): WorkspaceEntry => ({ kind: "file", bytes: Buffer.from(text) });
const link = (path: string): WorkspaceEntry => ({ kind: "link", target: join(top, "app", path) });
const entryAt = async (path: string): Promise<WorkspaceEntry> => {
  const target = await readlink(path).catch(() => null);
  return target === null ? { kind: "file", bytes: await readFile(path) } : { kind: "link", target };
};
const entriesIn = async (folder: string): Promise<string[]> => (await readdir(folder, { recursive: true })).toSorted();

describe("a workspace", () => {
  it("goes from any state to any other, and leaves what it links to alone", async () => {
    const workspace = createWorkspace(join(top, "workspace"));
    const states: Record<string, WorkspaceEntry>[] = [
      { "src/lib": link("lib"), "src/a.js": file("1") },
      { "src/lib/deep/a.js": file("2"), "src/a.js": file("1") },
      { src: link("lib") },
      { "src/lib": link("lib/deep"), "src/b.js": file("3") },
    ];
    for (const state of [...states, ...states.toReversed()]) {
      await workspace.sync(new Map(Object.entries(state)));
      const found = Object.keys(state).map(async (path) => [path, await entryAt(join(workspace.folder, path))]);
      expect(Object.fromEntries(await Promise.all(found))).toEqual(state);
      expect(await entriesIn(join(top, "app"))).toEqual(["lib", "lib/deep", "lib/deep/a.js"]);
      expect(await readFile(join(top, "app/lib/deep/a.js"), "utf8")).toBe("the app's own");
    }
  });

  it("does not trust what an earlier orchestrator left", async () => {
    await createWorkspace(join(top, "workspace")).sync(new Map([["old.js", file("old")]]));
    const workspace = createWorkspace(join(top, "workspace"));
    await workspace.sync(new Map([["new.js", file("new")]]));
    expect(await entriesIn(workspace.folder)).toEqual(["new.js"]);
  });
});

describe("its surroundings", () => {
  it("are links to what else lies on the way, but not inside of what is there as a whole", async () => {
    await mkdir(join(top, "app/src/http/get-index/node_modules"), { recursive: true });
    await mkdir(join(top, "app/src/http/get-other"), { recursive: true });
    await mkdir(join(top, "app/node_modules"), { recursive: true });
    const all = await withSurroundings(new Map([["src/http/get-index/lib/a.js", file("1")]]), {
      appFolder: join(top, "app"),
      whole: ["src/http/get-index"],
      isLeftOut: (name) => name === "node_modules",
    });
    expect([...all.keys()].toSorted()).toEqual(["lib", "src/http/get-index/lib/a.js", "src/http/get-other"]);
  });
});
