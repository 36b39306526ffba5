// The packages in every build that stand for the runtime's own library: a few lines each, which pass on what the instance has.
import { LIBRARY_EXPORTS } from "../../runtime-image/contract/library-packages.ts";
import type { BuildFile } from "../engines/engine.ts";

/** Named one by one, because that is how ES modules learn the names of a CommonJS one. */
const index = (from: string, names: readonly string[]): string =>
  [
    `const { ${from} } = globalThis[Symbol.for("orchestrator:library")]();`,
    ...names.map((name) => `exports.${name} = ${from}.${name};`),
    "",
  ].join("\n");

const file = (path: string, text: string): BuildFile => ({ path, bytes: Buffer.from(text), isExecutable: false });

export const LIBRARY_STUBS: readonly BuildFile[] = Object.entries(LIBRARY_EXPORTS).flatMap(([name, { from, names }]) => [
  file(`node_modules/${name}/index.js`, index(from, names)),
  file(`node_modules/${name}/package.json`, `${JSON.stringify({ name, main: "index.js", type: "commonjs" })}\n`),
]);

export const LIBRARY_PACKAGES: readonly string[] = Object.keys(LIBRARY_EXPORTS);

/** Copies that an app installed, wherever they lie: an instance would find them before ours. */
export const isLibraryCopy = (path: string): boolean => packagesOf(path).some((name) => LIBRARY_PACKAGES.includes(name));

/** The packages whose folders a path leads through: "node_modules/a/node_modules/@b/c/d.js" → "a", "@b/c". */
export function packagesOf(path: string): string[] {
  const names: string[] = [];
  const segments = path.split("/");
  for (const [position, segment] of segments.entries()) {
    if (segment !== "node_modules") continue;
    const [first = "", second = ""] = segments.slice(position + 1);
    names.push(first.startsWith("@") ? `${first}/${second}` : first);
  }
  return names;
}
