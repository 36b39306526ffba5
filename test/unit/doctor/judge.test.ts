// What doctor makes of facts: what must be repaired, what is worth knowing, and that every complaint says what to do.
import { describe, expect, it } from "vitest";
import { exitCodeOf, formatChecks, type Check } from "../../../orchestrator/doctor/check.ts";
import type { DockerFacts, Facts } from "../../../orchestrator/doctor/facts.ts";
import { judge } from "../../../orchestrator/doctor/judge.ts";

const DOCKER = {
  kind: "answers",
  endpoint: "/var/run/docker.sock",
  version: "28.5.2",
  runcVersion: "1.3.3",
  cgroupVersion: "2",
  limits: { memory: true, swap: true, pids: true, cpu: true },
  securityOptions: ["apparmor", "seccomp"],
  leftovers: [],
} as const satisfies DockerFacts;

const HEALTHY: Facts = {
  nodeVersion: "24.21.0",
  nats: { kind: "found", path: "/usr/bin/nats-server", version: "2.10.27" },
  tools: { git: "/usr/bin/git", npm: "/usr/lib/node_modules/npm" },
  broker: { kind: "answers", url: "nats://127.0.0.1:4222", version: "2.11.4", payloadBytesMax: 8_000_000, hasJetStream: true },
  docker: DOCKER,
  ports: [{ port: 3333, purpose: "staging", flag: "--staging-port", state: "free" }],
  disk: { path: "/srv", freeBytes: 50_000_000_000, isWritable: true },
  use: null,
  memory: { totalBytes: 8_000_000_000, availableBytes: 6_000_000_000 },
  fileDescriptorCountMax: 1_048_576,
  hasIpv6Loopback: true,
};

const find = (facts: Facts, name: string): Check => {
  const check = judge(facts).find((one) => one.name === name);
  if (check === undefined) throw new Error(`there is no check called ${name}`);
  return check;
};

describe("judge", () => {
  it("has no complaint about a machine that is fine", () => {
    expect(judge(HEALTHY).filter((check) => check.state !== "ok")).toEqual([]);
  });

  const bad: readonly [what: string, change: Partial<Facts>, name: string, detail: RegExp][] = [
    ["an old Node", { nodeVersion: "20.20.2" }, "Node", /20\.20\.2 is too old/],
    [
      "no nats-server",
      { nats: { kind: "unusable", problem: "No nats-server was found.", remedy: "Run ./setup" } },
      "nats-server",
      /No nats-server/,
    ],
    ["a broker that is silent", { broker: { kind: "silent", url: "nats://h:1", problem: "ECONNREFUSED" } }, "broker", /ECONNREFUSED/],
    [
      "a broker with every fault, all at once",
      { broker: { kind: "answers", url: "nats://h:1", version: "2.9.10", payloadBytesMax: 1_048_576, hasJetStream: false } },
      "broker",
      /2\.9\.10.*max_payload is 1 MB, 8 MB are needed.*JetStream is off/,
    ],
    [
      "a port that is taken",
      { ports: [{ port: 3333, purpose: "staging", flag: "--staging-port", state: "taken" }] },
      "port 3333",
      /another program/,
    ],
    [
      "a port below 1024",
      { ports: [{ port: 80, purpose: "production", flag: "--production-port", state: "forbidden" }] },
      "port 80",
      /may not/,
    ],
    ["a full disk", { disk: { path: "/srv", freeBytes: 10_000_000, isWritable: true } }, "disk", /10 MB free/],
    ["a disk that cannot be written", { disk: { path: "/srv", freeBytes: 1e12, isWritable: false } }, "disk", /may not be written/],
    ["a runc that functions can break out of", { docker: { ...DOCKER, runcVersion: "1.1.11" } }, "runc", /CVE-2024-21626/],
    [
      "an engine without limits",
      { docker: { ...DOCKER, limits: { ...DOCKER.limits, memory: false } } },
      "Docker limits",
      /cannot limit memory/,
    ],
  ];
  it.each(bad)("finds %s, and says what to do", (_what, change, name, detail) => {
    const check = find({ ...HEALTHY, ...change }, name);
    expect(check).toMatchObject({
      state: "bad",
      detail: expect.stringMatching(detail) as string,
      remedy: expect.stringMatching(/\w/) as string,
    });
  });

  const worthKnowing: readonly [what: string, change: Partial<Facts>, name: string, detail: RegExp][] = [
    ["no Docker", { docker: { kind: "absent", endpoint: "/s", problem: "ENOENT" } }, "Docker", /run as processes/],
    [
      "an up-to-date Debian 12, whose runc has holes that functions cannot use",
      { docker: { ...DOCKER, runcVersion: "1.1.5+ds1-1+deb12u1" } },
      "runc",
      /CVE-2025-31133/,
    ],
    ["a runc that is not known", { docker: { ...DOCKER, runcVersion: "1.1.5+ds1-1+deb12u9" } }, "runc", /not known here/],
    ["an engine that names no runc", { docker: { ...DOCKER, runcVersion: null } }, "runc", /cannot be told/],
    ["an engine without seccomp", { docker: { ...DOCKER, securityOptions: ["rootless"] } }, "Docker walls", /rootless/],
    ["an engine that cannot limit swap", { docker: { ...DOCKER, limits: { ...DOCKER.limits, swap: false } } }, "Docker limits", /swap/],
    ["a disk that fills up", { disk: { path: "/srv", freeBytes: 1_000_000_000, isWritable: true } }, "disk", /1000 MB/],
    ["little memory", { memory: { totalBytes: 2e9, availableBytes: 500_000_000 } }, "memory", /500 MB/],
    ["no git", { tools: { ...HEALTHY.tools, git: null } }, "git", /deploy, git push and route add/],
    ["no npm", { tools: { ...HEALTHY.tools, npm: null } }, "npm", /packages/],
    ["few open files", { fileDescriptorCountMax: 1024 }, "open files", /1024/],
  ];
  it.each(worthKnowing)("mentions %s without calling it bad", (_what, change, name, detail) => {
    const check = find({ ...HEALTHY, ...change }, name);
    expect(check).toMatchObject({
      state: "warn",
      detail: expect.stringMatching(detail) as string,
      remedy: expect.stringMatching(/\w/) as string,
    });
  });

  it("names the commands that remove what a platform that is gone left behind", () => {
    const leftovers = [
      { kind: "container", name: "orchestrator-1-a", home: "/gone" },
      { kind: "network", name: "orchestrator-1-staging", home: "/gone" },
    ] as const;
    const check = find({ ...HEALTHY, docker: { ...DOCKER, leftovers } }, "leftovers");
    expect(check.remedy).toContain("docker rm -f orchestrator-1-a; docker network rm orchestrator-1-staging");
  });

  it("takes a port that a running orchestrator listens on for what it is", () => {
    expect(find({ ...HEALTHY, ports: [{ port: 3333, purpose: "staging", flag: "-", state: "ours" }] }, "port 3333").state).toBe("ok");
  });

  it("does without what a system does not tell, and without a broker that nobody named", () => {
    const names = judge({ ...HEALTHY, fileDescriptorCountMax: null, broker: null }).map((check) => check.name);
    expect(names).not.toContain("open files");
    expect(names).not.toContain("broker");
  });
});

describe("formatChecks", () => {
  const checks: readonly Check[] = [
    { name: "Node", state: "ok", detail: "24.21.0" },
    { name: "port 3333", state: "bad", detail: "taken", remedy: "Stop it." },
    { name: "memory", state: "warn", detail: "little", remedy: "Buy some." },
  ];

  it("aligns the columns and puts each remedy below what it is for", () => {
    expect(formatChecks(checks)).toEqual([
      "ok    Node       24.21.0",
      "BAD   port 3333  taken",
      "                 → Stop it.",
      "warn  memory     little",
      "                 → Buy some.",
      "",
      "1 must be repaired, 1 worth knowing.",
    ]);
  });

  it("says so when there is nothing to say", () => {
    expect(formatChecks(checks.slice(0, 1)).at(-1)).toBe("Everything is as it should be.");
  });

  it("makes a script fail where something is bad, and only there", () => {
    expect([exitCodeOf(checks), exitCodeOf(checks.filter((check) => check.state !== "bad"))]).toEqual([1, 0]);
  });
});
