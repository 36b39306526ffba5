// Watching an app's folder: what is noticed, also in folders that come and go.
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { watchApp } from "../../../orchestrator/apps/watch.ts";
import { writeFiles } from "../../support/platform.ts";
import { until } from "../../support/until.ts";

async function watched(files: Record<string, string>, included: readonly string[]) {
  const folder = await mkdtemp(join(tmpdir(), "orchestrator-watch-"));
  await writeFiles(folder, files);
  const seen = { count: 0 };
  const troubles: Error[] = [];
  const watch = watchApp(
    folder,
    () => (seen.count += 1),
    (error) => troubles.push(error),
  );
  watch.include(included.map((name) => join(folder, name)));
  onTestFinished(async () => {
    watch.close();
    await rm(folder, { recursive: true, force: true });
  });
  /** Does something, and waits until it was noticed. */
  const notices = async (work: () => Promise<unknown>): Promise<void> => {
    const before = seen.count;
    await work();
    await until(() => seen.count > before, { timeoutMs: 5_000, what: "a change that is noticed" });
    expect(troubles).toEqual([]);
  };
  return { folder, seen, notices, watch };
}

describe("watchApp", () => {
  it.each(["app.arc", "arc.yml", "package.json", "package-lock.json", ".env", "prefs.arc"])("notices %s", async (name) => {
    const { folder, seen, notices } = await watched({}, ["src"]);
    await notices(async () => writeFile(join(folder, name), "a"));
    await notices(async () => writeFile(join(folder, name), "b"));
    await notices(async () => rm(join(folder, name)));
    expect(seen.count).toBe(3);
  });

  it("is not quiet from the first sign of a change until it has told of it", async () => {
    const { folder, notices, watch } = await watched({}, ["src"]);
    expect(watch.isQuiet()).toBe(true);
    await notices(async () => {
      const save = async (): Promise<void> => writeFile(join(folder, ".env"), "a");
      await until(async () => save().then(() => !watch.isQuiet()), { timeoutMs: 5_000, what: "a first sign" });
    });
    expect(watch.isQuiet()).toBe(true);
  });

  it("notices files deep in folders that are included", async () => {
    const files = { "src/http/get-index/a/b.js": "1", "public/a/b.css": "1", "web/graphql/index.js": "1" };
    const { folder, notices } = await watched(files, ["src", "public", "web/graphql"]);
    for (const name of Object.keys(files)) await expect(notices(async () => writeFile(join(folder, name), "2"))).resolves.toBeUndefined();
  });

  it("notices a folder that was not there, what is written into it later, and when another one takes its place", async () => {
    const { folder, notices } = await watched({ "web/x": "" }, ["src", "web/dist"]);
    for (const name of ["src", "web/dist"]) {
      await notices(async () => mkdir(join(folder, name)));
      await notices(async () => writeFile(join(folder, name, "a"), "1"));
      await notices(async () => rename(join(folder, name), join(folder, `${name}-old`)));
      await notices(async () => mkdir(join(folder, name)));
      await expect(notices(async () => writeFile(join(folder, name, "a"), "1"))).resolves.toBeUndefined();
    }
  });

  it("is silent about everything else, and about what is included no more", async () => {
    const { folder, seen, notices, watch } = await watched({ "public/a": "1", "other/a": "1" }, ["src", "public"]);
    watch.include([join(folder, "src")]);
    await writeFiles(folder, { "readme.txt": "1", ".orchestrator/a": "1", "other/a": "2", "public/a": "2" });
    expect(seen.count).toBe(0);
    // Events come in order: by the time this one was noticed, none of those above was.
    await notices(async () => writeFile(join(folder, "app.arc"), "a"));
    expect(seen.count).toBe(1);
  });
});
