// Rules about routes: possible paths, duplicates, and the folders that routes live in.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { duplicateProblems, folderNames, pathProblem, routeOfFolder } from "../../../orchestrator/apps/routes.ts";

describe("pathProblem", () => {
  it.each(["/", "/a", "/shop/:item", "/files/*", "/:lang/:cat/:doc", "/sw.js", "/my-event", "/A_b.c"])("accepts %s", (path) => {
    expect(pathProblem(path)).toBeNull();
  });

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
      { method: "GET", path: "/shop/:item" },
      { method: "GET", path: "/shop/:thing" },
    ]);
    expect(problems).toEqual(['@http: "get /shop/:item" and "get /shop/:thing" answer the same requests; keep one of them']);
  });

  it("lets the same path have several methods", () => {
    expect(
      duplicateProblems([
        { method: "GET", path: "/contact-us" },
        { method: "POST", path: "/contact-us" },
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
  ])("reads %s as %s %s", (name, method, path) => {
    expect(routeOfFolder(name)).toEqual({ method, path });
  });

  it("says no to a folder that names no route", () => {
    expect(routeOfFolder("helpers")).toBeNull();
    expect(routeOfFolder("fetch-index")).toBeNull();
  });
});
