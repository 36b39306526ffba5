// Our signature of the broker's nonce against the one that the broker's own library makes.
import { createUser } from "@nats-io/jwt";
import { describe, expect, it } from "vitest";
import { signNonce } from "../../../runtime-image/runtime/nonce-signature.ts";

describe("signNonce", () => {
  it("makes the very signature that the broker's own library makes", () => {
    for (const nonce of ["", "abc", "A-Za_z0-9=="]) {
      const user = createUser();
      const seed = new TextDecoder().decode(user.getSeed());
      expect(signNonce(seed, nonce)).toBe(Buffer.from(user.sign(new TextEncoder().encode(nonce))).toString("base64"));
    }
  });

  it("refuses what is no seed", () => {
    expect(() => signNonce("not a seed", "abc")).toThrow("base32");
    expect(() => signNonce("SUAA", "abc")).toThrow("no nkey");
  });
});
