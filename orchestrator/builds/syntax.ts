// Finds what no engine could run in a function's files: syntax errors, with file, line and column. Runs none of the code.
import { type Loader, type Message, transform } from "esbuild";
import type { BuildFile } from "../engines/engine.ts";

/** One problem per error, as "src/http/get-index/index.js:3:7: Expected ...". */
export async function syntaxProblems(functionName: string, files: readonly BuildFile[]): Promise<string[]> {
  const checked = await Promise.all(files.map(async (file) => problemsOf(functionName, file)));
  return checked.flat();
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

async function problemsOf(functionName: string, file: BuildFile): Promise<string[]> {
  const loader = LOADERS[/\.[a-z]+$/.exec(file.path)?.[0] ?? ""];
  // What was installed is not the owner's to mend, and holds files that are broken on purpose.
  if (loader === undefined || file.path.split("/").includes("node_modules")) return [];
  try {
    await transform(file.bytes, { loader, logLevel: "silent", sourcefile: file.path });
    return [];
  } catch (cause) {
    const errors = messagesOf(cause);
    if (errors === null) throw cause;
    return errors.map(
      ({ text, location }) => `${functionName}/${file.path}:${location?.line ?? 1}:${(location?.column ?? 0) + 1}: ${text}`,
    );
  }
}

function messagesOf(cause: unknown): readonly Message[] | null {
  if (!(cause instanceof Error) || !("errors" in cause) || !Array.isArray(cause.errors)) return null;
  return cause.errors as Message[]; // That is how esbuild reports a source that it cannot read.
}
