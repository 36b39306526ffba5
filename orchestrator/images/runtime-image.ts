// The image that every function's image stands on: Node, the runtime and its baked compile cache.
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { DockerApi } from "../docker/api.ts";
import { IMAGE_LABEL, ORIGIN_LABEL, ensureNodeBase, type NodeBase, type NodeBaseOptions } from "./node-base.ts";
import { ACCOUNT_FILES } from "./accounts.ts";
import { packTar, type TarEntry } from "./tar.ts";

export interface RuntimeBundle {
  readonly hash: string;
  readonly files: readonly { readonly path: string; readonly bytes: Uint8Array }[];
}

export interface RuntimeImage {
  readonly reference: string;
  readonly hash: string;
}

export interface RuntimeImageOptions extends NodeBaseOptions {
  readonly runtimeBundle: () => Promise<RuntimeBundle>;
}

export const RUNTIME_REPOSITORY = "orchestrator-runtime";
const DOCKERFILE = new URL("../../runtime-image/Dockerfile", import.meta.url);

/** The same bundle on the same Node by the same Dockerfile is the same image, and is found again. */
export async function ensureRuntimeImage(docker: DockerApi, options: RuntimeImageOptions): Promise<RuntimeImage> {
  const [base, bundle, dockerfile] = await Promise.all([ensureNodeBase(docker, options), options.runtimeBundle(), readFile(DOCKERFILE)]);
  const hash = runtimeHash({ base, bundle, dockerfile });
  const reference = `${RUNTIME_REPOSITORY}:${hash}`;
  if ((await docker.images.inspect(reference)) !== null) return { reference, hash };
  options.progress("building the runtime image");
  const labels = { [IMAGE_LABEL]: "runtime", [ORIGIN_LABEL]: `${base.origin} ${base.id}` };
  await docker.images.build(packTar(contextEntries(dockerfile, bundle)), { reference, labels, args: { NODE_IMAGE: base.reference } });
  return { reference, hash };
}

function runtimeHash({ base, bundle, dockerfile }: { base: NodeBase; bundle: RuntimeBundle; dockerfile: Uint8Array }): string {
  return createHash("sha256").update(`${base.id}\n${bundle.hash}\n`).update(dockerfile).update(ACCOUNTS).digest("hex").slice(0, 16);
}

const ACCOUNTS = Buffer.concat(ACCOUNT_FILES.map((file) => file.bytes));

function contextEntries(dockerfile: Uint8Array, bundle: RuntimeBundle): TarEntry[] {
  const file = (path: string, bytes: Uint8Array): TarEntry => ({ kind: "file", path, mode: 0o644, bytes });
  return [
    file("Dockerfile", dockerfile),
    { kind: "folder", path: "cache", mode: 0o755 },
    { kind: "folder", path: "etc", mode: 0o755 },
    ...ACCOUNT_FILES.map(({ path, bytes }) => file(path, bytes)),
    { kind: "folder", path: "runtime", mode: 0o755 },
    ...bundle.files.map(({ path, bytes }) => file(`runtime/${path}`, bytes)),
  ];
}
