// Reads code as esbuild does: finds what no engine could run, and makes JavaScript of TypeScript. Runs none of it.
import { extname, relative, sep } from "node:path";
import { type Format, type Loader, type Message, type Metafile, type OutputFile, type Plugin, build, transform } from "esbuild";

export interface CodeFile {
  readonly path: string; // Relative to the app's root: it shows in messages.
  readonly bytes: Uint8Array;
}

const LOADERS: Readonly<Record<string, Loader>> = {
  ".js": "js",
  ".mjs": "js",
  ".cjs": "js",
  ".ts": "ts",
  ".mts": "ts",
  ".cts": "ts",
  ".json": "json",
};

/** One problem per error, as "src/http/get-index/index.js:3:7: Expected ...". */
export async function syntaxProblems(files: readonly CodeFile[]): Promise<string[]> {
  const checked = await Promise.all(files.map(async (file) => problemsOf(file)));
  return checked.flat();
}

async function problemsOf(file: CodeFile): Promise<string[]> {
  const loader = LOADERS[extname(file.path)];
  if (loader === undefined) return [];
  try {
    await transform(file.bytes, { loader, logLevel: "silent", sourcefile: file.path });
    return [];
  } catch (cause) {
    return asProblems(cause, file.path);
  }
}

export const isTypeScript = (path: string): boolean => /(?<!\.d)\.[cm]?tsx?$/.test(path) && !/\.d\.[^./]+\.ts$/.test(path);

const COMPILED_EXTENSIONS: Readonly<Record<string, string>> = { ".ts": ".js", ".tsx": ".js", ".mts": ".mjs", ".cts": ".cjs" };

/** "lib/a.ts" → "lib/a.js" */
export const compiledPath = (path: string): string => {
  const extension = extname(path);
  return path.slice(0, path.length - extension.length) + (COMPILED_EXTENSIONS[extension] ?? extension);
};

export type CompileOutcome<Output> =
  | { readonly kind: "compiled"; readonly output: Output }
  | { readonly kind: "failed"; readonly problems: readonly string[] };

export interface CompileOptions {
  readonly appFolder: string;
  readonly packageType: unknown; // The "type" of the package.json that the code belongs to.
  /** How an import of this file of the app is written in what is compiled; null: the file becomes part of it. */
  readonly importOf: (absolute: string, importer: string) => string | null;
  /** The folder of shared code that a package's name stands for. */
  readonly sharedFolder: (packageName: string) => string | undefined;
}

/** An entry with everything it imports by path from TypeScript, as one module. What is installed stays outside. */
export async function bundleEntry(
  entry: string,
  options: CompileOptions,
): Promise<CompileOutcome<{ readonly isModule: boolean; readonly bytes: Uint8Array }>> {
  try {
    const formats = await formatsOf([entry], options);
    const isModule = formats.get(entry) === "esm";
    const { contents, text } = await compileOne(entry, isModule ? "esm" : "cjs", options);
    return { kind: "compiled", output: { isModule, bytes: isModule ? withRequire(contents, text) : contents } };
  } catch (cause) {
    return { kind: "failed", problems: asProblems(cause, relative(options.appFolder, entry)) };
  }
}

/** Each file by itself: the answer holds the JavaScript of each, by the file's path. */
export async function compileFiles(
  files: readonly string[],
  options: CompileOptions,
): Promise<CompileOutcome<ReadonlyMap<string, Uint8Array>>> {
  try {
    const formats = await formatsOf(files, options);
    const compiled = await Promise.all(
      files.map(async (file) => [file, (await compileOne(file, formats.get(file) ?? "cjs", options)).contents] as const),
    );
    return { kind: "compiled", output: new Map(compiled) };
  } catch (cause) {
    return { kind: "failed", problems: asProblems(cause, files.map((file) => relative(options.appFolder, file)).join(", ")) };
  }
}

/** As Node tells them apart: by extension, by package, by syntax. */
async function formatsOf(files: readonly string[], { appFolder, packageType }: CompileOptions): Promise<Map<string, Format>> {
  const { metafile } = await build({
    entryPoints: [...files],
    absWorkingDir: appFolder,
    outdir: appFolder,
    bundle: false,
    write: false,
    metafile: true,
    logLevel: "silent",
  });
  return new Map(files.map((file) => [file, formatOf(file, packageType, inputOf(metafile, relative(appFolder, file)))]));
}

const inputOf = (metafile: Metafile, path: string): Metafile["inputs"][string] | undefined => metafile.inputs[path.split(sep).join("/")];

function formatOf(file: string, packageType: unknown, input: Metafile["inputs"][string] | undefined): Format {
  if (file.endsWith(".mts")) return "esm";
  if (file.endsWith(".cts")) return "cjs";
  if (packageType === "module") return "esm";
  if (packageType === "commonjs") return "cjs";
  return input?.format === "esm" ? "esm" : "cjs";
}

async function compileOne(file: string, format: Format, options: CompileOptions): Promise<OutputFile> {
  const { outputFiles } = await build({
    entryPoints: [file],
    format,
    outfile: compiledPath(file),
    absWorkingDir: options.appFolder,
    bundle: true,
    write: false,
    platform: "node",
    target: "node24",
    packages: "external",
    sourcemap: "inline",
    sourcesContent: false, // Stacks need lines only.
    keepNames: true, // A class is known by its name in logs.
    charset: "utf8",
    logLevel: "silent",
    plugins: [importsByPath(options)],
  });
  const [output] = outputFiles;
  if (output === undefined) throw new Error(`${file} compiled to nothing`);
  return output;
}

const RESOLVING = Symbol("resolving"); // Marks the question that the plugin itself asks.
const SHARED_IMPORT = /^(@architect\/(?:shared|views))(?:\/(.*))?$/;

function importsByPath({ importOf, sharedFolder }: CompileOptions): Plugin {
  return {
    name: "imports-by-path",
    setup(bundler) {
      bundler.onResolve({ filter: /^(?:\.|@architect\/(?:shared|views)(?:\/|$))/ }, async (asked) => {
        if (asked.pluginData === RESOLVING || asked.kind === "entry-point") return null;
        const [, packageName = "", inner = ""] = SHARED_IMPORT.exec(asked.path) ?? [];
        const folder = sharedFolder(packageName);
        if (packageName !== "" && folder === undefined) return { path: asked.path, external: true };
        const { kind, importer } = asked;
        const resolved = await bundler.resolve(packageName === "" ? asked.path : `./${inner}`, {
          kind,
          importer,
          resolveDir: folder ?? asked.resolveDir,
          pluginData: RESOLVING,
        });
        if (resolved.errors.length > 0 || resolved.external) return resolved;
        const written = importOf(resolved.path, importer);
        return written === null ? { path: resolved.path } : { path: written, external: true };
      });
    },
  };
}

const REQUIRE_SHIM = `import { createRequire as createRequireHere } from "node:module"; const require = createRequireHere(import.meta.url);`;

/** ES modules have no require(), which TypeScript allows in them; on the first line, so that the source map needs one line less. */
function withRequire(bytes: Uint8Array, text: string): Uint8Array {
  return text.includes("var __require = ") ? Buffer.from(`${REQUIRE_SHIM} ${text}`) : bytes;
}

function asProblems(cause: unknown, path: string): string[] {
  const errors = messagesOf(cause);
  if (errors === null) throw cause;
  return errors.map(({ text, location }) => `${location?.file ?? path}:${location?.line ?? 1}:${(location?.column ?? 0) + 1}: ${text}`);
}

function messagesOf(cause: unknown): readonly Message[] | null {
  if (!(cause instanceof Error) || !("errors" in cause) || !Array.isArray(cause.errors)) return null;
  return cause.errors as Message[]; // That is how esbuild reports a source that it cannot read.
}
