// One function as a dispatcher sees it: its instances, and the requests that wait for one of them.
import type { FunctionSnapshot } from "../../runtime-image/contract/snapshot.ts";
import type { Instance } from "./instance.ts";
import type { Job } from "./job.ts";
import { createQueue, type Queue } from "./queue.ts";

export interface Pool {
  readonly key: string;
  served: FunctionSnapshot;
  instances: readonly Instance[];
  readonly queue: Queue<Flight>;
  next: number; // Where the next pick begins.
  isRetired: boolean; // The function is not in the snapshot any more.
}

/** One request from the moment it was handed over until it is answered. */
export interface Flight {
  readonly job: Job;
  readonly timeoutMs: number;
  pool: Pool;
  queuedUntilMs: number;
  deadlineMs: number | null; // Null until it was sent for the first time.
  instance: Instance | null; // Null while it waits.
  sequence: number; // New with every delivery: an answer to an earlier one finds nobody.
  way: "small" | "bulk";
  isSent: boolean;
  sentMs: number;
  deliveryCount: number;
}

export const createPool = (key: string, served: FunctionSnapshot): Pool => ({
  key,
  served,
  instances: [],
  queue: createQueue(),
  next: 0,
  isRetired: false,
});

export const createFlight = (job: Job, pool: Pool): Flight => ({
  job,
  timeoutMs: pool.served.timeoutMs,
  pool,
  queuedUntilMs: 0,
  deadlineMs: null,
  instance: null,
  sequence: 0,
  way: "small",
  isSent: false,
  sentMs: 0,
  deliveryCount: 0,
});
