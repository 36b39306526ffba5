// Writing sites: wholly or not at all, also when the writer is killed; and removing only what nothing names.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { mkdtemp, readFile, readdir, rename, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { PlannedSite } from "../../../orchestrator/sites/site.ts";
import { collectSites, writeSite } from "../../../orchestrator/sites/write-site.ts";
import { SITE_COUNT_KEPT, SITE_GRACE_MS } from "../../../runtime-image/contract/limits.ts";
import type { SiteIndex } from "../../../runtime-image/contract/snapshot.ts";
import { until } from "../../support/until.ts";

const sha256 = (bytes: Uint8Array | string): string => createHash("sha256").update(bytes).digest("hex");

function siteOf(files: Record<string, string>): PlannedSite {
  const entries = Object.entries(files).map(([path, text]) => [path, Buffer.from(text)] as const);
  const index: SiteIndex = {
    v: 1,
    files: Object.fromEntries(
      entries.map(([path, bytes]) => [path, { contentId: sha256(bytes), bytes: bytes.length, isImmutable: false }]),
    ),
  };
  return {
    snapshot: { siteId: sha256(JSON.stringify(index)).slice(0, 32), answersRoot: true, isSpa: false },
    index,
    contents: new Map(entries.map(([, bytes]) => [sha256(bytes), bytes])),
    staticNames: null,
  };
}

async function sitesFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "sites-test-"));
  onTestFinished(async () => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Whether every file that the index names is there, with its very content. */
async function isWhole(folder: string, site: PlannedSite): Promise<boolean> {
  const checks = Object.values(site.index.files).map(async ({ contentId }) => {
    const bytes = await readFile(join(folder, "files", contentId)).catch(() => null);
    return bytes !== null && sha256(bytes) === contentId;
  });
  return (await Promise.all(checks)).every(Boolean);
}

const nowEpochMs = Date.now();

describe("writing a site", () => {
  it("puts contents by their ids and the index by the site's", async () => {
    const folder = await sitesFolder();
    const site = siteOf({ "a.txt": "a", "b.txt": "b" });
    await writeSite(folder, site, nowEpochMs);
    const index = JSON.parse(await readFile(join(folder, `${site.snapshot.siteId}.json`), "utf8")) as SiteIndex; // Just written.
    expect(index).toEqual(site.index);
    expect(await isWhole(folder, site)).toBe(true);
  });

  it("mends a content that was cut short, and leaves the others as they are", async () => {
    const folder = await sitesFolder();
    const site = siteOf({ "a.txt": "first", "b.txt": "second" });
    await writeSite(folder, site, nowEpochMs);
    await writeFile(join(folder, "files", sha256("first")), "fir");
    await writeSite(folder, site, nowEpochMs);
    expect(await isWhole(folder, site)).toBe(true);
  });

  it("shows a site wholly or not at all, whenever the writer is killed", async () => {
    const folder = await sitesFolder();
    const files = Object.fromEntries(Array.from({ length: 600 }, (_, index) => [`${index}.txt`, `${index} `.repeat(10_000)]));
    const site = siteOf(files);
    const indexPath = join(folder, `${site.snapshot.siteId}.json`);
    const module = resolve(import.meta.dirname, "../../../orchestrator/sites/write-site.ts");
    const program = join(folder, "writer.mjs");
    await writeFile(
      program,
      `import { writeSite } from ${JSON.stringify(module)};
      const site = ${JSON.stringify({ snapshot: site.snapshot, index: site.index })};
      const entries = Object.entries(site.index.files).map(([path, { contentId }]) => [contentId, parseInt(path)]);
      const contents = new Map(entries.map(([contentId, index]) => [contentId, Buffer.from((index + " ").repeat(10_000))]));
      await writeSite(${JSON.stringify(folder)}, { ...site, contents, staticNames: null }, Date.now());`,
    );
    const countOf = (): number => (existsSync(join(folder, "files")) ? readdirSync(join(folder, "files")).length : 0);
    let halfCount = 0;
    for (const killedAt of [1, 60, 150, 400]) {
      const child = spawn(process.execPath, [program], { stdio: "ignore" });
      const ended = new Promise((done) => child.once("exit", done));
      await until(() => countOf() >= killedAt || child.exitCode !== null, { timeoutMs: 20_000 });
      child.kill("SIGKILL");
      await ended;
      const isVisible = existsSync(indexPath);
      expect(!isVisible || (await isWhole(folder, site))).toBe(true);
      if (!isVisible) halfCount += 1;
    }
    expect(halfCount).toBeGreaterThan(0);
    await writeSite(folder, site, nowEpochMs);
    expect(existsSync(indexPath)).toBe(true);
    expect(await isWhole(folder, site)).toBe(true);
  }, 60_000);
});

describe("collecting sites", () => {
  const old = new Date(nowEpochMs - SITE_GRACE_MS - 60_000);
  const age = async (folder: string): Promise<void> => {
    for (const place of [folder, join(folder, "files")])
      for (const entry of await readdir(place, { withFileTypes: true }))
        if (entry.isFile()) await utimes(join(place, entry.name), old, old);
  };

  it("keeps what is live, the latest others and what is new, and removes the rest with what only it named", async () => {
    const folder = await sitesFolder();
    const live = siteOf({ "live.txt": "live", "shared.txt": "shared" });
    await writeSite(folder, live, nowEpochMs);
    const others = Array.from({ length: SITE_COUNT_KEPT + 2 }, (_, index) => siteOf({ "own.txt": `own ${index}`, "shared.txt": "shared" }));
    for (const site of others) await writeSite(folder, site, nowEpochMs);
    await writeFile(join(folder, "files", "left-by-a-kill.tmp"), "x");
    await age(folder);
    const fresh = siteOf({ "fresh.txt": "fresh" });
    await writeFile(join(folder, "files", sha256("fresh")), "fresh"); // As if its index were still to come.

    await collectSites(folder, { liveSiteIds: [live.snapshot.siteId], nowEpochMs });
    const kept = await Promise.all(others.map(async (site) => isWhole(folder, site)));
    expect(kept.filter(Boolean)).toHaveLength(SITE_COUNT_KEPT);
    expect((await readdir(folder)).filter((name) => name.endsWith(".json"))).toHaveLength(SITE_COUNT_KEPT + 1);
    expect(await isWhole(folder, live)).toBe(true);
    expect(await isWhole(folder, fresh)).toBe(true);
    expect(existsSync(join(folder, "files", "left-by-a-kill.tmp"))).toBe(false);
  });

  it("keeps what was written again a moment ago", async () => {
    const folder = await sitesFolder();
    const site = siteOf({ "a.txt": "a" });
    await writeSite(folder, site, nowEpochMs);
    await age(folder);
    await rm(join(folder, `${site.snapshot.siteId}.json`)); // Its contents are there, and named by nothing.
    await writeSite(folder, site, nowEpochMs);
    await collectSites(folder, { liveSiteIds: [], nowEpochMs });
    expect(await isWhole(folder, site)).toBe(true);
  });

  it("never takes a file away from a deploy that wants it again at the same moment", async () => {
    const folder = await sitesFolder();
    const site = siteOf(Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`${index}.txt`, `text ${index}`])));
    await writeSite(folder, site, nowEpochMs);
    for (let turn = 0; turn < 25; turn += 1) {
      await age(folder);
      await rm(join(folder, `${site.snapshot.siteId}.json`)); // Its contents are named by nothing.
      await Promise.all([collectSites(folder, { liveSiteIds: [], nowEpochMs }), writeSite(folder, site, nowEpochMs)]);
      expect(await isWhole(folder, site)).toBe(true);
    }
  });

  it("looks anew at what it had moved aside when it was killed", async () => {
    const folder = await sitesFolder();
    const site = siteOf({ "a.txt": "a" });
    await writeSite(folder, site, nowEpochMs);
    await rename(join(folder, "files", sha256("a")), join(folder, "files", `${sha256("a")}.removed`));
    await collectSites(folder, { liveSiteIds: [site.snapshot.siteId], nowEpochMs });
    expect(await isWhole(folder, site)).toBe(true);
  });

  it("tells how much it removed", async () => {
    const folder = await sitesFolder();
    await writeSite(folder, siteOf({ "a.txt": "twelve bytes" }), nowEpochMs);
    await age(folder);
    for (const name of await readdir(folder)) if (name.endsWith(".json")) await rm(join(folder, name));
    expect(await collectSites(folder, { liveSiteIds: [], nowEpochMs })).toEqual({ siteCount: 0, bytes: 12 });
  });

  it("does nothing where there is no folder yet", async () => {
    await expect(collectSites("/nonexistent/sites", { liveSiteIds: [], nowEpochMs })).resolves.toEqual({ siteCount: 0, bytes: 0 });
  });
});
