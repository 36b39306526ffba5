// What answers a request: functions, static files, the upstream of @proxy, or nothing; for given and for any requests.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { matchRoute } from "../../../../gateway/routing/match.ts";
import { buildRouteTable } from "../../../../gateway/routing/table.ts";
import { chooseTarget, type TargetFacts } from "../../../../gateway/routing/target.ts";
import type { RouteMethod } from "../../../../runtime-image/contract/snapshot.ts";

const table = (...keys: [RouteMethod, string][]) => buildRouteTable(keys.map(([method, path]) => ({ method, path })));
const facts = (more: Partial<TargetFacts> = {}): TargetFacts => ({ table: table(["GET", "/a"]), site: null, proxyUrl: null, ...more });
const kindOf = (of: TargetFacts, path: string, method = "GET"): string => chooseTarget(of, { method, path }).kind;

describe("the target of a request", () => {
  it("is the declared function before anything else", () => {
    const all = facts({ site: { answersRoot: true }, proxyUrl: "http://up" });
    expect(chooseTarget(all, { method: "GET", path: "/a" })).toMatchObject({ kind: "function", match: { route: "GET /a" } });
    expect(kindOf(all, "/a", "POST")).toBe("proxy");
  });

  it("is the upstream where no function is declared: GET / is none for other paths then", () => {
    const root = facts({ table: table(["GET", "/"]), proxyUrl: "http://up" });
    expect(chooseTarget(root, { method: "GET", path: "/b" })).toEqual({ kind: "proxy", url: "http://up" });
    expect(kindOf(root, "/")).toBe("function");
    expect(kindOf({ ...root, proxyUrl: null }, "/b")).toBe("function");
  });

  it("is a file where neither a function nor an upstream answers, and below /_static always", () => {
    const site = facts({ site: { answersRoot: true }, proxyUrl: null });
    expect(chooseTarget(site, { method: "GET", path: "/b" })).toEqual({ kind: "site", area: "root" });
    expect(chooseTarget(facts({ site: { answersRoot: false }, proxyUrl: "http://up" }), { method: "GET", path: "/_static/x" })).toEqual({
      kind: "site",
      area: "static",
    });
    expect(kindOf(facts({ table: table(["GET", "/*"]) }), "/_static")).toBe("nothing");
    expect(kindOf(facts({ table: table(["GET", "/*"]) }), "/_statics")).toBe("function");
  });

  it("is nothing where nothing is left", () => expect(kindOf(facts(), "/b")).toBe("nothing"));
});

const segment = fc.constantFrom("a", "b", ":x", ":__proto__", "%61", "*");
const listed = fc.uniqueArray(
  fc.record({
    method: fc.constantFrom<RouteMethod>("GET", "POST", "HEAD", "ANY"),
    path: fc.array(segment, { maxLength: 4 }).map((segments) => `/${segments.join("/")}`),
  }),
  { maxLength: 10, selector: ({ method, path }) => `${method} ${path}` },
);
const anyFacts = fc.record({
  table: listed.map((functions) => buildRouteTable(functions)),
  site: fc.option(fc.record({ answersRoot: fc.boolean() })),
  proxyUrl: fc.option(fc.constant("http://up")),
});
const path = fc.oneof(
  fc.string(),
  fc
    .array(fc.oneof(fc.constantFrom("a", "b", "", "..", "%2F", "%", "_static", "__proto__"), fc.string()), { maxLength: 6 })
    .map((segments) => `/${segments.join("/")}`),
);
const request = fc.record({
  method: fc.oneof(fc.constantFrom("GET", "POST", "HEAD", "OPTIONS", "__proto__", "constructor"), fc.string()),
  path,
});

describe("the target of any request", () => {
  it("is found without an error, and agrees with the routes", () => {
    fc.assert(
      fc.property(anyFacts, request, (of, asked) => {
        const target = chooseTarget(of, asked);
        const match = matchRoute(of.table, asked);
        const isStatic = asked.path === "/_static" || asked.path.startsWith("/_static/");
        const isDeclared = match !== null && match.route !== "$default";
        const expected = isStatic
          ? of.site === null
            ? ["nothing"]
            : ["site"]
          : isDeclared
            ? ["function"]
            : of.proxyUrl !== null
              ? ["proxy"]
              : ["function", "site", "nothing"];
        expect(expected).toContain(target.kind);
        expect(target.kind === "function" ? target.match : match).toEqual(match);
      }),
      { numRuns: 2_000 },
    );
  });

  it("captures params that are texts, one for each name, however the path is encoded", () => {
    fc.assert(
      fc.property(anyFacts, request, (of, asked) => {
        const target = chooseTarget(of, asked);
        const params = target.kind === "function" ? (target.match.params ?? {}) : {};
        for (const value of Object.values(params)) expect(typeof value).toBe("string");
        expect(Object.getPrototypeOf(params)).toBe(Object.prototype);
      }),
      { numRuns: 1_000 },
    );
  });
});
