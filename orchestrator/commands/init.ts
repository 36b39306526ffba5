// Makes a new app: one function that answers GET /, its manifest, and the types of what functions can import. Never touches a folder that holds something.
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { readTypes, TYPES_FILE } from "./types.ts";

export interface NewApp {
  readonly appName: string;
  readonly folder: string; // Absolute.
  readonly files: readonly string[]; // Relative to the folder, in the order in which they are worth reading.
}

export async function initApp(path: string): Promise<NewApp> {
  const folder = resolve(path);
  await claimFolder(folder);
  const appName = appNameOf(folder);
  const files = filesOf(appName, await readTypes());
  for (const [file, text] of files) {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await writeFile(join(folder, file), text, { flag: "wx" }); // Whatever came to be there meanwhile stays.
  }
  return { appName, folder, files: files.map(([file]) => file) };
}

/** A folder's name as a manifest takes it: lower-case letters, digits and dashes, a letter first, 63 characters at most. */
export function appNameOf(folder: string): string {
  const plain = basename(folder)
    .normalize("NFKD")
    .replaceAll(/\p{Mark}/gu, "")
    .toLowerCase();
  const dashed = plain.replaceAll(/[^a-z0-9]+/g, "-").replace(/^[-0-9]+/, "");
  return dashed.slice(0, 63).replace(/-+$/, "") || "app";
}

function filesOf(appName: string, types: string): readonly (readonly [file: string, text: string])[] {
  return [
    ["app.arc", `@app\n${appName}\n\n@http\nget /\n`],
    ["src/http/get-index/index.js", HANDLER],
    [TYPES_FILE, types],
    [".gitignore", "node_modules/\n.orchestrator/\n"],
  ];
}

const HANDLER = `// Answers GET /. Every folder below src/http is a function of its own; app.arc names their routes.
exports.handler = async function handler(request) {
  const name = request.queryStringParameters?.name ?? "world";
  return {
    statusCode: 200,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-cache, no-store, must-revalidate, max-age=0, s-maxage=0",
    },
    body: page(\`Hello, \${escapeHtml(name)}!\`),
  };
};

function page(title) {
  return \`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width">
    <title>\${title}</title>
  </head>
  <body>
    <h1>\${title}</h1>
    <p>This page comes from <code>src/http/get-index/index.js</code>. Change it, save, and reload.</p>
  </body>
</html>
\`;
}

function escapeHtml(text) {
  return text.replace(/[&<>"']/g, (character) => \`&#\${character.charCodeAt(0)};\`);
}
`;

async function claimFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true });
    if ((await readdir(folder)).length === 0) return;
  } catch (cause) {
    const detail = `${folder} cannot be made or read: ${cause instanceof Error ? cause.message : String(cause)}.`;
    throw new PlatformError(
      "INIT_REFUSED",
      { detail, remedy: "Name a folder that you may write to: orchestrator init <folder>." },
      { cause },
    );
  }
  throw new PlatformError("INIT_REFUSED", {
    detail: `${folder} is not empty.`,
    remedy: "Name a new or an empty folder: orchestrator init <folder>. To serve what is there: orchestrator up <folder>.",
  });
}
