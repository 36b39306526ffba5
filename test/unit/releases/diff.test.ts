// What is told of two releases that differ.
import { describe, expect, it } from "vitest";
import { diffReleases } from "../../../orchestrator/releases/diff.ts";
import { releaseFunction as fn, releaseOf } from "../../support/releases.ts";

const SITE = { siteId: "5", answersRoot: true, isSpa: false };

describe("the difference of two releases", () => {
  it("is nothing where they are the same", () => {
    const release = releaseOf([fn()], { site: SITE });
    expect(diffReleases(release, release)).toEqual({
      from: release.releaseId,
      to: release.releaseId,
      functions: [],
      site: "same",
      proxies: [],
    });
  });

  it("names routes that came and went, what was built anew, and settings alone, by path", () => {
    const from = releaseOf([
      fn(),
      fn({ method: "POST", path: "/b", name: "src/http/post-b" }),
      fn({ path: "/c", name: "src/http/get-c" }),
      fn({ path: "/same", name: "src/http/get-same" }),
    ]);
    const to = releaseOf([
      fn({ buildId: "b2", timeoutMs: 9_000 }),
      fn({ path: "/b", name: "src/http/get-b" }),
      fn({ path: "/c", name: "src/http/get-c", concurrency: 1, seesVariables: false }),
      fn({ path: "/same", name: "src/http/get-same" }),
    ]);
    expect(diffReleases(from, to).functions).toEqual([
      { name: "src/http/get-index", route: "GET /", change: "rebuilt", settings: [{ name: "timeoutMs", from: "5000", to: "9000" }] },
      { name: "src/http/get-b", route: "GET /b", change: "added", settings: [] },
      { name: "src/http/post-b", route: "POST /b", change: "removed", settings: [] },
      {
        name: "src/http/get-c",
        route: "GET /c",
        change: "settings",
        settings: [
          { name: "concurrency", from: "32", to: "1" },
          { name: "seesVariables", from: "true", to: "false" },
        ],
      },
    ]);
  });

  it.each([
    [null, null, "same"],
    [SITE, null, "removed"],
    [null, SITE, "added"],
    [SITE, { ...SITE, siteId: "6" }, "changed"],
    [SITE, { ...SITE, isSpa: true }, "changed"],
  ] as const)("says of static files from %o to %o: %s", (one, other, site) => {
    expect(diffReleases(releaseOf([], { site: one }), releaseOf([], { site: other })).site).toBe(site);
  });

  it("names proxies that changed in their environment", () => {
    const from = releaseOf([], { proxyUrls: { staging: "http://a", production: "http://b" } });
    const to = releaseOf([], { proxyUrls: { staging: "http://a", production: "http://c" } });
    expect(diffReleases(from, to).proxies).toEqual([{ environment: "production", from: "http://b", to: "http://c" }]);
    expect(diffReleases(releaseOf([]), from).proxies).toHaveLength(2);
  });
});
