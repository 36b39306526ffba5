// Repositories of apps with the real git: what is committed comes back byte for byte, and nothing outside has a say in it.
import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, readFile, readdir, readlink, realpath, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createRepositories, type OwnRepositories } from "../../orchestrator/git/repositories.ts";
import { mustClient } from "../support/git-world.ts";

const APP = "app1";
const ABOUT = { message: "a deploy", by: "ci" };
const runFile = promisify(execFile);

describe("repositories", () => {
  let root: string;
  let home: string;
  let repositories: OwnRepositories;
  const open = (): OwnRepositories => createRepositories({ folder: join(home, "repositories"), searchPath: process.env["PATH"] ?? "" });
  const inRepository = async (...args: readonly string[]): Promise<string> => mustClient(join(home, "repositories", `${APP}.git`), args);
  let outCount = 0;
  const checkOut = async (commit: string): Promise<string> => {
    const into = join(root, `out-${(outCount += 1)}`);
    await repositories.checkOut(APP, commit, { into, signal: AbortSignal.timeout(30_000) });
    return into;
  };
  /** A folder with these files. */
  const folderOf = async (files: Readonly<Record<string, string | Uint8Array>>): Promise<string> => {
    const folder = await mkdtemp(join(root, "source-"));
    for (const [path, content] of Object.entries(files)) {
      await mkdir(join(folder, path, ".."), { recursive: true });
      await writeFile(join(folder, path), content);
    }
    return folder;
  };

  beforeEach(async () => {
    root = await realpath(await mkdtemp(join(tmpdir(), "git-repositories-")));
    home = join(root, "home");
    repositories = open();
  });
  afterEach(async () => rm(root, { recursive: true, force: true }));

  it("are empty at first, however many make them at once", async () => {
    await Promise.all(Array.from({ length: 5 }, async () => repositories.ensure(APP)));
    expect(await repositories.head(APP)).toBeNull();
    expect((await readdir(join(home, "repositories"))).toSorted()).toEqual([".git-home", `${APP}.git`]);
  });

  it("give back what was committed, byte for byte, whatever attributes and settings lie among it", async () => {
    const binary = Buffer.from(Array.from({ length: 256 }, (_, index) => index));
    const files = {
      ".gitattributes": "* text=auto eol=lf\n*.bin filter=lfs diff=lfs\n*.txt ident export-subst\nsecret.txt export-ignore\n",
      ".gitignore": "*\n",
      ".gitconfig": "[core]\n\tautocrlf = true\n",
      ".git/config": "[core]\n\thooksPath = /tmp\n",
      "vendor/.git": "gitdir: ../../elsewhere\n",
      "app.arc": "@http\r\nget /\r\n",
      "subst.txt": "$Id$ $Format:%H$\r\n",
      "secret.txt": "kept",
      "data.bin": binary,
      "empty.txt": "",
      "src/http/get-índex-日本/index.mjs": "export const handler = () => 'ok'\n",
      ' odd "name"\'s $(x) -rf': "odd",
      "node_modules/a/index.js": "kept as well",
    };
    const source = await folderOf(files);
    await writeFile(join(source, "run.sh"), "#!/bin/sh\n");
    await chmod(join(source, "run.sh"), 0o755);
    await symlink("src/http", join(source, "link"));
    const { commit } = await repositories.commitFolder(APP, source, ABOUT);
    const out = await checkOut(commit);

    const { ".git/config": _config, "vendor/.git": _file, ...kept } = files;
    for (const [path, content] of Object.entries(kept))
      expect([path, await readFile(join(out, path))]).toEqual([path, Buffer.from(content)]);
    expect((await stat(join(out, "run.sh"))).mode & 0o777).toBe(0o755);
    expect((await stat(join(out, "app.arc"))).mode & 0o777).toBe(0o644);
    expect(await readlink(join(out, "link"))).toBe("src/http");
    expect((await readdir(out, { recursive: true })).filter((path) => /(?:^|\/)\.git$/.test(path))).toEqual([]);
    await mustClient(root, ["clone", "-q", "--no-checkout", join(home, "repositories", `${APP}.git`), "clone"]); // Git itself finds nothing wrong with it.
    await mustClient(join(root, "clone"), ["fsck", "--strict"]);
  });

  it("give back many files and large ones", async () => {
    const large = Buffer.alloc(20_000_000, "0123456789abcdef\n");
    const many = Object.fromEntries(
      Array.from({ length: 1_500 }, (_, index) => [`d${index % 20}/f${index}.txt`, `file ${index}`.repeat(index % 50)]),
    );
    const { commit } = await repositories.commitFolder(APP, await folderOf({ ...many, "large.bin": large, "last.txt": "last" }), ABOUT);
    const out = await checkOut(commit);
    for (const [path, content] of Object.entries(many)) expect(await readFile(join(out, path), "utf8")).toBe(content);
    expect((await readFile(join(out, "large.bin"))).equals(large)).toBe(true);
    expect(await readFile(join(out, "last.txt"), "utf8")).toBe("last");
  });

  it("say who committed what and when, in plain text", async () => {
    const before = Date.now();
    const message = "\u001b[31mred\u001b[0m \u202eturned\u0007\nand more\n\nbody";
    const { commit } = await repositories.commitFolder(APP, await folderOf({ a: "a" }), { message, by: "ci <evil>\n\u0000x" });
    const facts = await repositories.describe(APP, commit);
    expect(facts).toEqual({ commit, subject: "red turned and more", author: "ci evil x", epochMs: facts.epochMs });
    expect(Math.abs(facts.epochMs - before)).toBeLessThan(10_000);
    const long = await repositories.commitFolder(APP, await folderOf({ b: "b" }), { message: "ä".repeat(100_000), by: "x".repeat(5_000) });
    const cut = await repositories.describe(APP, long.commit);
    expect([cut.subject.length, cut.author.length]).toEqual([200, 100]);
  });

  it("describe commits of others whose message has no end", async () => {
    const { commit } = await repositories.commitFolder(APP, await folderOf({ a: "a" }), ABOUT);
    const tree = await inRepository("rev-parse", `${commit}^{tree}`);
    await writeFile(join(root, "message"), "endless ".repeat(1_000_000));
    const endless = await inRepository("commit-tree", tree, "-F", join(root, "message"));
    expect((await repositories.describe(APP, endless)).subject).toMatch(/^endless endless .*…$/);
  });

  it("make no commit of what is there already, and one on top of it of what differs", async () => {
    const first = await repositories.commitFolder(APP, await folderOf({ a: "a" }), ABOUT);
    expect(first.isNew).toBe(true);
    expect(await repositories.commitFolder(APP, await folderOf({ a: "a" }), { message: "again", by: "me" })).toEqual({
      ...first,
      isNew: false,
    });
    const second = await repositories.commitFolder(APP, await folderOf({ b: "b" }), ABOUT);
    expect(await inRepository("rev-list", "main")).toBe(`${second.commit}\n${first.commit}`);
    expect(await readdir(await checkOut(second.commit))).toEqual(["b"]);
    expect(await inRepository("for-each-ref", "--format=%(refname)")).toBe("refs/heads/main");
  });

  it("commit an empty folder", async () => {
    const { commit } = await repositories.commitFolder(APP, await folderOf({}), ABOUT);
    expect(await readdir(await checkOut(commit))).toEqual([]);
  });

  it("lose none of the commits that several processes make at once", async () => {
    await repositories.commitFolder(APP, await folderOf({ a: "a" }), ABOUT);
    const writers = [repositories, open(), open()]; // Each has a turn of its own, as another process would.
    const made = await Promise.all(
      writers.map(async (writer, index) =>
        writer.commitFolder(APP, await folderOf({ [`f${index}`]: "x" }), { message: `commit ${index}`, by: "me" }),
      ),
    );
    const line = (await inRepository("rev-list", "main")).split("\n");
    expect(line).toHaveLength(4);
    expect(line).toEqual(expect.arrayContaining(made.map(({ commit }) => commit)));
  });

  it("refuse a commit on top of what is not there any more", async () => {
    const first = await repositories.commitFolder(APP, await folderOf({ a: "a" }), { ...ABOUT, onTopOf: null });
    const second = await repositories.commitFolder(APP, await folderOf({ a: "b" }), { ...ABOUT, onTopOf: first.commit });
    for (const onTopOf of [first.commit, null])
      await expect(repositories.commitFolder(APP, await folderOf({ a: "c" }), { ...ABOUT, onTopOf })).rejects.toMatchObject({
        code: "GIT_MOVED",
      });
    expect((await repositories.head(APP))?.commit).toBe(second.commit);
  });

  it("refuse a folder with a pipe in it, and name it", async () => {
    const source = await folderOf({ a: "a" });
    await runFile("mkfifo", [join(source, "pipe")]);
    const refused = repositories.commitFolder(APP, source, ABOUT);
    await expect(refused).rejects.toThrow('"pipe" is no plain file');
    expect(await codeOf(refused)).toBe("SOURCE_REFUSED");
    expect(await repositories.head(APP)).toBeNull();
  });

  it.each([
    ["is no valid UTF-8", Buffer.from([0x61, 0xff])],
    ["holds a line end", Buffer.from("a\nb")],
    ["only git's own folder may have", Buffer.from("git~1")],
  ])("refuse a folder with a name that %s", async (_why, name) => {
    const source = await folderOf({ a: "a" });
    await writeFile(Buffer.concat([Buffer.from(`${source}/`), name]), "x");
    await expect(repositories.commitFolder(APP, source, ABOUT)).rejects.toMatchObject({ code: "SOURCE_REFUSED" });
  });

  it("refuse to check out trees that lead out, are too deep, or hold what is no file, and leave nothing", async () => {
    const { commit } = await repositories.commitFolder(APP, await folderOf({ a: "a" }), ABOUT);
    const blob = await inRepository("rev-parse", `${commit}:a`);
    const treeWith = async (mode: string, name: string, id: string): Promise<string> => {
      const path = join(root, "tree");
      await writeFile(path, Buffer.concat([Buffer.from(`${mode} ${name}\0`), Buffer.from(id, "hex")]));
      return inRepository("hash-object", "-w", "-t", "tree", "--literally", path);
    };
    let deep = await treeWith("100644", "a", blob);
    for (let depth = 0; depth < 70; depth += 1) deep = await treeWith("40000", "d", deep);
    const trees = {
      "..": await treeWith("40000", "..", await treeWith("100644", "a", blob)),
      ".git": await treeWith("40000", ".git", await treeWith("100644", "a", blob)),
      deep,
      submodule: await treeWith("160000", "lib", commit),
      "control character": await treeWith("100644", "x\u0001", blob),
    };
    for (const [what, tree] of Object.entries(trees)) {
      const bad = await inRepository("commit-tree", tree, "-m", what);
      const into = join(root, "never");
      const checked = repositories.checkOut(APP, bad, { into, signal: AbortSignal.timeout(30_000) });
      expect([what, await codeOf(checked)]).toEqual([what, "SOURCE_REFUSED"]);
      expect(await codeOf(stat(into))).toBe("ENOENT");
    }
  });

  it("end what they started when a check-out is given up", async () => {
    const { commit } = await repositories.commitFolder(APP, await folderOf({ a: Buffer.alloc(5_000_000), b: "b" }), ABOUT);
    const reason = new Error("not wanted any more");
    const gone = AbortSignal.abort(reason);
    await expect(repositories.checkOut(APP, commit, { into: join(root, "out"), signal: gone })).rejects.toBe(reason);
    await expect(stat(join(root, "out"))).rejects.toMatchObject({ code: "ENOENT" });
  });

  it("know no commit that is none, and take nothing else for one", async () => {
    const { commit } = await repositories.commitFolder(APP, await folderOf({ a: "a" }), ABOUT);
    const tree = await inRepository("rev-parse", `${commit}^{tree}`);
    for (const name of ["0".repeat(40), "main", "--all", "", `${commit}^`]) {
      expect([name, await codeOf(repositories.describe(APP, name))]).toEqual([name, "COMMIT_NOT_FOUND"]);
      expect([name, await codeOf(checkOut(name))]).toEqual([name, "COMMIT_NOT_FOUND"]);
    }
    await expect(repositories.describe(APP, tree)).rejects.toMatchObject({ code: "COMMIT_NOT_FOUND" });
  });

  it("are gone when they are removed, and new ones when they are asked for again", async () => {
    await repositories.commitFolder(APP, await folderOf({ a: "a" }), ABOUT);
    await repositories.remove(APP);
    await repositories.remove(APP);
    expect(await repositories.head(APP)).toBeNull();
    expect(await codeOf(checkOut("1".repeat(40)))).toBe("COMMIT_NOT_FOUND");
    expect(await readdir(join(home, "repositories"))).toEqual([".git-home"]); // Looking makes none.
    expect((await repositories.commitFolder(APP, await folderOf({ b: "b" }), { ...ABOUT, onTopOf: null })).isNew).toBe(true);
  });

  it.each(["../x", "", ".git-home", "a/b", "-x", "a\0b", "x".repeat(65)])("take %j for no app's id", async (appId) => {
    await expect(repositories.ensure(appId)).rejects.toThrow("no app's id");
    await expect(repositories.remove(appId)).rejects.toThrow("no app's id");
  });

  it("know nothing of the repository that the home lies in, nor of the configuration of who runs the platform", async () => {
    await mustClient(root, ["init", "-q", "-b", "outer"]);
    await rm(join(home, "repositories"), { recursive: true, force: true });
    const hostile = {
      GIT_DIR: join(root, ".git"),
      GIT_WORK_TREE: root,
      GIT_INDEX_FILE: "/nonexistent",
      GIT_CONFIG_COUNT: "1",
      GIT_CONFIG_KEY_0: "core.bare",
      GIT_CONFIG_VALUE_0: "x",
    };
    Object.assign(process.env, hostile);
    try {
      await repositories.commitFolder(APP, await folderOf({ a: "a" }), ABOUT);
    } finally {
      for (const name of Object.keys(hostile)) Reflect.deleteProperty(process.env, name);
    }
    await rm(join(home, "repositories", `${APP}.git`, "objects"), { recursive: true }); // Git would look further up for a whole one.
    expect(await codeOf(repositories.commitFolder(APP, await folderOf({ b: "b" }), ABOUT))).toBe("GIT_FAILED");
    expect(await mustClient(root, ["for-each-ref"])).toBe("");
  });

  it("are not blocked by a lock that a killed git left", async () => {
    await repositories.ensure(APP);
    const locks = ["HEAD.lock", "packed-refs.lock", "refs/heads/main.lock"].map((name) => join(home, "repositories", `${APP}.git`, name));
    const longAgo = Date.now() / 1_000 - 3_600;
    for (const lock of locks) {
      await writeFile(lock, "");
      await utimes(lock, longAgo, longAgo);
    }
    await repositories.commitFolder(APP, await folderOf({ a: "a" }), ABOUT);
    for (const lock of locks) await expect(stat(lock)).rejects.toMatchObject({ code: "ENOENT" });
  });

  it("pack what has become many, and lose nothing by it", async () => {
    const commits: string[] = [];
    const packCount = async (): Promise<number> =>
      (await readdir(join(home, "repositories", `${APP}.git`, "objects", "pack"))).filter((name) => name.endsWith(".pack")).length;
    for (let index = 0; index < 55; index += 1)
      commits.push((await repositories.commitFolder(APP, await folderOf({ a: `${index}` }), ABOUT)).commit);
    expect(await packCount()).toBeLessThan(20);
    expect(await readFile(join(await checkOut(commits[0] ?? ""), "a"), "utf8")).toBe("0");
    expect(await inRepository("rev-list", "--count", "main")).toBe("55");
  });
});

const codeOf = async (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => "none",
    (cause: unknown) => (cause instanceof Error && "code" in cause ? cause.code : cause),
  );
