// A folder of the owner's machine, packed and unpacked again: the same comes out, and what ignore files name stays at home.
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { appendFile, chmod, lstat, mkdir, mkdtemp, readFile, readdir, readlink, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { buffer } from "node:stream/consumers";
import { promisify } from "node:util";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SOURCE_LIMITS, type SourceLimits } from "../../orchestrator/sources/entry-rules.ts";
import { listFolder } from "../../orchestrator/sources/list-folder.ts";
import { packFolder } from "../../orchestrator/sources/pack-folder.ts";
import { unpackArchive } from "../../orchestrator/sources/unpack.ts";
import { until } from "../support/until.ts";

const run = promisify(execFile);
const TIMEOUT_MS = 20_000;
const live = (): AbortSignal => AbortSignal.timeout(TIMEOUT_MS);

let top = "";
let app = "";
beforeEach(async () => {
  top = await mkdtemp(join(tmpdir(), "orchestrator-pack-"));
  app = join(top, "app");
  await mkdir(app);
});
afterEach(async () => rm(top, { recursive: true }));

async function write(files: Readonly<Record<string, string | Buffer>>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(app, path)), { recursive: true });
    await writeFile(join(app, path), content);
  }
}

const sentPaths = async (): Promise<string[]> => {
  const { entries } = await listFolder(app, { signal: live(), limits: SOURCE_LIMITS });
  return entries.filter(({ kind }) => kind !== "folder").map(({ path }) => path);
};

/** By path: the mode and content of a file, the target of a link, the mode of a folder. */
async function contentsOf(root: string, below = ""): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {};
  for (const { name } of await readdir(join(root, below), { withFileTypes: true })) {
    const path = join(below, name);
    const facts = await lstat(join(root, path));
    if (facts.isSymbolicLink()) found[path] = await readlink(join(root, path));
    else if (facts.isFile()) found[path] = [(facts.mode & 0o7777).toString(8), (await readFile(join(root, path))).toString("base64")];
    else Object.assign(found, { [path]: (facts.mode & 0o7777).toString(8) }, await contentsOf(root, path));
  }
  return found;
}

async function contentCount(root: string): Promise<number> {
  const { stdout } = await run("git", ["-C", root, "ls-files", "-zo"]);
  return stdout.split("\0").length - 1;
}

describe("a folder that is packed", () => {
  it("comes out as it is: bytes, modes, links, empty folders, and any name", async () => {
    await write({
      "empty.txt": "",
      "src/a.js": "text",
      "bin/run": "#!/bin/sh",
      "large.bin": randomBytes(3_000_000),
      "just.bin": randomBytes(65_536),
      [`${"long/".repeat(50)}${"é".repeat(100)}`]: "deep",
      "with space/ü=👩‍💻 $(x) '.txt": "odd",
    });
    await mkdir(join(app, "nothing/inside"), { recursive: true });
    await chmod(join(app, "bin/run"), 0o755);
    await symlink("../src/a.js", join(app, "bin/link"));
    await symlink("nowhere", join(app, "dangling"));
    await symlink("src", join(app, "folder"));
    const { archive, fileCount, bytes } = await packFolder(app, { signal: live() });
    const into = join(top, "into");
    expect(await unpackArchive(archive, { into, signal: live() })).toEqual({ fileCount, bytes });
    expect([fileCount, bytes]).toEqual([7, 3_000_000 + 65_536 + 4 + 9 + 4 + 3]);
    expect(await contentsOf(into)).toEqual(await contentsOf(app));
  });

  it("makes the same archive whenever it is packed, and in whatever order it was written", async () => {
    const files = { "b.js": "1", "a/z.js": "2", "a.js": "3", "a/b/c": "4" };
    await write(files);
    const pack = async (): Promise<Buffer> => buffer((await packFolder(app, { signal: live() })).archive);
    const first = await pack();
    await rm(app, { recursive: true });
    await write(Object.fromEntries(Object.entries(files).toReversed()));
    expect((await pack()).equals(first)).toBe(true);
    expect(await sentPaths()).toEqual(["a/b/c", "a/z.js", "a.js", "b.js"]);
  });

  it("is readable for tar", async () => {
    await write({ "src/a.js": "text", [`${"x".repeat(120)}.js`]: "long" });
    const { archive } = await packFolder(app, { signal: live() });
    await writeFile(join(top, "app.tgz"), archive);
    const { stdout } = await run("tar", ["-tzf", join(top, "app.tgz")]);
    expect(stdout.split("\n")).toEqual(["src/", "src/a.js", `${"x".repeat(120)}.js`, ""]);
  });

  it("may be named by a link, and by a relative path", async () => {
    await write({ "a.js": "1" });
    await symlink(app, join(top, "link"));
    expect((await packFolder(join(top, "link"), { signal: live() })).fileCount).toBe(1);
  });

  it.each(["nothing", "a.js"])("is to be a folder, not %s", async (name) => {
    await write({ "a.js": "1" });
    await expect(packFolder(join(app, name), { signal: live() })).rejects.toMatchObject({ code: "APP_FOLDER_INVALID" });
  });
});

describe("what stays at home", () => {
  it("is git's folder, packages and the platform's state, at any depth and whatever ignore files say", async () => {
    await write({
      ".git/config": "",
      "node_modules/x/index.js": "",
      ".orchestrator/keys/secret": "",
      "sub/.git": "gitdir: ../.git/modules/sub",
      "sub/node_modules/y.js": "",
      "sub/.orchestrator/z": "",
      ".orchestratorignore": "!node_modules\n!.git\n!.orchestrator",
      ".env": "KEY=1",
      "sub/a.js": "",
    });
    expect(await sentPaths()).toEqual([".env", ".orchestratorignore", "sub/a.js"]);
  });

  it("is what .gitignore files name, and what .orchestratorignore adds or gives back", async () => {
    await write({
      ".gitignore": "dist/\n*.log\n.env",
      ".orchestratorignore": "!dist/\n*.psd\n",
      "dist/app.js": "",
      "dist/app.log": "",
      ".env": "",
      "art/front.psd": "",
      "keep/.gitignore": "!wanted.log\nlocal",
      "keep/wanted.log": "",
      "keep/local/x": "",
      "other/wanted.log": "",
      "local/x": "",
    });
    expect(await sentPaths()).toEqual([
      ".gitignore",
      ".orchestratorignore",
      "dist/app.js",
      "keep/.gitignore",
      "keep/wanted.log",
      "local/x",
    ]);
  });

  it("is what git would leave out, with any patterns in any folders", async () => {
    const name = fc.constantFrom("a", "b", "c.log", "d1", "[e]", "f g");
    const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join("/"));
    const piece = fc.constantFrom("a", "b", "*.log", "d?", "*", "**", "[ab]", "\\[e]", "f g", "c.log", "[!a]", "d[0-9]");
    const pattern = fc
      .tuple(
        fc.constantFrom("", "", "!"),
        fc.constantFrom("", "", "/"),
        fc.array(piece, { minLength: 1, maxLength: 3 }),
        fc.constantFrom("", "", "/"),
      )
      .map(([negation, start, pieces, end]) => `${negation}${start}${pieces.join("/")}${end}`);
    const ignoreFiles = fc.dictionary(fc.oneof(fc.constant("."), path), fc.array(pattern, { minLength: 1, maxLength: 4 }), { maxKeys: 3 });
    await run("git", ["init", "-q", app]);
    let leftOutCount = 0;
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(path, { minLength: 3, maxLength: 12 }), ignoreFiles, async (paths, texts) => {
        for (const left of await readdir(app)) if (left !== ".git") await rm(join(app, left), { recursive: true });
        for (const one of paths) await write({ [one]: "" }).catch(() => undefined); // Where a file is in the way of a folder.
        for (const [folder, lines] of Object.entries(texts))
          await writeFile(join(app, folder, ".gitignore"), lines.join("\n")).catch(() => undefined);
        const { stdout } = await run("git", ["-C", app, "-c", "core.excludesFile=/dev/null", "ls-files", "-zo", "--exclude-standard"]);
        leftOutCount += (await contentCount(app)) - (await sentPaths()).length;
        expect((await sentPaths()).toSorted()).toEqual(stdout.split("\0").slice(0, -1).toSorted());
      }),
      { numRuns: 150 },
    );
    expect(leftOutCount).toBeGreaterThan(50);
  });

  it("are sockets and pipes, which git passes over as well", async () => {
    await write({ "a.js": "" });
    await run("mkfifo", [join(app, "pipe")]);
    const server = createServer().listen(join(app, "socket"));
    await until(() => server.listening, { timeoutMs: 5_000 });
    expect(await sentPaths()).toEqual(["a.js"]);
    server.close();
  });
});

describe("a folder that cannot be sent", () => {
  const detailOf = async (limits: Partial<SourceLimits> = {}): Promise<string> => {
    const failed = await listFolder(app, { signal: live(), limits: { ...SOURCE_LIMITS, ...limits } }).then(
      () => null,
      (cause: unknown) => cause,
    );
    expect(failed).toMatchObject({ code: "SOURCE_REFUSED" });
    return (failed as Error).message; // Looked at above.
  };

  it.each<[what: string, target: string, problem: RegExp]>([
    ["out", "../../secret", /"src\/link" is a link that leads out of the source/],
    ["to an absolute path", "/etc/passwd", /"src\/link" is a link to an absolute path/],
    ["to itself", "link", /"src\/link" is a link that leads back to itself/],
    ["out by another link", "up/..", /"src\/link" is a link that leads out of the source/],
  ])("is told of a link that leads %s", async (_what, target, problem) => {
    await write({ "src/a.js": "" });
    await symlink("..", join(app, "src/up"));
    await symlink(target, join(app, "src/link"));
    expect(await detailOf()).toMatch(problem);
    await writeFile(join(app, ".orchestratorignore"), "src/link");
    expect(await sentPaths()).toEqual([".orchestratorignore", "src/a.js", "src/up"]);
  });

  it.each<[what: string, files: Record<string, string>, limits: Partial<SourceLimits>, problem: RegExp]>([
    ["too large a file", { a: "x".repeat(11) }, { fileBytesMax: 10 }, /"a" has 11 bytes/],
    ["too large files together", { a: "x".repeat(9), b: "xx" }, { bytesMax: 10 }, /"b" is too much/],
    ["too many files", { "d/a": "", "d/b": "", "d/c": "" }, { entryCountMax: 2 }, /"d\/\w" is one too many/],
    ["a name with a line break", { "a\nb": "" }, {}, /"a\\nb" holds control characters/],
    ["a name with a backslash", { "a\\b": "" }, {}, /holds a backslash/],
    ["a name in two forms", { "\u00e9": "", "e\u0301": "" }, {}, /has the name of another entry/],
    ["too large an ignore file", { "a/.gitignore": "x".repeat(1_000_001) }, {}, /"a\/.gitignore" is larger than the 1000000 bytes/],
  ])("is told of %s before anything is sent", async (_what, files, limits, problem) => {
    await write(files);
    expect(await detailOf(limits)).toMatch(problem);
  });

  it("is told of a name that is no UTF-8", async () => {
    await writeFile(Buffer.concat([Buffer.from(`${app}/a`), Buffer.from([0xff])]), "");
    expect(await detailOf()).toMatch(/is no valid Unicode/);
  });

  it("is looked at only as long as its caller wants", async () => {
    await write({ "a.js": "" });
    await expect(packFolder(app, { signal: AbortSignal.abort(new Error("that is enough")) })).rejects.toThrow("that is enough");
  });
});

describe("a folder that changes while it is sent", () => {
  const READ_BEFORE_CHANGE_BYTES = 100_000;

  it.each<[what: string, change: (path: string) => Promise<void>]>([
    ["grows", async (path) => appendFile(path, "more")],
    ["shrinks", async (path) => writeFile(path, "less")],
    ["is rewritten", async (path) => writeFile(path, randomBytes(5_000_000))],
  ])("fails by name where a file %s in the middle of it", async (_what, change) => {
    await write({ "large.bin": randomBytes(5_000_000), "z.js": "" });
    const { archive } = await packFolder(app, { signal: live() });
    let byteCount = 0;
    let isChanged = false;
    const reading = (async () => {
      for await (const chunk of archive as AsyncIterable<Buffer>) {
        byteCount += chunk.length;
        if (byteCount < READ_BEFORE_CHANGE_BYTES || isChanged) continue;
        isChanged = true;
        await change(join(app, "large.bin"));
      }
    })();
    await expect(reading).rejects.toMatchObject({
      code: "SOURCE_REFUSED",
      message: expect.stringMatching(/"large\.bin" changed while it was sent/) as string,
    });
    expect(byteCount).toBeLessThan(5_000_000);
  });

  it.each<[what: string, change: (path: string) => Promise<void>, problem: RegExp]>([
    ["grows", async (path) => appendFile(path, "more"), /"a\.js" changed while it was sent/],
    ["goes", async (path) => rm(path), /"a\.js" cannot be read \(ENOENT\)/],
    ["becomes a link", async (path) => rm(path).then(async () => symlink("/etc/passwd", path)), /"a\.js" cannot be read \(ELOOP\)/],
    ["becomes a pipe", async (path) => rm(path).then(async () => void (await run("mkfifo", [path]))), /"a\.js" changed while it was sent/],
  ])("fails by name where a file %s before it is read", async (_what, change, problem) => {
    await write({ "a.js": "text" });
    const { archive } = await packFolder(app, { signal: live() });
    await change(join(app, "a.js"));
    await expect(buffer(archive)).rejects.toMatchObject({ code: "SOURCE_REFUSED", message: expect.stringMatching(problem) as string });
  });
});

describe("an archive that nobody reads to its end", () => {
  const openFiles = async (): Promise<string[]> => {
    const links = await readdir("/proc/self/fd");
    const targets = await Promise.all(links.map(async (fd) => readlink(`/proc/self/fd/${fd}`).catch(() => "")));
    return targets.filter((target) => target.startsWith(top));
  };

  it.each<[what: string, end: (stopping: AbortController, destroy: () => void) => void]>([
    ["destroys it", (_stopping, destroy) => destroy()],
    ["aborts it", (stopping) => stopping.abort(new Error("that is enough"))],
  ])("opens nothing before it is read, and closes its file when its reader %s", async (_what, end) => {
    await write({ "large.bin": randomBytes(5_000_000) });
    const stopping = new AbortController();
    const { archive } = await packFolder(app, { signal: stopping.signal });
    archive.on("error", () => undefined);
    expect(await openFiles()).toEqual([]);
    archive.read(1);
    await until(async () => (await openFiles()).length === 1, { timeoutMs: 5_000 });
    end(stopping, () => archive.destroy());
    await until(async () => (await openFiles()).length === 0, { timeoutMs: 5_000 });
    expect(archive.destroyed).toBe(true);
  });
});
