// Loads a module of the function's own: from its folder, in whichever module format it has.
import path from "node:path";

/** By a path in the function's folder ("./error.js"), or a package's name. */
export function loadOwn(name: string): unknown {
  const { createRequire } = process.getBuiltinModule("node:module"); // Loaded when it is needed: most functions never do.
  const loaded: unknown = createRequire(path.join(process.cwd(), "index.js"))(name);
  return loaded;
}
