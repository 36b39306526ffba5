// From the folder of an app's static files to the site that gateways serve: checked, fingerprinted, compressed, nothing written yet.
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import type { SiteFile } from "../../runtime-image/contract/snapshot.ts";
import type { SiteSource } from "../apps/app-source.ts";
import { mapAtOnce } from "../at-once.ts";
import { type Encoding, ENCODINGS, SIBLINGS, type Variants, variantsOf } from "./compress.ts";
import { externalNames, fingerprintNames, looksFingerprinted, rewriteReferences, sha256 } from "./fingerprint.ts";
import { type FolderFile, readSiteFolder } from "./site-folder.ts";
import type { PlannedSite, StaticNames } from "./site.ts";

const FILES_AT_ONCE = 4; // As many as there are threads that compress.
const SITE_ID_LENGTH = 32;

/** Null where there is nothing to serve. Throws one error that names every problem. */
export async function planSite(source: SiteSource | null, facts: { readonly answersRoot: boolean }): Promise<PlannedSite | null> {
  const folder = source === null ? null : await readSiteFolder(source.folder, source.ignore);
  if (source === null || folder === null) return null;
  if (folder.problems.length > 0)
    throw new PlatformError("SITE_INVALID", {
      detail: `${source.folder} has ${folder.problems.length} problem${folder.problems.length === 1 ? "" : "s"}.`,
      problems: folder.problems,
      remedy: "Mend what is named, or leave it out with @static ignore.",
    });
  if (folder.files.length === 0) return null;
  const staticNames = namesOf(source, folder.files);
  const planned = await mapAtOnce(folder.files, FILES_AT_ONCE, planFile(source, { files: folder.files, staticNames }));
  const contents = new Map(planned.flatMap((file) => file.contents));
  const index = { v: 1, files: Object.fromEntries(planned.flatMap((file) => file.entries)) } as const;
  const siteId = sha256(JSON.stringify(index)).slice(0, SITE_ID_LENGTH);
  return { snapshot: { siteId, answersRoot: facts.answersRoot, isSpa: source.isSpa }, index, contents, staticNames };
}

function namesOf(source: SiteSource, files: readonly FolderFile[]): StaticNames | null {
  switch (source.fingerprint) {
    case "off":
      return null;
    case "on":
      return fingerprintNames(files);
    case "external":
      return externalNames(files);
  }
}

interface PlannedFile {
  readonly entries: readonly (readonly [string, SiteFile])[]; // By path.
  readonly contents: readonly (readonly [string, Buffer])[]; // By content id.
}

function planFile(
  source: SiteSource,
  { files, staticNames }: { readonly files: readonly FolderFile[]; readonly staticNames: StaticNames | null },
): (file: FolderFile) => Promise<PlannedFile> {
  const byPath = new Map(files.map((file) => [file.path, file.bytes]));
  const external = new Set(source.fingerprint === "external" ? Object.values(staticNames ?? {}) : []);
  const isImmutable = (path: string): boolean => source.fingerprint === "external" && (external.has(path) || looksFingerprinted(path));
  return async (file) => {
    const bytes = rewriteReferences(file, staticNames);
    const contentId = sha256(bytes);
    const variants = await variantsOf({ path: file.path, contentId, bytes, siblings: siblingsOf(file.path, byPath) });
    const { encodings, contents } = encodingsOf(variants);
    const served = { contentId, bytes: bytes.length, ...encodings };
    const entries: [string, SiteFile][] = [[file.path, { ...served, isImmutable: isImmutable(file.path) }]];
    const fingerprinted = source.fingerprint === "on" && Object.hasOwn(staticNames ?? {}, file.path) ? staticNames?.[file.path] : undefined;
    if (fingerprinted !== undefined) entries.push([fingerprinted, { ...served, isImmutable: true }]);
    return { entries, contents: [[contentId, bytes], ...contents] };
  };
}

function siblingsOf(path: string, byPath: ReadonlyMap<string, Buffer>): Variants {
  const found = ENCODINGS.map((encoding): [Encoding, Buffer | undefined] => [encoding, byPath.get(path + SIBLINGS[encoding])]);
  return Object.fromEntries(found.filter(([, bytes]) => bytes !== undefined));
}

function encodingsOf(variants: Variants): { encodings: Pick<SiteFile, "encodings">; contents: [string, Buffer][] } {
  const encodings: Partial<Record<Encoding, { contentId: string; bytes: number }>> = {};
  const contents: [string, Buffer][] = [];
  for (const encoding of ENCODINGS) {
    const bytes = variants[encoding];
    if (bytes === undefined) continue;
    const contentId = sha256(bytes);
    encodings[encoding] = { contentId, bytes: bytes.length };
    contents.push([contentId, bytes]);
  }
  return { encodings: contents.length === 0 ? {} : { encodings }, contents };
}
