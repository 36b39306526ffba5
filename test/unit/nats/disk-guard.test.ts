// When stores stop to take new things, and when they start again.
import { describe, expect, it } from "vitest";
import { nextStep } from "../../../orchestrator/nats/disk-guard.ts";
import { BROKER_DISK_FREE_BYTES_MIN, BROKER_DISK_RESERVE_BYTES } from "../../../runtime-image/contract/limits.ts";

const LITTLE = BROKER_DISK_FREE_BYTES_MIN - 1;
const SOME = BROKER_DISK_FREE_BYTES_MIN;
const MUCH = BROKER_DISK_RESERVE_BYTES + 2 * BROKER_DISK_FREE_BYTES_MIN;

describe("the guard of the broker's disk", () => {
  it("holds the stores when there is little room, with a reserve and without", () => {
    expect(nextStep({ isHeld: false, hasReserve: true }, LITTLE)).toBe("hold");
    expect(nextStep({ isHeld: false, hasReserve: false }, LITTLE)).toBe("hold");
  });

  it("lets them go only when there is much: neither the room that the reserve gave up nor its return makes them change again", () => {
    const held = { isHeld: true, hasReserve: false };
    expect(nextStep(held, LITTLE + BROKER_DISK_RESERVE_BYTES)).toBe("nothing");
    expect(nextStep(held, MUCH - 1)).toBe("nothing");
    expect(nextStep(held, MUCH)).toBe("let go");
    expect(nextStep({ isHeld: false, hasReserve: true }, MUCH - BROKER_DISK_RESERVE_BYTES)).toBe("nothing");
  });

  it("makes the reserve once, and not of the last room", () => {
    expect(nextStep({ isHeld: false, hasReserve: false }, MUCH)).toBe("make the reserve");
    expect(nextStep({ isHeld: false, hasReserve: true }, MUCH)).toBe("nothing");
    expect(nextStep({ isHeld: false, hasReserve: false }, SOME)).toBe("nothing");
  });
});
