// The files of a small Linux root around the Node that runs this process: the binary, its libraries, name resolution, certificates.
import { readFile } from "node:fs/promises";
import { basename, dirname } from "node:path";
import type { TarEntry } from "./tar.ts";

const NODE_PATH = "/usr/local/bin/node";
const CERTIFICATES_PATH = "/etc/ssl/certs/ca-certificates.crt";
// Loaded by name at run time, so no list of linked libraries shows them; since glibc 2.34 the library itself holds them.
const RESOLVER_LIBRARIES = ["libnss_files.so.2", "libnss_dns.so.2", "libresolv.so.2"];
// Where machines keep their trusted certificates: Debian and Alpine, Fedora, SUSE.
const CERTIFICATE_SOURCES = [CERTIFICATES_PATH, "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem"];

export async function* ownNodeEntries(): AsyncGenerator<TarEntry> {
  const libraries = loadedLibraries();
  const folders = new Set(["usr", "usr/local", "usr/local/bin", "etc", "etc/ssl", "etc/ssl/certs"]);
  const resolverLibraries = resolverLibrariesBeside(libraries);
  for (const path of [...libraries, ...resolverLibraries]) for (const folder of foldersOf(path)) folders.add(folder);
  for (const path of [...folders].sort()) yield { kind: "folder", path, mode: 0o755 };
  yield { kind: "folder", path: "tmp", mode: 0o1777 }; // A tmpfs there takes this mode, whatever its own options say.
  yield file(NODE_PATH, await readFile(process.execPath), 0o755);
  for (const path of libraries) yield file(path, await readFile(path), 0o755); // Followed where it is a link: the image has none.
  for (const path of resolverLibraries) {
    const bytes = await readIfThere(path);
    if (bytes !== null) yield file(path, bytes, 0o755);
  }
  yield file("/etc/nsswitch.conf", Buffer.from("passwd: files\ngroup: files\nhosts: files dns\n"), 0o644);
  const certificates = await firstThere(CERTIFICATE_SOURCES);
  if (certificates !== null) yield file(CERTIFICATES_PATH, certificates, 0o644);
}

/** What this very process has loaded, the loader itself included. Asked of Node, so that it works where no ldd is. */
export function loadedLibraries(): string[] {
  const report: { readonly sharedObjects?: unknown } = process.report.getReport();
  const paths = Array.isArray(report.sharedObjects) ? report.sharedObjects.map(String) : [];
  return [...new Set(paths.filter((path) => path.startsWith("/") && path !== process.execPath))];
}

function resolverLibrariesBeside(libraries: readonly string[]): string[] {
  const folder = dirname(libraries.find((path) => basename(path).startsWith("libc.so")) ?? "/lib/libc.so.6");
  return RESOLVER_LIBRARIES.map((name) => `${folder}/${name}`).filter((path) => !libraries.includes(path));
}

const file = (path: string, bytes: Uint8Array, mode: number): TarEntry => ({ kind: "file", path: path.slice(1), bytes, mode });

function foldersOf(path: string): string[] {
  const names = path.slice(1).split("/").slice(0, -1);
  return names.map((_, index) => names.slice(0, index + 1).join("/"));
}

const readIfThere = (path: string): Promise<Uint8Array | null> => readFile(path).catch(() => null);

async function firstThere(paths: readonly string[]): Promise<Uint8Array | null> {
  for (const path of paths) {
    const bytes = await readIfThere(path);
    if (bytes !== null) return bytes;
  }
  return null;
}
