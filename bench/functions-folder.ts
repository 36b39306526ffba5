// Writes the folder of an app with so many functions, each of a few kilobytes, and says anew what it should answer.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { versionText } from "./light-load.ts";

export interface FunctionsFolder {
  readonly folder: string;
  /** One folder below it for each function. */
  readonly functionFolders: readonly string[];
  /** All of them answer with this version, in other words than any other build of them. */
  writeAll(version: number): Promise<void>;
  /** Only GET / does. */
  writeFirst(version: number): Promise<void>;
}

const BALLAST_LINE_COUNT = 40; // Some 4 KB of code in all, as small functions have.

/** With a static file, so that something of the app answers where no function does. */
export async function makeFunctionsFolder(
  folder: string,
  { appName, functionCount }: { readonly appName: string; readonly functionCount: number },
): Promise<FunctionsFolder> {
  const paths = Array.from({ length: functionCount }, (_, index) => (index === 0 ? "/" : `/page-${index}`));
  const functionFolders = paths.map((path) => join(folder, "src/http", `get-${path === "/" ? "index" : path.slice(1)}`));
  await mkdir(join(folder, "public"), { recursive: true });
  await writeFile(join(folder, "public/hello.txt"), "hello\n");
  await writeFile(join(folder, "app.arc"), `@app\n${appName}\n\n@static\n\n@http\n${paths.map((path) => `get ${path}\n`).join("")}`);
  for (const own of functionFolders) {
    await mkdir(own, { recursive: true });
    await writeFile(join(own, "words.js"), wordsText());
  }
  const write = async (index: number, version: number): Promise<void> => {
    const own = functionFolders[index];
    if (own !== undefined) await writeFile(join(own, "index.js"), handlerText(`${versionText(version)} of ${appName}, function ${index}`));
  };
  return {
    folder,
    functionFolders,
    async writeAll(version) {
      for (const index of functionFolders.keys()) await write(index, version);
    },
    writeFirst: (version) => write(0, version),
  };
}

const handlerText = (text: string): string =>
  `const words = require("./words.js");\nexports.handler = async () => ({ statusCode: 200, body: ${JSON.stringify(text)} + ", " + words.length });\n`;

const wordsText = (): string =>
  `module.exports = [\n${Array.from({ length: BALLAST_LINE_COUNT }, (_, index) => `  "line ${index} of the words that a small function brings along, and hardly ever shows",\n`).join("")}];\n`;
