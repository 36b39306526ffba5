// Routes as they are written in a command: what is taken, and everything that is wrong with the rest.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type RouteKind, newRoute, routeOfText } from "../../../orchestrator/apps/new-route.ts";
import { pathProblem, routeOfFolder, folderNames } from "../../../orchestrator/apps/routes.ts";
import { PlatformError } from "../../../runtime-image/contract/errors.ts";

function problemsOf(route: string, kind: RouteKind = "http"): readonly string[] {
  try {
    newRoute({ route, kind });
  } catch (error) {
    if (error instanceof PlatformError && error.code === "ROUTE_INVALID") return error.detail.problems ?? [];
    throw error;
  }
  return [];
}

describe("a new route", () => {
  it.each<[string, { method: string; path: string }]>([
    ["POST /api/submit", { method: "POST", path: "/api/submit" }],
    ["  get   / ", { method: "GET", path: "/" }],
    ["Any /shop/:item/Size2", { method: "ANY", path: "/shop/:item/Size2" }],
    ["head /a", { method: "HEAD", path: "/a" }],
    ["options /a", { method: "OPTIONS", path: "/a" }],
    [`PUT /${"a".repeat(24)}`, { method: "PUT", path: `/${"a".repeat(24)}` }],
  ])("may be %j", (route, expected) => {
    expect(newRoute({ route, kind: "http" })).toEqual({ kind: "http", ...expected });
  });

  const METHODS = "GET, POST, PATCH, PUT, DELETE, HEAD, OPTIONS, ANY";
  it.each<[string, string[]]>([
    ["", ['"" should be a method and a path, such as "POST /api/submit"']],
    ["POST", ['"POST" should be a method and a path, such as "POST /api/submit"']],
    ["POST /a /b", ['"POST /a /b" should be a method and a path, such as "POST /api/submit"']],
    ["/a", ['"/a" should be a method and a path, such as "POST /api/submit"']],
    ["FETCH /a", [`the method should be one of ${METHODS}, got "FETCH"`]],
    ["GET a", ['the path "a" should begin with "/"']],
    ["GET /a/", ['the path "/a/" should not end in "/"']],
    ["GET //a", ['the path "//a" should not hold "//"']],
    ["GET /:", ['the path "/:" should write a parameter as a whole part, such as /:name']],
    ["GET /a:b", ['the path "/a:b" should write a parameter as a whole part, such as /:name']],
    ["GET /:a/:a", ['the path "/:a/:a" names a parameter twice']],
    ["GET /a-b", ['the path "/a-b" may hold letters, digits, slashes and parameters such as /:name only']],
    ["GET /_static/a", ['the path "/_static/a" may hold letters, digits, slashes and parameters such as /:name only']],
    ["GET /*", ['the path "/*" may hold letters, digits, slashes and parameters such as /:name only']],
    ["GET /ä", ['the path "/ä" may hold letters, digits, slashes and parameters such as /:name only']],
    [`GET /${"a".repeat(25)}`, [`the path "/${"a".repeat(25)}" is longer than 25 characters: it has 26`]],
    [
      "PULL http://example.com/products/?all",
      [
        `the method should be one of ${METHODS}, got "PULL"`,
        'the path "http://example.com/products/?all" is longer than 25 characters: it has 32',
        'the path "http://example.com/products/?all" should begin with "/"',
        'the path "http://example.com/products/?all" may hold letters, digits, slashes and parameters such as /:name only',
      ],
    ],
  ])("has every problem of %j named", (route, problems) => {
    expect(problemsOf(route)).toEqual(problems);
  });

  it("of the library's own kinds has a method that the library wraps", () => {
    for (const kind of ["html", "json"] as const) {
      expect(problemsOf("delete /a", kind)).toEqual([]);
      expect(problemsOf("any /a", kind)).toEqual([
        `the method of a route of kind ${kind} should be one of GET, POST, PATCH, PUT, DELETE, got ANY`,
      ]);
    }
  });

  it("does not repeat a long text at length", () => {
    for (const problem of problemsOf(`GET /${"a".repeat(1_000_000)}`)) expect(problem.length).toBeLessThan(200);
  });

  it("is always one that a manifest may have, in one folder that a file system takes", () => {
    const part = fc.stringMatching(/^:?[a-zA-Z0-9]{1,12}$/);
    const text = fc.oneof(
      fc
        .tuple(fc.constantFrom("get", "POST", "any"), fc.array(part, { maxLength: 5 }))
        .map(([method, parts]) => `${method} /${parts.join("/")}`),
      fc.string(),
      fc.tuple(fc.constantFrom("get "), fc.string({ unit: "binary" })).map((pieces) => pieces.join("/")),
    );
    fc.assert(
      fc.property(text, (route) => {
        if (problemsOf(route).length > 0) return;
        const made = newRoute({ route, kind: "http" });
        expect(pathProblem(made.path)).toBeNull();
        expect(folderNames(made)).toEqual([expect.stringMatching(/^[a-z]+-[a-zA-Z0-9-]{1,80}$/)]);
        expect(routeOfFolder(folderNames(made)[0] ?? "")).not.toBeNull();
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("a route that is asked for", () => {
  it("may be any that a manifest has", () => {
    expect(routeOfText("get /a-b/*")).toEqual({ method: "GET", path: "/a-b/*" });
    expect(routeOfText("/a")).toBeNull();
    expect(routeOfText("fetch /a")).toBeNull();
    expect(routeOfText("get /a b")).toBeNull();
  });
});
