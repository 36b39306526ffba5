// Fills the V8 compile cache while an image is built: main.js is loaded already, the other files come along.
// The cache belongs to the user who made it (Node puts the uid into its path): warm up as the user that instances run as.
import { flushCompileCache } from "node:module";
import path from "node:path";

export async function warmUp(): Promise<void> {
  for (const file of ["watchdog.js", "library.js"]) await import(path.join(import.meta.dirname, file));
  // Playing a whole start and request first was tried: it made no start measurably faster.
  flushCompileCache();
}
