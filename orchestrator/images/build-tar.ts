// The files of a build as the tar of one image layer.
import assert from "node:assert/strict";
import { posix } from "node:path";
import type { Readable } from "node:stream";
import { packTar, type TarEntry } from "./tar.ts";

interface File {
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly isExecutable: boolean;
  readonly linksTo?: string;
}

export const buildTar = (folder: string, files: readonly File[]): Readable => packTar(buildEntries(folder, files));

/** Folders first, each once; everything belongs to root, so that a function cannot change its own files. */
export function buildEntries(folder: string, files: readonly File[]): TarEntry[] {
  const root = folder.replace(/^\/+/, "");
  const folders = new Set([root]);
  const entries: TarEntry[] = [];
  for (const file of files) {
    assertInside(file.path);
    const path = `${root}/${file.path}`;
    for (const parent of parentsOf(path)) folders.add(parent);
    if (file.linksTo !== undefined) {
      assertInside(posix.join(posix.dirname(file.path), file.linksTo));
      entries.push({ kind: "link", path, target: file.linksTo });
    } else entries.push({ kind: "file", path, mode: file.isExecutable ? 0o755 : 0o644, bytes: file.bytes });
  }
  return [...[...folders].sort().map((path): TarEntry => ({ kind: "folder", path, mode: 0o755 })), ...entries];
}

function parentsOf(path: string): string[] {
  const names = path.split("/").slice(0, -1);
  return names.map((_, index) => names.slice(0, index + 1).join("/"));
}

/** Collecting the files has checked this; a path that leads out here would be a fault of ours with root's rights. */
function assertInside(path: string): void {
  assert(
    path !== "" && !path.startsWith("/") && posix.normalize(path) === path && path !== ".." && !path.startsWith("../"),
    `a file's path leads out of its folder: ${path}`,
  );
}
