// What a reader of an atomically written file may find.
import { mkdtemp, readFile, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, expect, it } from "vitest";

import { writeFileAtomic } from "../../../orchestrator/processes/atomic-file.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "atomic-file-test-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

it("replaces a file as a whole and leaves no other file behind", async () => {
  const path = join(folder, "state");
  const texts = ["a".repeat(100_000), "b".repeat(50_000)];
  await writeFileAtomic(path, texts[0] ?? "", 0o600);
  const writes = Promise.all(Array.from({ length: 10 }, (_, index) => writeFileAtomic(path, texts[index % 2] ?? "", 0o600)));
  for (let reads = 0; reads < 20; reads += 1) expect(texts).toContain(await readFile(path, "utf8"));
  await writes;
  expect(await readdir(folder)).toEqual(["state"]);
});

it("gives the file exactly the mode that was asked for", async () => {
  await writeFileAtomic(join(folder, "open"), Buffer.from("x"), 0o666);
  expect((await stat(join(folder, "open"))).mode & 0o777).toBe(0o666);
});

it("leaves nothing behind where it cannot write", async () => {
  await expect(writeFileAtomic(join(folder, "missing", "state"), "x", 0o600)).rejects.toThrow("ENOENT");
  expect(await readdir(folder)).toEqual([]);
});
