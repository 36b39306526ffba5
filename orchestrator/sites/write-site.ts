// Writes sites to where gateways read them, and removes what nothing names any more. A site is there wholly or not at all.
import { mkdir, readFile, readdir, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { SITE_COUNT_KEPT, SITE_GRACE_MS } from "../../runtime-image/contract/limits.ts";
import type { SiteIndex } from "../../runtime-image/contract/snapshot.ts";
import { writeFileAtomic } from "../processes/atomic-file.ts";
import { mapAtOnce } from "../at-once.ts";
import type { PlannedSite } from "./site.ts";

const WRITES_AT_ONCE = 8; // Each waits for the disk; more at once share its flushes.
const INDEX_NAME = /^[0-9a-f]{32}\.json$/;

const contentsIn = (sitesFolder: string): string => join(sitesFolder, "files");

/** Resolves once it is durable. Contents come first and the index last: a gateway that finds an index finds all of its files. */
export async function writeSite(sitesFolder: string, site: PlannedSite, nowEpochMs: number): Promise<void> {
  const folder = contentsIn(sitesFolder);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await mapAtOnce([...site.contents], WRITES_AT_ONCE, async ([contentId, bytes]) => keep(join(folder, contentId), bytes, nowEpochMs));
  await keep(join(sitesFolder, `${site.snapshot.siteId}.json`), Buffer.from(JSON.stringify(site.index)), nowEpochMs);
}

/** A file is named by its content, so one of the right length is the right one; its time says that it is wanted again. */
async function keep(path: string, bytes: Uint8Array, nowEpochMs: number): Promise<void> {
  const facts = await stat(path).catch(nullWhereMissing);
  if (facts?.size === bytes.length) await utimes(path, nowEpochMs / 1_000, nowEpochMs / 1_000);
  else await writeFileAtomic(path, bytes, 0o600);
}

/** Keeps the sites that are named and the latest others; what was written a moment ago may be a site that is not complete yet. */
export async function collectSites(
  sitesFolder: string,
  { liveSiteIds, nowEpochMs }: { readonly liveSiteIds: readonly string[]; readonly nowEpochMs: number },
): Promise<void> {
  const indexes = (await filesIn(sitesFolder)).filter((file) => INDEX_NAME.test(file.name));
  const others = indexes.filter((file) => !liveSiteIds.includes(siteIdOf(file))).toSorted((a, b) => b.writtenEpochMs - a.writtenEpochMs);
  const removed = others.slice(SITE_COUNT_KEPT).filter((file) => isOld(file, nowEpochMs));
  for (const file of removed) await rm(join(sitesFolder, file.name), { force: true });

  const kept = indexes.filter((file) => !removed.includes(file));
  const named = new Set((await Promise.all(kept.map(async (file) => contentIdsIn(join(sitesFolder, file.name))))).flat());
  const contents = await filesIn(contentsIn(sitesFolder));
  for (const file of contents)
    if (!named.has(file.name) && isOld(file, nowEpochMs)) await rm(join(contentsIn(sitesFolder), file.name), { force: true });
}

interface WrittenFile {
  readonly name: string;
  readonly writtenEpochMs: number;
}

const siteIdOf = ({ name }: WrittenFile): string => name.slice(0, -".json".length);
const isOld = ({ writtenEpochMs }: WrittenFile, nowEpochMs: number): boolean => nowEpochMs - writtenEpochMs > SITE_GRACE_MS;

async function filesIn(folder: string): Promise<WrittenFile[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(nullWhereMissing);
  const files = (entries ?? []).filter((entry) => entry.isFile());
  const found = await mapAtOnce(files, WRITES_AT_ONCE, async ({ name }) => {
    const facts = await stat(join(folder, name)).catch(nullWhereMissing);
    return facts === null ? null : { name, writtenEpochMs: facts.mtimeMs };
  });
  return found.filter((file) => file !== null);
}

async function contentIdsIn(indexPath: string): Promise<string[]> {
  // Only writeSite() writes such files, and never half of one.
  const index = JSON.parse(await readFile(indexPath, "utf8")) as SiteIndex;
  return Object.values(index.files).flatMap(({ contentId, encodings }) => [
    contentId,
    ...Object.values(encodings ?? {}).map((variant) => variant.contentId),
  ]);
}

function nullWhereMissing(cause: unknown): null {
  if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return null;
  throw cause;
}
