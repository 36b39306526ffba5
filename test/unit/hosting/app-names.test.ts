// Names and domains of apps: which are taken, which are refused and why.
import { describe, expect, it } from "vitest";
import { domainProblem, hostsOf, nameProblem } from "../../../orchestrator/hosting/app-names.ts";

describe("the name of an app", () => {
  it.each(["a", "shop", "shop-2", "a1", "x".repeat(40)])("may be %s", (name) => {
    expect(nameProblem(name)).toBeNull();
  });

  it.each(["", "Shop", "2shop", "-shop", "shop-", "sh op", "shop.example", "shöp", "../shop", "x".repeat(41), "shop-staging"])(
    "may not be %o",
    (name) => {
      expect(nameProblem(name)).not.toBeNull();
    },
  );
});

describe("a domain", () => {
  it.each(["shop.example.org", "a.b", "xn--mnchen-3ya.example", "shop-2.example.org"])("may be %s", (domain) => {
    expect(domainProblem(domain)).toBeNull();
  });

  it.each([
    "",
    "localhost",
    "shop.localhost",
    "Shop.example.org",
    "shop",
    "shop..org",
    "shop.example.org:80",
    "10.0.0.1",
    "-a.org",
    `${"a".repeat(64)}.org`,
    `${"a.".repeat(130)}org`,
  ])("may not be %o", (domain) => {
    expect(domainProblem(domain)).not.toBeNull();
  });
});

it("gives each environment a host that tells it apart, and both the plain one", () => {
  expect(hostsOf("shop", "production", ["shop.example.org"])).toEqual(["shop.localhost", "shop.example.org"]);
  expect(hostsOf("shop", "staging", [])).toEqual(["shop-staging.localhost", "shop.localhost"]);
});
