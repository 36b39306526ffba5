// The wall's rules, as text that the packet filter takes.
import { describe, expect, it } from "vitest";
import { resolversOf, wallRemovalScript, wallScript, type Wall } from "../../../orchestrator/engines/docker-wall-rules.ts";
import { bridgeName, shortHash } from "../../../orchestrator/engines/docker-labels.ts";

const platformId = "p1";
const chain = `ORC-${shortHash(platformId)}`;
const [staging, production] = [bridgeName(platformId, "staging"), bridgeName(platformId, "production")];
const install = bridgeName(platformId, "install");
const wall: Wall = {
  platformId,
  bridges: [staging, production, install],
  brokerlessBridge: install,
  resolvers: ["192.0.2.53"],
  broker: { host: "172.18.0.1", port: 4222 },
};
const linesOf = (script: string) => script.trimEnd().split("\n");
const toHost = (script: string) => linesOf(script).filter((line) => line.startsWith(`-A ${chain}-HOST `));

/** What "iptables -S" would say after a script. */
const listedAfter = (script: string): string =>
  [
    "-P INPUT ACCEPT",
    "-P FORWARD DROP",
    `-N ${chain}-HOST`,
    `-N ${chain}-BETWEEN`,
    "-A INPUT -i eth0 -j ACCEPT",
    ...linesOf(script)
      .filter((line) => line.startsWith("-I "))
      .map((line) => line.replace(/^-I (\w+) 1/, "-A $1")),
    "-A FORWARD -j DOCKER-USER",
  ].join("\n");

describe("the wall's rules", () => {
  it("let answers, the broker and the resolver through, and drop the rest last", () => {
    const rules = toHost(wallScript(wall, ""));
    expect(rules).toHaveLength(5);
    expect(rules[0]).toContain("--ctstate RELATED,ESTABLISHED");
    expect(rules[1]).toContain(`-d 172.18.0.1/32 ! -i ${install} -p tcp -m tcp --dport 4222 `);
    expect(rules[2]).toContain("-d 192.0.2.53/32 -p udp -m udp --dport 53 ");
    expect(rules[3]).toContain("-d 192.0.2.53/32 -p tcp -m tcp --dport 53 ");
    expect(rules.slice(0, 4).every((rule) => rule.endsWith(" -j ACCEPT"))).toBe(true);
    expect(rules[4]).toMatch(/^-A \S+ -m comment --comment "orchestrator:p1" -j DROP$/);
  });

  it("let nothing new in while the broker's port is not known", () => {
    const rules = toHost(wallScript({ ...wall, broker: null, resolvers: [] }, ""));
    expect(rules.filter((rule) => rule.endsWith("ACCEPT"))).toHaveLength(1);
  });

  it("keep what is on one of our bridges from what is on another, both ways", () => {
    const lines = linesOf(wallScript(wall, ""));
    for (const bridge of [staging, production, install]) {
      expect(lines.some((line) => line.startsWith(`-I FORWARD 1 -i ${bridge} `) && line.endsWith(`-j ${chain}-BETWEEN`))).toBe(true);
      expect(lines.some((line) => line.startsWith(`-A ${chain}-BETWEEN -o ${bridge} `) && line.endsWith("-j DROP"))).toBe(true);
    }
  });

  it("carry the platform's tag, every one of them", () => {
    const rules = linesOf(wallScript(wall, "")).filter((line) => /^-[AI] /.test(line));
    expect(rules.every((rule) => rule.includes('--comment "orchestrator:p1"'))).toBe(true);
  });

  it("take the place of their former selves and leave those of others", () => {
    const first = wallScript(wall, "");
    const second = linesOf(wallScript(wall, listedAfter(first)));
    expect(second.filter((line) => line.startsWith("-D "))).toHaveLength(6);
    expect(second.some((line) => line.includes("eth0") || line.includes("DOCKER"))).toBe(false);
  });

  it("go away whole, and nothing is done where there are none", () => {
    const removal = linesOf(wallRemovalScript(platformId, listedAfter(wallScript(wall, ""))) ?? "");
    expect(removal.filter((line) => line.startsWith("-D "))).toHaveLength(6);
    expect(removal).toContain(`-X ${chain}-HOST`);
    expect(removal).toContain(`-X ${chain}-BETWEEN`);
    expect(wallRemovalScript("other", listedAfter(wallScript(wall, "")))).toBeNull();
  });

  it("fit into the packet filter's limits for names", () => {
    expect(`${chain}-BETWEEN`.length).toBeLessThanOrEqual(28);
    expect(bridgeName("a-platform-with-a-very-long-id", "production").length).toBeLessThanOrEqual(15);
  });
});

describe("the resolvers that the wall lets through", () => {
  it("are the IPv4 ones that are not on loopback, each once", () => {
    const conf =
      "search lan\nnameserver 127.0.0.53\nnameserver 192.0.2.53\n# nameserver 192.0.2.1\nnameserver 2001:db8::1\nnameserver 192.0.2.53\n";
    expect(resolversOf(conf)).toEqual(["192.0.2.53"]);
  });
});
