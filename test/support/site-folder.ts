// Static files for a gateway under test: planned and written as a deploy does it.
import { mkdtempSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { SiteSource } from "../../orchestrator/apps/app-source.ts";
import { planSite } from "../../orchestrator/sites/plan-site.ts";
import type { PlannedSite } from "../../orchestrator/sites/site.ts";
import { writeSite } from "../../orchestrator/sites/write-site.ts";

export interface SitesRig {
  readonly sitesFolder: string;
  /** The files become a site that a gateway of this folder can serve. */
  make(files: Record<string, string | Buffer>, options?: Partial<SiteSource> & { readonly answersRoot?: boolean }): Promise<PlannedSite>;
  remove(): Promise<void>;
}

export function createSitesRig(): SitesRig {
  const root = mkdtempSync(join(tmpdir(), "sites-rig-"));
  const sitesFolder = join(root, "sites");
  let count = 0;
  return {
    sitesFolder,
    async make(files, { answersRoot = true, ...more } = {}) {
      const folder = join(root, `public-${(count += 1)}`);
      for (const [path, content] of Object.entries(files)) {
        await mkdir(dirname(join(folder, path)), { recursive: true });
        await writeFile(join(folder, path), content);
      }
      const site = await planSite({ folder, fingerprint: "off", isSpa: false, ignore: [], ...more }, { answersRoot });
      if (site === null) throw new Error("there is nothing to serve");
      await writeSite(sitesFolder, site, Date.now());
      return site;
    },
    remove: async () => rm(root, { recursive: true, force: true }),
  };
}
