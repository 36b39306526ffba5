// Copies the packages that run in production out of a full node_modules: node copy-production-packages.mjs <checkout> <target>.
// Used while the platform's own image is built, in an image that has Node and nothing else: no npm, no shell.
import { cpSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const [checkout = ".", target = "packages"] = process.argv.slice(2);
const { packages } = JSON.parse(readFileSync(join(checkout, "package-lock.json"), "utf8"));

for (const [path, entry] of Object.entries(packages)) {
  const isWanted = path.startsWith("node_modules/") && !entry.dev && !entry.devOptional;
  if (!isWanted) continue;
  const source = join(checkout, path);
  if (existsSync(source)) copyPackage(source, join(target, path));
  else if (!entry.optional) throw new Error(`${path} is not installed: run ./setup before the image is built`);
}

/** A package's own files; packages inside it have entries of their own. */
function copyPackage(source, destination) {
  const inner = join(source, "node_modules");
  cpSync(source, destination, { recursive: true, filter: (file) => file !== inner });
}
