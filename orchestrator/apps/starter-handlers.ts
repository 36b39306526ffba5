// The handler that a new route begins with: it answers at once, shows what it was sent, and says where it lives. Pure.
import type { AppGeneration } from "./manifest.ts";
import type { KindOfRoute } from "./manifest-piece.ts";
import { type RouteKind, titleOf } from "./new-route.ts";

export interface StarterPlan {
  readonly route: KindOfRoute & { readonly kind: RouteKind };
  readonly generation: AppGeneration; // Of a function in src/http.
  readonly isModule: boolean; // ES module, else CommonJS.
  readonly file: string; // Where it will be, relative to the app's folder.
  readonly namedBy: string; // What makes it a route, as a sentence: a manifest, or the folder's name.
}

/** A new route holds nothing that JavaScript or HTML would read as its own. */
export function starterHandler(plan: StarterPlan): string {
  const { route, isModule, namedBy } = plan;
  const exported = isModule ? "export const handler" : "exports.handler";
  const isPage = route.kind === "html" || (route.kind === "http" && route.method === "GET");
  const head = `// Answers ${titleOf(route)}; ${namedBy}.\n${importOf(plan)}`;
  return isPage ? `${head}${exported} = ${pageAnswer(plan)};\n${pageOf(plan)}` : `${head}${exported} = ${dataAnswer(plan)};\n`;
}

function importOf({ route: { kind }, isModule }: StarterPlan): string {
  if (kind === "http") return "";
  return isModule ? `import { ${kind} } from "@architect/functions";\n\n` : `const { ${kind} } = require("@architect/functions");\n\n`;
}

function pageAnswer({ route, generation }: StarterPlan): string {
  if (route.kind === "html")
    return `html.${route.method.toLowerCase()}((req, res) => res({ html: page({ ...req.params, ...req.query }) }))`;
  return PAGES[generation];
}

function dataAnswer(plan: StarterPlan): string {
  if (plan.route.kind === "http") return DATA[plan.generation](plan);
  return `json.${plan.route.method.toLowerCase()}((req, res) => {
  res({
    json: {
${fieldsOf(plan, { spaces: 6, sent: "{ ...req.params, ...req.query }", length: "JSON.stringify(req.body ?? null).length" })}
    },
  });
})`;
}

interface FieldsShape {
  readonly spaces: number;
  readonly sent: string;
  readonly length: string;
}

/** What an answer that is data says, a field per line. */
function fieldsOf({ route, file }: StarterPlan, { spaces, sent, length }: FieldsShape): string {
  const fields = { ok: "true", route: JSON.stringify(titleOf(route)), file: JSON.stringify(file), sent, bodyLength: length };
  return Object.entries(fields)
    .map(([name, value]) => `${" ".repeat(spaces)}${name}: ${value},`)
    .join("\n");
}

const NOT_KEPT = `"cache-control": "no-cache, no-store, must-revalidate, max-age=0, s-maxage=0",`;

const PAGE = `async (request) => ({
  statusCode: 200,
  headers: {
    "content-type": "text/html; charset=utf-8",
    ${NOT_KEPT}
  },
  body: page({ ...request.pathParameters, ...request.queryStringParameters }),
})`;

const PAGES: Record<AppGeneration, string> = {
  current: PAGE,
  legacy: PAGE,
  simple: `async (request) => ({
  type: "text/html; charset=utf-8",
  body: page({ ...request.params, ...request.query }),
})`,
};

const payloadData = (plan: StarterPlan): string => `async (request) => {
  const body = Buffer.from(request.body ?? "", request.isBase64Encoded ? "base64" : "utf8");
  return {
    statusCode: 200,
    headers: {
      "content-type": "application/json; charset=utf-8",
      ${NOT_KEPT}
    },
    body: JSON.stringify({
${fieldsOf(plan, { spaces: 6, sent: "{ ...request.pathParameters, ...request.queryStringParameters }", length: "body.length" })}
    }),
  };
}`;

const DATA: Record<AppGeneration, (plan: StarterPlan) => string> = {
  current: payloadData,
  legacy: payloadData,
  simple: (plan) => `async (request) => ({
  type: "application/json; charset=utf-8",
  body: JSON.stringify({
${fieldsOf(plan, { spaces: 4, sent: "{ ...request.params, ...request.query }", length: "JSON.stringify(request.body ?? null).length" })}
  }),
})`,
};

const pageOf = ({ route, file }: StarterPlan): string => `
function page(sent) {
  const lines = Object.entries(sent).map(([name, value]) => \`<li>\${escapeHtml(name)}: \${escapeHtml(String(value))}</li>\`);
  return \`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width">
    <title>${titleOf(route)}</title>
  </head>
  <body>
    <h1>${titleOf(route)}</h1>
    <ul>\${lines.join("")}</ul>
    <p>This page comes from <code>${file}</code>.</p>
  </body>
</html>
\`;
}

function escapeHtml(text) {
  return text.replace(/[&<>"']/g, (character) => \`&#\${character.charCodeAt(0)};\`);
}
`;
