// What an encrypted value gives back, and to whom: its own key, its own place, unaltered, or nothing.
import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type ValuePlace, openValue, sealValue } from "../../../orchestrator/variables/cipher.ts";

const KEY = randomBytes(32);
const PLACE: ValuePlace = { appId: "a1", environment: "staging", name: "SECRET" };

describe("a sealed value", () => {
  it("opens to what it was, whatever it was", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 4_096 }), (value) => {
        expect(openValue(sealValue(value, KEY, PLACE), KEY, PLACE)).toBe(value);
      }),
    );
  });

  it("never looks the same twice, and never like the value", () => {
    const all = Array.from({ length: 100 }, () => sealValue("hunter2", KEY, PLACE));
    expect(new Set(all.map((one) => one.nonce)).size).toBe(100);
    expect(new Set(all.map((one) => one.sealed)).size).toBe(100);
    for (const { sealed } of all) expect(Buffer.from(sealed, "base64").includes("hunter2")).toBe(false);
  });

  it.each<[string, Partial<ValuePlace>]>([
    ["another app", { appId: "a2" }],
    ["another environment", { environment: "production" }],
    ["another name", { name: "OTHER" }],
  ])("does not open for %s", (_what, change) => {
    expect(openValue(sealValue("hunter2", KEY, PLACE), KEY, { ...PLACE, ...change })).toBeNull();
  });

  it("does not open with another key", () => {
    expect(openValue(sealValue("hunter2", KEY, PLACE), randomBytes(32), PLACE)).toBeNull();
  });

  it("does not open once a single bit of it is another", () => {
    const whole = sealValue("hunter2", KEY, PLACE);
    for (const field of ["nonce", "sealed"] as const) {
      const bytes = Buffer.from(whole[field], "base64");
      for (let bit = 0; bit < bytes.length * 8; bit += 1) {
        const altered = Buffer.from(bytes);
        altered[bit >> 3] = (altered[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        expect(openValue({ ...whole, [field]: altered.toString("base64") }, KEY, PLACE)).toBeNull();
      }
    }
  });

  it("does not open once it was cut, and does not throw either", () => {
    const whole = sealValue("hunter2", KEY, PLACE);
    const bytes = Buffer.from(whole.sealed, "base64");
    for (let length = 0; length < bytes.length; length += 1)
      expect(openValue({ ...whole, sealed: bytes.subarray(0, length).toString("base64") }, KEY, PLACE)).toBeNull();
    expect(openValue({ ...whole, nonce: "" }, KEY, PLACE)).toBeNull();
    expect(openValue({ ...whole, nonce: Buffer.alloc(16).toString("base64") }, KEY, PLACE)).toBeNull();
  });
});
