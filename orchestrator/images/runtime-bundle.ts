// Bundles the runtime into the files that ship into every instance.
import { createHash } from "node:crypto";
import path from "node:path";
import { build, type Plugin } from "esbuild";

const SOURCES = path.resolve(import.meta.dirname, "../../runtime-image");

// By the names of their files in an instance. The library is one of its own, so that a cold start reads nothing of it.
const ENTRIES = {
  main: path.join(SOURCES, "runtime/main.ts"),
  watchdog: path.join(SOURCES, "runtime/watchdog.ts"),
  library: path.join(SOURCES, "library/main.ts"),
};

// Without it, Node compiles each file twice to find out which kind of module it is. CommonJS and ES modules start equally fast.
const MODULE_TYPE = '{"type":"commonjs"}\n';

export interface RuntimeBundle {
  readonly hash: string; // Changes when any of the bytes do.
  readonly files: readonly RuntimeFile[];
}

export interface RuntimeFile {
  readonly path: string;
  readonly bytes: Uint8Array;
}

export async function buildRuntimeBundle(): Promise<RuntimeBundle> {
  const { outputFiles } = await build({
    entryPoints: ENTRIES,
    outdir: "runtime", // Esbuild wants to know where; nothing is written.
    write: false,
    bundle: true,
    platform: "node",
    target: "node24",
    format: "cjs",
    define: { "import.meta.dirname": "__dirname" },
    minifyWhitespace: true,
    minifySyntax: true, // Identifiers stay: stacks in logs name the functions that they went through.
    legalComments: "none",
    logLevel: "silent",
    plugins: [leaveOut],
  });
  const files = outputFiles.map((file) => ({ path: path.basename(file.path), bytes: file.contents }));
  files.push({ path: "package.json", bytes: Buffer.from(MODULE_TYPE) });
  return { hash: hashOf(files), files };
}

/**
 * Parts of the broker's client that no instance uses and every cold start would load: its database, its services, its
 * own signatures (nonce-signature.ts makes them with Node's), and TLS, which is loaded once someone asks for it.
 */
const UNUSED = /\/nats\/lib\/(?:jetstream\/\w+|nats-base-client\/(?:service|serviceclient|bench|nkeys))\.js$/;
const TLS_ON_DEMAND =
  "exports.TLSSocket = class {}; exports.connect = (...values) => process.getBuiltinModule('node:tls').connect(...values);";

const leaveOut: Plugin = {
  name: "leave-out",
  setup(build) {
    build.onLoad({ filter: UNUSED }, () => ({ contents: "", loader: "js" }));
    build.onResolve({ filter: /^tls$/ }, () => ({ path: "tls", namespace: "on-demand" }));
    build.onLoad({ filter: /.*/, namespace: "on-demand" }, () => ({ contents: TLS_ON_DEMAND, loader: "js" }));
  },
};

function hashOf(files: readonly RuntimeFile[]): string {
  const hash = createHash("sha256");
  for (const file of files) hash.update(`${file.path} ${file.bytes.length}\n`).update(file.bytes);
  return hash.digest("hex");
}
