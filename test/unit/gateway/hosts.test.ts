// Which app answers on a host, while apps come, change and go.
import { describe, expect, it } from "vitest";
import { type Claims, createHosts } from "../../../gateway/hosts.ts";

const claims = (appId: string, hosts: readonly string[], isDefault = false): Claims => ({ appId, hosts, isDefault });

describe("the app of a host", () => {
  it("is the one that says so, else the default one, else none", () => {
    const hosts = createHosts<string>();
    expect(hosts.find("a.example")).toBeNull();
    hosts.put(claims("a", ["a.example"]), "a1");
    hosts.put(claims("b", ["b.example"], true), "b1");
    expect([hosts.find("a.example"), hosts.find("b.example"), hosts.find("other.example")]).toEqual(["a1", "b1", "b1"]);
    hosts.remove("b");
    expect([hosts.find("b.example"), hosts.find("other.example")]).toEqual([null, null]);
  });

  it("is as the last snapshot says, hosts that it names no more included", () => {
    const hosts = createHosts<string>();
    hosts.put(claims("a", ["one.example", "two.example"]), "a1");
    hosts.put(claims("a", ["two.example", "three.example"]), "a2");
    expect(["one", "two", "three"].map((name) => hosts.find(`${name}.example`))).toEqual([null, "a2", "a2"]);
  });

  it.each([["a"], ["b"]])("is the first by id where two claim it, also when %s came last, and the other once that one leaves", (last) => {
    const hosts = createHosts<string>();
    for (const appId of last === "a" ? ["b", "a"] : ["a", "b"]) hosts.put(claims(appId, ["same.example"], true), appId);
    expect([hosts.find("same.example"), hosts.find("other.example")]).toEqual(["a", "a"]);
    hosts.put(claims("a", [], false), "a");
    expect([hosts.find("same.example"), hosts.find("other.example")]).toEqual(["b", "b"]);
    hosts.remove("b");
    expect(hosts.find("same.example")).toBeNull();
  });
});
