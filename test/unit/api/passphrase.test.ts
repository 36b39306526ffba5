// How a passphrase arrives at the management API.
import { describe, expect, it } from "vitest";
import { passphraseHeaders, passphraseIn } from "../../../orchestrator/api/passphrase.ts";

const header = (value: string): Record<string, string> => ({ "x-orchestrator-passphrase": value });
const base64 = (bytes: Buffer | string): string => Buffer.from(bytes).toString("base64");

describe("a passphrase in a header", () => {
  it.each(["correct horse", "pässphräse 🐎", " spaces stay ", "x".repeat(1_024)])("arrives as it was sent: %s", (passphrase) => {
    expect(passphraseIn(passphraseHeaders(passphrase))).toBe(passphrase);
  });

  it("is none where there is no header", () => {
    expect(passphraseIn({})).toBeNull();
  });

  it.each([
    ["nothing", "", "base64"],
    ["plain text", "hunter2 hunter2", "base64"],
    ["bytes that are no text", base64(Buffer.from([255, 254, 253, 252, 251, 250, 249, 248, 247])), "base64"],
    ["too little", base64("hunter2"), "at least 8"],
    ["too much", base64("hunter2".repeat(200)), "at most 1024"],
    ["several lines", base64("hunter2\nhunter2"), "one line"],
  ])("that is %s is refused, and not said back", (_what, value, problem) => {
    const refusal = thrownBy(() => passphraseIn(header(value)));
    expect(refusal).toMatchObject({ code: "API_INPUT_INVALID", detail: { problems: [expect.stringContaining(problem)] } });
    expect(JSON.stringify(refusal)).not.toContain("hunter2");
  });
});

function thrownBy(action: () => unknown): unknown {
  try {
    return action();
  } catch (error) {
    return error;
  }
}
