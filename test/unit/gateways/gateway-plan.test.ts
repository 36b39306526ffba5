// What becomes of a gateway that runs when an orchestrator starts: every case, decided from plain facts.
import { describe, expect, it } from "vitest";
import { type GatewayFacts, isOnOtherBroker, planGateway, restartDelayMs } from "../../../orchestrator/gateways/gateway-plan.ts";
import { BACKOFF_MAX_MS } from "../../../runtime-image/contract/limits.ts";

const BROKER = { url: "nats://127.0.0.1:4222", jwt: "", seed: "" };
const knows = (hash: string, hosts: readonly string[] = ["127.0.0.1", "::1"], port = 3333) => ({
  hash,
  config: { broker: BROKER, listen: hosts.map((host) => ({ host, port })) },
});
const runs = (configHash: string) => ({ status: { configHash, handOver: { failureCount: 0, lastFailure: null } } });
const facts: GatewayFacts<ReturnType<typeof runs>> = {
  isAnyAlive: true,
  listening: runs("same"),
  written: knows("same"),
  wanted: knows("same"),
};

describe("a gateway that is wanted", () => {
  it("is started where none runs", () => {
    expect(planGateway({ ...facts, isAnyAlive: false, listening: null })).toEqual({ kind: "launch" });
    expect(planGateway({ ...facts, isAnyAlive: false, listening: null, written: null })).toEqual({ kind: "launch" });
  });

  it("is the one that runs where its config is the same, whatever stands in the file", () => {
    expect(planGateway(facts).kind).toBe("adopt");
    expect(planGateway({ ...facts, written: knows("half done") }).kind).toBe("adopt");
    expect(planGateway({ ...facts, written: null }).kind).toBe("adopt");
  });

  it("takes the place of the one that runs with another config", () => {
    const plan = planGateway({ ...facts, wanted: knows("other") });
    expect(plan).toEqual({ kind: "hand over", listening: facts.listening });
  });

  it("comes after the end of one that is silent, on another broker, or too old to hand over", () => {
    const elsewhere = { hash: "other", config: { ...knows("other").config, broker: { ...BROKER, url: "nats://127.0.0.1:5222" } } };
    const old = { status: { configHash: "x", handOver: undefined } };
    const reasons = [
      planGateway({ ...facts, listening: null }),
      planGateway({ ...facts, wanted: elsewhere }),
      planGateway({ ...facts, listening: old }),
    ];
    expect(reasons).toEqual([
      { kind: "replace", why: "it does not answer" },
      { kind: "replace", why: "it is on another broker" },
      { kind: "replace", why: "it is of a version that cannot hand over" },
    ]);
    expect([isOnOtherBroker({ written: knows("same"), wanted: elsewhere }), isOnOtherBroker({ written: null, wanted: elsewhere })]).toEqual(
      [true, false],
    );
  });

  it.each([
    [["127.0.0.1"], ["0.0.0.0"], "replace"],
    [["0.0.0.0"], ["127.0.0.1", "192.0.2.1"], "replace"],
    [["::1"], ["::"], "replace"],
    [["127.0.0.1"], ["127.0.0.1", "192.0.2.1"], "hand over"],
    [["127.0.0.1"], ["::"], "hand over"],
    [["0.0.0.0"], ["0.0.0.0", "::"], "hand over"],
  ])("that listens on %j before and wants %j, on one port: %s", (before, wanted, kind) => {
    expect(planGateway({ ...facts, written: knows("same", before), wanted: knows("other", wanted) }).kind).toBe(kind);
    expect(planGateway({ ...facts, written: knows("same", before), wanted: knows("other", wanted, 4444) }).kind).toBe("hand over");
  });
});

describe("a gateway that ends again and again", () => {
  it("is started at once the first time, and then later and later, up to a bound", () => {
    const delays = [1, 2, 3, 4, 50].map(restartDelayMs);
    expect(delays).toEqual([0, 250, 500, 1_000, BACKOFF_MAX_MS]);
  });
});
