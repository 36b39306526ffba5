// What a dispatcher decides, with links and a clock that the test holds in its hands.
import { describe, expect, it } from "vitest";
import { createByteBudget } from "../../../../gateway/dispatch/byte-budget.ts";
import { createDispatcher, type Dispatcher } from "../../../../gateway/dispatch/dispatcher.ts";
import { createInstance, pickInstance } from "../../../../gateway/dispatch/instance.ts";
import type { Job } from "../../../../gateway/dispatch/job.ts";
import type { Way } from "../../../../gateway/dispatch/links.ts";
import { createProbes } from "../../../../gateway/dispatch/probes.ts";
import { createQueue } from "../../../../gateway/dispatch/queue.ts";
import { decodeEnvelope, encodeEnvelope, type RequestHeader } from "../../../../runtime-image/contract/envelope.ts";
import { QUEUE_COUNT_MAX } from "../../../../runtime-image/contract/limits.ts";
import type { FunctionSnapshot } from "../../../../runtime-image/contract/snapshot.ts";

interface Sent {
  readonly way: Way;
  readonly subject: string;
  readonly replyTo: string;
  readonly bytes: Uint8Array;
}

class Bench {
  readonly sent: Sent[] = [];
  readonly outcomes: string[] = [];
  readonly up: Record<Way, boolean> = { small: true, bulk: false };
  nowMs = 1_000;
  readonly dispatcher: Dispatcher = createDispatcher({
    links: {
      isUp: (way) => this.up[way],
      openBulk: () => undefined,
      receiverId: (way) => way,
      publish: (way, message) => void this.sent.push({ way, ...message }),
    },
    clock: { nowMs: () => this.nowMs, epochMs: () => 0 },
    onError: (message) => void this.outcomes.push(message),
  });

  serve(instanceIds: readonly string[], more: Partial<FunctionSnapshot> = {}): void {
    this.dispatcher.update([
      { name: "f", method: "ANY", path: "/", generation: "current", concurrency: 1, timeoutMs: 10_000, instanceIds, ...more },
    ]);
  }

  submit(name: string, method = "POST"): void {
    this.dispatcher.submit("ANY /", this.job(name, method));
  }

  job(name: string, method: string): Job {
    const request = {
      v: 1,
      id: name,
      method,
      path: "/",
      query: "",
      route: "ANY /",
      params: null,
      headers: [],
      sourceIp: "",
      scheme: "http",
      httpVersion: "1.1",
      startEpochMs: 0,
    } as const;
    return {
      request,
      body: new Uint8Array(0),
      isAbandoned: () => false,
      answer: () => void this.outcomes.push(`${name} answered`),
      stream: () => null,
      answerFromSite: ({ path }) => void this.outcomes.push(`${name} answered with ${path}`),
      fail: (code) => void this.outcomes.push(`${name} ${code}`),
    };
  }

  /** What was sent in this turn of the event loop leaves at its end. */
  async turn(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
  }

  requests(): string[] {
    return this.sent
      .filter(({ subject }) => subject.endsWith(".req"))
      .map(({ subject, bytes }) => `${decodeEnvelope<RequestHeader>(bytes).header.id}→${subject.split(".")[1]}`);
  }

  answer(index: number, subject = this.sent[index]?.replyTo ?? ""): void {
    this.dispatcher.onMessage({
      subject,
      bytes: encodeEnvelope({ v: 1, kind: "whole", status: 200, headers: [], bodyBytes: 0 }),
      isUndelivered: false,
    });
  }

  refuse(index: number): void {
    this.dispatcher.onMessage({ subject: this.sent[index]?.replyTo ?? "", bytes: new Uint8Array(0), isUndelivered: true });
  }

  async sweep(passedMs: number, blockedMs = 0): Promise<void> {
    this.nowMs += passedMs;
    this.dispatcher.sweep({ nowMs: this.nowMs, blockedMs });
    await this.turn();
  }
}

describe("a dispatcher", () => {
  it("has a request answered with a file where the function passes it on to the app's site", async () => {
    const bench = new Bench();
    bench.serve(["a"]);
    bench.submit("one");
    await bench.turn();
    const bytes = encodeEnvelope({ v: 1, kind: "site", path: "/docs/", isSpa: false });
    bench.dispatcher.onMessage({ subject: bench.sent[0]?.replyTo ?? "", bytes, isUndelivered: false });
    expect(bench.outcomes).toEqual(["one answered with /docs/"]);
  });

  it("does not believe an instance that answers for another one", async () => {
    const bench = new Bench();
    bench.serve(["a", "b"]);
    bench.submit("one");
    await bench.turn();
    const [, , receiver, sequence] = bench.sent[0]?.replyTo.split(".") ?? [];
    const other = bench.sent[0]?.subject === "i.a.req" ? "b" : "a";
    bench.answer(0, `o.${other}.${receiver}.${sequence}`);
    expect(bench.outcomes).toEqual([]);
    bench.answer(0);
    bench.answer(0);
    expect(bench.outcomes).toEqual(["one answered"]);
  });

  it("keeps the order of those who wait, also of one that comes back undelivered", async () => {
    const bench = new Bench();
    bench.serve(["a"]);
    for (const name of ["one", "two", "three"]) bench.submit(name);
    await bench.turn();
    bench.refuse(0);
    bench.serve(["b"]);
    await bench.turn();
    bench.answer(1);
    await bench.turn();
    bench.answer(2);
    await bench.turn();
    expect(bench.requests()).toEqual(["one→a", "one→b", "two→b", "three→b"]);
  });

  it("refuses what would make the queue longer than it may be", () => {
    const bench = new Bench();
    bench.serve([]);
    for (let index = 0; index <= QUEUE_COUNT_MAX; index++) bench.submit(`r${index}`);
    expect(bench.outcomes).toEqual([`r${QUEUE_COUNT_MAX} NO_CAPACITY`]);
  });

  it("loses a silent instance after its pings stayed unanswered, but not while it was blocked itself", async () => {
    const bench = new Bench();
    bench.serve(["a"]);
    bench.submit("one");
    await bench.turn();
    await bench.sweep(200);
    expect(bench.sent.at(-1)?.subject).toBe("i.a.ping");
    await bench.sweep(5_000, 4_950);
    expect(bench.outcomes).toEqual([]);
    for (let step = 0; step < 13; step++) await bench.sweep(50);
    expect(bench.outcomes).toEqual(["one INSTANCE_LOST"]);
  });

  it("keeps what was sent after a ping that found nobody: the broker tells of it itself", async () => {
    const bench = new Bench();
    bench.serve(["a"], { concurrency: 2 });
    bench.submit("early");
    await bench.turn();
    await bench.sweep(200);
    const ping = bench.sent.length - 1;
    bench.submit("late");
    await bench.turn();
    bench.refuse(ping);
    expect(bench.outcomes).toEqual(["early INSTANCE_LOST"]);
    bench.refuse(ping + 1);
    bench.serve(["b"], { concurrency: 2 });
    await bench.turn();
    expect(bench.requests().at(-1)).toBe("late→b");
  });

  it("never sends while the broker is away, and says so to those who waited too long", async () => {
    const bench = new Bench();
    bench.serve(["a"]);
    bench.up.small = false;
    bench.submit("one");
    await bench.sweep(4_000);
    bench.submit("two");
    await bench.sweep(1_500);
    expect(bench.outcomes).toEqual(["one BROKER_UNAVAILABLE"]);
    bench.up.small = true;
    bench.dispatcher.onUp("small");
    await bench.turn();
    expect(bench.requests()).toEqual(["two→a"]);
  });

  it("sends reads again after the broker was away, once, and fails writes that were on their way", async () => {
    const bench = new Bench();
    bench.serve(["a", "b"]);
    bench.submit("read", "GET");
    bench.submit("write", "POST");
    await bench.turn();
    bench.submit("unsent", "POST");
    bench.up.small = false;
    bench.dispatcher.onDown("small");
    expect(bench.outcomes).toEqual(["write INSTANCE_LOST"]);
    bench.up.small = true;
    bench.dispatcher.onUp("small");
    await bench.turn();
    expect(
      new Set(
        bench
          .requests()
          .slice(2)
          .map((text) => text.split("→")[0]),
      ),
    ).toEqual(new Set(["read", "unsent"]));
    bench.dispatcher.onDown("small");
    expect(bench.outcomes).toEqual(["write INSTANCE_LOST", "unsent INSTANCE_LOST", "read INSTANCE_LOST"]);
  });

  it("hands over what waits and ends what has nowhere to go", () => {
    const bench = new Bench();
    bench.serve([]);
    bench.submit("one");
    expect(bench.dispatcher.takeQueued().map(({ key, job }) => `${key} ${job.request.id}`)).toEqual(["ANY / one"]);
    bench.submit("two");
    bench.dispatcher.update([]);
    bench.submit("three");
    expect(bench.outcomes).toEqual(["two NO_CAPACITY", "three ROUTE_NOT_FOUND"]);
    expect(bench.dispatcher.isIdle()).toBe(true);
  });
});

describe("picking an instance", () => {
  const pick = { concurrency: 4, bodyBytes: 0, nowMs: 0, first: 0 };
  const busy = (id: string, requestCount: number) => Object.assign(createInstance(id), { requestCount });

  it("takes the least busy one with room, and lets equals take turns", () => {
    expect(pickInstance([busy("a", 2), busy("b", 1), busy("c", 4)], pick)?.id).toBe("b");
    expect(pickInstance([busy("a", 1), busy("b", 1)], { ...pick, first: 1 })?.id).toBe("b");
    expect(pickInstance([busy("a", 4)], pick)).toBeNull();
    expect(pickInstance([], pick)).toBeNull();
  });

  it("leaves out what is gone or silent, and takes what may be in trouble last", () => {
    const trouble = Object.assign(busy("b", 0), { slowUntilMs: 10 });
    expect(pickInstance([Object.assign(busy("a", 0), { health: "gone" as const }), trouble, busy("c", 3)], pick)?.id).toBe("c");
    expect(pickInstance([trouble], pick)?.id).toBe("b");
  });

  it("bounds the bytes on their way, but takes any body alone", () => {
    const large = { ...pick, bodyBytes: 6_000_000 };
    expect(pickInstance([Object.assign(busy("a", 3), { requestBytes: 18_000_000 })], large)?.id).toBe("a");
    expect(pickInstance([Object.assign(busy("a", 3), { requestBytes: 18_000_001 })], large)).toBeNull();
    expect(pickInstance([busy("a", 0)], { ...pick, bodyBytes: 30_000_000 })?.id).toBe("a");
  });
});

describe("probes, budget and queue", () => {
  it("ping at intervals, and forget an instance that owes nothing any more", () => {
    const probes = createProbes();
    const one = createInstance("a");
    const due = new Set([one]);
    expect(probes.sweep(due, { nowMs: 0, blockedMs: 0 }).ping).toEqual([one]);
    expect(probes.sweep(due, { nowMs: 100, blockedMs: 0 }).ping).toEqual([]);
    expect(probes.sweep(due, { nowMs: 200, blockedMs: 0 }).ping).toEqual([one]);
    probes.sweep(new Set(), { nowMs: 400, blockedMs: 0 });
    expect(probes.sweep(due, { nowMs: 5_000, blockedMs: 0 }).lost).toEqual([]);
    expect(probes.sweep(due, { nowMs: 5_700, blockedMs: 0 }).lost).toEqual([one]);
  });

  it("share bytes in the order in which they were asked for", () => {
    const budget = createByteBudget(10);
    const granted: string[] = [];
    budget.take(8, () => granted.push("a"));
    budget.take(5, () => granted.push("b"));
    budget.take(1, () => granted.push("c"));
    expect(granted).toEqual(["a"]);
    budget.give(8);
    expect(granted).toEqual(["a", "b", "c"]);
    budget.take(100, () => granted.push("larger than everything"));
    budget.give(6);
    expect(granted.at(-1)).toBe("larger than everything");
  });

  it("keep order through thousands of pushes, shifts and removals", () => {
    const queue = createQueue<number>();
    const seen: number[] = [];
    for (let index = 0; index < 3_000; index++) {
      queue.push(index);
      if (index % 3 === 0) seen.push(queue.shift() ?? -1);
    }
    expect(seen).toEqual(Array.from({ length: 1_000 }, (_, index) => index));
    queue.unshift(-5);
    expect(queue.removeWhere((item) => item % 2 === 0).length).toBe(1_000);
    expect([queue.length, queue.shift(), queue.peek()]).toEqual([1_001, -5, 1_001]);
  });
});
