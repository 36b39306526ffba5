// What a function's build is made of before anything installed is looked at: its own files, shared code, compiled TypeScript.
import { join, relative, sep } from "node:path";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import type { AppSource, FunctionSource, SharedPackage } from "../apps/app-source.ts";
import { SCRIPT_ENTRIES, TYPED_ENTRIES } from "../apps/function-entries.ts";
import type { StaticNames } from "../sites/site.ts";
import { findSources, readSources } from "./collect.ts";
import { bundleEntry, isTypeScript, syntaxProblems } from "./compile.ts";
import { LIBRARY_PACKAGES, packagesOf } from "./library-stubs.ts";
import { nearestPackage, reducedPackage } from "./packages.ts";
import { mayReachOut } from "./reach.ts";
import { type SharedCode, importOfShared, sharedFolderOf, sourceNameProblems } from "./shared-code.ts";
import { assertSize } from "./size.ts";

export interface FunctionParts {
  readonly source: FunctionSource;
  readonly files: readonly PartFile[];
  /** Code whose imports count: what only tests or types need is not among it. */
  readonly code: readonly PartFile[];
  readonly mayReachOut: boolean;
}

export interface PartFile {
  readonly path: string; // Relative to the app's root, as it ships.
  readonly bytes: Uint8Array;
  readonly isExecutable: boolean;
  readonly absolute: string | null; // Where these very bytes lie; null where they were made here.
}

export interface AppCode {
  readonly app: AppSource;
  readonly shared: ReadonlyMap<SharedPackage, SharedCode>;
  readonly staticNames: StaticNames | null;
}

export async function readParts(source: FunctionSource, { app, shared, staticNames }: AppCode): Promise<FunctionParts> {
  const found = await findSources(source, app.folder);
  const pathOf = (path: string): string => (source.name === "" ? path : `${source.name}/${path}`);
  assertSize(
    source.name,
    found.map((file) => ({ ...file, path: pathOf(file.path) })),
    app.settings.functionBytesMax,
  );
  const typedEntry = typedEntryOf(
    source,
    found.map((file) => file.path),
  );
  const own = (await readSources(found)).map((file): PartFile => ({ ...file, path: pathOf(file.path) }));
  const problems = await syntaxProblems(own);
  problems.push(
    ...sourceNameProblems(
      own.filter((file) => CODE.test(file.path) && !isTypeScript(file.path)),
      shared,
    ),
  );
  const compiled = typedEntry === null || problems.length > 0 ? null : await compileEntry(source, app, typedEntry);
  problems.push(...(compiled?.problems ?? []));
  if (problems.length > 0)
    throw new PlatformError("FUNCTION_INVALID", {
      detail: `${source.name} has a mistake.`,
      problems,
      remedy: "Mend the line that is named.",
    });
  const ownPackage = own.some((file) => file.path === pathOf("package.json")) ? [] : await inheritedPackage(source, app);
  const visible = source.packages.flatMap((name) => sharedFiles(source, shared.get(name)));
  const written = [...own, ...(compiled?.files ?? []), ...visible];
  const files = [...ownPackage, ...written, ...staticMap(source, written, staticNames)];
  const code = written.filter((file) => isCode(file.path, { hasTypedEntry: typedEntry !== null }));
  return { source, files: withoutRepeats(files), code, mayReachOut: code.some((file) => reachesOut(file, source)) };
}

/** A later file of the same path takes the place of an earlier one. */
const withoutRepeats = (files: readonly PartFile[]): PartFile[] => [...new Map(files.map((file) => [file.path, file])).values()];

/** The TypeScript that the handler is in; null where it is in JavaScript. */
function typedEntryOf(source: FunctionSource, paths: readonly string[]): string | null {
  if (SCRIPT_ENTRIES.some((name) => paths.includes(name))) return null;
  const typed = TYPED_ENTRIES.find((name) => paths.includes(name));
  if (typed !== undefined) return typed;
  throw new PlatformError("HANDLER_MISSING", {
    detail: `${source.name} has none of ${[...SCRIPT_ENTRIES, ...TYPED_ENTRIES].join(", ")}.`,
    remedy: `Write ${source.name}/index.js with: exports.handler = async (request) => ({ statusCode: 200, body: "hello" });`,
  });
}

async function compileEntry(
  source: FunctionSource,
  app: AppSource,
  entry: string,
): Promise<{ readonly files: readonly PartFile[]; readonly problems: readonly string[] }> {
  const packaged = await nearestPackage(source.folder, app.folder);
  const outcome = await bundleEntry(join(source.folder, entry), {
    appFolder: app.folder,
    packageType: packaged?.fields["type"],
    importOf: (absolute) => importOf(absolute, source, app),
    sharedFolder: (name) => (source.packages.some((seen) => seen === name) ? sharedFolderOf(app)(name) : undefined),
  });
  if (outcome.kind === "failed") return { files: [], problems: outcome.problems };
  // Found by the runtime before the TypeScript, which stays for whoever reads it.
  const name = outcome.output.isModule ? "index.mjs" : "index.cjs";
  const path = source.name === "" ? name : `${source.name}/${name}`;
  return { files: [{ path, bytes: outcome.output.bytes, isExecutable: false, absolute: null }], problems: [] };
}

/** TypeScript and JSON become part of the entry. JavaScript stays where it is, where it may look for files beside it. */
function importOf(absolute: string, source: FunctionSource, app: AppSource): string | null {
  if (absolute.endsWith(".json")) return null;
  const shared = importOfShared(
    absolute,
    app.shared.filter((one) => source.packages.includes(one.packageName)),
  );
  if (shared !== null) return shared;
  if (isTypeScript(absolute) || !/\.(?:[cm]?js|node)$/.test(absolute)) return null;
  const path = slashed(relative(source.folder, absolute));
  return path.startsWith(".") ? path : `./${path}`;
}

/** Whether ".js" means ES module is said by the nearest package.json, which may lie above the function's folder. */
async function inheritedPackage(source: FunctionSource, app: AppSource): Promise<PartFile[]> {
  const packaged = await nearestPackage(join(source.folder, ".."), app.folder);
  if (packaged === null) return [];
  const path = slashed(relative(app.folder, join(packaged.folder, "package.json")));
  return [{ path, bytes: reducedPackage(packaged.fields), isExecutable: false, absolute: null }];
}

const sharedFiles = (source: FunctionSource, code: SharedCode | undefined): PartFile[] =>
  (code?.files ?? []).map((file) => ({ ...file, path: `${packageFolder(source, code?.source.packageName ?? "")}/${file.path}` }));

export const packageFolder = (source: FunctionSource, packageName: string): string =>
  `${source.name === "" ? "" : `${source.name}/`}node_modules/${packageName}`;

/** Where functions of the originals find the names of fingerprinted files. Only for code that may ask, because it changes often. */
function staticMap(source: FunctionSource, written: readonly PartFile[], names: StaticNames | null): PartFile[] {
  if (names === null || !written.some((file) => CODE.test(file.path) && Buffer.from(file.bytes).includes("static"))) return [];
  const path = `${packageFolder(source, "@architect/shared")}/static.json`;
  return [{ path, bytes: Buffer.from(`${JSON.stringify(names)}\n`), isExecutable: false, absolute: null }];
}

const CODE = /\.(?:[cm]?js|[cm]?ts)$/;
const TEST_CODE = /(?:^|\/)(?:tests?|__tests__)\/|\.(?:test|spec)\.[^/]+$/;

function isCode(path: string, { hasTypedEntry }: { readonly hasTypedEntry: boolean }): boolean {
  if (!CODE.test(path) || /\.d\.[^/]*ts$/.test(path) || TEST_CODE.test(path)) return false;
  return !(hasTypedEntry && isTypeScript(path)); // What is needed of it is part of the compiled entry.
}

const KNOWN_PACKAGES = new Set([...LIBRARY_PACKAGES, "@architect/shared", "@architect/views"]);

function reachesOut(file: PartFile, source: FunctionSource): boolean {
  const inner = source.name === "" ? file.path : file.path.slice(source.name.length + 1);
  const ship = /^node_modules\/@architect\/(?:shared|views)\/(.*)$/.exec(inner)?.[1] ?? inner;
  const isKnown = (specifier: string): boolean => packagesOf(`node_modules/${specifier}`).some((name) => KNOWN_PACKAGES.has(name));
  return mayReachOut(Buffer.from(file.bytes).toString("utf8"), { path: ship, isKnown });
}

const slashed = (path: string): string => path.split(sep).join("/");
