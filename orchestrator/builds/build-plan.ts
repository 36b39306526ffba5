// From an app's source to everything that its release needs: files read, checked and hashed; every problem of every function at once.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { ERRORS, PlatformError } from "../../runtime-image/contract/errors.ts";
import {
  CONCURRENCY_CURRENT,
  CONCURRENCY_OLDER,
  HANDLER_TIMEOUT_MS,
  INSTANCE_MEMORY_BYTES_MAX,
} from "../../runtime-image/contract/limits.ts";
import type { AppSource, FunctionSource } from "../apps/app-source.ts";
import type { BuildFile, BuildSource } from "../engines/engine.ts";
import type { ReleaseFunction } from "../releases/release.ts";
import { planSite } from "../sites/plan-site.ts";
import { answersRoot } from "../sites/answers-root.ts";
import { type PlannedSite, staticMap } from "../sites/site.ts";
import { type AppCode, type FunctionParts, readParts } from "./function-parts.ts";
import { LIBRARY_STUBS } from "./library-stubs.ts";
import { type Install, findModules } from "./modules.ts";
import { reachedFiles } from "./reached-files.ts";
import { readSharedCode } from "./shared-code.ts";
import { assertSize } from "./size.ts";
import type { PackageMemory } from "./trace.ts";
import type { Workspace } from "./workspace.ts";

/** Everything that has to be made before a release of the app can go live. */
export interface AppPlan {
  readonly functions: readonly PlannedFunction[];
  readonly site: PlannedSite | null;
  readonly proxyUrls: AppSource["proxyUrls"];
  readonly variables: AppSource["variables"];
  /** False where functions use packages, and the plan was made without the tools to find those: it tells of mistakes, and no more. */
  readonly isComplete: boolean;
}

export interface PlannedFunction {
  readonly release: ReleaseFunction;
  readonly source: BuildSource;
}

/** What it takes to find the packages that functions use. */
export interface BuildTools {
  readonly workspace: Workspace;
  readonly memory: PackageMemory;
  readonly install: Install;
}

export async function planApp(app: AppSource, tools: BuildTools | null = null): Promise<AppPlan> {
  const [site] = await Promise.allSettled([planSite(app.site, { answersRoot: answersRoot(app.functions) })]);
  const staticNames = site.status === "fulfilled" ? staticMap(site.value) : null;
  // Where the static files are wrong already, nothing is installed to find out what else is.
  const [builds] = await Promise.allSettled([
    readSharedCode(app).then(async (shared) => planBuilds({ app, shared, staticNames }, site.status === "fulfilled" ? tools : null)),
  ]);
  if (site.status === "rejected" || builds.status === "rejected") throw together([site, builds], "The app cannot be built.");
  const { functions, isComplete } = builds.value;
  return { functions, site: site.value, proxyUrls: app.proxyUrls, variables: app.variables, isComplete };
}

async function planBuilds(
  code: AppCode,
  tools: BuildTools | null,
): Promise<{ readonly functions: readonly PlannedFunction[]; readonly isComplete: boolean }> {
  const { app } = code;
  const parts = await everyOne(app.functions, async (source) => readParts(source, code));
  const reaching = parts.filter((one) => one.mayReachOut);
  const modules = await findModules(
    app,
    reaching.map((one) => one.source),
    tools === null ? null : tools.install,
  );
  const reached = tools === null ? [] : await reachedFiles({ app, parts: reaching, modules, ...tools });
  const outcomes = await everyOne(parts, async (one) => {
    const position = reaching.indexOf(one);
    return planFunction(one, position < 0 ? [] : (reached[position] ?? []), app);
  });
  return { functions: outcomes, isComplete: tools !== null || reaching.length === 0 };
}

function planFunction({ source, files }: FunctionParts, reached: readonly BuildFile[], app: AppSource): PlannedFunction {
  const shipped = [...files, ...reached]
    .map(({ path, bytes, isExecutable, ...rest }): BuildFile => ({ path, bytes, isExecutable, ...linkOf(rest) }))
    .toSorted((a, b) => (a.path < b.path ? -1 : 1));
  assertSize(
    source.name,
    shipped.map(({ path, bytes }) => ({ path, byteCount: bytes.length })),
    app.settings.functionBytesMax,
  );
  const all = [...shipped, ...LIBRARY_STUBS];
  const buildId = hashOf(source, all);
  return { source: { buildId, functionName: source.name, files: all }, release: releaseOf(source, buildId, app) };
}

const linkOf = (file: object): Pick<BuildFile, "linksTo"> =>
  "linksTo" in file && typeof file.linksTo === "string" ? { linksTo: file.linksTo } : {};

function releaseOf(source: FunctionSource, buildId: string, app: AppSource): ReleaseFunction {
  return {
    name: source.name,
    method: source.method,
    path: source.path,
    generation: source.generation,
    buildId,
    concurrency: source.settings.concurrency ?? (source.generation === "current" ? CONCURRENCY_CURRENT : CONCURRENCY_OLDER),
    timeoutMs: source.settings.timeoutMs ?? HANDLER_TIMEOUT_MS,
    memoryBytesMax: source.settings.memoryBytesMax ?? INSTANCE_MEMORY_BYTES_MAX,
    rawJson: app.settings.rawJson,
    bareQuery: app.settings.bareQuery,
    ...(source.settings.seesVariables === false ? { seesVariables: false } : {}),
  };
}

/** The name counts too: it shows in stacks and logs, so two functions with equal files are two builds. */
function hashOf(source: FunctionSource, files: readonly BuildFile[]): string {
  const hash = createHash("sha256").update(source.name);
  for (const { path, bytes, isExecutable, linksTo } of files)
    hash.update(`\0${path}\0${linksTo ?? ""}\0${isExecutable ? "x" : "-"}\0${bytes.length}\0`).update(bytes);
  return hash.digest("hex").slice(0, 32);
}

/** Does it for every item, and throws one error for all that failed: no function's problems hide another's. */
async function everyOne<Item, Output>(items: readonly Item[], work: (item: Item) => Promise<Output>): Promise<Output[]> {
  const outcomes = await Promise.allSettled(items.map(work));
  const failedCount = outcomes.filter((outcome) => outcome.status === "rejected").length;
  if (failedCount > 0) throw together(outcomes, `${failedCount} functions cannot be built.`);
  return outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
}

/** One error for everything that failed; the detail is that of several. */
function together(outcomes: readonly PromiseSettledResult<unknown>[], detail: string): PlatformError {
  const failures = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [asPlatformError(outcome.reason)] : []));
  const [first] = failures;
  assert(first !== undefined, "something failed");
  return failures.length === 1 ? first : joined(failures, { code: first.code, detail });
}

function asPlatformError(cause: unknown): PlatformError {
  if (cause instanceof PlatformError) return cause;
  throw cause;
}

function joined(
  failures: readonly PlatformError[],
  { code, detail }: Pick<PlatformError, "code"> & { readonly detail: string },
): PlatformError {
  const problems = failures.flatMap((failure) => [
    `${failure.code}: ${failure.detail.detail ?? ERRORS[failure.code].message}`,
    ...(failure.detail.problems ?? []),
  ]);
  const remedies = [...new Set(failures.flatMap((failure) => failure.detail.remedy ?? []))];
  return new PlatformError(code, { detail, problems, remedy: remedies.join(" ") });
}
