// How a line that a function printed is shown.
import { describe, expect, it } from "vitest";
import { logLine } from "../../../orchestrator/commands/log-line.ts";

const entry = {
  epochMs: Date.UTC(2026, 0, 2, 3, 4, 5, 6),
  app: "shop",
  environment: "staging",
  functionName: "src/http/get-index",
  instanceId: "i1",
  requestId: "r1",
  level: "warn",
  text: "careful",
} as const;

describe("a line of a log", () => {
  it("says when, where, which request and how bad", () => {
    expect(logLine(entry, { withApp: false })).toBe("2026-01-02T03:04:05.006Z staging src/http/get-index r1 warn: careful");
    expect(logLine({ ...entry, requestId: null }, { withApp: false })).toContain(" src/http/get-index - warn:");
  });

  it("says of which app it is where there are several", () => {
    expect(logLine(entry, { withApp: true })).toBe("2026-01-02T03:04:05.006Z shop staging src/http/get-index r1 warn: careful");
    expect(logLine({ ...entry, app: null }, { withApp: true })).toContain("Z - staging ");
  });
});
