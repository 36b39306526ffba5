// Which form of a file a client gets, and what caches are told of it.
import { describe, expect, it } from "vitest";
import { chooseEncoding, represent } from "../../../../gateway/sites/representation.ts";
import type { SiteFile } from "../../../../runtime-image/contract/snapshot.ts";

const plain: SiteFile = { contentId: "a".repeat(64), bytes: 5_000, isImmutable: false };
const packed: SiteFile = {
  ...plain,
  encodings: { br: { contentId: "b".repeat(64), bytes: 900 }, gzip: { contentId: "c".repeat(64), bytes: 1_000 } },
};
const { gzip } = packed.encodings ?? {};
const onlyGzip: SiteFile = { ...plain, encodings: gzip === undefined ? {} : { gzip } };

describe("the encoding", () => {
  it.each([
    ["", null],
    ["gzip", "gzip"],
    ["br", "br"],
    ["gzip, deflate, br, zstd", "br"],
    ["GZIP", "gzip"],
    ["x-gzip", "gzip"],
    ["br;q=0.1, gzip;q=0.9", "gzip"],
    ["br;q=0, gzip;q=0", null],
    ["br;q=0, *", "gzip"],
    ["*", "br"],
    ["*;q=0", null],
    ["identity", null],
    ["identity;q=1, gzip;q=0.5", null],
    ["identity;q=0, gzip;q=0.5", "gzip"],
    ["gzip;q=nonsense", null],
    ["deflate", null],
    ["brotli", null],
  ] as const)("for accept-encoding %j is %s", (acceptEncoding, expected) => {
    expect(chooseEncoding(packed, acceptEncoding)).toBe(expected);
  });

  it("is only one that the file has", () => {
    expect(chooseEncoding(plain, "gzip, br")).toBeNull();
    expect(chooseEncoding(onlyGzip, "br;q=1, gzip;q=0.1")).toBe("gzip");
  });

  it("is the smaller one where the client likes both as much", () => {
    const odd = { ...packed, encodings: { ...packed.encodings, br: { contentId: "b".repeat(64), bytes: 2_000 } } };
    expect(chooseEncoding(odd, "gzip, br")).toBe("gzip");
  });
});

describe("the headers", () => {
  const headers = (path: string, file: SiteFile, acceptEncoding = "") => Object.fromEntries(represent(path, file, acceptEncoding).headers);

  it("carry a strong tag of the very bytes that are sent", () => {
    expect(headers("a.css", packed)["etag"]).toBe(`"${"a".repeat(32)}"`);
    expect(headers("a.css", packed, "br")["etag"]).toBe(`"${"b".repeat(32)}"`);
  });

  it("say that the answer depends on the encoding, also where none is used", () => {
    expect(headers("a.css", packed)).toMatchObject({ vary: "accept-encoding" });
    expect(headers("a.css", packed)).not.toHaveProperty("content-encoding");
    expect(headers("a.css", packed, "gzip")).toMatchObject({ vary: "accept-encoding", "content-encoding": "gzip" });
    expect(headers("a.css", plain, "gzip")).not.toHaveProperty("vary");
  });

  it("keep pages and JSON out of caches, fingerprinted files in them for ever, and have others asked for again", () => {
    const control = (path: string, isImmutable = false) => headers(path, { ...plain, isImmutable })["cache-control"];
    expect(control("index.html")).toContain("no-store");
    expect(control("data/a.JSON")).toContain("no-store");
    expect(control("a.css")).toBe("public, max-age=0, must-revalidate");
    expect(control("a-0123456789.css", true)).toBe("public, max-age=31536000, immutable");
    expect(control("page-0123456789.html", true)).toBe("public, max-age=31536000, immutable");
  });
});
