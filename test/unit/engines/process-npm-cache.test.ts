// npm's cache in the home: bounded, and never taken away from an npm that runs.
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createNpmCache } from "../../../orchestrator/engines/process-npm-cache.ts";

let home = "";
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "npm-cache-"));
  await mkdir(join(home, "npm-cache"));
  await writeFile(join(home, "npm-cache", "content"), Buffer.alloc(100_000, 1));
});
afterEach(async () => {
  await rm(home, { recursive: true });
});

describe("npm's cache", () => {
  it("stays while it is small enough", async () => {
    const cache = createNpmCache(home, 1_000_000);
    expect(await cache.bound()).toEqual({ count: 0, bytes: 0 });
    expect(existsSync(cache.folder)).toBe(true);
  });

  it("goes as a whole when it is too large, and not while it is used", async () => {
    const cache = createNpmCache(home, 50_000);
    const endUses = [cache.use(), cache.use()];
    for (const endUse of endUses) {
      expect(await cache.bound()).toEqual({ count: 0, bytes: 0 });
      endUse();
      endUse(); // Twice is once.
    }
    const { count, bytes } = await cache.bound();
    expect(count).toBe(1);
    expect(bytes).toBeGreaterThanOrEqual(100_000);
    expect(existsSync(cache.folder)).toBe(false);
    expect(existsSync(join(home, "npm-cache-old"))).toBe(false);
  });

  it("is finished off where an orchestrator was killed in the middle of it", async () => {
    await mkdir(join(home, "npm-cache-old"));
    await createNpmCache(home, 1_000_000).bound();
    expect(existsSync(join(home, "npm-cache-old"))).toBe(false);
  });

  it("may not be there at all", async () => {
    await rm(join(home, "npm-cache"), { recursive: true });
    expect(await createNpmCache(home, 0).bound()).toEqual({ count: 0, bytes: 0 });
  });
});
