// Which versions of runc have known holes, as upstream and as distributions number them.
import { describe, expect, it } from "vitest";
import { judgeRunc } from "../../../orchestrator/doctor/runc.ts";

const states = (version: string): readonly string[] | null => judgeRunc(version)?.map((verdict) => verdict.state) ?? null;

describe("judgeRunc", () => {
  it.each([
    // [version, leaked file descriptors (2024), masked paths and mounts (2025)]
    ["1.1.11", "open", "open"],
    ["v1.1.12", "fixed", "open"],
    ["1.2.7", "fixed", "open"],
    ["1.2.8", "fixed", "fixed"],
    ["1.2.10-0-gabcdef0", "fixed", "fixed"],
    ["1.3.2", "fixed", "open"],
    ["1.3.3", "fixed", "fixed"],
    ["1.4.0-rc.2", "fixed", "open"],
    ["1.4.0-rc.3", "fixed", "fixed"],
    ["1.4.0", "fixed", "fixed"],
    ["1.5.1", "fixed", "fixed"],
    ["2.0.0", "fixed", "fixed"],
    ["0.9.9", "open", "open"],
  ])("judges upstream's %s: %s, %s", (version, leaked, masked) => {
    expect(states(version)).toEqual([leaked, masked]);
  });

  it.each([
    ["1.1.5+ds1-1", "open", "open"],
    ["1.1.5+ds1-1+deb12u1", "fixed", "open"],
    ["1.1.5+ds1-1+deb12u2", "fixed", "unknown"],
    ["1.0.0~rc93+ds1-5+deb11u3", "fixed", "unknown"],
    ["1.1.15+ds1-2+b4", "fixed", "open"],
    ["1.1.15+ds1-2+deb13u1", "fixed", "unknown"],
    ["1.3.3+ds1-2", "fixed", "fixed"],
    ["1.1.7-0ubuntu1~22.04.2", "unknown", "unknown"],
    ["1.3.3-0ubuntu1~24.04.2", "fixed", "fixed"],
  ])("judges a distribution's %s: %s, %s", (version, leaked, masked) => {
    expect(states(version)).toEqual([leaked, masked]);
  });

  it.each(["", "unknown", "N/A", "1.1"])("does not pretend to know %j", (version) => {
    expect(judgeRunc(version)).toBeNull();
  });
});
