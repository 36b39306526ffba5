// Rules about routes: possible paths, duplicates, and the folders that routes live in.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ROUTE_METHODS } from "../../../runtime-image/contract/snapshot.ts";
import { duplicateProblems, folderNames, pathProblem, routeOfFolder } from "../../../orchestrator/apps/routes.ts";

describe("pathProblem", () => {
  it.each(["/", "/a", "/shop/:item", "/files/*", "/:lang/:cat/:doc", "/sw.js", "/my-event", "/A_b.c", "/:user-id", "/_staticx", "/:proxy"])(
    "accepts %s",
    (path) => {
      expect(pathProblem(path)).toBeNull();
    },
  );

  it.each([
    ["a", "begin with"],
    ["/a/", "end in"],
    ["/a//b", '"//"'],
    ["/a b", "may hold"],
    ["/x/../y", "ends in ."],
    ["/a-", "ends in -"],
    ["/*/a", "last part"],
    ["/a*", "last part"],
    ["/a:b", "whole part"],
    ["/:", "whole part"],
    ["/:a/:a", "twice"],
    ["/_static/x", "static files"],
    ["/_static", "static files"],
    ["/:proxy/*", "which is what handlers call the *"],
  ])("refuses %s because of it", (path, reason) => {
    expect(pathProblem(path)).toContain(reason);
  });

  it("never throws, whatever the text", () => {
    fc.assert(
      fc.property(fc.string(), (path) => {
        expect(["string", "object"]).toContain(typeof pathProblem(path));
      }),
    );
  });
});

describe("duplicateProblems", () => {
  it("names both routes where only the parameter's name differs", () => {
    const problems = duplicateProblems([
      { method: "GET", path: "/shop/:item", origin: "@http" },
      { method: "GET", path: "/shop/:thing", origin: "@http" },
    ]);
    expect(problems).toEqual(['@http: "get /shop/:item" and "get /shop/:thing" answer the same requests; keep one of them']);
  });

  it("names both places where two kinds serve the same route", () => {
    const problems = duplicateProblems([
      { method: "GET", path: "/", origin: "src/html/get-index" },
      { method: "GET", path: "/", origin: "src/http/get-index" },
    ]);
    expect(problems).toEqual(['"get /" (src/html/get-index) and "get /" (src/http/get-index) answer the same requests; keep one of them']);
  });

  it("lets the same path have several methods", () => {
    expect(
      duplicateProblems([
        { method: "GET", path: "/contact-us", origin: "@http" },
        { method: "POST", path: "/contact-us", origin: "@http" },
        { method: "ANY", path: "/contact-us", origin: "@http" },
      ]),
    ).toEqual([]);
  });
});

describe("folderNames", () => {
  it.each([
    ["GET", "/", ["get-index"]],
    ["POST", "/api/submit", ["post-api-submit"]],
    ["GET", "/sw.js", ["get-sw_js", "get-sw.js"]],
    ["POST", "/my-event", ["post-my_event", "post-my-event"]],
    ["ANY", "/foo/:bar/*", ["any-foo-000bar-catchall"]],
  ] as const)("puts %s %s into %j", (method, path, names) => {
    expect(folderNames({ method, path })).toEqual(names);
  });
});

describe("routeOfFolder", () => {
  it.each([
    ["get-index", "GET", "/"],
    ["post-api-submit", "POST", "/api/submit"],
    ["get-shop-000item", "GET", "/shop/:item"],
    ["any-files-catchall", "ANY", "/files/*"],
    ["post-my_event", "POST", "/my-event"],
    ["get-sw_js", "GET", "/sw.js"],
    ["get-sw.js", "GET", "/sw.js"],
    ["get-js_tricks-one", "GET", "/js-tricks/one"],
    ["head-a", "HEAD", "/a"],
  ])("reads %s as %s %s", (name, method, path) => {
    expect(routeOfFolder(name)).toEqual({ method, path });
  });

  it.each(["helpers", "fetch-index", "get-", "get--a", "get-a b", "get-000", "get-catchall-a_", "GET"])("says no to %s", (name) => {
    expect(routeOfFolder(name)).toBeNull();
  });

  it("finds the route again that a folder was named after", () => {
    const part = fc.stringMatching(/^[a-z][a-z0-9]{0,8}$/).filter((text) => text !== "index" && text !== "catchall");
    const dashed = fc.tuple(part, part).map(([a, b]) => `${a}-${b}`);
    const segment = fc.oneof(
      part,
      dashed.filter(isNoFileName),
      part.map((name) => `:${name}`),
    );
    const segments = fc.uniqueArray(segment, { maxLength: 5, comparator: "IsStrictlyEqual" });
    const paths = fc.tuple(segments, fc.boolean()).map(([all, hasRest]) => `/${[...all, ...(hasRest ? ["*"] : [])].join("/")}`);
    fc.assert(
      fc.property(fc.constantFrom(...ROUTE_METHODS), paths, (method, path) => {
        fc.pre(pathProblem(path) === null);
        const [name = ""] = folderNames({ method, path });
        expect(routeOfFolder(name)).toEqual({ method, path });
      }),
    );
  });
});

/** "/my-js" and "/my.js" live in the same folder, and the second is what nearly everyone means. */
const isNoFileName = (segment: string): boolean => routeOfFolder(`get-${segment.replaceAll("-", "_")}`)?.path === `/${segment}`;
