// Finds the file that a path names. Pure: a path is only ever looked up in a list, and never becomes a name on a disk.
import type { SiteFile } from "../../runtime-image/contract/snapshot.ts";
import { acceptsHtml } from "../error-page.ts";
import { decodeOrNull } from "../target.ts";

export interface FoundFile {
  readonly path: string; // Below the folder, as its owner named it.
  readonly file: SiteFile;
}

export interface AskedFile {
  readonly path: string; // As sent.
  readonly area: "static" | "root";
  readonly accept: string;
}

interface Files {
  readonly files: ReadonlyMap<string, SiteFile>;
  readonly isSpa: boolean;
}

const STATIC = "/_static";

/** Below /_static files answer on their own names only; at the root folders answer with their index.html. */
export function findFile(site: Files, { path, area, accept }: AskedFile): FoundFile | null {
  const name = readName(area === "static" ? path.slice(STATIC.length) : path);
  if (name === null) return null;
  const exact = name.isFolder ? null : found(site, name.path);
  if (exact !== null || area === "static") return exact;
  const index = found(site, name.path === "" ? INDEX : `${name.path}/${INDEX}`);
  if (index !== null || !site.isSpa) return index;
  return hasExtension(name.path) || !acceptsHtml(accept) ? null : found(site, INDEX);
}

const INDEX = "index.html";

function found({ files }: Files, path: string): FoundFile | null {
  const file = files.get(path);
  return file === undefined ? null : { path, file };
}

interface Name {
  readonly path: string; // Decoded, without slashes at either end.
  readonly isFolder: boolean; // It ends with a slash, or is the folder itself.
}

/** Null for what names no file: a slash or a backslash inside a name, a dot segment, nothing between two slashes. */
function readName(path: string): Name | null {
  if (path === "" || path === "/") return { path: "", isFolder: true };
  const isFolder = path.endsWith("/");
  const segments = path.slice(1, isFolder ? -1 : path.length).split("/");
  const names = segments.map((segment) => (segment.includes("%") ? decodeOrNull(segment) : segment));
  return names.every(isName) ? { path: names.join("/"), isFolder } : null;
}

const isName = (name: string | null): name is string =>
  name !== null && name !== "" && name !== "." && name !== ".." && !/[/\\\0]/.test(name);

const hasExtension = (path: string): boolean => path.slice(path.lastIndexOf("/") + 1).includes(".");
