// The deliveries of all apps: taken in, run a few at a time, followed, cancelled, and begun again after the death of an orchestrator.
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { ERRORS, PlatformError } from "../../runtime-image/contract/errors.ts";
import {
  DELIVERY_COUNT_AT_ONCE,
  DELIVERY_COUNT_KEPT,
  DELIVERY_COUNT_WAITING_MAX,
  DELIVERY_TRY_COUNT_MAX,
} from "../../runtime-image/contract/limits.ts";
import type { BuildShop } from "../builds/build-tools.ts";
import type { Clock } from "../clock.ts";
import type { Engine } from "../engines/engine.ts";
import type { Hosting } from "../hosting/hosting.ts";
import type { HostedApp } from "../hosting/hosted-app.ts";
import { beingStopped } from "../ongoing.ts";
import { createPlaces } from "../places.ts";
import type { UsedBuilds } from "../releases/used-builds.ts";
import { createTurn } from "../turn.ts";
import {
  type Delivery,
  type DeliverySource,
  type Ending,
  type LogEvent,
  type StepRecord,
  begun,
  ended,
  isOver,
  newDelivery,
  postponed,
  withStep,
} from "./delivery.ts";
import type { DeliveryBook } from "./delivery-book.ts";
import type { DeliveryLog, DeliveryLogs } from "./delivery-log.ts";
import { type StepReport, runDelivery } from "./run-delivery.ts";

export interface Deliveries {
  /** Recorded when this resolves: from then on it is finished by this orchestrator or the next. */
  begin(order: DeliveryOrder): Promise<BegunDelivery>;
  /** Newest first. */
  list(app: HostedApp): Promise<readonly Delivery[]>;
  /** Throws DELIVERY_NOT_FOUND. */
  find(deliveryId: string): Promise<Delivery>;
  /** What its log says so far, and a way to hear the rest, where it goes on. */
  log(deliveryId: string): Promise<FollowedLog>;
  /** Resolves when it is over. Throws DELIVERY_OVER where it was already. */
  cancel(deliveryId: string): Promise<Delivery>;
  /** Begins again what the last orchestrator did not finish. */
  resume(): Promise<void>;
  /** Ends an app's deliveries and forgets them. */
  removeApp(app: HostedApp): Promise<void>;
  /** Nothing new is begun; what runs is broken off, for the next orchestrator to begin again. */
  close(): Promise<void>;
}

export interface DeliveryOrder {
  readonly app: HostedApp;
  readonly source: DeliverySource;
  readonly by: string;
  readonly checkOut: CheckOut;
}

export type CheckOut = (options: { readonly into: string; readonly signal: AbortSignal }) => Promise<unknown>;

export interface BegunDelivery {
  readonly delivery: Delivery;
  readonly over: Promise<Delivery>; // Never rejects.
  follow(hear: (event: LogEvent) => void): () => void;
}

export interface FollowedLog {
  readonly events: readonly LogEvent[];
  readonly follow: ((hear: (event: LogEvent) => void) => () => void) | null; // Null where it is over.
}

export interface DeliveriesParts {
  readonly folder: string; // Absolute, in the home.
  readonly hosting: Pick<Hosting, "app" | "byId">;
  readonly book: DeliveryBook;
  readonly logs: DeliveryLogs;
  readonly shop: BuildShop;
  readonly engine: Pick<Engine, "build" | "openBuilder">;
  readonly used: Pick<UsedBuilds, "during">;
  readonly clock: Clock;
  readonly sitesFolder: string;
  /** From the app's repository. */
  readonly checkOut: (delivery: Delivery) => CheckOut;
  readonly report: (error: unknown) => void;
}

interface Running {
  delivery: Delivery;
  readonly app: HostedApp;
  readonly log: DeliveryLog;
  readonly cancelling: AbortController;
  readonly over: Promise<Delivery>;
}

export function createDeliveries(parts: DeliveriesParts): Deliveries {
  return new PlatformDeliveries(parts);
}

class PlatformDeliveries implements Deliveries {
  readonly #parts: DeliveriesParts;
  readonly #running = new Map<string, Running>();
  readonly #places = createPlaces(DELIVERY_COUNT_AT_ONCE);
  readonly #deployed = new Map<string, number>(); // The highest number of each app that went live.
  readonly #closing = new AbortController();

  constructor(parts: DeliveriesParts) {
    this.#parts = parts;
  }

  async begin({ app, source, by, checkOut }: DeliveryOrder): Promise<BegunDelivery> {
    if (this.#closing.signal.aborted) throw beingStopped();
    if (this.#running.size >= DELIVERY_COUNT_WAITING_MAX)
      throw new PlatformError("DELIVERY_QUEUE_FULL", {
        detail: `${this.#running.size} are on their way.`,
        remedy: "Try again in a while.",
      });
    const number = await this.#parts.book.nextNumber(app.appId);
    const createdEpochMs = this.#parts.clock.nowEpochMs();
    const delivery = newDelivery({ appId: app.appId, app: app.name, number, source, by, createdEpochMs });
    await this.#parts.book.keep(delivery);
    return this.#start(delivery, { app, checkOut });
  }

  async list(app: HostedApp): Promise<readonly Delivery[]> {
    return (await this.#parts.book.list(app.appId)).map((one) => this.#running.get(one.deliveryId)?.delivery ?? one);
  }

  async find(deliveryId: string): Promise<Delivery> {
    const running = this.#running.get(deliveryId);
    if (running !== undefined) return running.delivery;
    const [, name = "", number = ""] = /^(.+)-(\d{1,9})$/.exec(deliveryId) ?? [];
    const found = name === "" ? null : await this.#parts.book.find(this.#parts.hosting.app(name).appId, Number(number)).catch(() => null);
    if (found !== null) return found;
    throw new PlatformError("DELIVERY_NOT_FOUND", {
      detail: `"${deliveryId.slice(0, 64)}".`,
      remedy: "orchestrator deliveries shows those that there are.",
    });
  }

  async log(deliveryId: string): Promise<FollowedLog> {
    const running = this.#running.get(deliveryId);
    if (running !== undefined) return { events: running.log.events, follow: (hear) => running.log.follow(hear) };
    await this.find(deliveryId);
    return { events: await this.#parts.logs.read(deliveryId), follow: null };
  }

  async cancel(deliveryId: string): Promise<Delivery> {
    const running = this.#running.get(deliveryId);
    if (running === undefined) {
      const { state } = await this.find(deliveryId);
      throw new PlatformError("DELIVERY_OVER", { detail: `${deliveryId} is ${state}.` });
    }
    running.cancelling.abort();
    return running.over;
  }

  async resume(): Promise<void> {
    for (const delivery of await this.#parts.book.unfinished()) {
      const app = this.#parts.hosting.byId(delivery.appId);
      if (app === null) await this.#forget(delivery);
      else await this.#start(delivery, { app, checkOut: this.#parts.checkOut(delivery) });
    }
  }

  async removeApp(app: HostedApp): Promise<void> {
    const own = [...this.#running.values()].filter((one) => one.app.appId === app.appId);
    for (const { cancelling } of own) cancelling.abort();
    await Promise.all(own.map(async ({ over }) => over));
    for (const { deliveryId } of await this.#parts.book.list(app.appId)) await this.#parts.logs.remove(deliveryId);
    await this.#parts.book.clear(app.appId);
    this.#deployed.delete(app.appId);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    for (const { cancelling } of this.#running.values()) cancelling.abort();
    await Promise.all([...this.#running.values()].map(async ({ over }) => over));
  }

  async #start(delivery: Delivery, { app, checkOut }: { readonly app: HostedApp; readonly checkOut: CheckOut }): Promise<BegunDelivery> {
    const log = await this.#parts.logs.begin(delivery.deliveryId);
    const cancelling = new AbortController();
    let settle: (delivery: Delivery) => void = () => undefined;
    const over = new Promise<Delivery>((resolve) => (settle = resolve));
    const running: Running = { delivery, app, log, cancelling, over };
    this.#running.set(delivery.deliveryId, running);
    const finish = async (): Promise<void> => {
      await this.#places(async (place) => this.#run(running, { place, checkOut })).catch(this.#parts.report);
      await log.close().catch(this.#parts.report);
      this.#running.delete(delivery.deliveryId);
      settle(running.delivery);
      await this.#forgetOld(app).catch(this.#parts.report);
    };
    void finish(); // It catches every error itself.
    return { delivery, over, follow: (hear) => hearAll(log, hear) };
  }

  async #run(running: Running, { place, checkOut }: { readonly place: number; readonly checkOut: CheckOut }): Promise<void> {
    const { book, report } = this.#parts;
    const keep = createTurn();
    const change = async (next: (before: Delivery) => Delivery): Promise<void> =>
      keep(async () => {
        running.delivery = next(running.delivery);
        await book.keep(running.delivery);
      });
    if (this.#closing.signal.aborted) return;
    try {
      await change(begun);
      const ending =
        running.delivery.tryCount > DELIVERY_TRY_COUNT_MAX ? GIVEN_UP : await this.#endingOf(running, { place, checkOut, change });
      if (ending === null) return await change(postponed); // The next orchestrator begins it again.
      await change((before) => ended(before, ending));
      running.log.add({ kind: "end", ...ending });
    } catch (cause) {
      report(cause); // Its record could not be written: it stays open, and is begun again.
      const { message: detail } = ERRORS.INTERNAL;
      running.log.add({ kind: "end", state: "red", releaseId: null, detail, problems: [], remedy: null });
    }
  }

  /** Null where the orchestrator is being stopped in the middle of it. */
  async #endingOf(running: Running, { place, checkOut, change }: RunOrder): Promise<Ending | null> {
    const { folder, shop, engine, used, clock, sitesFolder } = this.#parts;
    const { app, log, delivery } = running;
    const own = join(folder, delivery.deliveryId);
    const { signal } = running.cancelling;
    const latest = await this.#latestDeployed(app);
    try {
      const releaseId = await runDelivery({
        delivery,
        app,
        folder: own,
        checkOut,
        tools: (progress) => shop.tools(`delivery-${place}`, progress),
        npm: async () => shop.npm(),
        engine,
        used,
        clock,
        sitesFolder,
        signal,
        isWanted: () => !signal.aborted && delivery.number > (this.#deployed.get(app.appId) ?? latest),
        onRecorded: () => void this.#deployed.set(app.appId, delivery.number),
        report: stepReport(log, change, clock),
      });
      return { state: "green", releaseId, detail: null, problems: [], remedy: null };
    } catch (cause) {
      if (this.#closing.signal.aborted) return null;
      await failStep(running, { change, log });
      if (signal.aborted) return { ...NOTHING, state: "cancelled", detail: "It was cancelled; what is live stays live." };
      return this.#failureOf(cause);
    } finally {
      await rm(own, { recursive: true, force: true }).catch(this.#parts.report);
    }
  }

  #failureOf(cause: unknown): Ending {
    if (!(cause instanceof PlatformError)) {
      this.#parts.report(cause);
      return { ...NOTHING, state: "red", detail: ERRORS.INTERNAL.message };
    }
    const { problems = [], remedy = null } = cause.detail;
    const state = cause.code === "DEPLOY_SUPERSEDED" ? "superseded" : "red";
    return { releaseId: null, state, detail: `${cause.code}: ${cause.message}`, problems: [...problems], remedy };
  }

  async #latestDeployed(app: HostedApp): Promise<number> {
    const known = this.#deployed.get(app.appId);
    if (known !== undefined) return known;
    const green = (await this.#parts.book.list(app.appId)).find((one) => one.state === "green");
    return green?.number ?? 0;
  }

  async #forgetOld(app: HostedApp): Promise<void> {
    const over = (await this.#parts.book.list(app.appId)).filter(isOver).slice(DELIVERY_COUNT_KEPT);
    for (const delivery of over) await this.#forget(delivery);
  }

  async #forget(delivery: Delivery): Promise<void> {
    await this.#parts.logs.remove(delivery.deliveryId); // First: without its record nobody would look for it again.
    await this.#parts.book.forget(delivery);
  }
}

type Change = (next: (before: Delivery) => Delivery) => Promise<void>;

interface RunOrder {
  readonly place: number;
  readonly checkOut: CheckOut;
  readonly change: Change;
}

const NOTHING = { releaseId: null, detail: null, problems: [], remedy: null } as const;

const GIVEN_UP: Ending = {
  ...NOTHING,
  state: "red",
  detail: `It was begun ${DELIVERY_TRY_COUNT_MAX} times, and the orchestrator ended each time before it was over.`,
  remedy: "Look into the platform's own log for why, then deploy again.",
};

function stepReport(log: DeliveryLog, change: Change, clock: Clock): StepReport {
  let beganEpochMs = 0;
  const record = async (one: StepRecord): Promise<void> => {
    log.add({ kind: "step", ...one });
    await change((before) => withStep(before, one));
  };
  return {
    async began(step) {
      beganEpochMs = clock.nowEpochMs();
      await record({ step, state: "running", durationMs: null });
    },
    over: async (step, state) => record({ step, state, durationMs: state === "done" ? clock.nowEpochMs() - beganEpochMs : null }),
    line: (step, text) => log.line(step, text),
  };
}

/** The step that was on its way is the one that failed. */
async function failStep(running: Running, { change, log }: { readonly change: Change; readonly log: DeliveryLog }): Promise<void> {
  const step = running.delivery.steps.find((one) => one.state === "running");
  if (step === undefined) return;
  const failed: StepRecord = { ...step, state: "failed" };
  log.add({ kind: "step", ...failed });
  await change((before) => withStep(before, failed));
}

/** What there is, then what comes. */
function hearAll(log: DeliveryLog, hear: (event: LogEvent) => void): () => void {
  for (const event of log.events) hear(event);
  return log.follow(hear);
}
