// Where pushes end: how large one may be, and how long it waits for another.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  ACCEPTED,
  client,
  commitFile,
  type GitWorld,
  mustClient,
  newClone,
  quarantinesIn,
  startClient,
  startGitWorld,
} from "../support/git-world.ts";
import { until } from "../support/until.ts";

const APP = "app1";

describe("the size of a push", () => {
  let world: GitWorld;
  let work: string;
  beforeEach(async () => {
    world = await startGitWorld({ pushBytesMax: 2_000_000 });
    work = await newClone(world, APP, "work");
  });
  afterEach(async () => world.close());

  it.each([
    ["that comes in pieces", "1000000"],
    ["that comes as a whole", "100000000"],
  ])("is limited, with words that git shows, for one %s", async (_how, postBuffer) => {
    await writeFile(join(work, "large.bin"), noise(3_500_000));
    await mustClient(work, ["add", "."]);
    await mustClient(work, ["commit", "-q", "-m", "large"]);
    const end = await client(work, ["-c", `http.postBuffer=${postBuffer}`, "push", "origin", "main"]);
    expect(end.exitCode).not.toBe(0);
    expect(end.said).toContain("remote: PUSH_TOO_LARGE: The push is too large. It may have 2000000 bytes, compressed.");
    expect(end.said).toContain("remote: Take large files out of the history");
    expect(end.said).toMatch(/\[remote rejected\] main -> main/);
    expect(await world.repositories.head(APP)).toBeNull();
    expect(world.pushes).toEqual([]);
    await until(async () => (await quarantinesIn(world, APP)).length === 0, { timeoutMs: 10_000, what: "the quarantine is gone" });
    expect(world.reports).toEqual([]);
  });

  it("is told even to a client that goes on sending and is cut off", async () => {
    await writeFile(join(work, "large.bin"), noise(9_000_000));
    await mustClient(work, ["add", "."]);
    await mustClient(work, ["commit", "-q", "-m", "large"]);
    const end = await client(work, ["push", "origin", "main"]);
    expect(end.exitCode).not.toBe(0);
    expect(end.said).toContain("remote: PUSH_TOO_LARGE:");
    await until(async () => (await quarantinesIn(world, APP)).length === 0, { timeoutMs: 10_000, what: "the quarantine is gone" });
  });

  it("is no matter where it is smaller", async () => {
    await writeFile(join(work, "small.bin"), noise(1_500_000));
    await mustClient(work, ["add", "."]);
    await mustClient(work, ["commit", "-q", "-m", "small"]);
    expect((await client(work, ["push", "origin", "main"])).exitCode).toBe(0);
  });
});

describe("the repository's turn", () => {
  let world: GitWorld;
  beforeEach(async () => {
    world = await startGitWorld({ turnTimeoutMs: 200 });
  });
  afterEach(async () => world.close());

  it("is waited for so long, by pushes and by commits, and then they say that it is busy", async () => {
    const go = Promise.withResolvers<void>();
    world.receive(async () => {
      await go.promise;
      return ACCEPTED;
    });
    const [work, otherWork, folder] = [
      await newClone(world, APP, "work"),
      await newClone(world, APP, "other"),
      await world.newFolder("folder"),
    ];
    for (const place of [work, otherWork]) await commitFile(place, "a.txt", place);
    await writeFile(join(folder, "a.txt"), "a");
    const first = startClient(work, ["push", "origin", "main"]);
    await until(() => world.pushes.length === 1, { timeoutMs: 10_000, what: "the first push is received" });
    const second = await client(otherWork, ["push", "origin", "main"]);
    expect(second.exitCode).not.toBe(0);
    expect(second.said).toContain("remote: GIT_BUSY: The app's repository is busy.");
    await expect(world.repositories.commitFolder(APP, folder, { message: "m", by: "b" })).rejects.toMatchObject({ code: "GIT_BUSY" });
    await world.repositories.commitFolder("app2", folder, { message: "of another app", by: "b" });
    go.resolve();
    expect((await first.ended).exitCode).toBe(0);
  });
});

/** Bytes that do not compress, the same in each run. */
function noise(byteCount: number): Buffer {
  const bytes = Buffer.alloc(byteCount);
  let state = 1;
  for (let index = 0; index < byteCount; index += 1) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    bytes[index] = state >>> 16;
  }
  return bytes;
}
