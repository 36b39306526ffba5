// Which file a path names, and that no path names anything that is not in the list.
import { describe, expect, it } from "vitest";
import { type AskedFile, findFile } from "../../../../gateway/sites/lookup.ts";
import type { SiteFile } from "../../../../runtime-image/contract/snapshot.ts";

const file: SiteFile = { contentId: "0".repeat(64), bytes: 1, isImmutable: false };
const PATHS = [
  "index.html",
  "a.css",
  "sub/index.html",
  "sub/b.txt",
  "é è.txt",
  "100%.txt",
  "file",
  ".well-known/acme",
  "__proto__",
  "sub.d/index.html",
];
const files = new Map(PATHS.map((path) => [path, file]));

const named = (path: string, more: Partial<AskedFile & { isSpa: boolean }> = {}): string | null => {
  const { isSpa = false, ...asked } = more;
  return findFile({ files, isSpa }, { path, area: "root", accept: "text/html", ...asked })?.path ?? null;
};

describe("a path at the root", () => {
  it.each([
    ["/", "index.html"],
    ["/index.html", "index.html"],
    ["/a.css", "a.css"],
    ["/%61.css", "a.css"],
    ["/sub", "sub/index.html"],
    ["/sub/", "sub/index.html"],
    ["/sub.d", "sub.d/index.html"],
    ["/sub/b.txt", "sub/b.txt"],
    ["/%C3%A9%20%C3%A8.txt", "é è.txt"],
    ["/100%25.txt", "100%.txt"],
    ["/file", "file"],
    ["/.well-known/acme", ".well-known/acme"],
    ["/__proto__", "__proto__"],
  ])("%s names %s", (path, expected) => {
    expect(named(path)).toBe(expected);
  });

  it.each([
    "//",
    "//index.html",
    "/sub//b.txt",
    "/sub/b.txt/",
    "/a.css/",
    "/A.css",
    "/./a.css",
    "/../a.css",
    "/sub/../a.css",
    "/%2e%2e/a.css",
    "/sub/%2E%2E/a.css",
    "/sub%2fb.txt",
    "/sub%5cb.txt",
    "/sub\\b.txt",
    "/a.css%00",
    "/a.css%00.html",
    "/%2561.css",
    "/constructor",
    "/toString",
    "/100%.txt",
    "/%ff",
  ])("%s names nothing", (path) => {
    expect(named(path)).toBeNull();
  });
});

describe("a path below /_static", () => {
  it("names files by their own names only", () => {
    const asked = ["/_static/a.css", "/_static/sub/b.txt", "/_static/index.html", "/_static/sub", "/_static/sub/", "/_static/", "/_static"];
    expect(asked.map((path) => named(path, { area: "static", isSpa: true }))).toEqual([
      "a.css",
      "sub/b.txt",
      "index.html",
      null,
      null,
      null,
      null,
    ]);
  });
});

describe("an app of one page", () => {
  it("gets it for every path without an extension that no file has", () => {
    expect(named("/deep/down", { isSpa: true })).toBe("index.html");
    expect(named("/deep/down/", { isSpa: true })).toBe("index.html");
    expect(named("/deep/down.js", { isSpa: true })).toBeNull();
    expect(named("/sub", { isSpa: true })).toBe("sub/index.html");
    expect(named("/deep/down")).toBeNull();
  });

  it("does not get it for clients that want no page", () => {
    const accepts = ["", "*/*", "text/*", "text/html", "application/json", "text/html;q=0, */*", "image/png"];
    expect(accepts.map((accept) => named("/deep", { isSpa: true, accept }) !== null)).toEqual([
      true,
      true,
      true,
      true,
      false,
      false,
      false,
    ]);
  });

  it("does not get it for a path that no file could have", () => {
    expect(named("/%2e%2e/deep", { isSpa: true })).toBeNull();
  });
});
