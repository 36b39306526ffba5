// Names with fingerprints, and the places in files that name them.
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { answersRoot } from "../../../orchestrator/sites/answers-root.ts";
import { fingerprintNames, looksFingerprinted, rewriteReferences } from "../../../orchestrator/sites/fingerprint.ts";

const file = (path: string, text: string) => ({ path, bytes: Buffer.from(text) });
const tenOf = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 10);

describe("a fingerprinted name", () => {
  it("holds the first ten hex digits of the content's SHA-256 before its extension", () => {
    const names = fingerprintNames([file("img/a.b.png", "picture"), file("LICENSE", "text")]);
    expect(names).toEqual({ "img/a.b.png": `img/a.b-${tenOf("picture")}.png`, LICENSE: `LICENSE-${tenOf("text")}` });
  });

  it("changes with the content of every file that it names, at whatever depth", () => {
    const names = (png: string) =>
      fingerprintNames([
        file("a.html", "${STATIC('b.css')}"),
        file("b.css", "url(${STATIC('/c.png')})"),
        file("c.png", png),
        file("d.txt", "d"),
      ]);
    const before = names("one");
    const after = names("two");
    expect(after["a.html"]).not.toBe(before["a.html"]);
    expect(after["b.css"]).not.toBe(before["b.css"]);
    expect(after["d.txt"]).toBe(before["d.txt"]);
  });

  it("is there for files that name each other, and themselves", () => {
    const names = fingerprintNames([file("a.js", "${STATIC('b.js')}"), file("b.js", "${STATIC('a.js')} ${STATIC('b.js')}")]);
    expect(Object.values(names).every((name) => /^[ab]-[0-9a-f]{10}\.js$/.test(name))).toBe(true);
  });
});

describe("a reference in a text file", () => {
  const names = { "img/a.png": "img/a-0123456789.png", "é.png": "é-0123456789.png" };
  const rewritten = (text: string, known: Record<string, string> | null = names, path = "index.html"): string =>
    rewriteReferences(file(path, text), known).toString();

  it.each([
    ["${STATIC('img/a.png')}", "img/a-0123456789.png"],
    ['${arc.static("img/a.png")}', "img/a-0123456789.png"],
    ["${STATIC(`img/a.png`)}", "img/a-0123456789.png"],
    ["${ STATIC( 'img/a.png' ) }", "img/a-0123456789.png"],
    ["/_static/${STATIC('/img/a.png')}", "/_static//img/a-0123456789.png"],
    ["<${STATIC('img/a.png')}|${STATIC('img/a.png')}>", "<img/a-0123456789.png|img/a-0123456789.png>"],
    ["${STATIC('é.png')} ü", "é-0123456789.png ü"],
    ["${STATIC('unknown.png')}", "unknown.png"],
    ["${STATIC('__proto__')}", "__proto__"],
    ["${STATIC(variable)}", "${STATIC(variable)}"],
    ["${STATIC('img/a.png\")}", "${STATIC('img/a.png\")}"],
    ["STATIC('img/a.png')", "STATIC('img/a.png')"],
  ])("%s becomes %s", (text, expected) => {
    expect(rewritten(text)).toBe(expected);
  });

  it("is the plain name where nothing is fingerprinted", () => {
    expect(rewritten("${STATIC('img/a.png')}", null)).toBe("img/a.png");
  });

  it("keeps every byte beside it, whatever the encoding", () => {
    const bytes = Buffer.concat([Buffer.from([0xff, 0xfe, 0x00, 0x80]), Buffer.from("${STATIC('img/a.png')}"), Buffer.from([0xc3])]);
    const expected = Buffer.concat([Buffer.from([0xff, 0xfe, 0x00, 0x80]), Buffer.from("img/a-0123456789.png"), Buffer.from([0xc3])]);
    expect(rewriteReferences({ path: "a.css", bytes }, names).equals(expected)).toBe(true);
  });

  it("is left alone in files that are no text", () => {
    expect(rewritten("${STATIC('img/a.png')}", names, "a.png")).toBe("${STATIC('img/a.png')}");
  });
});

describe("a name that a bundler wrote", () => {
  it.each(["app.3f2a91bc.js", "index-BkQ2x9aR.css", "a/chunk-3f2a91bc77.js.map", "x_0A1B2C3D.png"])("%s is known", (name) => {
    expect(looksFingerprinted(name)).toBe(true);
  });
  it.each([
    "report-20240101.pdf",
    "my-document.html",
    "jquery-3.7.1.min.js",
    "a.css",
    "index-Headline.css",
    "deadbeef/a.css",
    "v1-beta2.js",
  ])("%s is none", (name) => {
    expect(looksFingerprinted(name)).toBe(false);
  });
});

describe("whether files answer at the root", () => {
  it.each([
    [[], true],
    [["GET /a", "POST /", "POST /graphql", "DELETE /*"], true],
    [["GET /a/*", "GET /a/:b", "GET /:a/b"], true],
    [["GET /"], false],
    [["ANY /"], false],
    [["GET /*"], false],
    [["ANY /*"], false],
    [["GET /:page"], false],
    [["ANY /:page"], false],
  ] as const)("with the routes %j: %s", (routes, expected) => {
    const split = routes.map((route) => {
      const [method, path = ""] = route.split(" ");
      return { method: method as "GET" | "POST" | "DELETE" | "ANY", path }; // The cases above name no other.
    });
    expect(answersRoot(split)).toBe(expected);
  });
});
