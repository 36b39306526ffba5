// Takes a source through its steps: verify, install, build, lint, test, deploy. The first one that fails ends it, and what is live stays.
import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import {
  BUILDER_CPU_COUNT_MAX,
  BUILDER_DISK_BYTES_MAX,
  BUILDER_MEMORY_BYTES_MAX,
  BUILDER_PID_COUNT_MAX,
  STEP_TIMEOUT_MS,
} from "../../runtime-image/contract/limits.ts";
import { readAppFolder } from "../apps/app-folder.ts";
import type { AppSource } from "../apps/app-source.ts";
import { type AppPlan, type BuildTools, planApp } from "../builds/build-plan.ts";
import type { Clock } from "../clock.ts";
import type { Builder, BuilderOutcome, Engine } from "../engines/engine.ts";
import type { HostedApp } from "../hosting/hosted-app.ts";
import { npmDevelopmentArguments, npmRunArguments } from "../npm/npm-command.ts";
import type { OwnNpm } from "../npm/own-npm.ts";
import { makeRelease } from "../releases/make-release.ts";
import type { UsedBuilds } from "../releases/used-builds.ts";
import type { Delivery, Step } from "./delivery.ts";
import { NO_SCRIPTS, type OwnScripts, SCRIPTS, type Script, ownScriptsIn } from "./own-scripts.ts";

export interface DeliveryWork {
  readonly delivery: Delivery;
  readonly app: HostedApp;
  readonly folder: string; // Absolute, its own, not there yet; removed by whoever asked for this.
  readonly checkOut: (options: { readonly into: string; readonly signal: AbortSignal }) => Promise<unknown>;
  readonly tools: (progress: (line: string) => void) => BuildTools;
  readonly npm: () => Promise<OwnNpm | null>;
  readonly engine: Pick<Engine, "build" | "openBuilder">;
  readonly clock: Clock;
  readonly used: Pick<UsedBuilds, "during">;
  readonly sitesFolder: string;
  readonly signal: AbortSignal;
  readonly isWanted: () => boolean; // Asked right before it goes live.
  readonly onRecorded: () => void;
  readonly report: StepReport;
}

/** Who is told how it goes. */
export interface StepReport {
  began(step: Step): Promise<void>;
  over(step: Step, state: "done" | "skipped"): Promise<void>;
  line(step: Step, text: string): void;
}

/** Resolves with the release that is live; everything else throws. */
export async function runDelivery(work: DeliveryWork): Promise<string> {
  const source = join(work.folder, "source");
  await rm(work.folder, { recursive: true, force: true });
  await mkdir(work.folder, { recursive: true, mode: 0o700 });
  const { own, verified } = await inStep(work, "verify", async () => {
    await work.checkOut({ into: source, signal: work.signal });
    const found = await scriptsIn(source);
    return { own: found, verified: await verify(work, source, { mayBeMade: found.scripts.includes("build") }) };
  });
  const plan = own.scripts.length === 0 ? await installAlone(work, { folder: source, verified }) : null;
  const built = plan === null ? await runScripts(work, { source, own }) : source;
  return inStep(work, "deploy", async () => {
    const whole = plan ?? (await planned(work, { folder: built, step: "deploy" }));
    return work.used.during(async (use) => deploy(work, { plan: whole, onUse: use }));
  });
}

async function inStep<Value>({ report, signal }: DeliveryWork, step: Step, act: () => Promise<Value>): Promise<Value> {
  signal.throwIfAborted();
  await report.began(step);
  const value = await act();
  signal.throwIfAborted();
  await report.over(step, "done");
  return value;
}

async function scriptsIn(folder: string): Promise<OwnScripts> {
  const text = await readFile(join(folder, "package.json"), "utf8").catch(() => null);
  // One that is broken is the manifest reader's to refuse, in better words.
  return text === null ? NO_SCRIPTS : (ownScriptsIn(text) ?? NO_SCRIPTS);
}

/** What a build script makes may be missing now; it is looked for again when that has run. */
async function verify(work: DeliveryWork, folder: string, { mayBeMade }: { readonly mayBeMade: boolean }): Promise<AppPlan | null> {
  try {
    return await planApp(await readSource(work, { folder, step: "verify" }));
  } catch (thrown) {
    const cause = withoutFolder(thrown, folder);
    if (!mayBeMade || !(cause instanceof PlatformError)) throw cause;
    for (const text of [cause.message, ...(cause.detail.problems ?? [])])
      work.report.line("verify", `${text} (looked at again after the build)`);
    return null;
  }
}

interface Place {
  readonly folder: string;
  readonly step: Step;
}

async function readSource(work: DeliveryWork, { folder, step }: Place): Promise<AppSource> {
  const app = await readAppFolder(folder);
  for (const warning of app.warnings) work.report.line(step, warning);
  return app;
}

/** Where the source lies on this machine is of no interest to who sent it. */
function withoutFolder(cause: unknown, folder: string): unknown {
  if (!(cause instanceof PlatformError)) return cause;
  const shown = (text: string): string => text.replaceAll(`${folder}/`, "").replaceAll(folder, "The source");
  const { detail, remedy, problems } = cause.detail;
  return new PlatformError(
    cause.code,
    {
      ...(detail === undefined ? {} : { detail: shown(detail) }),
      ...(remedy === undefined ? {} : { remedy: shown(remedy) }),
      ...(problems === undefined ? {} : { problems: problems.map(shown) }),
    },
    { cause },
  );
}

async function planned(work: DeliveryWork, place: Place): Promise<AppPlan> {
  try {
    return await planApp(
      await readSource(work, place),
      work.tools((line) => work.report.line(place.step, line)),
    );
  } catch (cause) {
    throw withoutFolder(cause, place.folder);
  }
}

/** Without scripts, what is installed are the packages that functions reach, where they reach any. */
async function installAlone(
  work: DeliveryWork,
  { folder, verified }: { readonly folder: string; readonly verified: AppPlan | null },
): Promise<AppPlan> {
  const isWhole = verified?.isComplete === true;
  const plan = isWhole ? verified : await inStep(work, "install", async () => planned(work, { folder, step: "install" }));
  for (const step of isWhole ? (["install", ...SCRIPTS] as const) : SCRIPTS) await work.report.over(step, "skipped");
  return plan;
}

/** The app's own scripts, in a closed place. The answer is the folder with what they made. */
async function runScripts(work: DeliveryWork, { source, own }: { readonly source: string; readonly own: OwnScripts }): Promise<string> {
  const npm = await work.npm();
  if (npm === null)
    throw new PlatformError("INSTALL_FAILED", {
      detail: `The app has scripts (${own.scripts.join(", ")}), and this machine has no npm to run them.`,
      remedy: "Install npm on the platform's machine.",
    });
  const builder = await work.engine.openBuilder({
    id: work.delivery.deliveryId.replaceAll("-", "x"),
    folder: source,
    npm,
    signal: work.signal,
    limits: {
      memoryBytesMax: BUILDER_MEMORY_BYTES_MAX,
      cpuCountMax: BUILDER_CPU_COUNT_MAX,
      pidCountMax: BUILDER_PID_COUNT_MAX,
      diskBytesMax: BUILDER_DISK_BYTES_MAX,
    },
  });
  try {
    await installAll(work, { builder, source, own });
    for (const script of SCRIPTS)
      if (own.scripts.includes(script)) await inStep(work, script, async () => runScript(work, builder, script));
      else await work.report.over(script, "skipped");
    if (!own.scripts.includes("build")) return source;
    const made = join(work.folder, "built");
    await builder.takeOut(made);
    return made;
  } finally {
    await builder.close();
  }
}

async function installAll(
  work: DeliveryWork,
  { builder, source, own }: { readonly builder: Builder; readonly source: string; readonly own: OwnScripts },
): Promise<void> {
  if (!own.needsPackages) return work.report.over("install", "skipped");
  await inStep(work, "install", async () => {
    const hasLock = await isThere(join(source, "package-lock.json"));
    const allowsScripts = await readAppFolder(source).then(
      ({ settings }) => settings.allowsInstallScripts,
      () => false, // Its folder is not whole before the build; then nothing says so.
    );
    await run(work, builder, { step: "install", args: npmDevelopmentArguments({ hasLock, allowsScripts }), what: "npm" });
  });
}

const runScript = async (work: DeliveryWork, builder: Builder, script: Script): Promise<void> =>
  run(work, builder, { step: script, args: npmRunArguments(script), what: `npm run ${script}` });

interface Call {
  readonly step: Step;
  readonly args: readonly string[];
  readonly what: string;
}

async function run(work: DeliveryWork, builder: Builder, { step, args, what }: Call): Promise<void> {
  const outcome = await builder.runNpm({
    args,
    timeoutMs: STEP_TIMEOUT_MS,
    signal: work.signal,
    onLine: (line) => work.report.line(step, line),
  });
  work.signal.throwIfAborted();
  const problem = problemOf(outcome);
  if (problem !== null)
    throw new PlatformError("STEP_FAILED", {
      detail: `${step}: ${what} ${problem}.`,
      remedy: "Its last lines say why; what is live stays live.",
    });
}

function problemOf(outcome: BuilderOutcome): string | null {
  switch (outcome.kind) {
    case "ended":
      return outcome.exitCode === 0 ? null : `ended with exit code ${outcome.exitCode}`;
    case "timed-out":
      return `took longer than ${STEP_TIMEOUT_MS / 60_000} minutes`;
    case "cancelled":
      return "was cancelled";
    case "out-of-memory":
      return `took more memory than the ${BUILDER_MEMORY_BYTES_MAX / 1_048_576} MB that it may`;
    case "disk-full":
      return `wrote more than the ${BUILDER_DISK_BYTES_MAX / 1_048_576} MB that it may`;
  }
}

interface PlannedDeploy {
  readonly plan: AppPlan;
  readonly onUse: (buildId: string) => void;
}

async function deploy(work: DeliveryWork, { plan, onUse }: PlannedDeploy): Promise<string> {
  const { app, delivery, engine, clock, sitesFolder } = work;
  const { release, builtNames } = await makeRelease(plan, { appId: app.appId, engine, onUse, clock, sitesFolder });
  const functionCount = new Set(plan.functions.map((one) => one.release.name)).size;
  const rest = builtNames.length === functionCount ? "" : ", the others were there";
  work.report.line("deploy", `${builtNames.length} of ${functionCount} function${functionCount === 1 ? "" : "s"} built${rest}`);
  for (const name of builtNames) work.report.line("deploy", `built ${name}`);
  const { deliveryId, by, source } = delivery;
  const { failures } = await app.deployer.deploy(release, {
    folder: plan.variables,
    origin: { by, commit: source.commit, message: source.message, deliveryId },
    isWanted: work.isWanted,
    onRecorded: work.onRecorded,
  });
  for (const { functionName, code, message } of failures)
    work.report.line("deploy", `${functionName} does not start and is tried again: ${code}: ${message}`);
  return release.releaseId;
}

const isThere = async (path: string): Promise<boolean> =>
  readFile(path).then(
    () => true,
    () => false,
  );
