// What `orchestrator env` says to people.
import { describe, expect, it } from "vitest";
import { changeLines, listLines } from "../../../orchestrator/commands/env-lines.ts";

describe("the outcome of a change", () => {
  it("names what changed where, and what still does not start", () => {
    const failures = [{ functionName: "src/http/get-a", code: "HANDLER_LOAD_FAILED", message: "no B" }];
    const outcome = {
      environments: [
        { environment: "staging", changed: ["A", "B"], failures },
        { environment: "production", changed: [], failures: [] },
      ] as const,
    };
    expect(changeLines(outcome, "set")).toEqual([
      "staging: set A, B",
      "staging: src/http/get-a still does not start: HANDLER_LOAD_FAILED: no B",
      "production: nothing to change, it is so already",
    ]);
  });
});

describe("the list", () => {
  it("is a table, or says how to begin", () => {
    const lines = listLines([
      { name: "A", environment: "staging", source: "set", hidesFolder: true, changedEpochMs: 0, changedBy: "home" },
      { name: "LONG_NAME", environment: "production", source: "folder", hidesFolder: false, changedEpochMs: null, changedBy: null },
    ]);
    expect(lines).toEqual([
      "NAME       ENVIRONMENT  FROM                           CHANGED (UTC)        BY",
      "A          staging      set, in place of the folder's  1970-01-01 00:00:00  home",
      "LONG_NAME  production   the folder's .env",
    ]);
    expect(listLines([])).toEqual(["no variables; set one with: orchestrator env set KEY=value"]);
  });
});
