// Which route a request takes, compared with a slow reading of the rules on arbitrary route lists.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { matchRoute, splitPath, type RouteMatch } from "../../../../gateway/routing/match.ts";
import { buildRouteTable } from "../../../../gateway/routing/table.ts";
import type { RouteMethod } from "../../../../runtime-image/contract/snapshot.ts";

type Listed = { readonly method: RouteMethod; readonly path: string };

const routes = (...keys: string[]): Listed[] =>
  keys.map((key) => {
    const [method = "", path = ""] = key.split(" ");
    return { method: method as RouteMethod, path }; // The tests below write methods that exist.
  });
const match = (listed: readonly Listed[], method: string, path: string): RouteMatch | null =>
  matchRoute(buildRouteTable(listed), { method, path });

describe("matching a path", () => {
  it("prefers static over param over catch-all, segment by segment from the left", () => {
    const listed = routes("GET /*", "GET /a/*", "GET /a/:x", "GET /a/b", "GET /:x/b");
    expect(match(listed, "GET", "/a/b")?.route).toBe("GET /a/b");
    expect(match(listed, "GET", "/a/c")?.route).toBe("GET /a/:x");
    expect(match(listed, "GET", "/c/b")?.route).toBe("GET /:x/b");
    expect(match(listed, "GET", "/a/c/d")?.route).toBe("GET /a/*");
    expect(match(listed, "GET", "/c/c")?.route).toBe("GET /*");
  });

  it("goes back to a less special pattern where the special one leads nowhere", () => {
    const listed = routes("GET /a/b/c", "GET /:x/b/d", "POST /a/b");
    expect(match(listed, "GET", "/a/b/d")).toEqual({ key: "GET /:x/b/d", route: "GET /:x/b/d", params: { x: "a" } });
    expect(match([...listed, ...routes("GET /a/:y")], "GET", "/a/b")).toMatchObject({ route: "GET /a/:y", params: { y: "b" } });
  });

  it("prefers the exact method over any, and lets HEAD run what GET runs", () => {
    const listed = routes("ANY /a", "GET /a", "HEAD /b", "GET /b", "ANY /c");
    expect(match(listed, "GET", "/a")?.route).toBe("GET /a");
    expect(match(listed, "PUT", "/a")?.route).toBe("ANY /a");
    expect(match(listed, "HEAD", "/a")?.route).toBe("GET /a");
    expect(match(listed, "HEAD", "/b")?.route).toBe("HEAD /b");
    expect(match(listed, "HEAD", "/c")?.route).toBe("ANY /c");
  });

  it("gives what nothing captures to GET / or ANY / as $default, and nothing where there is neither", () => {
    expect(match(routes("GET /"), "POST", "/")).toEqual({ key: "GET /", route: "$default", params: null });
    expect(match(routes("ANY /"), "POST", "/")?.route).toBe("ANY /");
    expect(match(routes("ANY /"), "POST", "/x")).toEqual({ key: "ANY /", route: "$default", params: null });
    expect(match(routes("POST /"), "GET", "/")).toBeNull();
  });

  it("ignores one slash at the end and normalises nothing else", () => {
    const listed = routes("GET /a", "GET /:x", "GET /a/:x");
    expect(match(listed, "GET", "/a/")?.route).toBe("GET /a");
    expect(match(listed, "GET", "/a//")).toBeNull();
    expect(match(listed, "GET", "//a")).toBeNull();
    expect(match(listed, "GET", "//")).toBeNull();
    expect(match(listed, "GET", "/a/..")).toMatchObject({ route: "GET /a/:x", params: { x: ".." } });
    expect(match(listed, "GET", "/A")?.params).toEqual({ x: "A" });
  });

  it("matches decoded segments and keeps an encoded slash inside its param", () => {
    const listed = routes("GET /café", "GET /x/:item", "GET /files/*");
    expect(match(listed, "GET", "/caf%C3%A9")?.route).toBe("GET /café");
    expect(match(listed, "GET", "/x/a%2Fb%20c")?.params).toEqual({ item: "a/b c" });
    expect(match(listed, "GET", "/files/a/b%20c/")?.params).toEqual({ proxy: "a/b c" });
    expect(match(listed, "GET", "/files")).toBeNull();
  });

  it("hands over params whatever they are called", () => {
    expect(Object.entries(match(routes("GET /:__proto__/:constructor"), "GET", "/a/b")?.params ?? {})).toEqual([
      ["__proto__", "a"],
      ["constructor", "b"],
    ]);
  });
});

const segment = fc.constantFrom("a", "b", "aa", ":x", ":y");
const routePath = fc
  .tuple(fc.array(segment, { maxLength: 4 }), fc.boolean())
  .map(([segments, hasRest]) => `/${[...segments, ...(hasRest ? ["*"] : [])].join("/")}`);
const method = fc.constantFrom<RouteMethod>("GET", "POST", "HEAD", "ANY");
const routeList = fc.uniqueArray(fc.record({ method, path: routePath }), {
  maxLength: 12,
  selector: ({ method: name, path }) => `${name} ${path.replaceAll(/:\w+/g, ":")}`, // Two params of different names are one pattern.
});
const request = fc.record({
  method: fc.constantFrom("GET", "POST", "HEAD", "PUT"),
  path: fc.array(fc.constantFrom("a", "b", "aa", "c", "", "%61", "x%2Fy"), { maxLength: 5 }).map((segments) => `/${segments.join("/")}`),
});

const twoOrders = routeList.chain((listed) =>
  fc.tuple(fc.constant(listed), fc.shuffledSubarray(listed, { minLength: listed.length, maxLength: listed.length })),
);

// The rules, read out loud: every route is tried, the best by its pattern wins, then the best by its method.
function slowMatch(listed: readonly Listed[], { method: asked, path }: { method: string; path: string }): string | null {
  const segments = splitPath(path);
  const order = asked === "HEAD" ? ["HEAD", "GET", "ANY"] : [asked, "ANY"];
  const fitting = listed
    .filter((route) => order.includes(route.method))
    .map((route) => ({
      route,
      rank: rankOf(
        route.path.split("/").filter((part) => part !== ""),
        segments,
      ),
    }))
    .flatMap(({ route, rank }) => (rank === null ? [] : [{ route, rank: `${rank}|${order.indexOf(route.method)}` }]))
    .toSorted((left, right) => (left.rank < right.rank ? -1 : 1));
  const best = fitting[0]?.route;
  return best === undefined ? null : `${best.method} ${best.path}`;
}

function rankOf(pattern: readonly string[], segments: readonly string[]): string | null {
  let rank = "";
  for (const [index, part] of pattern.entries()) {
    const value = segments[index];
    if (value === undefined) return null;
    if (part === "*") return `${rank}2`;
    if (part.startsWith(":")) {
      if (value === "") return null;
      rank += "1";
    } else if (part === value) rank += "0";
    else return null;
  }
  return pattern.length === segments.length ? rank : null;
}

describe("matching any path against any routes", () => {
  it("agrees with a slow reading of the rules", () => {
    fc.assert(
      fc.property(routeList, request, (listed, asked) => {
        const found = matchRoute(buildRouteTable(listed), asked);
        const captured = found?.route === "$default" ? null : (found?.route ?? null);
        expect(captured).toBe(slowMatch(listed, asked));
      }),
      { numRuns: 2_000 },
    );
  });

  it("does not depend on the order of the routes", () => {
    fc.assert(
      fc.property(twoOrders, request, ([listed, shuffled], asked) => {
        expect(matchRoute(buildRouteTable(shuffled), asked)).toEqual(matchRoute(buildRouteTable(listed), asked));
      }),
      { numRuns: 1_000 },
    );
  });

  it("throws on no path at all", () => {
    fc.assert(
      fc.property(routeList, fc.string(), fc.string({ unit: "binary" }), (listed, asked, path) => {
        expect(() => matchRoute(buildRouteTable(listed), { method: asked, path })).not.toThrow();
        expect(() => matchRoute(buildRouteTable(listed), { method: "GET", path: `/${path}` })).not.toThrow();
      }),
      { numRuns: 1_000 },
    );
  });

  it("costs the same with 10 and with 10,000 routes", () => {
    const table = (count: number) => buildRouteTable(routes(...Array.from({ length: count }, (_, index) => `GET /r${index}/:x`)));
    const costOf = (routeTable: ReturnType<typeof table>): number => {
      const startMs = performance.now();
      for (let round = 0; round < 20_000; round++) matchRoute(routeTable, { method: "GET", path: "/r5/value" });
      return performance.now() - startMs;
    };
    const [few, many] = [table(10), table(10_000)];
    costOf(few);
    expect(Math.min(costOf(many), costOf(many))).toBeLessThan(10 * Math.max(1, costOf(few)));
  });
});
