// The source files that the tidy rules look at, as plain text by path, and the imports that each of them has.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";

/** Texts by path, relative to the checkout, with "/". */
export type SourceTree = ReadonlyMap<string, string>;

export const CHECKOUT = join(import.meta.dirname, "..", "..");
const FOLDERS = ["runtime-image", "gateway", "orchestrator", "bench", "test"];
const SKIPPED = /(?:^|\/)(?:node_modules|fixtures|\.orchestrator)\/|^test\/tidy\/tidy\.test\.ts$/; // The last one holds planted violations as text.
const SOURCE_FILE = /\.(?:ts|mts|mjs|js|cjs)$/;

export function readSourceTree(): SourceTree {
  const files = FOLDERS.flatMap((folder) =>
    readdirSync(join(CHECKOUT, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && SOURCE_FILE.test(entry.name))
      .map((entry) => posix.relative(CHECKOUT, posix.join(entry.parentPath, entry.name))),
  );
  return new Map(files.filter((file) => !SKIPPED.test(file)).map((file) => [file, readFileSync(join(CHECKOUT, file), "utf8")]));
}

export type Import =
  | { readonly kind: "local"; readonly target: string } // Relative to the checkout.
  | { readonly kind: "builtin"; readonly target: string }
  | { readonly kind: "library"; readonly target: string }; // The package's name, without a path inside it.

// Static imports and re-exports (of types too), bare imports, dynamic imports and import types, and require.
const IMPORTS = [
  /^(?:import|export)\b[^"';]*?\bfrom\s*["']([^"'\n]+)["']/gm,
  /^import\s*["']([^"'\n]+)["']/gm,
  /\bimport\(\s*["']([^"'\n]+)["']/g,
  /\brequire\(\s*["']([^"'\n]+)["']/g,
];

export function importsOf(file: string, text: string): Import[] {
  const code = text.replaceAll(/^\s*(?:\/\/|\*|\/\*).*$/gm, ""); // A comment may mention an import; only whole lines are taken for one.
  return IMPORTS.flatMap((pattern) => [...code.matchAll(pattern)].map((match) => importOf(file, match[1] ?? "")));
}

function importOf(file: string, specifier: string): Import {
  if (specifier.startsWith(".")) return { kind: "local", target: posix.normalize(posix.join(dirname(file), specifier)) };
  if (specifier.startsWith("node:")) return { kind: "builtin", target: specifier };
  const parts = specifier.split("/");
  return { kind: "library", target: parts.slice(0, specifier.startsWith("@") ? 2 : 1).join("/") };
}
