// The static files of a release as a gateway knows them: read once when their release arrives, never for a request.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ERROR_PAGE_BYTES_MAX, SITE_EARLIER_MS } from "../../runtime-image/contract/limits.ts";
import type { SiteFile, SiteSnapshot } from "../../runtime-image/contract/snapshot.ts";
import { type ErrorPages, NO_PAGES } from "../error-page.ts";
import type { Log } from "../log.ts";

export interface Site extends SiteSnapshot {
  readonly files: ReadonlyMap<string, SiteFile> | null; // Null where they cannot be read.
  readonly pages: ErrorPages;
  readonly earlier: EarlierFiles | null;
}

/** The files of the site before: its fingerprinted ones are answered a little longer. */
export interface EarlierFiles {
  readonly files: ReadonlyMap<string, SiteFile>;
  readonly untilMs: number;
}

export type OpenSite = (snapshot: SiteSnapshot, before: Site | null) => Site;

export const contentsIn = (sitesFolder: string): string => join(sitesFolder, "files");

/** A site that cannot be read must not keep the functions beside it from being served. */
export function createSiteOpener(sitesFolder: string, { nowMs, log }: { readonly nowMs: () => number; readonly log: Log }): OpenSite {
  return (snapshot, before) => {
    // Most snapshots are about instances: the same site goes on.
    if (before?.siteId === snapshot.siteId && before.files !== null) return { ...before, ...snapshot };
    const earlierFiles = before?.files ?? null;
    const earlier = earlierFiles === null ? null : { files: earlierFiles, untilMs: nowMs() + SITE_EARLIER_MS };
    try {
      const files = readIndex(sitesFolder, snapshot.siteId);
      const pages = { notFound: readPage(sitesFolder, files, "404.html"), failed: readPage(sitesFolder, files, "500.html") };
      return { ...snapshot, files, pages, earlier };
    } catch (cause) {
      log.error("the static files of a release cannot be read", { siteId: snapshot.siteId, cause });
      return { ...snapshot, files: null, pages: NO_PAGES, earlier };
    }
  };
}

function readIndex(sitesFolder: string, siteId: string): ReadonlyMap<string, SiteFile> {
  if (!isId(siteId)) throw new Error("the id of a site is hexadecimal");
  const index: unknown = JSON.parse(readFileSync(join(sitesFolder, `${siteId}.json`), "utf8"));
  if (!isRecord(index) || index["v"] !== 1 || !isRecord(index["files"])) throw new Error("the index is none of this version");
  return new Map(
    Object.entries(index["files"]).map(([path, file]) => {
      if (!isSiteFile(file)) throw new Error("the index names a file without content");
      return [path, file];
    }),
  );
}

function readPage(sitesFolder: string, files: ReadonlyMap<string, SiteFile>, path: string): Buffer | null {
  const file = files.get(path);
  return file === undefined || file.bytes > ERROR_PAGE_BYTES_MAX ? null : readFileSync(join(contentsIn(sitesFolder), file.contentId));
}

// They become names of files: nothing else may stand in them, whoever wrote them.
const isId = (value: unknown): boolean => typeof value === "string" && /^[0-9a-f]{16,64}$/.test(value);

function isSiteFile(value: unknown): value is SiteFile {
  if (!isRecord(value) || !isContent(value) || typeof value["isImmutable"] !== "boolean") return false;
  const { encodings } = value;
  return encodings === undefined || (isRecord(encodings) && Object.values(encodings).every(isContent));
}

const isContent = (value: unknown): boolean => isRecord(value) && isId(value["contentId"]) && Number.isSafeInteger(value["bytes"]);

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);
