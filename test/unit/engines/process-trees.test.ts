// Folders that scripts wrote into: measured, and removed whatever they did to them.
import { mkdirSync, writeFileSync } from "node:fs";
import { chmod, link, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { heldBytesOf, removeTree } from "../../../orchestrator/engines/process-trees.ts";

let top = "";
beforeEach(async () => {
  top = await mkdtemp(join(tmpdir(), "process-trees-"));
});
afterEach(() => rm(top, { recursive: true, force: true }));

describe("a folder", () => {
  it("holds each file once, however many names it has, and not what links lead to", async () => {
    await mkdir(join(top, "a/b"), { recursive: true });
    await writeFile(join(top, "a/b/file"), Buffer.alloc(1_000_000, 1));
    const before = await heldBytesOf(top);
    expect(before).toBeGreaterThanOrEqual(1_000_000);
    expect(before).toBeLessThan(1_100_000);
    await link(join(top, "a/b/file"), join(top, "again"));
    await symlink("/usr", join(top, "out"));
    expect((await heldBytesOf(top)) - before).toBeLessThan(10_000);
    expect(await heldBytesOf(join(top, "not-there"))).toBe(0);
  });

  it("is removed where no path reaches its innermost", async () => {
    const tower = join(top, "tower");
    const name = "f".repeat(250);
    const build = `for (let depth = 0; depth < 30; depth += 1) { require("fs").mkdirSync("${name}"); process.chdir("${name}"); }`;
    mkdirSync(tower);
    await promisify(execFile)(process.execPath, ["-e", build], { cwd: tower });
    await removeTree(tower);
    expect(await readdir(top)).toEqual([]);
    await removeTree(tower); // One that is not there is fine.
  });

  it("is removed where folders in it were closed, which stops everyone but root", async () => {
    mkdirSync(join(top, "closed/inner"), { recursive: true });
    writeFileSync(join(top, "closed/inner/file"), "");
    await chmod(join(top, "closed/inner"), 0);
    await chmod(join(top, "closed"), 0);
    await removeTree(join(top, "closed"));
    expect(await readdir(top)).toEqual([]);
  });
});
