// One case per row and rule of the contract's request object, payload version 1.0, and of what json and html functions get.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RequestHeader } from "../../../runtime-image/contract/envelope.ts";
import { createLegacyEvents } from "../../../runtime-image/runtime/generations/legacy-event.ts";
import { anyRequest, SHOP_REQUEST } from "../../support/request-headers.ts";

const toEvent = createLegacyEvents({ apiId: "app1", rawJson: false, lowerCaseHeaders: false });
const toLowerCaseEvent = createLegacyEvents({ apiId: "app1", rawJson: false, lowerCaseHeaders: true });
const eventOf = (fields: Partial<RequestHeader> = {}, body = "") => toEvent({ ...SHOP_REQUEST, ...fields }, Buffer.from(body));

describe("the request object of the legacy generation", () => {
  it("has exactly these fields for a request without anything optional", () => {
    expect(eventOf()).toEqual({
      version: "1.0",
      resource: "/shop/{item}",
      path: "/shop/choc%20chip",
      httpMethod: "GET",
      headers: { Host: "shop.example.com:3000", "User-Agent": "curl/8" },
      multiValueHeaders: { Host: ["shop.example.com:3000"], "User-Agent": ["curl/8"] },
      queryStringParameters: null,
      multiValueQueryStringParameters: null,
      pathParameters: null,
      stageVariables: null,
      requestContext: {
        accountId: "000000000000",
        apiId: "app1",
        domainName: "shop.example.com",
        domainPrefix: "shop",
        extendedRequestId: "request-1",
        httpMethod: "GET",
        identity: { sourceIp: "203.0.113.7", userAgent: "curl/8" },
        path: "/shop/choc%20chip",
        protocol: "HTTP/1.1",
        requestId: "request-1",
        requestTime: "12/Mar/2020:19:03:58 +0000",
        requestTimeEpoch: 1584039838390,
        resourcePath: "/shop/{item}",
        stage: "$default",
      },
      body: null,
      isBase64Encoded: false,
    });
  });

  it.each([
    ["GET /", "/"],
    ["PUT /a/:b/c/:d", "/a/{b}/c/{d}"],
    ["ANY /files/*", "/files/{proxy+}"],
    ["$default", "/{proxy+}"],
  ])("names the resource of %s as %s", (route, resource) => {
    expect(eventOf({ route })).toMatchObject({ resource, requestContext: { resourcePath: resource } });
  });

  it.each(["GET", "POST", "PATCH", "PUT", "DELETE", "HEAD", "OPTIONS"])("passes the method %s on as it was sent", (method) => {
    expect(eventOf({ method })).toMatchObject({ httpMethod: method, requestContext: { httpMethod: method } });
  });

  it("keeps the case of header names, the last value of repeated ones, and all values besides", () => {
    const event = eventOf({ headers: ["X-Mine", "1", "x-mine", "2", "authorization", "Bearer a"] });
    expect(event.headers).toEqual({ "X-Mine": "2", authorization: "Bearer a" });
    expect(event.multiValueHeaders).toEqual({ "X-Mine": ["1", "2"], authorization: ["Bearer a"] });
  });

  it("joins cookies that came in several headers, so that no session is lost", () => {
    const event = eventOf({ headers: ["Cookie", "a=1", "cookie", "b=2"] });
    expect(event.headers).toEqual({ Cookie: "a=1; b=2" });
    expect(event.multiValueHeaders).toEqual({ Cookie: ["a=1", "b=2"] });
  });

  it.each([
    ["a=1", { a: "1" }, { a: ["1"] }],
    ["a=1&a=2&b=x+y%C3%A4", { a: "2", b: "x yä" }, { a: ["1", "2"], b: ["x yä"] }],
    ["a&=b&c=%ZZ", { a: "", "": "b", c: "%ZZ" }, { a: [""], "": ["b"], c: ["%ZZ"] }],
  ])("reads the query %s: the last value of each name, and all of them", (query, last, every) => {
    expect(eventOf({ query })).toMatchObject({ queryStringParameters: last, multiValueQueryStringParameters: every });
  });

  it("has null for a query without any parameter", () => {
    expect(eventOf({ query: "&&" })).toMatchObject({ queryStringParameters: null, multiValueQueryStringParameters: null });
  });

  it("passes path parameters on, and has null where the path has none", () => {
    expect(eventOf({ params: { item: "choc chip", rest: "a/b" } }).pathParameters).toEqual({ item: "choc chip", rest: "a/b" });
    expect(eventOf({ params: {} }).pathParameters).toBeNull();
  });

  it("takes __proto__ for a name like any other", () => {
    const event = eventOf({
      query: "__proto__=1&__proto__=2",
      headers: ["__proto__", "a", "__PROTO__", "b"],
      params: JSON.parse('{"__proto__":"c"}') as Record<string, string>,
    });
    for (const [values, expected] of [
      [event.queryStringParameters, "2"],
      [event.multiValueQueryStringParameters, ["1", "2"]],
      [event.headers, "b"],
      [event.multiValueHeaders, ["a", "b"]],
      [event.pathParameters, "c"],
    ] as const) {
      expect(Object.getPrototypeOf(values)).toBe(Object.prototype);
      expect(Object.getOwnPropertyDescriptor(values, "__proto__")?.value).toEqual(expected);
    }
  });
});

describe("the body of the legacy generation", () => {
  it("is base64, and the flag says so", () => {
    expect(eventOf({}, "hello")).toMatchObject({ body: "aGVsbG8=", isBase64Encoded: true });
  });

  it("is null where there is none, and the flag is false", () => {
    expect(eventOf()).toMatchObject({ body: null, isBase64Encoded: false });
  });

  it("clears the flag when it is assigned, in every copy", () => {
    const event = eventOf({}, "hello");
    expect({ ...event }).toMatchObject({ body: "aGVsbG8=", isBase64Encoded: true });
    event.body = "{}";
    for (const copy of [event, JSON.parse(JSON.stringify(event)) as unknown, { ...event }, Object.assign({}, event)])
      expect(copy).toMatchObject({ body: "{}", isBase64Encoded: false });
  });

  it("is text where an app wants raw JSON", () => {
    const toRawEvent = createLegacyEvents({ apiId: "app1", rawJson: true, lowerCaseHeaders: false });
    const event = toRawEvent({ ...SHOP_REQUEST, headers: ["content-type", "application/json"] }, Buffer.from('{"a":1}'));
    expect(event).toMatchObject({ body: '{"a":1}', isBase64Encoded: false });
  });
});

describe("the request object of json and html functions", () => {
  it("is that of the legacy generation with lower-case header names", () => {
    const header = { ...SHOP_REQUEST, headers: ["X-Mine", "1", "COOKIE", "a=1", "x-MINE", "2"], query: "a=1&a=2" };
    expect(toLowerCaseEvent(header, Buffer.from("hi"))).toEqual({
      ...toEvent(header, Buffer.from("hi")),
      headers: { "x-mine": "2", cookie: "a=1" },
      multiValueHeaders: { "x-mine": ["1", "2"], cookie: ["a=1"] },
    });
  });
});

describe("any request at all", () => {
  it("becomes an event that survives JSON, and whose body is the bytes that were sent", () => {
    fc.assert(
      fc.property(anyRequest, fc.uint8Array({ maxLength: 200 }), (header, bytes) => {
        for (const build of [toEvent, toLowerCaseEvent]) {
          const event = JSON.parse(JSON.stringify(build(header, bytes))) as { body: string | null; isBase64Encoded: boolean };
          expect(event.isBase64Encoded).toBe(bytes.length > 0);
          expect(Buffer.from(event.body ?? "", "base64").equals(bytes)).toBe(true);
        }
      }),
    );
  });
});
