// The image with Node that everything else stands on: a registry's where one answers, otherwise assembled from this machine.
import { createHash } from "node:crypto";
import { stat } from "node:fs/promises";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import type { DockerApi } from "../docker/api.ts";
import { ownNodeEntries } from "./own-node-files.ts";
import { packTar } from "./tar.ts";

export type Progress = (line: string) => void;

export interface NodeBase {
  readonly reference: string;
  readonly id: string;
  readonly origin: "registry" | "machine";
}

export interface NodeBaseOptions {
  /** What to ask a registry for; null never asks one. */
  readonly nodeImage: string | null;
  readonly progress: Progress;
}

export const DEFAULT_NODE_IMAGE = "node:24-slim";
export const NODE_BASE_REPOSITORY = "orchestrator-node";
export const IMAGE_LABEL = "orchestrator.image"; // On every image that platforms share; its value says which.
export const ORIGIN_LABEL = "orchestrator.origin"; // "registry …" or "machine …": where the Node in it is from.

const REGISTRY_SILENCE_MS_MAX = 4_000; // A registry that is there answers in a fraction of this; offline is a normal place to be.
const REGISTRY_PULL_TIMEOUT_MS = 300_000; // Some 80 MB over a slow line.
const NODE_MAJOR_MIN = 24;
const ARCHITECTURES: Readonly<Record<string, string>> = {
  x64: "amd64",
  arm64: "arm64",
  ppc64: "ppc64le",
  s390x: "s390x",
  riscv64: "riscv64",
};

/** What is there already is used; then a registry is asked; then it is made here. */
export async function ensureNodeBase(docker: DockerApi, { nodeImage, progress }: NodeBaseOptions): Promise<NodeBase> {
  const machineReference = `${NODE_BASE_REPOSITORY}:${await machineTag()}`;
  const isThere =
    (nodeImage === null ? null : await find(docker, nodeImage, "registry")) ?? (await find(docker, machineReference, "machine"));
  if (isThere !== null) return isThere;
  if (nodeImage !== null && (await pull(docker, nodeImage, progress))) return found(await find(docker, nodeImage, "registry"), nodeImage);
  await assemble(docker, machineReference, progress);
  return found(await find(docker, machineReference, "machine"), machineReference);
}

async function find(docker: DockerApi, reference: string, origin: NodeBase["origin"]): Promise<NodeBase | null> {
  const image = await docker.images.inspect(reference);
  return image && { reference, id: image.id, origin };
}

function found(base: NodeBase | null, reference: string): NodeBase {
  if (base === null) throw new PlatformError("IMAGE_MISSING", { detail: `${reference} was just made and is gone.` });
  return base;
}

async function pull(docker: DockerApi, nodeImage: string, progress: Progress): Promise<boolean> {
  progress(`asking a registry for ${nodeImage}`);
  const silence = new AbortController();
  const timer = setTimeout(() => silence.abort(new Error("the registry did not answer")), REGISTRY_SILENCE_MS_MAX);
  try {
    const signal = AbortSignal.any([silence.signal, AbortSignal.timeout(REGISTRY_PULL_TIMEOUT_MS)]);
    await docker.images.pull(nodeImage, () => clearTimeout(timer), signal);
    return true;
  } catch {
    progress("no registry answers; Node's image is made from this machine");
    return false; // Being offline is no failure: the machine has all that is needed.
  } finally {
    clearTimeout(timer);
  }
}

async function assemble(docker: DockerApi, reference: string, progress: Progress): Promise<void> {
  await assertUsableHere(docker);
  progress(`assembling an image from this machine's Node ${process.version}`);
  const changes = [
    "ENV PATH=/usr/local/bin:/usr/bin:/bin",
    `LABEL ${IMAGE_LABEL}=node-base`,
    `LABEL ${ORIGIN_LABEL}="machine ${process.version} ${process.arch}"`,
    'ENTRYPOINT ["/usr/local/bin/node"]',
  ];
  const [repository = "", tag = ""] = reference.split(":");
  await docker.images.importTar(packTar(ownNodeEntries()), { repository, tag, changes });
}

async function assertUsableHere(docker: DockerApi): Promise<void> {
  const engine = await docker.engineInfo();
  const problems = [
    ...(process.platform === "linux" ? [] : [`this machine runs ${process.platform}, containers need Linux`]),
    ...(engine.architecture === ARCHITECTURES[process.arch]
      ? []
      : [`this Node is for ${process.arch}, the engine runs ${engine.architecture}`]),
    ...(Number(process.versions.node.split(".")[0]) >= NODE_MAJOR_MIN
      ? []
      : [`this Node is ${process.version}, containers need ${NODE_MAJOR_MIN}`]),
  ];
  if (problems.length > 0)
    throw new PlatformError("IMAGE_MISSING", {
      detail: `There is no image with Node, no registry answers, and none can be made from this machine: ${problems.join("; ")}.`,
      remedy: `Load one: "docker save ${DEFAULT_NODE_IMAGE}" on a machine that has it, then "docker load" here.`,
    });
}

/** Another Node on this machine makes another image; its size and time stand for its content, which is 120 MB. */
async function machineTag(): Promise<string> {
  const { size, mtimeMs } = await stat(process.execPath);
  const hash = createHash("sha256").update(`${size} ${mtimeMs} ${process.arch}`).digest("hex").slice(0, 8);
  return `${process.versions.node}-${hash}`;
}
