// One case per row and rule of the older simple API's request object.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RequestHeader } from "../../../runtime-image/contract/envelope.ts";
import { FORM_FIELD_COUNT_MAX } from "../../../runtime-image/contract/limits.ts";
import { isCallerFault } from "../../../runtime-image/library/caller-fault.ts";
import { toSimpleRequest } from "../../../runtime-image/runtime/generations/simple-event.ts";
import { anyRequest, SHOP_REQUEST } from "../../support/request-headers.ts";

const FORM = "application/x-www-form-urlencoded";

const requestOf = (fields: Partial<RequestHeader> = {}) => toSimpleRequest({ ...SHOP_REQUEST, ...fields }, Buffer.alloc(0));
const bodyOf = (type: string | null, body: string | Uint8Array): unknown =>
  toSimpleRequest({ ...SHOP_REQUEST, headers: type === null ? [] : ["Content-Type", type] }, Buffer.from(body)).body;

function faultOf(type: string, body: string | Uint8Array): string {
  try {
    return `taken as ${JSON.stringify(bodyOf(type, body))}`;
  } catch (thrown) {
    return isCallerFault(thrown) ? "the caller's fault" : String(thrown);
  }
}

function outcomeOf(header: RequestHeader, bytes: Uint8Array): string {
  try {
    return Object.keys(toSimpleRequest(header, bytes)).length === 8 ? "parsed" : "parsed wrongly";
  } catch (thrown) {
    return isCallerFault(thrown) ? "the caller's fault" : String(thrown);
  }
}

describe("the request object of the simple generation", () => {
  it("has exactly these fields", () => {
    const request = requestOf({
      method: "POST",
      query: "a=1&a=2",
      params: { item: "choc chip" },
      headers: ["Host", "a", "X-Mine", "1", "x-mine", "2"],
    });
    expect(request).toEqual({
      method: "post",
      httpMethod: "POST",
      path: "/shop/choc%20chip",
      params: { item: "choc chip" },
      query: { a: "2" },
      queryStringParameters: { a: "2" },
      headers: { host: "a", "x-mine": "1, 2" },
      body: {},
    });
  });

  it("has empty objects where there is nothing", () => {
    expect(requestOf({ headers: [] })).toMatchObject({ params: {}, query: {}, queryStringParameters: {}, headers: {}, body: {} });
  });

  it("takes __proto__ in a query, a header or a parameter for a name like any other", () => {
    const { query, headers, params } = requestOf({
      query: "__proto__=1",
      headers: ["__proto__", "a"],
      params: JSON.parse('{"__proto__":"c"}') as Record<string, string>,
    });
    for (const values of [query, headers, params]) {
      expect(Object.getPrototypeOf(values)).toBe(Object.prototype);
      expect(Object.keys(values)).toEqual(["__proto__"]);
    }
  });
});

describe("the body of the simple generation", () => {
  it.each([
    ["application/json", '{"a":{"b":[1,null]}}', { a: { b: [1, null] } }],
    ["Application/JSON; charset=utf-8", '\uFEFF{"a":1}', { a: 1 }],
    ["application/vnd.api+json", '{"a":1}', { a: 1 }],
    ["application/json", "[1,2]", [1, 2]],
    ["application/json", '"text"', "text"],
    ["application/json", "null", {}],
    [FORM, "greeting=hello", { greeting: "hello" }],
    [`${FORM}; charset=UTF-8`, "a=x+y&b=%C5%BE&c=&d", { a: "x y", b: "ž", c: "", d: "" }],
    [FORM, "a=1&b=2&a=3", { a: ["1", "3"], b: "2" }],
    [FORM, "toString=1&constructor=2", { toString: "1", constructor: "2" }],
    ["text/plain", "žluťoučký", "žluťoučký"],
    ["application/xml", "<a/>", "<a/>"],
    ["image/svg+xml", "<svg/>", "<svg/>"],
    ["text/plain; charset=iso-8859-2", Buffer.from([0xbe]), "ž"],
    ["text/plain", Buffer.from([0xff, 0x00]), { base64: "/wA=" }],
    ["application/octet-stream", Buffer.from([0, 255]), { base64: "AP8=" }],
    ["multipart/form-data; boundary=x", "--x--", { base64: Buffer.from("--x--").toString("base64") }],
    ["image/png", "png", { base64: "cG5n" }],
    [null, "hello", { base64: "aGVsbG8=" }],
  ])("of type %s is parsed: %s", (type, body, expected) => {
    expect(bodyOf(type, body)).toEqual(expected);
  });

  it.each([
    ["text", "{"],
    ["two values", "{}{}"],
    ["a single quote", "{'a':1}"],
    ["a word", "undefined"],
    ["bytes that are no UTF-8", Buffer.from([0x22, 0xff, 0x22])],
  ])("that is no JSON though it says so is the caller's fault: %s", (_name, body) => {
    expect(faultOf("application/json", body)).toBe("the caller's fault");
  });

  it("never has a field called __proto__, in forms or in JSON, however deep and however it is written", () => {
    for (const [type, text] of [
      ["application/json", '{"a":{"__proto__":{"isAdmin":true}},"b":1}'],
      ["application/json", '{"a":{"\\u005f_proto__":{"isAdmin":true}},"b":1}'],
      [FORM, "a.__proto__.isAdmin=1&__proto__=2&b=1"],
    ] as const) {
      const merged = structuredClone(bodyOf(type, text)) as Record<string, Record<string, unknown>>; // Both are objects.
      expect(Object.hasOwn(merged, "__proto__")).toBe(false);
      expect(Object.hasOwn(merged["a"] ?? {}, "__proto__")).toBe(false);
      expect(Number(merged["b"])).toBe(1);
    }
    expect(Object.hasOwn({}, "isAdmin") || "isAdmin" in {}).toBe(false);
  });

  it("of a form may have very many fields, and not endlessly many", () => {
    const form = (count: number) => Array.from({ length: count }, () => "a=1").join("&");
    expect(bodyOf(FORM, form(FORM_FIELD_COUNT_MAX))).toMatchObject({ a: expect.any(Array) as unknown });
    expect(faultOf(FORM, form(FORM_FIELD_COUNT_MAX + 1))).toBe("the caller's fault");
  });
});

describe("any request at all", () => {
  const types = [
    "application/json",
    FORM,
    "text/plain",
    "text/html; charset=latin1",
    "multipart/form-data; boundary=x",
    "image/png",
    "",
    ";",
  ];

  it("is parsed, or is the caller's fault: never another error", () => {
    fc.assert(
      fc.property(anyRequest, fc.constantFrom(...types), fc.uint8Array({ maxLength: 200 }), (header, type, bytes) => {
        expect(outcomeOf({ ...header, headers: [...header.headers, "Content-Type", type] }, bytes)).toMatch(
          /^(?:parsed|the caller's fault)$/,
        );
      }),
    );
  });

  it("gives JSON back as it was sent", () => {
    fc.assert(
      fc.property(fc.object({ withNullPrototype: false }), (value) => {
        const sent: unknown = JSON.parse(JSON.stringify(value).replaceAll("__proto__", "proto"));
        expect(bodyOf("application/json", JSON.stringify(sent))).toEqual(sent);
      }),
    );
  });
});
