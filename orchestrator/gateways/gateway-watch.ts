// Looks after a gateway that runs: notices who listens in its place, has it replaced when asked, and starts it again when it ended.
import { setTimeout as delay } from "node:timers/promises";
import type { GatewayConfig } from "../../runtime-image/contract/gateway-config.ts";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { BACKOFF_MAX_MS } from "../../runtime-image/contract/limits.ts";
import { systemClock } from "../clock.ts";
import { writeFileAtomic } from "../processes/atomic-file.ts";
import { adoptDetached, readState } from "../processes/detached.ts";
import { type Identity, isAlive } from "../processes/identity.ts";
import { configText, gatewayProcesses, writtenConfig } from "./gateway-files.ts";
import { boundGatewayLog } from "./gateway-log.ts";
import { restartDelayMs } from "./gateway-plan.ts";
import { launchGateway, listeningGateway, type Place, stopGateways, succeedGateway, untilReady } from "./running-gateway.ts";

export interface GatewayWatch {
  /** A fresh process in the place of the one that runs, without a failed request. Where it fails, the one that runs serves on. */
  restart(): Promise<void>;
  stop(): Promise<void>;
  /** Stops looking after it; it keeps running. */
  release(): void;
}

export interface WatchParts {
  readonly place: Place;
  readonly wanted: GatewayConfig;
  readonly report: (text: string) => void;
}

const WATCH_INTERVAL_MS = 100; // Nobody listens until an end is noticed. A look costs some 0.05 ms.
const LISTENER_CHECK_INTERVAL_MS = 1_000; // Anyone who may signal it can have it replaced.
const TAKE_OVER_GRACE_MS = 1_000; // One that was given the sockets in the last moment has yet to say that it listens.
const POLL_MS = 30;

/** The process is the one that listens. */
export async function watchGateway(listening: Identity, { place, wanted, report }: WatchParts): Promise<GatewayWatch> {
  const { environment, files } = place;
  const over = new AbortController();
  const replaced = new Set<number>(); // Pids of those that only finish what they had.
  let current = listening;
  let startedEpochMs = systemClock.nowEpochMs();
  let checkedEpochMs = startedEpochMs;
  let end: { readonly count: number; readonly startAgainEpochMs: number } = { count: 0, startAgainEpochMs: 0 };
  let isEndKnown = false;
  let turn: Promise<unknown> = Promise.resolve();

  /** Looking after it and having it replaced never happen at once. */
  const inTurn = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const done = turn.then(work);
    turn = done.catch(() => undefined); // Whoever asked for the work hears of it.
    return done;
  };
  const follow = async (identity: Identity): Promise<void> => {
    if (identity.pid !== current.pid) replaced.add(current.pid);
    replaced.delete(identity.pid);
    current = identity;
    startedEpochMs = systemClock.nowEpochMs();
    isEndKnown = false;
    await adoptDetached(files.state, identity);
  };
  const checkListener = async (): Promise<void> => {
    checkedEpochMs = systemClock.nowEpochMs();
    const now = await listeningGateway(place);
    if (now !== null && now.identity.pid !== current.pid) await follow(now.identity);
  };
  const isInItsPlace = async (): Promise<boolean> => {
    const deadlineEpochMs = systemClock.nowEpochMs() + TAKE_OVER_GRACE_MS;
    do {
      if ((await gatewayProcesses(files)).every(({ pid }) => replaced.has(pid))) return false;
      await checkListener();
      if (await isAlive(current)) return true;
      await delay(POLL_MS);
    } while (systemClock.nowEpochMs() < deadlineEpochMs);
    return false;
  };
  const noteEnd = (): void => {
    const nowEpochMs = systemClock.nowEpochMs();
    const count = nowEpochMs - startedEpochMs > BACKOFF_MAX_MS ? 1 : end.count + 1;
    end = { count, startAgainEpochMs: nowEpochMs + restartDelayMs(count) };
    isEndKnown = true;
  };
  const startAgain = async (): Promise<void> => {
    if ((await writtenConfig(files)) === null) await writeFileAtomic(files.config, configText(wanted).text, 0o600);
    startedEpochMs = systemClock.nowEpochMs();
    try {
      const launched = await launchGateway(place);
      current = launched.identity;
      isEndKnown = false;
      await untilReady(place, launched);
    } catch (cause) {
      report(String(cause));
      if (!isEndKnown && (await isAlive(current))) return; // It takes its time.
      noteEnd();
    }
  };
  const look = async (): Promise<void> => {
    if (await isAlive(current)) {
      if (systemClock.nowEpochMs() - checkedEpochMs < LISTENER_CHECK_INTERVAL_MS) return;
      await checkListener();
      await boundGatewayLog(files.log);
      return;
    }
    if (!isEndKnown) {
      if (await isInItsPlace()) return;
      noteEnd();
      report(`the gateway of ${environment} ended; it is started again`);
    }
    if (systemClock.nowEpochMs() >= end.startAgainEpochMs && !over.signal.aborted) await startAgain();
  };
  const lookAgainAndAgain = async (): Promise<void> => {
    while (!over.signal.aborted) {
      await inTurn(look).catch((cause: unknown) => {
        if (!over.signal.aborted) report(`the gateway of ${environment} could not be looked after: ${String(cause)}`);
      });
      await delay(WATCH_INTERVAL_MS, undefined, { signal: over.signal }).catch(() => undefined); // Told to end.
    }
  };
  if ((await readState(files.state))?.identity.pid !== current.pid) await adoptDetached(files.state, current);
  const watching = lookAgainAndAgain();

  return {
    restart: () =>
      inTurn(async () => {
        const before = await listeningGateway(place);
        if (before === null)
          throw new PlatformError("GATEWAY_FAILED", {
            detail: `The gateway of ${environment} does not answer.`,
            remedy: `It is started again where it ended. Its log: ${files.log}`,
          });
        await follow((await succeedGateway(place, before)).identity);
      }),
    async stop() {
      over.abort();
      await stopGateways(place); // Also one whose hand-over is awaited.
      await Promise.all([watching, turn]);
      await stopGateways(place); // Also one that was just being started.
    },
    release: () => over.abort(),
  };
}
