// The audit log: what it says after a crash, and how long it gets.
import { appendFile, mkdtemp, readFile, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type AuditChange, openAuditLog } from "../../../orchestrator/api/audit.ts";
import { AUDIT_FILE_BYTES_MAX } from "../../../runtime-image/contract/limits.ts";

describe("the audit log", () => {
  let folder = "";
  let nowEpochMs = 5_000;
  const clock = { nowEpochMs: () => nowEpochMs };
  const change = (path: string): AuditChange => ({ tokenName: "ci", role: "deploy", method: "POST", path, input: {} });

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "orchestrator-audit-"));
  });

  afterEach(async () => rm(folder, { recursive: true }));

  it("says of a change that it is unfinished until it has ended, and how long it took", async () => {
    const log = await openAuditLog(folder, clock);
    const end = await log.begin(change("/api/promote"));
    expect(await log.list(10)).toMatchObject([{ path: "/api/promote", outcome: "unfinished", durationMs: null, epochMs: 5_000 }]);
    nowEpochMs = 5_250;
    await end({ code: "DEPLOY_FAILED" });
    expect(await log.list(10)).toMatchObject([{ outcome: { code: "DEPLOY_FAILED" }, durationMs: 250 }]);
    await log.close();
  });

  it("goes on after a crash in the middle of a line, and keeps what was whole", async () => {
    const first = await openAuditLog(folder, clock);
    await (
      await first.begin(change("/api/one"))
    )("done");
    await first.close();
    await appendFile(join(folder, "audit.ndjson"), '{"id":"x-1","epo');
    nowEpochMs = 6_000;
    const second = await openAuditLog(folder, clock);
    await (
      await second.begin(change("/api/two"))
    )("done");
    expect((await second.list(10)).map((entry) => [entry.path, entry.outcome])).toEqual([
      ["/api/two", "done"],
      ["/api/one", "done"],
    ]);
    await second.close();
  });

  it("can be read by its owner only", async () => {
    const log = await openAuditLog(folder, clock);
    await log.begin(change("/api/one"));
    expect((await stat(join(folder, "audit.ndjson"))).mode & 0o777).toBe(0o600);
    await log.close();
  });

  it("keeps two files of a bounded size, and finds the newest across both", async () => {
    const log = await openAuditLog(folder, clock);
    await (
      await log.begin(change("/api/before"))
    )("done");
    await log.close();
    await appendFile(join(folder, "audit.ndjson"), `${"x".repeat(AUDIT_FILE_BYTES_MAX)}\n`);
    const later = await openAuditLog(folder, clock);
    nowEpochMs += 1;
    await (
      await later.begin(change("/api/after"))
    )("done");
    expect((await readdir(folder)).toSorted()).toEqual(["audit.1.ndjson", "audit.ndjson"]);
    expect(await readFile(join(folder, "audit.ndjson"), "utf8")).not.toContain("xxx");
    expect((await later.list(10)).map((entry) => entry.path)).toEqual(["/api/after", "/api/before"]);
    expect(await later.list(1)).toHaveLength(1);
    await later.close();
  });
});
