// What doctor says of the room that a platform takes.
import { describe, expect, it } from "vitest";
import { DISK_PARTS, type DiskReport } from "../../../orchestrator/doctor/disk-use.ts";
import { judgeUse } from "../../../orchestrator/doctor/judge-use.ts";

const GB = 1_000_000_000;
const REPORT: DiskReport = { home: "/srv", parts: [], bytes: 1_500_000_000, isWhole: true, freeBytes: 50 * GB, engine: null };
const ENGINE = { kind: "docker", buildCount: 1, buildBytes: 1, imageBytes: 1 } as const;

describe("the room that a platform takes", () => {
  it("is told, and no complaint is made of it while there is more left", () => {
    expect(judgeUse(REPORT)).toEqual([{ name: "disk use", state: "ok", detail: "1.5 GB in the home" }]);
    expect(judgeUse({ ...REPORT, isWhole: false })).toMatchObject([{ detail: "at least 1.5 GB in the home" }]);
  });

  it.each(DISK_PARTS)("is worth knowing where %s takes more than is left, with what to do", (part) => {
    const parts = [{ part, bytes: 4 * GB, fileCount: 1, isWhole: true }];
    expect(judgeUse({ ...REPORT, parts, freeBytes: 5 * GB })).toHaveLength(1);
    const [, warning] = judgeUse({ ...REPORT, parts, freeBytes: 3 * GB });
    expect(warning).toMatchObject({ state: "warn", detail: expect.stringContaining(`${part} takes 4.0 GB`) as string });
    expect(warning?.remedy).toMatch(/\.$/);
    expect(judgeUse({ ...REPORT, parts, freeBytes: null })).toHaveLength(1);
  });

  it("is no matter of small parts, however little is left", () => {
    const parts = [{ part: "logs", bytes: GB / 2, fileCount: 1, isWhole: true }] as const;
    expect(judgeUse({ ...REPORT, parts, freeBytes: 1 })).toHaveLength(1);
  });

  it("is worth knowing where the engine's own disk is nearly full, unless it is the home's, which is told of already", () => {
    const engine = { ...ENGINE, freeBytes: GB };
    expect(judgeUse({ ...REPORT, engine })).toMatchObject([{ name: "disk use" }, { name: "engine's disk", state: "warn" }]);
    expect(judgeUse({ ...REPORT, engine, freeBytes: GB })).toHaveLength(1);
    expect(judgeUse({ ...REPORT, engine: { ...ENGINE, freeBytes: null } })).toHaveLength(1);
  });
});
