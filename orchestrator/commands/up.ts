// Serves an app from a folder until it is told to stop: builds it, shows where it answers, builds it again when files change.
import assert from "node:assert/strict";
import { readAppFolder } from "../apps/app-folder.ts";
import { type AppRecord, readAppRecord, writeAppRecord } from "../apps/app-record.ts";
import type { AppSource } from "../apps/app-source.ts";
import { watchApp } from "../apps/watch.ts";
import { type AppPlan, planApp } from "../builds/build-plan.ts";
import { lackingPackages } from "../builds/lacking-packages.ts";
import type { UpSettings } from "../config.ts";
import { type Output, outliveReaders } from "../log.ts";
import { type FolderApp, type Platform, startPlatform } from "../platform/platform.ts";
import type { DeployOutcome } from "../releases/deployer.ts";
import { readyLines, readyValue } from "./ready-block.ts";
import { createReloading } from "./reloading.ts";
import { showToken } from "./show-token.ts";
import { type StopSignal, stopSignal } from "./stop-signal.ts";

export async function up(settings: UpSettings, output: Output): Promise<void> {
  outliveReaders();
  const stop = stopSignal(() => output.step("stopping: what was begun is finished first"));
  // What is wrong with the app is said before anything is started.
  const record = await recordOf(settings);
  const app = await readAppFolder(settings.appFolder, record);
  const warnings = await warningsOf(app);
  warnOf(warnings, output);
  const planned = await planApp(app);
  if (stop.isAsked()) return;
  const platform = await startPlatform(settings, app, output);
  const { folderApp } = platform;
  assert(folderApp !== null, "it was started for an app");
  try {
    if (settings.generation !== null) await writeAppRecord(settings.home, record);
    // A stop that comes while things start is heard between two steps, and takes back what there is.
    const whole = planned.isComplete ? planned : await wholePlan(folderApp, app, stop);
    if (whole !== null && !stop.isAsked()) await deployUnlessStopped(settings, { app, planned: whole, platform, folderApp, output }, stop);
    const isWatching = settings.isWatching && whole !== null && !stop.isAsked();
    const watching = isWatching
      ? reloadOnChange({ settings, record, platform, folderApp, output, stop, app, warnings, planned: whole })
      : null;
    await stop.asked;
    watching?.close();
  } finally {
    await platform.stop();
  }
  output.facts("stopped", ["stopped; nothing is left running"], {});
}

/** A stop does not wait for functions that take their time to start. */
async function deployUnlessStopped(settings: UpSettings, deploying: Deploying, stop: StopSignal): Promise<void> {
  void stop.asked.then(() => deploying.platform.giveUp()); // It never fails.
  await deploy(settings, deploying).catch((cause: unknown) => {
    if (!stop.isAsked()) throw cause;
  });
}

/** Null where a stop was asked for before packages were installed, which may take minutes. */
async function wholePlan(folderApp: FolderApp, app: AppSource, stop: StopSignal): Promise<AppPlan | null> {
  const planning = folderApp.plan(app);
  planning.catch(() => undefined); // Where a stop comes first, nobody asks for it any more.
  return Promise.race([planning, stop.asked.then(() => null)]);
}

/** What was said now, or what was said last. */
async function recordOf({ generation, home }: UpSettings): Promise<AppRecord> {
  if (generation === null) return readAppRecord(home);
  return { generation: generation === "declared" ? null : generation };
}

const warningsOf = async (app: AppSource): Promise<readonly string[]> => [...app.warnings, ...(await lackingPackages(app))];

function warnOf(warnings: readonly string[], output: Output): void {
  for (const warning of warnings) output.warn(warning);
}

interface Deploying {
  readonly app: AppSource;
  readonly planned: AppPlan;
  readonly platform: Platform;
  readonly folderApp: FolderApp;
  readonly output: Output;
}

async function deploy(settings: UpSettings, { app, planned, platform, folderApp, output }: Deploying): Promise<void> {
  const { outcome, seconds } = await timed(async () => folderApp.publish(planned));
  showOutcome(output, outcome, `staging runs ${countOf(planned.functions.length, "function")}, ready after ${seconds} s`);
  if (settings.isPromoting) showOutcome(output, await folderApp.promote(), "production runs the same builds");
  const site = planned.site === null ? null : Object.keys(planned.site.index.files).length;
  const facts = {
    settings,
    app,
    engineLine: platform.engineLine,
    isPromoted: folderApp.isPromoted(),
    sizedSite: site === null ? null : { fileCount: site, answersRoot: planned.site?.snapshot.answersRoot ?? false },
  };
  output.facts("ready", readyLines(facts), readyValue(facts));
  if (platform.newToken !== null) showToken({ home: settings.home, token: platform.newToken }, output);
  platform.settle().catch((error: unknown) => output.error(error)); // What it could not do now is done when it is needed.
}

function showOutcome(output: Output, outcome: DeployOutcome, text: string): void {
  output.step(text);
  for (const failure of outcome.failures)
    output.warn(`${outcome.environment}: ${failure.functionName} does not start and is tried again: ${failure.code}: ${failure.message}`);
}

interface Watching extends Deploying {
  readonly settings: UpSettings;
  readonly record: AppRecord;
  readonly stop: StopSignal;
  readonly warnings: readonly string[]; // That were shown.
}

type Read = Pick<Deploying, "app" | "planned">;

function reloadOnChange({ settings, record, folderApp, output, stop, app: first, warnings, planned: firstPlan }: Watching): {
  close(): void;
} {
  let known = idsOf(firstPlan);
  let warned = warnings;
  const read = async (): Promise<Read> => {
    const app = await readAppFolder(settings.appFolder, record);
    watch.include(app.watchedFolders);
    const found = await warningsOf(app);
    if (found.join("\n") !== warned.join("\n")) warnOf(found, output);
    warned = found;
    return { app, planned: await folderApp.plan(app) };
  };
  const use = async ({ app, planned }: Read): Promise<void> => {
    const ids = idsOf(planned);
    if (ids === known) return; // Saved without a change, or a file that no function ships.
    const { outcome, seconds } = await timed(async () => folderApp.publish(planned));
    known = ids;
    showOutcome(
      output,
      outcome,
      `reloaded ${outcome.builtNames.length === 0 ? app.appName : outcome.builtNames.join(", ")} in ${seconds} s`,
    );
  };
  // A broken state between two saves is shown; what is live stays live.
  const onError = (error: unknown): void => {
    if (!stop.isAsked()) output.error(error);
  };
  const changed = createReloading({ read, use, isQuiet: () => watch.isQuiet(), onError });
  const watch = watchApp(settings.appFolder, changed, (error) => output.warn(`files are no longer watched: ${error.message}`));
  watch.include(first.watchedFolders);
  changed(); // What was saved after the first build was read, and before files were watched, is found now.
  return watch;
}

const idsOf = ({ functions, site, proxyUrls, variables }: AppPlan): string =>
  JSON.stringify([functions.map((one) => one.release), site?.snapshot, proxyUrls, variables]);

const countOf = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;

async function timed<Value>(work: () => Promise<Value>): Promise<{ outcome: Value; seconds: string }> {
  const startMs = performance.now();
  const outcome = await work();
  return { outcome, seconds: ((performance.now() - startMs) / 1000).toFixed(2) };
}
