// Runs every example of docs/data.md.
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { data } from "../../../runtime-image/library/data.ts";
import { readDataExamples } from "../../support/data-page.ts";
import { layStore } from "../../support/laid-store.ts";
import { createMemoryStore } from "../../support/memory-store.ts";

it("says of every example of docs/data.md what comes of it", async () => {
  layStore(createMemoryStore());
  const { code, claimCount } = readDataExamples(readFileSync("docs/data.md", "utf8"));
  const load = (name: string): unknown => {
    expect(name).toBe("@orchestrator/data");
    return data;
  };
  const claims: string[] = [];
  const claim = (line: string, actual: unknown, said: unknown): void => {
    expect({ line, is: actual }).toEqual({ line, is: said });
    claims.push(line);
  };
  // oxlint-disable-next-line typescript/no-implied-eval -- The page's own code is what is tested.
  const run = new Function("require", "claim", "anything", `return (async () => {\n${code}\n})();`) as (
    ...values: readonly unknown[]
  ) => Promise<void>; // The line above made it.
  await run(load, claim, expect.any(String));
  expect(claims).toHaveLength(claimCount);
  expect(claimCount).toBeGreaterThan(15);
});
