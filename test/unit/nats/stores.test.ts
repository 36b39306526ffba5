// The settings of the buckets that hold sessions and documents.
import { describe, expect, it } from "vitest";
import { storeConfig } from "../../../orchestrator/nats/stores.ts";

describe("the buckets of an app", () => {
  it("let sessions go after a week without a visit, and keep documents", () => {
    expect(storeConfig("sessions")["max_age"]).toBe(7 * 24 * 3_600 * 1_000_000_000);
    expect(storeConfig("data")["max_age"]).toBeUndefined();
  });
});
