// From a folder of static files to a planned site: what is in it, what is not, and everything that is wrong.
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import type { SiteSource } from "../../../orchestrator/apps/app-source.ts";
import { planSite } from "../../../orchestrator/sites/plan-site.ts";
import { type PlannedSite, staticMap } from "../../../orchestrator/sites/site.ts";
import { PlatformError } from "../../../runtime-image/contract/errors.ts";

const TEXT = "body { color: black } ".repeat(200);

async function folderOf(files: Record<string, string | Buffer>): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), "site-test-"));
  onTestFinished(async () => rm(root, { recursive: true, force: true }));
  const folder = join(root, "public");
  await mkdir(folder);
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
  return folder;
}

const plan = async (folder: string, more: Partial<SiteSource> = {}): Promise<PlannedSite | null> =>
  planSite({ folder, fingerprint: "off", isSpa: false, ignore: [], ...more }, { answersRoot: true });

async function planned(files: Record<string, string | Buffer>, more: Partial<SiteSource> = {}): Promise<PlannedSite> {
  const site = await plan(await folderOf(files), more);
  if (site === null) throw new Error("there is nothing to serve");
  return site;
}

const problemsOf = async (folder: string): Promise<readonly string[]> =>
  plan(folder).then(
    () => [],
    (error: unknown) => (error instanceof PlatformError && error.code === "SITE_INVALID" ? (error.detail.problems ?? []) : [String(error)]),
  );

const contentOf = (site: PlannedSite, path: string): string => {
  const bytes = site.contents.get(site.index.files[path]?.contentId ?? "");
  return bytes === undefined ? "missing" : Buffer.from(bytes).toString();
};

describe("a folder of static files", () => {
  it("becomes an index of paths and contents, the same content once", async () => {
    const site = await planned({ "index.html": "hi", "a/b.txt": "hi", "a/c.txt": "ho" });
    expect(Object.keys(site.index.files)).toEqual(["a/b.txt", "a/c.txt", "index.html"]);
    expect(site.index.files["a/b.txt"]?.contentId).toBe(site.index.files["index.html"]?.contentId);
    expect(site.contents.size).toBe(2);
    expect(site.snapshot).toMatchObject({ answersRoot: true, isSpa: false });
  });

  it("has the same id for the same content, and another one for another", async () => {
    const [first, same, other] = [await planned({ "a.txt": "1" }), await planned({ "a.txt": "1" }), await planned({ "a.txt": "2" })];
    expect(same.snapshot.siteId).toBe(first.snapshot.siteId);
    expect(other.snapshot.siteId).not.toBe(first.snapshot.siteId);
  });

  it("is nothing where it is missing or empty", async () => {
    expect(await plan(await folderOf({}))).toBeNull();
    expect(await plan("/nonexistent/public")).toBeNull();
    expect(await planSite(null, { answersRoot: true })).toBeNull();
  });

  it("leaves out what begins with a dot, but .well-known, and what is ignored", async () => {
    const site = await planned(
      {
        ".env": "secret",
        ".git/config": "x",
        "a/.DS_Store": "x",
        "a/.well-known/x": "x",
        ".well-known/acme": "y",
        ".well-known/.x": "x",
        "drafts/a.txt": "x",
        "a/my-drafts.txt": "x",
        "a/b.txt": "x",
      },
      { ignore: ["drafts"] },
    );
    expect(Object.keys(site.index.files)).toEqual([".well-known/acme", "a/b.txt"]);
  });

  it("keeps names that mean something in JavaScript", async () => {
    const site = await planned({ __proto__x: "1", constructor: "2" }, { fingerprint: "on" });
    expect(Object.keys(site.index.files)).toHaveLength(4);
  });

  it("follows links inside itself, and names every link and name that it cannot serve at once", async () => {
    const folder = await folderOf({ "real/a.txt": "a", "bad\nname.txt": "x", "back\\slash.txt": "x" });
    await writeFile(join(folder, "..", "secret.txt"), "secret");
    await symlink("real", join(folder, "linked"));
    expect(await problemsOf(folder)).toHaveLength(2);
    await symlink("../secret.txt", join(folder, "out.txt"));
    await symlink("/etc", join(folder, "etc"));
    await symlink("nowhere", join(folder, "dangling"));
    await symlink("..", join(folder, "real", "up"));
    const pipe = createServer().listen(join(folder, "pipe"));
    await once(pipe, "listening");
    onTestFinished(() => void pipe.close());
    const problems = await problemsOf(folder);
    for (const name of ["bad\\nname.txt", "back\\\\slash.txt", "out.txt", "etc", "dangling", "real/up", "pipe"])
      expect(problems.some((problem) => problem.includes(name))).toBe(true);
  });

  it("serves what a link inside it leads to", async () => {
    const folder = await folderOf({ "real/a.txt": "a" });
    await symlink("real", join(folder, "linked"));
    expect(Object.keys((await plan(folder))?.index.files ?? {})).toEqual(["linked/a.txt", "real/a.txt"]);
  });

  it("has a bound for its size, its error pages and its depth", async () => {
    const folder = await folderOf({ "huge.bin": "", "404.html": "x".repeat(1_000_001), [`${"d/".repeat(70)}x`]: "x" });
    await truncate(join(folder, "huge.bin"), 250_000_001);
    const problems = (await problemsOf(folder)).join("\n");
    expect(problems).toContain("huge.bin 250.00 MB");
    expect(problems).toContain("404.html: has 1.00 MB");
    expect(problems).toContain("deeper than 64 folders");
  });
});

describe("compressed variants", () => {
  it("are made of texts that gain by it, and of nothing else", async () => {
    const site = await planned({
      "a.css": TEXT,
      "small.css": "a{}",
      "a.png": TEXT,
      "noise.js": randomBytes(4_000),
    });
    const { encodings } = site.index.files["a.css"] ?? {};
    const bytesOf = (contentId = ""): Buffer => Buffer.from(site.contents.get(contentId) ?? []);
    expect(brotliDecompressSync(bytesOf(encodings?.br?.contentId)).toString()).toBe(TEXT);
    expect(gunzipSync(bytesOf(encodings?.gzip?.contentId)).toString()).toBe(TEXT);
    expect(bytesOf(encodings?.br?.contentId).length).toBe(encodings?.br?.bytes);
    for (const path of ["small.css", "a.png", "noise.js"]) expect(site.index.files[path]).not.toHaveProperty("encodings");
  });

  it("are the ones that lie beside a file, where they are of that very file", async () => {
    const own = brotliCompressSync(TEXT);
    const stale = gzipSync(`${TEXT}old`);
    const site = await planned({ "a.css": TEXT, "a.css.br": own, "a.css.gz": stale, "b.data": TEXT, "b.data.gz": gzipSync(TEXT) });
    const { encodings } = site.index.files["a.css"] ?? {};
    expect(encodings?.br?.contentId).toBe(site.index.files["a.css.br"]?.contentId);
    expect(encodings?.gzip?.contentId).not.toBe(site.index.files["a.css.gz"]?.contentId);
    expect(site.index.files["b.data"]?.encodings).toHaveProperty("gzip");
    expect(site.index.files["b.data"]?.encodings).not.toHaveProperty("br");
  });
});

describe("fingerprints", () => {
  it("give each file a second, immutable name, and a map that says so", async () => {
    const site = await planned(
      { "css/a.css": "a{}", "index.html": "<link href=\"/_static/${STATIC('css/a.css')}\">" },
      { fingerprint: "on" },
    );
    const map = staticMap(site) ?? {};
    const name = map["css/a.css"] ?? "";
    expect(name).toMatch(/^css\/a-[0-9a-f]{10}\.css$/);
    expect(site.index.files[name]).toEqual({ ...site.index.files["css/a.css"], isImmutable: true });
    expect(site.index.files["css/a.css"]?.isImmutable).toBe(false);
    expect(contentOf(site, "index.html")).toBe(`<link href="/_static/${name}">`);
  });

  it("are left to others where the app says so", async () => {
    const files = { "app.3f2a91bc.js": "1", "plain.js": "2", "odd.js": "3", "static.json": '{"app.js":"app.3f2a91bc.js","x.js":"odd.js"}' };
    const site = await planned(files, { fingerprint: "external" });
    const immutable = Object.entries(site.index.files).flatMap(([path, file]) => (file.isImmutable ? [path] : []));
    expect(immutable).toEqual(["app.3f2a91bc.js", "odd.js"]);
    expect(staticMap(site)).toEqual({ "app.js": "app.3f2a91bc.js", "x.js": "odd.js" });
    expect(staticMap(await planned(files))).toBeNull();
  });
});
