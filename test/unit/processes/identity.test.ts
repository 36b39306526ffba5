// Whether a process is still the one that was meant.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { createLookout, isAlive, processIdentity } from "../../../orchestrator/processes/identity.ts";
import { until } from "../../support/until.ts";

async function identityOf(pid: number | undefined) {
  const identity = await processIdentity(pid ?? 0);
  if (identity === null) throw new Error("it does not run");
  return identity;
}

describe("a lookout", () => {
  it("says that a process is there until it ended, and then at once that it is not", async () => {
    const child = spawn("sleep", ["60"]);
    const isStillAlive = createLookout(await identityOf(child.pid));
    expect([await isStillAlive(), await isStillAlive()]).toEqual([true, true]);
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(await isStillAlive()).toBe(false);
  });

  it("does not take another process that has the pid for the one that was meant", async () => {
    const identity = { ...(await identityOf(process.pid)), startedAt: "before" };
    expect(await createLookout(identity)()).toBe(false);
    expect(await isAlive(identity)).toBe(false);
  });
});

describe("what is left of a process that nobody looks at", () => {
  it("is not taken for alive", async () => {
    // The shell ends its child and goes on without ever asking for how it ended.
    const parent = spawn("sh", ["-c", "sleep 0.3 & echo $!; exec sleep 60"]);
    const [printed] = (await once(parent.stdout, "data")) as [Buffer];
    const identity = await identityOf(Number(printed.toString()));
    const isStillAlive = createLookout(identity);
    expect(await isStillAlive()).toBe(true);
    await until(async () => !(await isStillAlive()), { timeoutMs: 5_000 });
    expect(await isAlive(identity)).toBe(false);
    parent.kill("SIGKILL");
  });
});
