// The runtime of one instance: puts the parts together, starts them, and decides what happens to errors that nobody caught.
import type { InstanceManifest } from "../contract/instance-manifest.ts";
import { INSTANCE_READY_TIMEOUT_MS } from "../contract/limits.ts";
import { connectBus, type Bus } from "./bus.ts";
import { ConfigError, setFunctionVariables, takeManifest } from "./config.ts";
import { functionFacts } from "./context.ts";
import { describeError } from "./describe-error.ts";
import { adapterFor } from "./generations/adapters.ts";
import { createHeldAnswers } from "./held-answers.ts";
import { createInvoker, currentRequest, currentRequestId, type Invoker } from "./invoke.ts";
import { offerLibrary, type OfferedLibrary } from "./lay-library.ts";
import { createLifecycle, reportFailure, type Lifecycle } from "./lifecycle.ts";
import { loadHandler, type LoadedHandler, type LoadFailure, type Handler } from "./load-handler.ts";
import { captureConsole, createLog, printAtOnce, printToStderr, type Log } from "./log.ts";
import { createSharedState, type SharedState } from "./shared-state.ts";
import { warmUp } from "./warm-up.ts";
import { startWatchdog } from "./watchdog-client.ts";

interface Instance {
  readonly manifest: InstanceManifest;
  readonly shared: SharedState;
  readonly log: Log;
  readonly connecting: Promise<Bus>;
  readonly offered: OfferedLibrary;
  serving: { readonly invoker: Invoker; readonly lifecycle: Lifecycle } | null;
  hasFailed: boolean; // It will not serve: it is saying why, and exits.
  isExiting: boolean;
}

async function run(): Promise<void> {
  const manifest = takeManifest();
  const shared = createSharedState();
  const connecting = connectBus(manifest.broker, { name: `instance ${manifest.instanceId}`, timeoutMs: INSTANCE_READY_TIMEOUT_MS });
  connecting.catch(() => undefined); // Awaited below; loading comes first.
  const offered = offerLibrary({ manifest, connecting, currentRequest });
  const log = createLog(shared);
  const instance: Instance = { manifest, shared, log, connecting, offered, serving: null, hasFailed: false, isExiting: false };
  captureConsole(instance.log, currentRequestId);
  setFunctionVariables(manifest);
  watchProcess(instance);

  await new Promise((resolve) => setImmediate(resolve)); // The connection is on its way before loading blocks this thread.
  const loadStartMs = performance.now();
  const loaded = await load(manifest.folder);
  const loadMs = Math.round(performance.now() - loadStartMs);
  const bus = await connecting;
  if (instance.hasFailed) return;
  if (loaded.kind === "failed") await giveUp(instance, bus, loaded);
  else await serve(instance, { bus, handler: loaded.handler, loadMs });
}

async function load(folder: string): Promise<LoadedHandler> {
  try {
    process.chdir(folder);
  } catch (thrown) {
    return { kind: "failed", code: "HANDLER_MISSING", ...describeError(thrown, folder) };
  }
  return loadHandler(folder);
}

async function serve(instance: Instance, parts: { bus: Bus; handler: Handler; loadMs: number }): Promise<void> {
  const { manifest, shared, log } = instance;
  const { bus } = parts;
  const publish = (subject: string, bytes: Uint8Array) => bus.publish(subject, bytes);
  // Half of the memory: bodies that slow clients leave waiting must not end the instance.
  const held = createHeldAnswers({ publish, bytesMax: manifest.memoryBytesMax / 2, nowMs: () => performance.now() });
  const facts = functionFacts(manifest);
  const invoker = createInvoker({
    handler: parts.handler,
    adapter: adapterFor(manifest),
    facts,
    concurrency: manifest.concurrency,
    folder: manifest.folder,
    log,
    held,
    shared,
    publish,
  });
  const replyPrefix = `o.${manifest.instanceId}.`;
  const lifecycle = createLifecycle({
    manifest,
    bus,
    invoker,
    held,
    shared,
    log,
    replyPrefix,
    settle: () => instance.offered.settle(),
    exit: (code) => exit(instance, code),
  });
  instance.serving = { invoker, lifecycle };
  await lifecycle.serve(parts.loadMs);
  // Not before now: a thread costs tens of milliseconds that no cold start should wait for.
  startWatchdog(manifest, {
    shared,
    replyPrefix,
    listener: { onAnswering: () => lifecycle.leavePingsToWatchdog(), onEnd: (reason) => loseWatchdog(instance, lifecycle, reason) },
  });
}

function loseWatchdog(instance: Instance, lifecycle: Lifecycle, reason: string): void {
  if (instance.isExiting || lifecycle.isRetiring()) return;
  instance.log.print("error", `The watchdog ended (${reason}): the instance retires.`, null);
  lifecycle.retire("the watchdog ended", 1);
}

async function giveUp(instance: Instance, bus: Bus, failure: LoadFailure): Promise<void> {
  instance.hasFailed = true;
  const { code, message, stack } = failure;
  printToStderr(`${code}: ${stack}`);
  await reportFailure(bus, { kind: "failed", instanceId: instance.manifest.instanceId, code, message, stack });
  exit(instance, 1);
}

function watchProcess(instance: Instance): void {
  const stop = (signal: string) => {
    if (instance.serving === null) exit(instance, 0);
    else instance.serving.lifecycle.retire(signal, 0);
  };
  process.on("SIGTERM", stop);
  process.on("SIGINT", stop);
  process.on("uncaughtException", (thrown: unknown) => takeUncaught(instance, thrown));
  process.on("unhandledRejection", (thrown: unknown) => takeUncaught(instance, thrown));
  process.on("exit", (code) => {
    const { serving, log } = instance;
    const lostCount = serving?.invoker.inFlightCount() ?? 0;
    if (!instance.isExiting)
      log.print("error", `The function ended its process with exit code ${code}, ${lostCount} of its requests unanswered.`, null);
    log.flushNow();
  });
}

/** The request that an error belongs to fails with it, the others finish; then a fresh instance takes over. */
function takeUncaught(instance: Instance, thrown: unknown): void {
  const { log, manifest, serving } = instance;
  const wasOfRequest = serving?.invoker.failCurrent(thrown) ?? false;
  const { message, stack } = describeError(thrown, manifest.folder);
  if (!wasOfRequest) log.print("error", `An error outside of any request: ${stack}`, null);
  if (serving !== null) serving.lifecycle.retire(`an error that nobody caught: ${message}`, 1);
  else if (!instance.hasFailed) failLoading(instance, { kind: "failed", code: "HANDLER_LOAD_FAILED", message, stack });
}

/** What a module starts while it loads may fail before anything was asked of it. */
function failLoading(instance: Instance, failure: LoadFailure): void {
  instance.hasFailed = true;
  const failed = instance.connecting.then((bus) => giveUp(instance, bus, failure));
  failed.catch(() => exit(instance, 1)); // Without a broker there is nobody to tell.
}

function exit(instance: Instance, code: number): void {
  instance.isExiting = true;
  process.exit(code); // The log is flushed by the listener of "exit".
}

function start(): Promise<void> {
  return process.argv[2] === "--warm" ? warmUp() : run();
}

start().catch((thrown: unknown) => {
  const text =
    thrown instanceof ConfigError
      ? thrown.problems.join("\n")
      : thrown instanceof Error
        ? (thrown.stack ?? thrown.message)
        : String(thrown);
  printAtOnce("error", `This instance could not start: ${text}`);
  printToStderr(`This instance could not start: ${text}`);
  process.exitCode = 1;
  process.exit();
});
