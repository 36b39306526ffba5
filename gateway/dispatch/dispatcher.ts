// Carries the requests of one app to its instances: least busy first, a bounded queue, and no waiting for the dead.
import { decodeEnvelope, encodeEnvelope, type AnswerHeader } from "../../runtime-image/contract/envelope.ts";
import { ERRORS, isErrorCode, type ErrorCode } from "../../runtime-image/contract/errors.ts";
import {
  PROBE_AFTER_MS,
  PROBE_INTERVAL_MS,
  QUEUE_COUNT_MAX,
  QUEUE_TIMEOUT_MS,
  REDELIVERY_COUNT_MAX,
  WATCHDOG_GRACE_MS,
} from "../../runtime-image/contract/limits.ts";
import type { FunctionSnapshot } from "../../runtime-image/contract/snapshot.ts";
import { answerSubject, pingSubject } from "../../runtime-image/contract/subjects.ts";
import type { Clock } from "../clock.ts";
import { routeKeyOf } from "../routing/table.ts";
import { createInstance, pickInstance, type Instance } from "./instance.ts";
import { isIdempotent, type Job } from "./job.ts";
import { createFlight, createPool, type Flight, type Pool } from "./pool.ts";
import { createProbes } from "./probes.ts";
import { createPulls } from "./pulls.ts";
import { readPong } from "./pong.ts";

export type Way = "small" | "bulk";

/** The links of one app: one for small messages, and a second one so that large bodies do not stand before them. */
export interface Links {
  isUp(way: Way): boolean;
  /** The second link comes up only when something needs it. */
  openBulk(): void;
  receiverId(way: Way): string;
  publish(way: Way, message: { readonly subject: string; readonly replyTo: string; readonly bytes: Uint8Array }): void;
}

export interface Message {
  readonly subject: string;
  readonly bytes: Uint8Array;
  readonly isUndelivered: boolean;
}

export interface Dispatcher {
  update(functions: readonly FunctionSnapshot[]): void;
  submit(key: string, job: Job): void;
  onMessage(message: Message): void;
  onUp(way: Way): void;
  onDown(way: Way): void;
  sweep(now: { readonly nowMs: number; readonly blockedMs: number }): void;
  /** Hands over what waits, for a dispatcher that takes this one's place. */
  takeQueued(): { readonly key: string; readonly job: Job }[];
  /** Whether nothing is on its way any more. */
  isIdle(): boolean;
}

export interface DispatcherParts {
  readonly links: Links;
  readonly clock: Clock;
  readonly onError: (message: string, cause: unknown) => void;
}

const BULK_BODY_BYTES_MIN = 262_144; // Larger request bodies take the second link.
const SLOW_AFTER_TIMEOUT_MS = WATCHDOG_GRACE_MS * 2; // By then a blocked instance was ended by its watchdog.

export function createDispatcher({ links, clock, onError }: DispatcherParts): Dispatcher {
  const pools = new Map<string, Pool>();
  const instances = new Map<string, Instance>();
  const pending = new Map<number, Flight>(); // By sequence.
  const probes = createProbes();
  let outbox: Flight[] = [];
  let lastSequence = 0;

  const nextSequence = (): number => ++lastSequence;
  const replyTo = (instance: Instance, way: Way, sequence: string): string =>
    answerSubject({ instanceId: instance.id, receiverId: links.receiverId(way), sequence });

  const pulls = createPulls({
    clock,
    bus: {
      get isUp() {
        return links.isUp("bulk");
      },
      open: links.openBulk,
      nextSequence,
      send: (instance, { subject, sequence, bytes }) => links.publish("bulk", { subject, bytes, replyTo: replyTo(instance, "bulk", String(sequence)) }),
    },
  });

  // From here on: a flight's way out.

  const place = (flight: Flight): void => {
    const { pool } = flight;
    const nowMs = clock.nowMs();
    const instance = pool.queue.length === 0 && links.isUp("small") ? pick(pool, flight, nowMs) : null;
    if (instance !== null) return assign(flight, instance);
    if (pool.instances.length === 0 && pool.served.failure !== undefined) return failFailing(flight);
    if (pool.queue.length >= QUEUE_COUNT_MAX) return flight.job.fail("NO_CAPACITY", `${QUEUE_COUNT_MAX} requests wait already.`);
    flight.queuedUntilMs = nowMs + QUEUE_TIMEOUT_MS;
    pool.queue.push(flight);
  };

  const pick = (pool: Pool, flight: Flight, nowMs: number): Instance | null => {
    pool.next = (pool.next + 1) % Math.max(1, pool.instances.length);
    return pickInstance(pool.instances, { concurrency: pool.served.concurrency, bodyBytes: flight.job.body.length, nowMs, first: pool.next });
  };

  const assign = (flight: Flight, instance: Instance): void => {
    flight.instance = instance;
    flight.isSent = false;
    flight.sequence = nextSequence();
    instance.requestCount++;
    instance.requestBytes += flight.job.body.length;
    pending.set(flight.sequence, flight);
    outbox.push(flight);
    // One turn of the event loop, one write: most of the time on this path goes into writes.
    if (outbox.length === 1) setImmediate(sendOutbox);
  };

  const sendOutbox = (): void => {
    const flights = outbox;
    outbox = [];
    const nowMs = clock.nowMs();
    for (const flight of flights) {
      if (flight.instance === null || flight.isSent || pending.get(flight.sequence) !== flight) continue;
      try {
        send(flight, flight.instance, nowMs);
      } catch (cause) {
        onError("a request could not be sent", cause);
        release(flight);
        flight.job.fail("INTERNAL");
      }
    }
  };

  const send = (flight: Flight, instance: Instance, nowMs: number): void => {
    const { job } = flight;
    flight.deadlineMs ??= nowMs + flight.timeoutMs;
    flight.way = wayOf(job.body.length);
    const timeoutMs = Math.max(1, Math.floor(flight.deadlineMs - nowMs));
    const bytes = encodeEnvelope({ ...job.request, timeoutMs }, job.body);
    links.publish(flight.way, { subject: instance.requestSubject, replyTo: replyTo(instance, flight.way, String(flight.sequence)), bytes });
    flight.isSent = true;
    flight.sentMs = nowMs;
    flight.deliveryCount++;
  };

  // While the second link is not up yet, the first one carries everything.
  const wayOf = (bodyBytes: number): Way => {
    if (bodyBytes < BULK_BODY_BYTES_MIN) return "small";
    if (links.isUp("bulk")) return "bulk";
    links.openBulk();
    return "small";
  };

  /** Frees the slot. Whatever comes for this delivery later finds nobody. */
  const release = (flight: Flight): void => {
    pending.delete(flight.sequence);
    const { instance } = flight;
    if (instance === null) return;
    flight.instance = null;
    instance.requestCount--;
    instance.requestBytes -= flight.job.body.length;
  };

  const pump = (pool: Pool): void => {
    if (pool.queue.length === 0 || !links.isUp("small")) return;
    const nowMs = clock.nowMs();
    for (let flight = pool.queue.peek(); flight !== undefined; flight = pool.queue.peek()) {
      if (flight.job.isAbandoned()) {
        pool.queue.shift();
        flight.job.fail("NO_CAPACITY"); // Nobody reads it; it ends the request's book-keeping.
        continue;
      }
      const instance = pick(pool, flight, nowMs);
      if (instance === null) return;
      pool.queue.shift();
      assign(flight, instance);
    }
  };

  // From here on: what comes back.

  const onAnswer = (flight: Flight, instance: Instance, message: Message): void => {
    if (message.isUndelivered) return onUndelivered(flight, instance);
    release(flight);
    try {
      settle(flight.job, instance, message.bytes);
    } catch (cause) {
      onError("an answer could not be read", cause);
      flight.job.fail("HANDLER_ANSWER_INVALID", "The instance's answer could not be read.");
    }
    pump(flight.pool);
  };

  const settle = (job: Job, instance: Instance, bytes: Uint8Array): void => {
    const { header, body } = decodeEnvelope<AnswerHeader>(bytes);
    switch (header.kind) {
      case "whole":
        return job.answer(header, body);
      case "held": {
        const sink = job.stream(header);
        return sink === null ? pulls.letGo(instance, header.streamId) : pulls.start(instance, header, sink);
      }
      case "failed":
        return job.fail(...readFailure(header));
      case "chunk":
      case "gone":
        return job.fail("HANDLER_ANSWER_INVALID", `The instance answered a request with "${header.kind}".`);
    }
  };

  // Nobody has it: any other instance may, also for POST. One that is retiring still finishes what it has.
  const onUndelivered = (flight: Flight, instance: Instance): void => {
    instance.health = "gone";
    release(flight);
    flight.deliveryCount--;
    if (flight.deliveryCount === 0) flight.deadlineMs = null; // Its handler's time has not begun.
    backInLine(flight);
    pump(flight.pool);
  };

  const backInLine = (flight: Flight): void => {
    const pool = flight.pool.isRetired ? pools.get(flight.pool.key) : flight.pool;
    if (pool === undefined) return flight.job.fail("NO_CAPACITY", "The function was removed while this request waited.");
    if (pool.instances.length === 0 && pool.served.failure !== undefined) return failFailing(flight);
    flight.pool = pool;
    const untilMs = flight.queuedUntilMs === 0 || flight.deliveryCount > 0 ? clock.nowMs() + QUEUE_TIMEOUT_MS : flight.queuedUntilMs;
    flight.queuedUntilMs = Math.min(untilMs, flight.deadlineMs ?? untilMs);
    pool.queue.unshift(flight);
  };

  const onPong = (sequence: number, message: Message): void => {
    const instance = instances.get(message.subject.slice(2, message.subject.indexOf(".", 2)));
    if (instance === undefined) return;
    if (message.isUndelivered) return loseInstance(instance, { health: "gone", beforeSequence: sequence });
    probes.heard(instance);
    if (instance.health === "ready" || readPong(message.bytes)?.state !== "ready") return;
    instance.health = "ready";
    for (const pool of pools.values()) if (pool.instances.includes(instance)) pump(pool);
  };

  /** Requests that were sent after the ping are told by the broker themselves where they did not arrive. */
  const loseInstance = (instance: Instance, { health, beforeSequence }: { health: "gone" | "silent"; beforeSequence: number }): void => {
    instance.health = health;
    instance.silentSinceMs = null;
    pulls.lose(instance);
    loseFlights((flight) => flight.instance === instance && flight.sequence < beforeSequence);
  };

  const loseFlights = (isLost: (flight: Flight) => boolean): void => {
    const lost = [...pending.values()].filter(isLost);
    const touched = new Set<Pool>();
    // From the last one on, so that those that go back in line keep their order.
    for (const flight of lost.reverse()) {
      touched.add(flight.pool);
      release(flight);
      const mayGoAgain = !flight.isSent || (isIdempotent(flight.job.request.method) && flight.deliveryCount <= REDELIVERY_COUNT_MAX);
      if (mayGoAgain) backInLine(flight);
      else flight.job.fail("INSTANCE_LOST");
    }
    for (const pool of touched) pump(pools.get(pool.key) ?? pool);
  };

  const failFailing = (flight: Flight): void => {
    const { failure } = flight.pool.served;
    flight.job.fail("FUNCTION_FAILING", failure === undefined ? undefined : `${failure.code}: ${failure.message}`);
  };

  // From here on: what time brings.

  const ping = (instance: Instance): void => {
    const subject = pingSubject(instance.id);
    links.publish("small", { subject, replyTo: replyTo(instance, "small", `p${nextSequence()}`), bytes: NO_BYTES });
  };

  const sweepFlights = (nowMs: number, due: Set<Instance>): void => {
    for (const flight of pending.values()) {
      const { instance } = flight;
      if (instance === null || !flight.isSent) continue;
      if (flight.deadlineMs !== null && nowMs >= flight.deadlineMs) {
        instance.slowUntilMs = nowMs + SLOW_AFTER_TIMEOUT_MS;
        release(flight);
        flight.job.fail("HANDLER_TIMED_OUT", `It had ${flight.timeoutMs} ms.`);
        pump(flight.pool);
      } else if (nowMs - flight.sentMs >= PROBE_AFTER_MS) due.add(instance);
    }
  };

  const sweepPool = (pool: Pool, nowMs: number): void => {
    if (pool.queue.length > 0) {
      const isOver = (flight: Flight): boolean => nowMs >= flight.queuedUntilMs || flight.job.isAbandoned();
      for (const flight of pool.queue.removeWhere(isOver)) failQueued(flight, nowMs);
    }
    // Those that were set aside come back when they answer; someone who waits makes us ask more often.
    const intervalMs = pool.queue.length > 0 ? 0 : PROBE_INTERVAL_MS;
    for (const instance of pool.instances)
      if (instance.health !== "ready" && nowMs - instance.lastPingMs >= intervalMs) {
        instance.lastPingMs = nowMs;
        ping(instance);
      }
  };

  const failQueued = (flight: Flight, nowMs: number): void => {
    if (flight.deadlineMs !== null && nowMs >= flight.deadlineMs) flight.job.fail("HANDLER_TIMED_OUT", `It had ${flight.timeoutMs} ms.`);
    else if (!links.isUp("small")) flight.job.fail("BROKER_UNAVAILABLE");
    else flight.job.fail("NO_CAPACITY", `No instance of ${flight.pool.served.name} was free within ${QUEUE_TIMEOUT_MS} ms.`);
  };

  const forgetInstances = (): void => {
    const live = new Set([...pools.values()].flatMap((pool) => pool.instances));
    for (const [id, instance] of instances)
      if (!live.has(instance) && instance.requestCount === 0 && instance.streamCount === 0) instances.delete(id);
  };

  // From here on: what the snapshot says.

  const instanceOf = (id: string): Instance => {
    let instance = instances.get(id);
    if (instance === undefined) {
      instance = createInstance(id);
      instances.set(id, instance);
    }
    if (instance.health === "gone") instance.health = "ready"; // A new snapshot is a new chance.
    return instance;
  };

  const retire = (pool: Pool): void => {
    pool.isRetired = true;
    pools.delete(pool.key);
    for (const flight of pool.queue.removeWhere(() => true)) flight.job.fail("NO_CAPACITY", "The function was removed while this request waited.");
  };

  return {
    update(functions) {
      const keys = new Set(functions.map(routeKeyOf));
      for (const pool of pools.values()) if (!keys.has(pool.key)) retire(pool);
      for (const served of functions) {
        const key = routeKeyOf(served);
        const pool = pools.get(key) ?? createPool(key, served);
        pools.set(key, pool);
        pool.served = served;
        pool.instances = served.instanceIds.map(instanceOf);
        if (pool.instances.length === 0 && served.failure !== undefined) pool.queue.removeWhere(() => true).forEach(failFailing);
        else pump(pool);
      }
      forgetInstances();
    },
    submit(key, job) {
      const pool = pools.get(key);
      if (pool === undefined) job.fail("ROUTE_NOT_FOUND");
      else place(createFlight(job, pool));
    },
    onMessage(message) {
      const token = message.subject.slice(message.subject.lastIndexOf(".") + 1);
      if (token.startsWith("p")) return onPong(Number(token.slice(1)), message);
      const sequence = Number(token);
      const flight = pending.get(sequence);
      if (flight === undefined || flight.instance === null) return onPulled(pulls, sequence, message);
      // An instance speaks on its own branch only: what another one claims to have answered is not for this request.
      if (!message.subject.startsWith(flight.instance.branch)) return;
      probes.heard(flight.instance);
      onAnswer(flight, flight.instance, message);
    },
    onUp(way) {
      if (way === "bulk") return pulls.onUp();
      for (const pool of pools.values()) pump(pool);
    },
    onDown(way) {
      if (way === "small") probes.reset();
      loseFlights((flight) => (flight.isSent ? flight.way === way : way === "small"));
    },
    sweep({ nowMs, blockedMs }) {
      const due = new Set<Instance>();
      sweepFlights(nowMs, due);
      pulls.sweep(nowMs, due);
      for (const pool of pools.values()) sweepPool(pool, nowMs);
      if (!links.isUp("small")) return;
      const actions = probes.sweep(due, { nowMs, blockedMs });
      actions.ping.forEach(ping);
      for (const instance of actions.lost) loseInstance(instance, { health: "silent", beforeSequence: Number.POSITIVE_INFINITY });
    },
    takeQueued: () =>
      [...pools.values()].flatMap((pool) => pool.queue.removeWhere(() => true).map(({ job }) => ({ key: pool.key, job }))),
    isIdle: () => pending.size === 0 && pulls.count === 0 && [...pools.values()].every((pool) => pool.queue.length === 0),
  };
}

const NO_BYTES = new Uint8Array(0);

function onPulled(pulls: { onMessage: ReturnType<typeof createPulls>["onMessage"] }, sequence: number, message: Message): void {
  if (message.isUndelivered) {
    pulls.onMessage(sequence, { subject: message.subject, answer: null, body: NO_BYTES });
    return;
  }
  const { header, body } = decodeEnvelope<AnswerHeader>(message.bytes);
  pulls.onMessage(sequence, { subject: message.subject, answer: header, body });
}

// A runtime may only blame what happened in the function; any other code it names is its own failure.
function readFailure(header: Extract<AnswerHeader, { kind: "failed" }>): [ErrorCode, string] {
  const code = isErrorCode(header.code) && ERRORS[header.code].fault === "app" ? header.code : "HANDLER_THREW";
  return [code, header.stack ?? header.message];
}
