// From an app's source to the builds that it needs: files read, checked and hashed; every problem of every function at once.
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
import type { PlannedSite } from "../sites/site.ts";
import { collectFiles } from "./collect.ts";
import { syntaxProblems } from "./syntax.ts";

/** Everything that has to be made before a release of the app can go live. */
export interface AppPlan {
  readonly functions: readonly PlannedFunction[];
  readonly site: PlannedSite | null;
  readonly proxyUrls: AppSource["proxyUrls"];
  readonly variables: AppSource["variables"];
}

export interface PlannedFunction {
  readonly release: ReleaseFunction;
  readonly source: BuildSource;
}

export async function planApp(app: AppSource): Promise<AppPlan> {
  return { functions: await planBuilds(app), site: null, proxyUrls: app.proxyUrls, variables: app.variables };
}

export async function planBuilds(app: AppSource): Promise<PlannedFunction[]> {
  const outcomes = await Promise.all(app.functions.map(async (source) => planFunction(source, app).catch(asPlatformError)));
  const failures = outcomes.filter((outcome) => outcome instanceof PlatformError);
  const [first] = failures;
  if (first !== undefined) throw failures.length === 1 ? first : joined(failures, first);
  return outcomes.filter((outcome): outcome is PlannedFunction => !(outcome instanceof PlatformError));
}

async function planFunction(source: FunctionSource, app: AppSource): Promise<PlannedFunction> {
  const files = await collectFiles(source, app.folder);
  if (!files.some((file) => HANDLER_FILES.includes(file.path)))
    throw new PlatformError("HANDLER_MISSING", {
      detail: `${source.name} has none of ${HANDLER_FILES.join(", ")}.`,
      remedy: `Write ${source.name}/index.js with: exports.handler = async (request) => ({ statusCode: 200, body: "hello" });`,
    });
  const problems = await syntaxProblems(source.name, files);
  if (problems.length > 0)
    throw new PlatformError("FUNCTION_INVALID", {
      detail: `${source.name} has a syntax error.`,
      problems,
      remedy: "Mend the line that is named.",
    });
  const buildId = hashOf(source, files);
  return {
    source: { buildId, functionName: source.name, files },
    release: {
      name: source.name,
      method: source.method,
      path: source.path,
      generation: source.generation,
      buildId,
      concurrency: source.generation === "current" ? CONCURRENCY_CURRENT : CONCURRENCY_OLDER,
      timeoutMs: source.settings.timeoutMs ?? HANDLER_TIMEOUT_MS,
      memoryBytesMax: source.settings.memoryBytesMax ?? INSTANCE_MEMORY_BYTES_MAX,
      rawJson: app.settings.rawJson,
    },
  };
}

const HANDLER_FILES = ["index.mjs", "index.cjs", "index.js", "index.ts"];

/** The name counts too: it shows in stacks and logs, so two functions with equal files are two builds. */
function hashOf(source: FunctionSource, files: readonly BuildFile[]): string {
  const hash = createHash("sha256").update(source.name);
  for (const file of files) hash.update(`\0${file.path}\0${file.isExecutable ? "x" : "-"}\0${file.bytes.length}\0`).update(file.bytes);
  return hash.digest("hex").slice(0, 32);
}

function asPlatformError(cause: unknown): PlatformError {
  if (cause instanceof PlatformError) return cause;
  throw cause;
}

function joined(failures: readonly PlatformError[], first: PlatformError): PlatformError {
  const problems = failures.flatMap((failure) => [
    `${failure.code}: ${failure.detail.detail ?? ERRORS[failure.code].message}`,
    ...(failure.detail.problems ?? []),
  ]);
  const remedies = [...new Set(failures.flatMap((failure) => failure.detail.remedy ?? []))];
  return new PlatformError(first.code, { detail: `${failures.length} functions cannot be built.`, problems, remedy: remedies.join(" ") });
}
