// Names that hold a fingerprint of their file's content, and the places in text files that name them. Pure.
import { createHash } from "node:crypto";
import { posix } from "node:path";
import type { FolderFile } from "./site-folder.ts";
import type { StaticNames } from "./site.ts";

const FINGERPRINT_LENGTH = 10; // Hex digits of a SHA-256, as the original had it.

/** The name with the fingerprint for each file's own. */
export function fingerprintNames(files: readonly FolderFile[]): StaticNames {
  const known = new Map(files.map((file) => [file.path, { id: sha256(file.bytes), references: referencesIn(file) }]));
  return Object.fromEntries([...known.keys()].map((path) => [path, withFingerprint(path, fingerprintOf(path, known))]));
}

export const sha256 = (bytes: Uint8Array | string): string => createHash("sha256").update(bytes).digest("hex");

interface Known {
  readonly id: string; // SHA-256 of the bytes as they lie in the folder, hex.
  readonly references: readonly string[];
}

/**
 * The hash of the content. Where a file names others, their names change with their contents, and the file with them:
 * so the contents of all that it reaches count too, or a file that may be cached for ever would name one that is gone.
 */
function fingerprintOf(path: string, known: ReadonlyMap<string, Known>): string {
  const reached = new Set([path]);
  for (const next of reached) for (const reference of known.get(next)?.references ?? []) if (known.has(reference)) reached.add(reference);
  const own = known.get(path)?.id ?? "";
  reached.delete(path);
  const others = [...reached].toSorted().map((other) => `${other} ${known.get(other)?.id}`);
  return (others.length === 0 ? own : sha256([own, ...others].join("\n"))).slice(0, FINGERPRINT_LENGTH);
}

function withFingerprint(path: string, fingerprint: string): string {
  const { dir, name, ext } = posix.parse(path);
  return `${dir === "" ? "" : `${dir}/`}${name}-${fingerprint}${ext}`;
}

// ${STATIC('img/logo.png')} and ${arc.static("img/logo.png")}
const REFERENCE = /\$\{\s*(?:STATIC|arc\.static)\(\s*(['"`])([^'"`\r\n]*)\1\s*\)\s*\}/g;

const referencesIn = (file: FolderFile): string[] =>
  mayRefer(file) ? [...file.bytes.toString("latin1").matchAll(REFERENCE)].map((match) => keyOf(match[2] ?? "")) : [];

/** Writes the name of the file for each reference to it; one that is unknown, or that has no other name, stands as it is written. */
export function rewriteReferences(file: FolderFile, names: StaticNames | null): Buffer {
  if (!mayRefer(file)) return file.bytes;
  // Latin-1 keeps every byte as it is, whatever the file's encoding.
  const rewritten = file.bytes.toString("latin1").replaceAll(REFERENCE, (_whole, _quote, written: string) => {
    const key = keyOf(written);
    if (names === null || !Object.hasOwn(names, key)) return written;
    return `${written.startsWith("/") ? "/" : ""}${Buffer.from(names[key] ?? key, "utf8").toString("latin1")}`;
  });
  return Buffer.from(rewritten, "latin1");
}

const keyOf = (written: string): string => Buffer.from(written, "latin1").toString("utf8").replace(/^\//, "");

const TEXTS = /\.(?:html?|css|js|mjs|cjs|json|map|svg|xml|txt|md|webmanifest|xhtml)$/i;

const mayRefer = ({ path, bytes }: FolderFile): boolean => TEXTS.test(path) && (bytes.includes("STATIC(") || bytes.includes("arc.static("));

/** Names as bundlers write them: "app.3f2a91bc.js", "index-BkQ2x9aR.css". A date or a plain word is no fingerprint. */
export function looksFingerprinted(path: string): boolean {
  const hash = /[-._]([A-Za-z0-9_]{8,64})\.(?:[A-Za-z0-9]+\.)?[A-Za-z0-9]+$/.exec(path)?.[1];
  if (hash === undefined || !/\d/.test(hash) || !/[A-Za-z]/.test(hash)) return false;
  const isHex = /^(?:[0-9a-f]+|[0-9A-F]+)$/.test(hash);
  const isMixed = /^[A-Za-z0-9_]{8,32}$/.test(hash) && /[a-z]/.test(hash) && /[A-Z]/.test(hash);
  return isHex || isMixed;
}

/** The map that an external tool left beside its files: plain name → fingerprinted one. */
export function externalNames(files: readonly FolderFile[]): StaticNames | null {
  const map = files.find((file) => file.path === "static.json");
  if (map === undefined) return null;
  try {
    const value: unknown = JSON.parse(map.bytes.toString("utf8"));
    if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
    const entries = Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === "string");
    return Object.fromEntries(entries);
  } catch {
    return null; // Some other static.json: it is served like any file.
  }
}
