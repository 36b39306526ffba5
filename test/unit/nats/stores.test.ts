// The settings of the buckets that hold sessions and documents.
import { describe, expect, it } from "vitest";
import { BROKER_STORE_BYTES_MAX } from "../../../runtime-image/contract/limits.ts";
import { storeConfig } from "../../../orchestrator/nats/stores.ts";

describe("the buckets of an app", () => {
  it("let sessions go after a week without a visit, and keep documents", () => {
    expect(storeConfig("sessions")["max_age"]).toBe(7 * 24 * 3_600 * 1_000_000_000);
    expect(storeConfig("data")["max_age"]).toBeUndefined();
  });

  it("have room of their own, which is together what the account may use, and take nothing new while they are held", () => {
    const [data, sessions] = [storeConfig("data"), storeConfig("sessions")];
    expect([data["max_bytes"], sessions["max_bytes"]]).toEqual([800_000_000, 200_000_000]);
    expect(Number(data["max_bytes"]) + Number(sessions["max_bytes"])).toBe(BROKER_STORE_BYTES_MAX);
    expect([data["max_msgs"], sessions["max_msgs"]]).toEqual([500_000, 500_000]);
    expect([data["discard"], sessions["discard"]]).toEqual(["new", "new"]);
    expect(storeConfig("data", { isHeld: true })["max_msgs"]).toBe(1);
  });
});
