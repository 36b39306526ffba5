// The files of a new app: one function that answers GET /, its manifest, and the types of what functions can import.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";

export const TYPES_FILE = "orchestrator.d.ts";
const TYPES_SOURCE = resolve(import.meta.dirname, "../../runtime-image/library/types", TYPES_FILE);

/** Of the runtime library, for editors and type checkers. */
export const readTypes = (): string => readFileSync(TYPES_SOURCE, "utf8");

/** In the order in which they are worth reading. */
export function starterFiles(appName: string): readonly (readonly [path: string, text: string])[] {
  return [
    ["app.arc", `@app\n${appName}\n\n@http\nget /\n`],
    ["src/http/get-index/index.js", HANDLER],
    [TYPES_FILE, readTypes()],
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
