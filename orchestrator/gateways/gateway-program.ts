// How a gateway is started: with which Node, which code, which variables; and which version of the code that is.
import { createHash } from "node:crypto";
import { readFile, readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { GatewayProgram } from "../../runtime-image/contract/gateway-config.ts";

const COMPILE_CACHE = join(import.meta.dirname, "../../node_modules/.cache/orchestrator"); // The same as the command line's: it halves a start.
// glibc gives every large body back to the kernel and asks for it anew; kept, an upload of 100 KB costs a quarter less processor time.
const ALLOCATOR = { MALLOC_MMAP_THRESHOLD_: "33554432", MALLOC_TRIM_THRESHOLD_: "134217728" };
// Without its debugger: on the engine "process" a function may run as the same user, and could switch it on by a signal.
// http-proxy calls a deprecated function of Node's (DEP0060); its warning would be the one line of the log that is no JSON.
const NODE_ARGUMENTS = ["--disable-sigusr1", "--disable-warning=ExperimentalWarning", "--disable-warning=DEP0060"];

export async function gatewayProgram({ mainFile, logFile }: Pick<GatewayProgram, "mainFile" | "logFile">): Promise<GatewayProgram> {
  return {
    nodePath: process.execPath,
    nodeArguments: NODE_ARGUMENTS,
    mainFile,
    variables: { NODE_ENV: "production", NODE_COMPILE_CACHE: COMPILE_CACHE, ...ALLOCATOR },
    logFile,
    version: await versionOf(dirname(mainFile)),
  };
}

/** Changes with the code of the gateway, with its libraries, which package.json names exactly, and with Node. */
async function versionOf(gatewayFolder: string): Promise<string> {
  const product = dirname(gatewayFolder);
  const folders = await Promise.all([filesIn(gatewayFolder), filesIn(join(product, "runtime-image/contract"))]);
  const files = [...folders.flat().toSorted(), join(product, "package.json")];
  const texts = await Promise.all(files.map(async (file) => readFile(file, "utf8").catch(() => ""))); // What is missing will be missed when it starts.
  return createHash("sha256")
    .update(JSON.stringify([process.version, texts]))
    .digest("hex")
    .slice(0, 16);
}

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}
