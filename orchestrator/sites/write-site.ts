// Writes sites to where gateways read them, and removes what nothing names any more. A site is there wholly or not at all.
import { mkdir, readFile, readdir, rename, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { SITE_COUNT_KEPT, SITE_GRACE_MS } from "../../runtime-image/contract/limits.ts";
import type { SiteIndex } from "../../runtime-image/contract/snapshot.ts";
import { writeFileAtomic } from "../processes/atomic-file.ts";
import { mapAtOnce } from "../at-once.ts";
import type { PlannedSite } from "./site.ts";

const WRITES_AT_ONCE = 8; // Each waits for the disk; more at once share its flushes.
const ASIDE = ".removed";
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
  if (facts?.size === bytes.length && (await touch(path, nowEpochMs))) return;
  await writeFileAtomic(path, bytes, 0o600);
}

/** False where it was removed meanwhile. */
async function touch(path: string, nowEpochMs: number): Promise<boolean> {
  const touched = await utimes(path, nowEpochMs / 1_000, nowEpochMs / 1_000).catch(nullWhereMissing);
  return touched !== null;
}

export interface CollectedSites {
  readonly siteCount: number;
  readonly bytes: number;
}

/** Keeps the sites that are named and the latest others; what was written a moment ago may be a site that is not complete yet. */
export async function collectSites(
  sitesFolder: string,
  { liveSiteIds, nowEpochMs }: { readonly liveSiteIds: readonly string[]; readonly nowEpochMs: number },
): Promise<CollectedSites> {
  await putBack(sitesFolder);
  const indexes = (await filesIn(sitesFolder)).filter((file) => INDEX_NAME.test(file.name));
  const others = indexes.filter((file) => !liveSiteIds.includes(siteIdOf(file))).toSorted((a, b) => b.writtenEpochMs - a.writtenEpochMs);
  const removed = others.slice(SITE_COUNT_KEPT).filter((file) => isOld(file, nowEpochMs));
  const indexBytes = await removeFiles(removed, { folder: sitesFolder, sitesFolder, nowEpochMs });

  const kept = (await filesIn(sitesFolder)).filter((file) => INDEX_NAME.test(file.name)); // Some may have been written meanwhile.
  const named = new Set((await Promise.all(kept.map(async (file) => contentIdsIn(join(sitesFolder, file.name))))).flat());
  const unnamed = (await filesIn(contentsIn(sitesFolder))).filter((file) => !named.has(file.name) && isOld(file, nowEpochMs));
  const contentBytes = await removeFiles(unnamed, { folder: contentsIn(sitesFolder), sitesFolder, nowEpochMs });
  return { siteCount: removed.length, bytes: indexBytes + contentBytes };
}

interface Removal {
  readonly folder: string;
  readonly sitesFolder: string;
  readonly nowEpochMs: number;
}

/**
 * Each is moved aside first, and put back where it turns out that a deploy has touched it since it was listed: whoever touches it later
 * finds it gone, and writes it anew.
 */
async function removeFiles(files: readonly WrittenFile[], { folder, sitesFolder, nowEpochMs }: Removal): Promise<number> {
  let bytes = 0;
  for (const { name, byteCount } of files) {
    const [place, aside] = [join(folder, name), join(contentsIn(sitesFolder), `${name}${ASIDE}`)];
    if ((await rename(place, aside).catch(nullWhereMissing)) === null) continue;
    const { mtimeMs } = await stat(aside);
    if (isOld({ writtenEpochMs: mtimeMs }, nowEpochMs)) {
      await rm(aside, { force: true });
      bytes += byteCount;
    } else await rename(aside, place);
  }
  return bytes;
}

/** What an orchestrator that was killed had moved aside is looked at anew. */
async function putBack(sitesFolder: string): Promise<void> {
  const aside = (await filesIn(contentsIn(sitesFolder))).filter(({ name }) => name.endsWith(ASIDE));
  for (const { name } of aside) {
    const original = name.slice(0, -ASIDE.length);
    await rename(join(contentsIn(sitesFolder), name), join(INDEX_NAME.test(original) ? sitesFolder : contentsIn(sitesFolder), original));
  }
}

interface WrittenFile {
  readonly name: string;
  readonly byteCount: number;
  readonly writtenEpochMs: number;
}

const siteIdOf = ({ name }: Pick<WrittenFile, "name">): string => name.slice(0, -".json".length);
const isOld = ({ writtenEpochMs }: Pick<WrittenFile, "writtenEpochMs">, nowEpochMs: number): boolean =>
  nowEpochMs - writtenEpochMs > SITE_GRACE_MS;

async function filesIn(folder: string): Promise<WrittenFile[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(nullWhereMissing);
  const files = (entries ?? []).filter((entry) => entry.isFile());
  const found = await mapAtOnce(files, WRITES_AT_ONCE, async ({ name }) => {
    const facts = await stat(join(folder, name)).catch(nullWhereMissing);
    return facts === null ? null : { name, byteCount: facts.size, writtenEpochMs: facts.mtimeMs };
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
