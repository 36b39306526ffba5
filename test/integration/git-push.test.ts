// Pushes of the real git through the door: what a person sees of them, what is received, and what is left when one fails.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import {
  ACCEPTED,
  type Client,
  client,
  commitFile,
  type GitWorld,
  killGroup,
  mustClient,
  newClone,
  quarantinesIn,
  rejected,
  startClient,
  startGitWorld,
} from "../support/git-world.ts";
import { until } from "../support/until.ts";

const APP = "app1";
const ALWAYS = AbortSignal.timeout(60_000);

describe("a push", () => {
  let world: GitWorld;
  let work: string; // A client's folder, with one commit on main, and the app's repository as its origin.

  beforeEach(async () => {
    world = await startGitWorld();
    work = await newClone(world, APP, "work");
    await commitFile(work, "one.txt", "one");
  });
  afterEach(async () => world.close());

  const push = async (...args: readonly string[]) => client(work, ["push", "origin", ...args]);
  const idOf = async (name: string): Promise<string> => mustClient(work, ["rev-parse", name]);

  it("begins with a clone of the empty repository, whose branch is main", async () => {
    await mustClient(world.folder, ["clone", "-q", world.urlOf(APP), "empty"]);
    expect(await readFile(join(world.folder, "empty", ".git", "HEAD"), "utf8")).toBe("ref: refs/heads/main\n");
    expect(await world.repositories.head(APP)).toBeNull();
  });

  it("shows its lines while it is delivered, not at its end", async () => {
    const seen = Promise.withResolvers<void>();
    world.receive(async (received) => {
      received.print("building get-index");
      await seen.promise; // Only what the client has shown by now lets the delivery go on.
      received.print("done");
      return ACCEPTED;
    });
    const pushing = startClient(work, ["push", "origin", "main"]);
    await until(() => pushing.said().includes("remote: building get-index"), { timeoutMs: 10_000, what: pushing.said() });
    expect(await world.repositories.head(APP)).toBeNull(); // Still in quarantine.
    seen.resolve();
    const end = await pushing.ended;
    expect(end.said).toContain("remote: done");
    expect(end.exitCode).toBe(0);
    expect(await world.repositories.head(APP)).toEqual({ branch: "main", commit: await idOf("main") });
  });

  it("hands over what changes, who pushed, and a source that can be checked out before any ref has moved", async () => {
    const out = join(world.folder, "out");
    let subject = "";
    world.receive(async (received) => {
      const commit = received.updates[0]?.peeledCommit ?? "";
      await received.checkOut(commit, { into: out, signal: ALWAYS });
      ({ subject } = await received.describe(commit));
      return ACCEPTED;
    });
    expect((await push("main")).exitCode).toBe(0);
    expect(await readFile(join(out, "one.txt"), "utf8")).toBe("one");
    expect(subject).toBe("adds one.txt");
    const commit = await idOf("main");
    expect(world.pushes).toMatchObject([
      {
        appId: APP,
        by: "tester",
        defaultBranch: "main",
        updates: [{ ref: "refs/heads/main", oldCommit: null, newCommit: commit, peeledCommit: commit }],
      },
    ]);
  });

  it("that is rejected fails with the reason, and leaves every ref and no object", async () => {
    await push("main");
    const before = await idOf("main");
    await commitFile(work, "two.txt", "two");
    world.receive(async () => rejected("Step test failed: 1 of 20 tests.\nRead on in orchestrator logs."));
    const end = await push("main", "main:refs/heads/other");
    expect(end.exitCode).not.toBe(0);
    expect(end.said).toContain("remote: Step test failed: 1 of 20 tests.");
    expect(end.said).toContain("remote: Read on in orchestrator logs.");
    expect(end.said).toMatch(/\[remote rejected\] main -> main/);
    expect(await mustClient(work, ["ls-remote", "--heads", "origin"])).toBe(`${before}\trefs/heads/main`);
    expect(await quarantinesIn(world, APP)).toEqual([]);
    await expect(world.repositories.describe(APP, await idOf("main"))).rejects.toMatchObject({ code: "COMMIT_NOT_FOUND" });
  });

  it("whose delivery throws says what and what to do, and of what should not happen no more than that", async () => {
    world.receive(async () => {
      throw new PlatformError("MANIFEST_INVALID", { problems: ["app.arc:3: no such method"], remedy: "Repair it." });
    });
    const told = await push("main");
    expect(told.exitCode).not.toBe(0);
    expect(told.said).toContain("remote: MANIFEST_INVALID: The app's manifest is wrong.");
    expect(told.said).toContain("remote:   - app.arc:3: no such method");
    expect(told.said).toContain("remote: Repair it.");
    world.receive(async () => {
      throw new Error("secret place");
    });
    const untold = await push("main");
    expect(untold.said).toContain("remote: INTERNAL:");
    expect(untold.said).not.toContain("secret place");
    expect(world.reports.join("\n")).toContain("secret place");
    expect(await world.repositories.head(APP)).toBeNull();
  });

  it("cannot act on the terminal of who pushes with what a step prints", async () => {
    world.receive(async ({ print }) => {
      print("\u001b[2J\u001b]0;title\u0007gone\rover\u202e");
      return ACCEPTED;
    });
    const { said } = await push("main");
    expect(said).toContain("remote: gone");
    expect(said).toContain("remote: over");
    expect(said.includes("\u001b") || said.includes("\u202e") || said.includes("title")).toBe(false);
  });

  it("of tags says which commit each of them leads to", async () => {
    await push("main");
    await mustClient(work, ["tag", "light"]);
    await mustClient(work, ["tag", "-a", "v1.2.0", "-m", "a release"]);
    expect((await push("light", "v1.2.0")).exitCode).toBe(0);
    const [commit, tag] = [await idOf("main"), await idOf("v1.2.0")];
    expect(tag).not.toBe(commit);
    expect(world.pushes[1]?.updates.toSorted((one, other) => (one.ref < other.ref ? -1 : 1))).toEqual([
      { ref: "refs/tags/light", oldCommit: null, newCommit: commit, peeledCommit: commit },
      { ref: "refs/tags/v1.2.0", oldCommit: null, newCommit: tag, peeledCommit: commit },
    ]);
  });

  it("of a tag that leads to no commit says so", async () => {
    await push("main");
    await mustClient(work, ["tag", "-a", "file", "-m", "a file", "main:one.txt"]);
    expect((await push("file")).exitCode).toBe(0);
    expect(world.pushes[1]?.updates).toMatchObject([{ ref: "refs/tags/file", peeledCommit: null }]);
  });

  it("of a second branch is received too, and moves nothing else", async () => {
    await push("main");
    const first = await idOf("main");
    await commitFile(work, "two.txt", "two");
    expect((await push("HEAD:refs/heads/feature/ä")).exitCode).toBe(0);
    expect(world.pushes[1]).toMatchObject({
      defaultBranch: "main",
      updates: [{ ref: "refs/heads/feature/ä", peeledCommit: await idOf("HEAD") }],
    });
    expect(await world.repositories.head(APP)).toEqual({ branch: "main", commit: first });
  });

  it("may replace history, which is its owner's choice", async () => {
    await push("main");
    const replaced = await idOf("main");
    await mustClient(work, ["commit", "-q", "--amend", "-m", "another one"]);
    expect((await push("main")).exitCode).not.toBe(0); // Its own git asks for --force.
    expect((await push("--force", "main")).exitCode).toBe(0);
    expect(world.pushes[1]?.updates).toMatchObject([{ oldCommit: replaced, newCommit: await idOf("main") }]);
    expect((await world.repositories.head(APP))?.commit).toBe(await idOf("main"));
  });

  it("makes its one branch the default one of an empty repository, and later ones do not", async () => {
    expect((await push("main:trunk")).exitCode).toBe(0);
    expect(world.pushes[0]?.defaultBranch).toBe("trunk");
    expect(await world.repositories.head(APP)).toEqual({ branch: "trunk", commit: await idOf("main") });
    await push("main:main");
    expect(world.pushes[1]?.defaultBranch).toBe("trunk");
    await mustClient(world.folder, ["clone", "-q", world.urlOf(APP), "again"]);
    expect(await readFile(join(world.folder, "again", ".git", "HEAD"), "utf8")).toBe("ref: refs/heads/trunk\n");
  });

  it("that is rejected does not name the default branch either", async () => {
    world.receive(async () => rejected("no"));
    await push("main:trunk");
    await mustClient(world.folder, ["clone", "-q", world.urlOf(APP), "empty"]);
    expect(await readFile(join(world.folder, "empty", ".git", "HEAD"), "utf8")).toBe("ref: refs/heads/main\n");
  });

  it("cannot delete the default branch, and can delete any other", async () => {
    await push("main", "main:other");
    const refused = await push(":main");
    expect(refused.exitCode).not.toBe(0);
    expect(refused.said).toContain("remote: PUSH_REFUSED: The push cannot be taken. The branch main is the app's default one");
    expect(world.pushes).toHaveLength(1);
    expect((await push(":other")).exitCode).toBe(0);
    expect(world.pushes[1]?.updates).toMatchObject([{ ref: "refs/heads/other", newCommit: null, peeledCommit: null }]);
    expect(await mustClient(work, ["ls-remote", "--heads", "origin"])).toMatch(/^[0-9a-f]{40}\trefs\/heads\/main$/);
  });

  it("that could not be made a ref is refused before it is delivered", async () => {
    await push("main");
    const end = await push("main:refs/heads/main/below");
    expect(end.exitCode).not.toBe(0);
    expect(end.said).toMatch(/remote: These refs cannot be changed so\..*'refs\/heads\/main' exists/);
    expect(world.pushes).toHaveLength(1);
  });

  it("with objects that are not as they should be is refused", async () => {
    const tree = await mustClient(work, ["rev-parse", "main^{tree}"]);
    const bad = await mustClient(work, ["hash-object", "-w", "-t", "tree", "--literally", await badTree(work)]);
    const commit = await mustClient(work, ["commit-tree", bad, "-m", "bad"]);
    expect(tree).not.toBe(bad);
    const end = await push(`${commit}:refs/heads/main`);
    expect(end.exitCode).not.toBe(0);
    expect(end.said).toMatch(/contains '\.git'|hasDotgit/);
    expect(world.pushes).toEqual([]);
  });

  it("waits for the one before it, says so, and is refused where that took its base away", async () => {
    const go = Promise.withResolvers<void>();
    world.receive(async () => {
      if (world.pushes.length === 1) await go.promise;
      return ACCEPTED;
    });
    const first = startClient(work, ["push", "origin", "main"]);
    await until(() => world.pushes.length === 1, { timeoutMs: 10_000, what: "the first push is received" });
    const otherWork = await newClone(world, APP, "other");
    await commitFile(otherWork, "other.txt", "other");
    const second = startClient(otherWork, ["push", "origin", "main"]);
    const third = startClient(otherWork, ["push", "origin", "main:side"]);
    for (const waiting of [second, third]) await until(() => waitsVisibly(waiting), { timeoutMs: 10_000, what: waiting.said() });
    expect(world.pushes).toHaveLength(1);
    go.resolve();
    expect((await first.ended).exitCode).toBe(0);
    const lost = await second.ended;
    expect(lost.exitCode).not.toBe(0);
    expect(lost.said).toMatch(/remote: These refs cannot be changed so\..*Fetch, and push again\./);
    expect((await third.ended).exitCode).toBe(0);
    expect((await world.repositories.head(APP))?.commit).toBe(await idOf("main"));
    expect(world.pushes).toHaveLength(2);
  });

  it("whose client is killed ends what it started, and leaves nothing in the way of the next one", async () => {
    world.receive(
      async ({ signal, print }) =>
        new Promise((_resolve, reject) => {
          print("on its way");
          signal.addEventListener("abort", () => reject(signal.reason as Error));
        }),
    );
    const pushing = startClient(work, ["push", "origin", "main"]);
    await until(() => pushing.said().includes("on its way"), { timeoutMs: 10_000, what: "the push is on its way" });
    killGroup(pushing);
    await until(() => world.pushes[0]?.signal.aborted === true, { timeoutMs: 10_000, what: "the delivery hears of it" });
    await until(async () => (await quarantinesIn(world, APP)).length === 0, { timeoutMs: 10_000, what: "the quarantine is gone" });
    expect(await world.repositories.head(APP)).toBeNull();
    world.receive(async () => ACCEPTED);
    expect((await push("main")).exitCode).toBe(0);
    expect(world.reports).toEqual([]);
  });

  it("whose delivery succeeds although its client is gone still moves its branch: both or none", async () => {
    const go = Promise.withResolvers<void>();
    world.receive(async ({ print }) => {
      print("on its way");
      await go.promise;
      return ACCEPTED;
    });
    const pushing = startClient(work, ["push", "origin", "main"]);
    await until(() => pushing.said().includes("on its way"), { timeoutMs: 10_000, what: "the push is on its way" });
    killGroup(pushing);
    await until(() => world.pushes[0]?.signal.aborted === true, { timeoutMs: 10_000, what: "the delivery hears of it" });
    go.resolve();
    const commit = await idOf("main");
    await until(async () => (await world.repositories.head(APP))?.commit === commit, { timeoutMs: 10_000, what: "the branch moves" });
    expect(world.reports).toEqual([]);
  });

  it("is broken off when the platform stops", async () => {
    world.receive(
      async ({ signal, print }) =>
        new Promise((_resolve, reject) => {
          print("on its way");
          signal.addEventListener("abort", () => reject(signal.reason as Error));
        }),
    );
    const pushing = startClient(work, ["push", "origin", "main"]);
    await until(() => pushing.said().includes("on its way"), { timeoutMs: 10_000, what: "the push is on its way" });
    await world.door.close();
    const end = await pushing.ended;
    expect(end.exitCode).not.toBe(0);
    expect(end.said).toContain("remote: GIT_BUSY: The app's repository is busy. The platform stops.");
    expect(await world.repositories.head(APP)).toBeNull();
    expect(await quarantinesIn(world, APP)).toEqual([]);
  });

  it("of refs/replace does not change what a commit's name stands for", async () => {
    await push("main");
    const [commit, out] = [await idOf("main"), join(world.folder, "out")];
    await commitFile(work, "one.txt", "replaced");
    await mustClient(work, ["replace", commit, await idOf("main")]);
    expect((await push(`refs/replace/${commit}`)).exitCode).toBe(0);
    await world.repositories.checkOut(APP, commit, { into: out, signal: ALWAYS });
    expect(await readFile(join(out, "one.txt"), "utf8")).toBe("one");
  });

  it("with a submodule cannot be checked out, and is told which and what to do", async () => {
    await mustClient(work, ["update-index", "--add", "--cacheinfo", `160000,${await idOf("main")},vendor/lib`]);
    await mustClient(work, ["commit", "-q", "-m", "a submodule"]);
    world.receive(async (received) => {
      await received.checkOut(received.updates[0]?.peeledCommit ?? "", { into: join(world.folder, "out"), signal: received.signal });
      return ACCEPTED;
    });
    const { said, exitCode } = await push("main");
    expect(exitCode).not.toBe(0);
    expect(said).toContain('remote: SOURCE_REFUSED: The source cannot be taken. "vendor/lib" is a submodule');
    expect(said).toContain("remote: Commit its files instead");
  });
});

const waitsVisibly = (pushing: Client): boolean => pushing.said().includes("this push waits for it");

/** A file that holds a tree with an entry called ".git". */
async function badTree(folder: string): Promise<string> {
  const blob = await mustClient(folder, ["rev-parse", "main:one.txt"]);
  const path = join(folder, "..", "bad-tree");
  await writeFile(path, Buffer.concat([Buffer.from("100644 .git\0"), Buffer.from(blob, "hex")]));
  return path;
}
