// orchestrator up [folder]: serves an app from a folder until it is told to stop.
import type { Command } from "commander";
import { tokenFile } from "../api/access.ts";
import { readAppFolder } from "../apps/app-folder.ts";
import { type AppRecord, readAppRecord, writeAppRecord } from "../apps/app-record.ts";
import type { AppSource } from "../apps/app-source.ts";
import { watchApp } from "../apps/watch.ts";
import { type AppPlan, planApp } from "../builds/build-plan.ts";
import { lackingPackages } from "../builds/lacking-packages.ts";
import { DEFAULT_API_PORT, type UpFlags, type UpSettings, environmentSettings, upSettings } from "../config.ts";
import { type Output, createOutput, outliveReaders } from "../log.ts";
import { type Platform, startPlatform } from "../platform.ts";
import type { DeployOutcome } from "../releases/deployer.ts";
import { readyLines, readyValue } from "./ready-block.ts";

export function addUp(program: Command): void {
  program
    .command("up")
    .description("Serves an app: builds its functions, keeps them warm, answers on a staging and a production address.")
    .argument("[folder]", "the app's folder", ".")
    .option("--engine <kind>", "what runs functions: auto, docker or process", "auto")
    .option("--generation <name>", "what functions speak: current, legacy or simple; kept for this app until it is given as: declared")
    .option("--staging-port <port>", "where staging answers", "3333")
    .option("--production-port <port>", "where production answers", "3334")
    .option("--api-port <port>", "where the management API answers", String(DEFAULT_API_PORT))
    .option("--nats <url>", "a nats-server of your own (see: orchestrator nats config)")
    .option("--home <dir>", "where state is kept (default: .orchestrator in the app's folder)")
    .option("--trust-proxy <range...>", "addresses of proxies whose x-forwarded-* headers are believed")
    .option("--promote", "also promote to production what was just deployed to staging")
    .option("--no-watch", "do not rebuild when files change")
    .option("--json", "print JSON, one object per line")
    .addHelpText(
      "after",
      "\nExamples:\n  orchestrator up\n  orchestrator up examples/hello --promote\n  orchestrator up --engine process --staging-port 8080",
    )
    .action(async (folder: string, flags: UpFlags) => {
      const settings = upSettings(folder, flags);
      await up(settings, createOutput({ isJson: settings.isJson, isColored: process.stdout.isTTY && !environmentSettings().noColor }));
    });
}

async function up(settings: UpSettings, output: Output): Promise<void> {
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
  try {
    if (settings.generation !== null) await writeAppRecord(settings.home, record);
    // A stop that comes while things start is heard between two steps, and takes back what there is.
    const whole = planned.isComplete ? planned : await wholePlan(platform, app, stop);
    if (whole !== null && !stop.isAsked()) await deployUnlessStopped(settings, { app, planned: whole, platform, output }, stop);
    const isWatching = settings.isWatching && whole !== null && !stop.isAsked();
    const watching = isWatching ? reloadOnChange({ settings, record, platform, output, stop, app, warnings, planned: whole }) : null;
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
async function wholePlan(platform: Platform, app: AppSource, stop: StopSignal): Promise<AppPlan | null> {
  const planning = platform.plan(app);
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
  readonly output: Output;
}

async function deploy(settings: UpSettings, { app, planned, platform, output }: Deploying): Promise<void> {
  const { outcome, seconds } = await timed(async () => platform.publish(planned));
  showOutcome(output, outcome, `staging runs ${countOf(planned.functions.length, "function")}, ready after ${seconds} s`);
  if (settings.isPromoting) showOutcome(output, await platform.promote(), "production runs the same builds");
  const site = planned.site === null ? null : Object.keys(planned.site.index.files).length;
  const facts = {
    settings,
    app,
    engineLine: platform.engineLine,
    isPromoted: platform.isPromoted(),
    sizedSite: site === null ? null : { fileCount: site, answersRoot: planned.site?.snapshot.answersRoot ?? false },
  };
  output.facts("ready", readyLines(facts), readyValue(facts));
  if (platform.newToken !== null) showToken(settings, platform.newToken, output);
  platform.settle().catch((error: unknown) => output.error(error)); // What it could not do now is done when it is needed.
}

/** Once, where a platform is new. */
function showToken({ home }: UpSettings, token: string, output: Output): void {
  const file = tokenFile(home);
  const lines = [
    "  The token of this platform's management API, shown this once:",
    `  ${token}`,
    `  Commands on this machine find it in ${file}.`,
    "",
  ];
  output.facts("token", lines, { token, file });
}

interface StopSignal {
  readonly asked: Promise<void>;
  isAsked(): boolean;
}

/** The first Ctrl-C or SIGTERM asks. A third one ends the process at once; what it leaves is cleaned up at the next start. */
function stopSignal(onAsked: () => void): StopSignal {
  let count = 0;
  const asked = new Promise<void>((done) => {
    const onSignal = (): void => {
      count += 1;
      if (count > 2) process.exit(130); // A shell and npm may both pass on one Ctrl-C, so two are one.
      if (count > 1) return;
      onAsked();
      done();
    };
    process.on("SIGINT", onSignal).on("SIGTERM", onSignal).on("SIGHUP", onSignal);
  });
  return { asked, isAsked: () => count > 0 };
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

function reloadOnChange({ settings, record, platform, output, stop, app: first, warnings, planned: firstPlan }: Watching): {
  close(): void;
} {
  let known = idsOf(firstPlan);
  let warned = warnings;
  let isBusy = false;
  let isDirty = false;
  const reload = async (): Promise<void> => {
    const app = await readAppFolder(settings.appFolder, record);
    watch.include(app.watchedFolders);
    const found = await warningsOf(app);
    if (found.join("\n") !== warned.join("\n")) warnOf(found, output);
    warned = found;
    const planned = await platform.plan(app);
    const ids = idsOf(planned);
    if (ids === known) return; // Saved without a change, or a file that no function ships.
    const { outcome, seconds } = await timed(async () => platform.publish(planned));
    known = ids;
    showOutcome(
      output,
      outcome,
      `reloaded ${outcome.builtNames.length === 0 ? app.appName : outcome.builtNames.join(", ")} in ${seconds} s`,
    );
  };
  const changed = (): void => {
    isDirty = true;
    if (isBusy) return;
    isBusy = true;
    const turns = async (): Promise<void> => {
      while (isDirty) {
        isDirty = false;
        // A broken state between two saves is shown; what is live stays live.
        await reload().catch((error: unknown) => {
          if (!stop.isAsked()) output.error(error);
        });
      }
      isBusy = false;
    };
    void turns(); // It catches every error itself.
  };
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
