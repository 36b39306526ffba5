// A request's way out: to the least busy instance at once, or in line until one is free.
import { encodeEnvelope } from "../../runtime-image/contract/envelope.ts";
import { QUEUE_COUNT_MAX, QUEUE_TIMEOUT_MS } from "../../runtime-image/contract/limits.ts";
import { answerSubject } from "../../runtime-image/contract/subjects.ts";
import type { Clock } from "../clock.ts";
import { pickInstance, type Instance } from "./instance.ts";
import type { Links, Way } from "./links.ts";
import type { Flight, Pool } from "./pool.ts";

export interface Outbound {
  /** What was handed to an instance and is not settled, by sequence. */
  readonly pending: ReadonlyMap<number, Flight>;
  place(flight: Flight): void;
  /** Frees the slot. Whatever comes for this delivery later finds nobody. */
  release(flight: Flight): void;
  /** To the front: for what was taken from the line and did not get through. */
  backInLine(flight: Flight): void;
  /** Hands out what waits, as far as there is room. */
  pump(pool: Pool): void;
  nextSequence(): number;
  replyTo(instance: Instance, way: Way, token: string): string;
}

export interface OutboundParts {
  readonly links: Links;
  readonly clock: Clock;
  readonly pools: ReadonlyMap<string, Pool>;
  readonly onError: (message: string, cause: unknown) => void;
}

const BULK_BODY_BYTES_MIN = 262_144; // Larger request bodies take the second link.

export function createOutbound({ links, clock, pools, onError }: OutboundParts): Outbound {
  const pending = new Map<number, Flight>();
  let outbox: Flight[] = [];
  let lastSequence = 0;

  const nextSequence = (): number => ++lastSequence;
  const replyTo = (instance: Instance, way: Way, token: string): string =>
    answerSubject({ instanceId: instance.id, receiverId: links.receiverId(way), sequence: token });

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
    return pickInstance(pool.instances, {
      concurrency: pool.served.concurrency,
      bodyBytes: flight.job.body.length,
      nowMs,
      first: pool.next,
    });
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

  const backInLine = (flight: Flight): void => {
    const pool = flight.pool.isRetired ? pools.get(flight.pool.key) : flight.pool;
    if (pool === undefined) return flight.job.fail("NO_CAPACITY", "The function was removed while this request waited.");
    if (pool.instances.length === 0 && pool.served.failure !== undefined) return failFailing(flight);
    flight.pool = pool;
    const untilMs = flight.queuedUntilMs === 0 || flight.deliveryCount > 0 ? clock.nowMs() + QUEUE_TIMEOUT_MS : flight.queuedUntilMs;
    flight.queuedUntilMs = Math.min(untilMs, flight.deadlineMs ?? untilMs);
    pool.queue.unshift(flight);
  };

  return { pending, place, release, backInLine, pump, nextSequence, replyTo };
}

export function failFailing(flight: Flight): void {
  const { failure } = flight.pool.served;
  flight.job.fail("FUNCTION_FAILING", failure === undefined ? undefined : `${failure.code}: ${failure.message}`);
}
