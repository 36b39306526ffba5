// How many requests a handler works on at once, whoever sends them.
import { describe, expect, it } from "vitest";
import { type AnswerHeader, type RequestHeader, decodeEnvelope, encodeEnvelope } from "../../../runtime-image/contract/envelope.ts";
import { createCurrentGeneration } from "../../../runtime-image/runtime/generations/current.ts";
import { createHeldAnswers } from "../../../runtime-image/runtime/held-answers.ts";
import { type Invoker, createInvoker } from "../../../runtime-image/runtime/invoke.ts";
import { createLog } from "../../../runtime-image/runtime/log.ts";
import { createSharedState } from "../../../runtime-image/runtime/shared-state.ts";

const REQUEST: RequestHeader = {
  v: 1,
  id: "",
  method: "GET",
  path: "/",
  query: "",
  route: "GET /",
  params: null,
  headers: [],
  sourceIp: "203.0.113.7",
  scheme: "http",
  httpVersion: "1.1",
  startEpochMs: 0,
  timeoutMs: 10_000,
};

interface Working {
  readonly invoker: Invoker;
  /** What happened: "a begins", "a answered". */
  readonly seen: readonly string[];
  send(id: string, timeoutMs?: number): void;
  finish(id: string): Promise<void>;
}

function working(concurrency: number): Working {
  const seen: string[] = [];
  const finishing = new Map<string, () => void>();
  const shared = createSharedState();
  const invoker = createInvoker({
    handler: async (event) => {
      const { requestId } = (event as { requestContext: { requestId: string } }).requestContext; // The event of the current generation.
      seen.push(`${requestId} begins`);
      await new Promise<void>((done) => finishing.set(requestId, done));
      return { statusCode: 200 };
    },
    adapter: createCurrentGeneration({ apiId: "a", rawJson: false, bareQuery: false }),
    facts: { functionName: "f", invokedFunctionArn: "arn", memoryLimitInMB: "128" },
    concurrency,
    folder: "/app",
    log: createLog(shared, { write: (_bytes, _offset, length) => length }),
    held: createHeldAnswers({ publish: () => undefined, bytesMax: 1, nowMs: () => 0 }),
    shared,
    publish: (subject, bytes) => {
      const { header } = decodeEnvelope<AnswerHeader>(bytes);
      seen.push(`${subject} ${header.kind === "whole" ? "answered" : header.kind}`);
    },
  });
  return {
    invoker,
    seen,
    send: (id, timeoutMs = 10_000) => invoker.receive(encodeEnvelope({ ...REQUEST, id, timeoutMs }), id),
    async finish(id) {
      finishing.get(id)?.();
      for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
    },
  };
}

describe("a handler", () => {
  it("is called for as many requests at once as it may work on, and for others as those are answered, in their order", async () => {
    const { seen, send, finish, invoker } = working(2);
    for (const id of ["a", "b", "c", "d"]) send(id);
    expect(seen).toEqual(["a begins", "b begins"]);
    expect(invoker.inFlightCount()).toBe(4);
    await finish("b");
    expect(seen.slice(2)).toEqual(["b answered", "c begins"]);
    await finish("a");
    expect(seen.slice(4)).toEqual(["a answered", "d begins"]);
    for (const id of ["c", "d"]) await finish(id);
    expect(invoker.inFlightCount()).toBe(0);
  });

  it("works on one at a time where that was promised, also when two gateways send", async () => {
    const { seen, send, finish } = working(1);
    send("a");
    send("b");
    expect(seen).toEqual(["a begins"]);
    await finish("a");
    expect(seen).toEqual(["a begins", "a answered", "b begins"]);
  });

  it("is never called for a request whose time ended while it waited", async () => {
    const { seen, send, finish, invoker } = working(1);
    send("a");
    send("late", -1);
    send("c");
    invoker.sweep();
    await finish("a");
    expect(seen).toEqual(["a begins", "a answered", "c begins"]);
  });
});
