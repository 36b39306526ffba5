// The image that packages are installed in: Node's, and npm, which comes from this machine where the base has none.
import { createHash } from "node:crypto";
import { readFile, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { DockerApi } from "../docker/api.ts";
import { ACCOUNT_FILES } from "./accounts.ts";
import { IMAGE_LABEL, ORIGIN_LABEL, type NodeBaseOptions, ensureNodeBase } from "./node-base.ts";
import { loadedLibraries } from "./own-node-files.ts";
import { PROGRAMS, ownProgramEntries } from "./own-programs.ts";
import { type TarEntry, packTar } from "./tar.ts";

export const NPM_PATH = "/opt/npm/bin/npm-cli.js";
export const NPM_REPOSITORY = "orchestrator-npm";
const DOCKERFILE = `ARG NODE_IMAGE
FROM \${NODE_IMAGE}
COPY root /
USER 10001:10001
RUN ["/usr/local/bin/node", "${NPM_PATH}", "--version"]
`;
const DEPTH_MAX = 32;

/** The same npm on the same Node is the same image, and is found again. */
export async function ensureNpmImage(docker: DockerApi, options: NodeBaseOptions & { readonly npmFolder: string }): Promise<string> {
  const base = await ensureNodeBase(docker, options);
  const manifest = await readFile(join(options.npmFolder, "package.json"));
  const { mtimeMs } = await stat(options.npmFolder);
  const hash = createHash("sha256")
    .update(`${base.id}\n${mtimeMs}\n${DOCKERFILE}\n${PROGRAMS.join(" ")}`)
    .update(manifest)
    .digest("hex")
    .slice(0, 16);
  const reference = `${NPM_REPOSITORY}:${hash}`;
  if ((await docker.images.inspect(reference)) !== null) return reference;
  options.progress("building the image that packages are installed in");
  const labels = { [IMAGE_LABEL]: "npm", [ORIGIN_LABEL]: `${base.origin} ${base.id}` };
  const context = packTar(contextEntries(options.npmFolder, { withPrograms: base.origin === "machine" }));
  await docker.images.build(context, { reference, labels, args: { NODE_IMAGE: base.reference } });
  return reference;
}

async function* contextEntries(npmFolder: string, { withPrograms }: { readonly withPrograms: boolean }): AsyncGenerator<TarEntry> {
  yield { kind: "file", path: "Dockerfile", mode: 0o644, bytes: Buffer.from(DOCKERFILE) };
  for (const path of ["root", "root/etc", "root/opt", "root/opt/npm"]) yield { kind: "folder", path, mode: 0o755 };
  for (const { path, bytes } of ACCOUNT_FILES) yield { kind: "file", path: `root/${path}`, mode: 0o644, bytes };
  yield* folderEntries(npmFolder, "root/opt/npm", 0);
  if (!withPrograms) return;
  // Scripts are lines for a shell, and an image that was assembled here has Node and nothing else.
  const loaded = new Set(loadedLibraries());
  for await (const entry of ownProgramEntries(PROGRAMS, (path) => loaded.has(path))) yield { ...entry, path: `root/${entry.path}` };
}

/** Links are followed: some systems keep npm's own packages elsewhere. */
async function* folderEntries(folder: string, place: string, depth: number): AsyncGenerator<TarEntry> {
  if (depth > DEPTH_MAX) return;
  for (const name of await readdir(folder)) {
    if (name === ".bin" || (depth === 0 && (name === "docs" || name === "man"))) continue;
    const path = join(folder, name);
    const facts = await stat(path).catch(() => null);
    if (facts?.isDirectory()) {
      yield { kind: "folder", path: `${place}/${name}`, mode: 0o755 };
      yield* folderEntries(path, `${place}/${name}`, depth + 1);
    } else if (facts?.isFile()) yield { kind: "file", path: `${place}/${name}`, mode: 0o644, bytes: await readFile(path) };
  }
}
