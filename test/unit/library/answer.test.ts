// What http and http.async make of what a function answers: one row per rule, for both payload versions.
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { functions } from "../../../runtime-image/library/functions.ts";
import { version1, version2 } from "../../support/library-events.ts";
import { layTestInstance } from "../../support/library-instance.ts";

const { http } = functions;
const ANTI_CACHE = "no-cache, no-store, must-revalidate, max-age=0, s-maxage=0";
const JSON_TYPE = "application/json; charset=utf8";
const PNG = "iVBORw0KGgo=";

beforeEach(() => {
  layTestInstance();
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});

const answerTo = (value: unknown, event = version2()) => http((_request: unknown, res: (value: unknown) => void) => res(value))(event);

const FIELDS: readonly (readonly [answer: unknown, expected: Record<string, unknown>])[] = [
  [
    { statusCode: 201, body: "x", headers: { a: "b" } },
    { statusCode: 201, body: "x" },
  ],
  [{ status: 201, code: 202, statusCode: 203, body: "" }, { statusCode: 201 }],
  [{ code: 202, statusCode: 203, body: "" }, { statusCode: 202 }],
  [{ status: 0, statusCode: 203 }, { statusCode: 203 }],
  [{ statusCode: "201" }, { statusCode: 201 }],
  [{ body: "x" }, { statusCode: 200, body: "x" }],
  [{ cors: true }, { statusCode: 200, body: "" }],
  [{ html: "h", css: "c", js: "j", text: "t", json: {}, xml: "x" }, { body: "h" }],
  [{ css: "c", js: "j", text: "t", json: {}, xml: "x" }, { body: "c" }],
  [{ js: "j", text: "t", json: {}, xml: "x" }, { body: "j" }],
  [{ text: "t", json: {}, xml: "x" }, { body: "t" }],
  [{ json: { a: 1 }, xml: "x" }, { body: '{"a":1}' }],
  [{ xml: "<x/>" }, { body: "<x/>" }],
  [{ html: "h", body: "b" }, { body: "h" }],
  [{ html: undefined, text: "t" }, { body: "t" }],
  [{ html: undefined }, { body: "" }],
  [{ text: 7 }, { body: "7" }],
  [{ json: "" }, { body: '""' }],
  [{ json: null }, { body: "null" }],
  [{ json: [] }, { body: "[]" }],
  [{ location: "/x" }, { statusCode: 302, body: "" }],
  [{ location: "/x", status: 301 }, { statusCode: 301 }],
  [
    { location: "/x", statusCode: 200, html: "h" },
    { statusCode: 200, body: "h" },
  ],
  [{ body: Buffer.from([137, 80]) }, { body: "iVA=", isBase64Encoded: true }],
  [{ html: new Uint8Array([104]) }, { body: "aA==", isBase64Encoded: true }],
  [
    { type: "image/png", body: PNG },
    { body: PNG, isBase64Encoded: true },
  ],
  [{ headers: { "Content-Type": "application/pdf" }, body: PNG }, { isBase64Encoded: true }],
  [{ type: "text/plain", body: PNG, isBase64Encoded: true }, { isBase64Encoded: true }],
];

const PLAIN: readonly (readonly [answer: unknown, expected: Record<string, unknown>])[] = [
  [{ type: "image/svg+xml", body: "PHN2Zy8+" }, { body: "PHN2Zy8+" }],
  [{ type: "image/png", body: "no base64" }, { body: "no base64" }],
  [{ type: "image/png", body: PNG, isBase64Encoded: false }, { body: PNG }],
];

const WHOLE: readonly (readonly [answer: unknown, body: string])[] = [
  [{ a: 1 }, '{"a":1}'],
  [[1, 2], "[1,2]"],
  ["hi", '"hi"'],
  [1, "1"],
  [true, "true"],
  ["", ""],
  [null, ""],
  [undefined, ""],
  [{ type: "text/plain" }, '{"type":"text/plain"}'],
  [{ cacheControl: "x" }, '{"cacheControl":"x"}'],
];

const HEADERS: readonly (readonly [answer: unknown, name: string, expected: string | undefined])[] = [
  [{ html: "" }, "content-type", "text/html; charset=utf8"],
  [{ css: "" }, "content-type", "text/css; charset=utf8"],
  [{ js: "" }, "content-type", "text/javascript; charset=utf8"],
  [{ text: "" }, "content-type", "text/plain; charset=utf8"],
  [{ json: {} }, "content-type", JSON_TYPE],
  [{ xml: "" }, "content-type", "application/xml; charset=utf8"],
  [{ body: "" }, "content-type", JSON_TYPE],
  [{ location: "/" }, "content-type", JSON_TYPE],
  [{ a: 1 }, "content-type", JSON_TYPE],
  [{ html: "", type: "text/x", headers: { "content-type": "text/y" } }, "content-type", "text/x"],
  [{ html: "", headers: { "Content-Type": "text/y" } }, "content-type", "text/y"],
  [{ html: "" }, "cache-control", ANTI_CACHE],
  [{ json: {} }, "cache-control", ANTI_CACHE],
  [{ body: "", type: "application/vnd.api+json" }, "cache-control", ANTI_CACHE],
  [{ location: "/", type: "text/plain" }, "cache-control", ANTI_CACHE],
  [{ a: 1 }, "cache-control", ANTI_CACHE],
  [{ css: "" }, "cache-control", "max-age=86400"],
  [{ text: "" }, "cache-control", "max-age=86400"],
  [{ css: "", status: 404 }, "cache-control", ANTI_CACHE],
  [{ css: "", headers: { "Cache-Control": "private" } }, "cache-control", "private"],
  [{ css: "", cacheControl: "max-age=1", headers: { "cache-control": "private" } }, "cache-control", "max-age=1"],
  [{ location: "/x" }, "location", "/x"],
  [{ location: "https://example.org/?a=1%20b#c" }, "location", "https://example.org/?a=1%20b#c"],
  [{ location: "/café x" }, "location", "/caf%C3%A9%20x"],
  [{ body: "", headers: { Location: "/y" } }, "location", "/y"],
  [{ cors: true, body: "" }, "access-control-allow-origin", "*"],
  [{ cors: false, body: "" }, "access-control-allow-origin", undefined],
  [{ cookie: "a=1", body: "" }, "set-cookie", "a=1"],
  [{ body: "", headers: { "X-Own": "1" } }, "x-own", "1"],
];

const WRONG: readonly (readonly [answer: unknown, message: string])[] = [
  [{ body: { a: 1 } }, `"body" should be a text or a Buffer, got an object; an object is sent with { json: … }`],
  [{ body: 1 }, `"body" should be a text or a Buffer, got the number 1`],
  [{ html: Promise.resolve("") }, `"html" should be a text or a Buffer, got a promise (await it first)</p>`],
  [{ statusCode: 99 }, `"statusCode" should be an HTTP status from 200 to 599, got the number 99`],
  [{ code: "ENOENT" }, `"code" should be an HTTP status from 200 to 599, got "ENOENT"`],
  [{ status: 200.5 }, `"status" should be an HTTP status from 200 to 599, got the number 200.5`],
  [{ location: "/\r\nx: y" }, `"location" should be free of control characters`],
  [{ location: 1 }, `"location" should be a text`],
  [{ headers: [] }, `"headers" should be an object, got an array`],
  [{ cookie: {} }, "a cookie should be a text, got an object"],
  [{ session: "x" }, `session should be an object, got "x"`],
];

describe.each([
  ["2.0", version2],
  ["1", version1],
])("an answer under payload version %s", (_version, event) => {
  it.each(FIELDS)("%j has these fields: %j", async (value, expected) => {
    expect(await answerTo(value, event())).toMatchObject(expected);
  });

  it.each(PLAIN)("%j is no base64: %j", async (value, expected) => {
    const answer = await answerTo(value, event());
    expect(answer).toMatchObject(expected);
    expect(answer.isBase64Encoded).toBeUndefined();
  });

  it.each(WHOLE)("%j is sent whole, as the JSON %j", async (value, body) => {
    expect(await answerTo(value, event())).toEqual({
      statusCode: 200,
      headers: { "content-type": JSON_TYPE, "cache-control": ANTI_CACHE },
      body,
    });
  });

  it.each(HEADERS)("%j has the header %s: %s", async (value, name, expected) => {
    expect((await answerTo(value, event())).headers[name]).toBe(expected);
  });

  it.each(WRONG)("%j is a 500 that says why", async (value, message) => {
    const answer = await answerTo(value, event());
    expect(answer.statusCode).toBe(500);
    expect(unescaped(answer.body)).toContain(message);
  });
});

describe("several cookies", () => {
  const answer = { cookie: ["a=1", "b=2"], headers: { "Set-Cookie": "c=3" }, body: "" };

  it("are listed under cookies in payload version 2.0", async () => {
    const { cookies, headers } = await answerTo(answer);
    expect(cookies).toEqual(["c=3", "a=1", "b=2"]);
    expect(headers["set-cookie"]).toBeUndefined();
  });

  it("are a repeated header in payload version 1", async () => {
    expect((await answerTo(answer, version1())).headers["set-cookie"]).toEqual(["c=3", "a=1", "b=2"]);
  });

  it("keep those that the function lists itself", async () => {
    expect((await answerTo({ cookies: ["a=1", "b=2"], body: "" })).cookies).toEqual(["a=1", "b=2"]);
  });
});

describe("compression", () => {
  const text = "compress me ".repeat(1_000);
  const asks = (accepted: string) => version2({ headers: { "accept-encoding": accepted } });
  const unpacked = (body: string, unpack: (bytes: Buffer) => Buffer) => unpack(Buffer.from(body, "base64")).toString();

  it("packs with what the client accepts, brotli first", async () => {
    const answer = await answerTo({ text, compression: true }, asks("gzip, deflate, br"));
    expect(answer).toMatchObject({ isBase64Encoded: true, headers: { "content-encoding": "br", vary: "accept-encoding" } });
    expect(unpacked(answer.body, brotliDecompressSync)).toBe(text);
  });

  it("packs with the encoding that the function names", async () => {
    const answer = await answerTo({ text, compression: "gzip" }, asks("gzip, br"));
    expect(answer.headers["content-encoding"]).toBe("gzip");
    expect(unpacked(answer.body, gunzipSync)).toBe(text);
  });

  it.each([
    ["the client accepts none", { text, compression: true }, ""],
    ["the client does not accept the one that is named", { text, compression: "br" }, "gzip"],
    ["nobody asked for it", { text }, "br"],
    ["it is switched off", { text, compression: false }, "br"],
    ["the body is small", { text: "x", compression: true }, "br"],
  ])("leaves the body as it is where %s", async (_name, value, accepted) => {
    const answer = await answerTo(value, asks(accepted));
    expect(answer.body).toBe(value.text);
    expect(answer.headers["content-encoding"]).toBeUndefined();
  });
});

const unescaped = (html: string): string => html.replaceAll(/&#(\d+);/g, (_all, code: string) => String.fromCharCode(Number(code)));
