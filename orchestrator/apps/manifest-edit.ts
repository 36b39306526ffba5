// Writes a manifest with one route more or less. Whatever an edit does, it counts only if the result, read again, says just that. Pure.
import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import type { ManifestFile } from "./manifest-files.ts";
import { arcWithRoute, arcWithoutRoute } from "./manifest-edit-arc.ts";
import { jsonWithRoute, jsonWithoutRoute } from "./manifest-edit-json.ts";
import { yamlWithRoute, yamlWithoutRoute } from "./manifest-edit-yaml.ts";
import { type KindOfRoute, isSameRoute } from "./manifest-piece.ts";
import { type ManifestRoute, readRoutes } from "./manifest-routes.ts";
import { type ManifestFormat, type RawManifest, parseManifestText } from "./manifest-text.ts";
import { isManifest, isRecord } from "./pragmas.ts";
import { nameOf } from "./routes.ts";

/** Null where the manifest's form leaves no safe way. Of several ways, one that withoutRoute() takes back to the byte is preferred. */
export function withRoute(file: ManifestFile, route: KindOfRoute): string | null {
  const [before, form, body] = [contentOf(file), FORMS[file.format], bodyOf(file)];
  const after = { ...before, routes: [...before.routes, { ...route, source: null }] };
  const edits = form.withRoute(body, route);
  const isRight = (text: string): boolean => says({ ...file, text }, after, route);
  const isTakenBack = (text: string): boolean => form.withoutRoute({ ...file, text }, route)[0] === body.text;
  return marked(file, edits.find((text) => isTakenBack(text) && isRight(text)) ?? edits.find(isRight));
}

export function withoutRoute(file: ManifestFile, route: KindOfRoute): string | null {
  const before = contentOf(file);
  const after = { ...before, routes: before.routes.filter((one) => !isSameRoute(one, route)) };
  const edits = FORMS[file.format].withoutRoute(bodyOf(file), route);
  return marked(
    file,
    edits.find((text) => says({ ...file, text }, after, route)),
  );
}

/** What to write by hand where there is no safe way, as the end of a sentence. */
export function lineFor(format: ManifestFormat, route: KindOfRoute): string {
  const [method, path] = [route.method.toLowerCase(), route.path];
  switch (format) {
    case "arc":
      return `below @${route.kind} the line: ${nameOf(route)}`;
    case "json":
      return `to the list "${route.kind}": ["${method}", "${path}"]`;
    case "yaml":
      return `to the list below ${route.kind}: the line: - ${method}: ${path}`;
  }
}

interface Form {
  withRoute(file: ManifestFile, route: KindOfRoute): string[];
  withoutRoute(file: ManifestFile, route: KindOfRoute): string[];
}

const FORMS: Record<ManifestFormat, Form> = {
  arc: {
    withRoute: ({ text }, route) => arcWithRoute(text, route),
    withoutRoute: ({ text }, route) => arcWithoutRoute(text, route),
  },
  json: { withRoute: jsonWithRoute, withoutRoute: jsonWithoutRoute },
  yaml: {
    withRoute: ({ text }, route) => yamlWithRoute(text, route),
    withoutRoute: ({ text }, route) => yamlWithoutRoute(text, route),
  },
};

const MARK = "\uFEFF"; // Some editors begin a file with it.

const bodyOf = (file: ManifestFile): ManifestFile => (file.text.startsWith(MARK) ? { ...file, text: file.text.slice(1) } : file);

const marked = (file: ManifestFile, text: string | undefined): string | null =>
  text === undefined ? null : file.text.startsWith(MARK) ? MARK + text : text;

interface Content {
  readonly pragmas: RawManifest;
  readonly routes: readonly ManifestRoute[];
  readonly rest: unknown; // What of a package.json is not the manifest.
}

/** Throws where something is wrong with a route. */
function contentOf(file: ManifestFile): Content {
  const pragmas = pragmasOf(file);
  const findings = { problems: [], warnings: [] };
  const routes = readRoutes(pragmas, findings);
  assert(findings.problems.length === 0, "only a manifest without problems is edited");
  return { pragmas, routes, rest: restOf(file) };
}

/** Whether a file has these routes, and nothing else of it has changed. */
function says(file: ManifestFile, wanted: Content, { kind }: KindOfRoute): boolean {
  const others = ({ pragmas }: Content) => Object.entries(pragmas).filter(([name]) => name !== kind);
  const parts = (content: Content) => [namesOf(content.routes), others(content), content.rest].map((part) => JSON.stringify(part));
  try {
    const content = contentOf(file);
    return isManifest(content.pragmas) && isDeepStrictEqual(parts(content), parts(wanted));
  } catch {
    return false; // It cannot even be read.
  }
}

function pragmasOf({ text, format, key }: ManifestFile): RawManifest {
  if (key === null) return parseManifestText(text, format);
  const content: unknown = JSON.parse(text);
  return parseManifestText(JSON.stringify(isRecord(content) ? content[key] : null), format);
}

function restOf({ text, key }: ManifestFile): unknown {
  if (key === null) return null;
  const content: unknown = JSON.parse(text);
  return isRecord(content) ? { ...content, [key]: null } : content;
}

const namesOf = (routes: readonly ManifestRoute[]): string[] =>
  routes.map((route) => `${route.kind} ${nameOf(route)} ${JSON.stringify(route.source)}`).toSorted();
