// The image that the platform's own stands on: a registry's Node where one answers, otherwise Node, npm, a shell and git out of this machine.
import { createHash } from "node:crypto";
import { stat } from "node:fs/promises";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import type { DockerApi } from "../docker/api.ts";
import { IMAGE_LABEL, ORIGIN_LABEL, type NodeBaseOptions, ensureNodeBase } from "./node-base.ts";
import { NPM_PATH, ensureNpmImage } from "./npm-image.ts";
import { LIST_LIBRARIES, findProgram, ownProgramEntries } from "./own-programs.ts";
import { loadedLibraries } from "./own-node-files.ts";
import { type TarEntry, packTar } from "./tar.ts";

const REPOSITORY = "orchestrator-base";
// What the platform itself calls: git, and where it assembles images in its turn, what tells it of libraries.
const PROGRAMS = ["git", LIST_LIBRARIES];
const DOCKERFILE = `ARG NPM_IMAGE
FROM \${NPM_IMAGE}
COPY root /
USER 0:0
RUN ["/usr/bin/git", "--version"]
`;

/** The same git on the same npm image is the same image, and is found again. */
export async function ensurePlatformBase(docker: DockerApi, options: NodeBaseOptions & { readonly npmFolder: string }): Promise<string> {
  const base = await ensureNodeBase(docker, options);
  if (base.origin === "registry") return base.reference; // It has what is needed to get git.
  const git = await findProgram("git");
  if (git === null)
    throw new PlatformError("GIT_MISSING", {
      detail: "No registry answers, so that the platform's image is to have this machine's git.",
      remedy: "Install git, for instance with: apt-get install git.",
    });
  const npmImage = await ensureNpmImage(docker, options);
  const { size, mtimeMs } = await stat(git.file);
  const hash = createHash("sha256").update(`${npmImage}\n${size} ${mtimeMs}\n${DOCKERFILE}`).digest("hex").slice(0, 16);
  const reference = `${REPOSITORY}:${hash}`;
  if ((await docker.images.inspect(reference)) !== null) return reference;
  options.progress("assembling the image that the platform's own stands on");
  const labels = { [IMAGE_LABEL]: "platform-base", [ORIGIN_LABEL]: `${base.origin} ${base.id}` };
  await docker.images.build(packTar(contextEntries()), { reference, labels, args: { NPM_IMAGE: npmImage } });
  return reference;
}

async function* contextEntries(): AsyncGenerator<TarEntry> {
  yield { kind: "file", path: "Dockerfile", mode: 0o644, bytes: Buffer.from(DOCKERFILE) };
  for (const path of ["root", "root/usr", "root/usr/local", "root/usr/local/bin"]) yield { kind: "folder", path, mode: 0o755 };
  yield { kind: "link", path: "root/usr/local/bin/npm", target: NPM_PATH }; // By which the platform finds it.
  const loaded = new Set(loadedLibraries());
  for await (const entry of ownProgramEntries(PROGRAMS, (path) => loaded.has(path))) yield { ...entry, path: `root/${entry.path}` };
}
