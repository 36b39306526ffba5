// Which limit a full store names.
import { describe, expect, it } from "vitest";
import { fillIn, fullBecause } from "../../../runtime-image/store/full.ts";

const LIMITS = { messageCountMax: 500_000, byteCountMax: 800_000_000 };
const refused = { byteCount: 1_000, text: "resource limits exceeded for account" };

describe("a full store", () => {
  it.each([
    ["The broker's disk is nearly full.", { messageCount: 7, byteCount: 1, messageCountMax: 1, byteCountMax: 800_000_000 }],
    ["The limit of 500,000 documents is reached.", { messageCount: 500_000, byteCount: 1, ...LIMITS }],
    ["The limit of 800 MB for documents is reached.", { messageCount: 7, byteCount: 799_999_000, ...LIMITS }],
    ["The broker says: resource limits exceeded for account.", { messageCount: 7, byteCount: 1_000, ...LIMITS }],
    ["The broker says: resource limits exceeded for account.", { messageCount: 7, byteCount: 1, messageCountMax: -1, byteCountMax: -1 }],
  ])("says: %s", (text, fill) => {
    expect(fullBecause("data", fill, refused)).toBe(text);
  });

  it("says which of both it is", () => {
    expect(fullBecause("sessions", { messageCount: 500_000, byteCount: 1, ...LIMITS }, refused)).toContain("500,000 sessions");
  });

  it("knows no limits of a broker that tells of none", () => {
    expect(fillIn({})).toEqual({ messageCount: 0, byteCount: 0, messageCountMax: -1, byteCountMax: -1 });
    expect(fillIn({ config: { max_msgs: 5, max_bytes: 6 }, state: { messages: 3, bytes: 4 } })).toEqual({
      messageCount: 3,
      byteCount: 4,
      messageCountMax: 5,
      byteCountMax: 6,
    });
  });
});
