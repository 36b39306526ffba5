// Carries the requests of one app to its instances: least busy first, a bounded queue, and no waiting for the dead.
import { decodeEnvelope, type AnswerHeader } from "../../runtime-image/contract/envelope.ts";
import {
  PROBE_AFTER_MS,
  PROBE_INTERVAL_MS,
  QUEUE_TIMEOUT_MS,
  REDELIVERY_COUNT_MAX,
  WATCHDOG_GRACE_MS,
} from "../../runtime-image/contract/limits.ts";
import type { FunctionSnapshot } from "../../runtime-image/contract/snapshot.ts";
import { pingSubject, senderOf } from "../../runtime-image/contract/subjects.ts";
import type { Clock } from "../clock.ts";
import { routeKeyOf } from "../routing/table.ts";
import { createInstance, type Instance } from "./instance.ts";
import { isIdempotent, type Job } from "./job.ts";
import type { Links, Message, Way } from "./links.ts";
import { createOutbound, failFailing } from "./outbound.ts";
import { createFlight, createPool, type Flight, type Pool } from "./pool.ts";
import { readPong } from "./pong.ts";
import { createProbes } from "./probes.ts";
import { createPulls, type Pulls } from "./pulls.ts";
import { settle } from "./settle.ts";

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
  /** Before the end: instances are not to keep answers for clients that are gone. */
  letGoAll(): void;
}

export interface DispatcherParts {
  readonly links: Links;
  readonly clock: Clock;
  readonly onError: (message: string, cause: unknown) => void;
}

const SLOW_AFTER_TIMEOUT_MS = WATCHDOG_GRACE_MS * 2; // By then a blocked instance was ended by its watchdog.

export function createDispatcher({ links, clock, onError }: DispatcherParts): Dispatcher {
  const pools = new Map<string, Pool>();
  const instances = new Map<string, Instance>();
  const probes = createProbes();
  const outbound = createOutbound({ links, clock, pools, onError });
  const { pending, place, release, backInLine, pump, nextSequence, replyTo } = outbound;

  const pulls = createPulls({
    clock,
    bus: {
      get isUp() {
        return links.isUp("bulk");
      },
      open: links.openBulk,
      nextSequence,
      send: (instance, { subject, sequence, bytes }) =>
        links.publish("bulk", { subject, bytes, replyTo: replyTo(instance, "bulk", String(sequence)) }),
    },
  });

  // From here on: what comes back.

  const onAnswer = (flight: Flight, instance: Instance, message: Message): void => {
    if (message.isUndelivered) return onUndelivered(flight, instance);
    release(flight);
    try {
      settle(flight.job, { instance, bytes: message.bytes, pulls });
    } catch (cause) {
      onError("an answer could not be read", cause);
      flight.job.fail("HANDLER_ANSWER_INVALID", "The instance's answer could not be read.");
    }
    pump(flight.pool);
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

  const onPong = (sequence: number, message: Message): void => {
    const instance = instances.get(senderOf(message.subject));
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
    for (const flight of pool.queue.removeWhere(() => true))
      flight.job.fail("NO_CAPACITY", "The function was removed while this request waited.");
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
    takeQueued: () => [...pools.values()].flatMap((pool) => pool.queue.removeWhere(() => true).map(({ job }) => ({ key: pool.key, job }))),
    letGoAll: pulls.letGoAll,
    isIdle: () => pending.size === 0 && pulls.count === 0 && [...pools.values()].every((pool) => pool.queue.length === 0),
  };
}

const NO_BYTES = new Uint8Array(0);

function onPulled(pulls: Pulls, sequence: number, message: Message): void {
  if (message.isUndelivered) {
    pulls.onMessage(sequence, { subject: message.subject, answer: null, body: NO_BYTES });
    return;
  }
  const { header, body } = decodeEnvelope<AnswerHeader>(message.bytes);
  pulls.onMessage(sequence, { subject: message.subject, answer: header, body });
}
