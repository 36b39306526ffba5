// One case per row and rule of the contract's request object, payload version 2.0.
import { describe, expect, it } from "vitest";
import fc from "fast-check";
import type { RequestHeader } from "../../../runtime-image/contract/envelope.ts";
import { createCurrentEvents } from "../../../runtime-image/runtime/generations/current-event.ts";
import { toRouteKey } from "../../../runtime-image/runtime/generations/request-route.ts";

const toEvent = createCurrentEvents({ apiId: "app1", rawJson: false, bareQuery: false });
const eventOf = (fields: Partial<RequestHeader> = {}, body = "") => toEvent({ ...HEADER, ...fields }, Buffer.from(body));

const HEADER: RequestHeader = {
  v: 1,
  id: "request-1",
  method: "GET",
  path: "/shop/choc%20chip",
  query: "",
  route: "GET /shop/:item",
  params: null,
  headers: ["Host", "shop.example.com:3000", "User-Agent", "curl/8"],
  sourceIp: "203.0.113.7",
  scheme: "https",
  httpVersion: "1.1",
  startEpochMs: Date.UTC(2020, 2, 12, 19, 3, 58, 390),
  timeoutMs: 1_000,
};

describe("the request object", () => {
  it("has exactly these fields for a request without anything optional", () => {
    expect(eventOf()).toEqual({
      version: "2.0",
      routeKey: "GET /shop/{item}",
      rawPath: "/shop/choc%20chip",
      rawQueryString: "",
      headers: { host: "shop.example.com:3000", "user-agent": "curl/8" },
      requestContext: {
        accountId: "000000000000",
        apiId: "app1",
        domainName: "shop.example.com",
        domainPrefix: "shop",
        http: { method: "GET", path: "/shop/choc%20chip", protocol: "HTTP/1.1", sourceIp: "203.0.113.7", userAgent: "curl/8" },
        requestId: "request-1",
        routeKey: "GET /shop/{item}",
        stage: "$default",
        time: "12/Mar/2020:19:03:58 +0000",
        timeEpoch: 1584039838390,
      },
      isBase64Encoded: false,
    });
  });

  it.each([
    ["GET /", "GET /"],
    ["GET /shop/:item", "GET /shop/{item}"],
    ["PUT /a/:b/c/:d", "PUT /a/{b}/c/{d}"],
    ["ANY /files/*", "ANY /files/{proxy+}"],
    ["$default", "$default"],
  ])("writes the route %s as %s", (route, routeKey) => {
    expect(toRouteKey(route)).toBe(routeKey);
    expect(eventOf({ route })).toMatchObject({ routeKey, requestContext: { routeKey } });
  });

  it("keeps HEAD as the method and the route that answers it as the key", () => {
    expect(eventOf({ method: "HEAD", route: "GET /" })).toMatchObject({ routeKey: "GET /", requestContext: { http: { method: "HEAD" } } });
  });

  it.each([
    ["a=1", "?a=1", { a: "1" }],
    ["a=1&a=2&b=3", "?a=1&a=2&b=3", { a: "1,2", b: "3" }],
    ["a=x+y&b=%C3%A4", "?a=x+y&b=%C3%A4", { a: "x y", b: "ä" }],
    ["a=%ZZ+%41", "?a=%ZZ+%41", { a: "%ZZ A" }],
    ["a=%ff&%3D=%26", "?a=%ff&%3D=%26", { a: "%ff", "=": "&" }],
    ["a&b=&=c", "?a&b=&=c", { a: "", b: "", "": "c" }],
    ["a=b=c", "?a=b=c", { a: "b=c" }],
    ["toString=1&constructor=2", "?toString=1&constructor=2", { toString: "1", constructor: "2" }],
  ])("reads the query %s", (query, rawQueryString, queryStringParameters) => {
    const event = eventOf({ query });
    expect(event.rawQueryString).toBe(rawQueryString);
    expect({ ...event.queryStringParameters }).toEqual(queryStringParameters);
  });

  it("has no queryStringParameters for a query without any", () => {
    expect(eventOf({ query: "&&" })).not.toHaveProperty("queryStringParameters");
  });

  it("takes __proto__ for a name like any other", () => {
    const event = eventOf({
      query: "__proto__=1&__proto__=2",
      headers: ["__proto__", "a", "__proto__", "b"],
      params: JSON.parse('{"__proto__":"c"}') as Record<string, string>,
    });
    for (const [values, expected] of [
      [event.queryStringParameters, "1,2"],
      [event.headers, "a, b"],
      [event.pathParameters, "c"],
    ] as const) {
      expect(Object.getPrototypeOf(values)).toBe(Object.prototype);
      expect(Object.getOwnPropertyDescriptor(values, "__proto__")?.value).toBe(expected);
    }
  });

  it("joins repeated headers, lower-cases their names, and lists every cookie besides", () => {
    const event = eventOf({ headers: ["X-A", "1", "x-a", "2", "Cookie", "a=1; b=2;", "cookie", "c=3"] });
    expect(event.headers).toEqual({ "x-a": "1, 2", cookie: "a=1; b=2;; c=3" });
    expect(event.cookies).toEqual(["a=1", "b=2", "c=3"]);
  });

  it("has no cookies for a request without any", () => {
    expect(eventOf({ headers: ["Cookie", " ; "] })).not.toHaveProperty("cookies");
  });

  it("passes path parameters on, and has none where the path has none", () => {
    expect(eventOf({ params: { item: "choc chip" } }).pathParameters).toEqual({ item: "choc chip" });
    expect(eventOf({ params: {} })).not.toHaveProperty("pathParameters");
  });

  it.each([
    ["[::1]:3000", "[::1]", "[::1]"],
    ["localhost", "localhost", "localhost"],
    ["a.b.c", "a.b.c", "a"],
  ])("reads the host %s", (host, domainName, domainPrefix) => {
    expect(eventOf({ headers: ["host", host] }).requestContext).toMatchObject({ domainName, domainPrefix });
  });

  it("survives a request without a host", () => {
    expect(eventOf({ headers: [] }).requestContext).toMatchObject({ domainName: "", domainPrefix: "", http: { userAgent: "" } });
  });
});

describe("the body", () => {
  it("is base64, and the flag says so", () => {
    expect(eventOf({}, "hello")).toMatchObject({ body: "aGVsbG8=", isBase64Encoded: true });
  });

  it("is absent where there is none, and the flag is false", () => {
    expect(eventOf()).not.toHaveProperty("body");
    expect(eventOf().isBase64Encoded).toBe(false);
  });

  it("is an own enumerable property that survives JSON, spread and Object.assign", () => {
    const event = eventOf({}, "hello");
    expect(Object.keys(event)).toContain("body");
    for (const copy of [JSON.parse(JSON.stringify(event)) as unknown, { ...event }, Object.assign({}, event)])
      expect(copy).toMatchObject({ body: "aGVsbG8=", isBase64Encoded: true });
  });

  it("keeps the flag when it is assigned what it is already, as adapters do", () => {
    const event = eventOf({}, "a=1");
    event.body = event.body ?? "";
    expect(event).toMatchObject({ body: "YT0x", isBase64Encoded: true });
  });

  it("clears the flag when it is assigned, as the contract's GraphQL example needs", () => {
    const event = eventOf({}, "hello");
    event.body = '{"query":"{hello}"}';
    for (const copy of [event, JSON.parse(JSON.stringify(event)) as unknown, { ...event }, Object.assign({}, event)])
      expect(copy).toMatchObject({ body: '{"query":"{hello}"}', isBase64Encoded: false });
  });

  it("carries any bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 2_000 }), (bytes) => {
        expect(Buffer.from(toEvent(HEADER, bytes).body ?? "", "base64").equals(bytes)).toBe(true);
      }),
    );
  });

  it("never throws, whatever the query and headers are", () => {
    fc.assert(
      fc.property(fc.string(), fc.array(fc.tuple(fc.string(), fc.string())), (query, headers) => {
        expect(eventOf({ query, headers: headers.flat() }).version).toBe("2.0");
      }),
    );
  });
});

describe("the query of an app that wants it bare", () => {
  it("leaves the question mark of the query to apps that want it bare", () => {
    const toBareEvent = createCurrentEvents({ apiId: "app1", rawJson: false, bareQuery: true });
    expect(toBareEvent({ ...HEADER, query: "a=1" }, Buffer.alloc(0))).toMatchObject({
      rawQueryString: "a=1",
      queryStringParameters: { a: "1" },
    });
  });
});

describe("the body of an app that wants raw JSON", () => {
  const toRawEvent = createCurrentEvents({ apiId: "app1", rawJson: true, bareQuery: false });
  const rawEventOf = (type: string, body: string, encoding: BufferEncoding = "utf8") =>
    toRawEvent({ ...HEADER, headers: ["Content-Type", type] }, Buffer.from(body, encoding));

  it.each(["application/json", "Application/JSON; charset=utf-8", "application/vnd.api+json"])("is plain text for %s", (type) => {
    const event = rawEventOf(type, '{"a":"ž"}');
    expect(event).toMatchObject({ body: '{"a":"ž"}', isBase64Encoded: false });
    expect(JSON.parse(JSON.stringify(event))).toMatchObject({ body: '{"a":"ž"}', isBase64Encoded: false });
  });

  it.each(["text/plain", "application/x-www-form-urlencoded", "application/jsonp", "application/x-ndjson", ""])(
    "stays base64 for %j",
    (type) => {
      expect(rawEventOf(type, "{}")).toMatchObject({ body: "e30=", isBase64Encoded: true });
    },
  );

  it("stays base64 where it is no UTF-8", () => {
    expect(rawEventOf("application/json", "22ff22", "hex")).toMatchObject({ body: "Iv8i", isBase64Encoded: true });
  });

  it("is absent where there is none", () => {
    expect(rawEventOf("application/json", "")).not.toHaveProperty("body");
    expect(rawEventOf("application/json", "").isBase64Encoded).toBe(false);
  });
});

describe("the flag of an assigned body", () => {
  it("stays cleared where nothing was assigned: no base64 comes back", () => {
    const event = eventOf({}, "hello");
    event.body = null;
    expect(event).toMatchObject({ body: null, isBase64Encoded: false });
  });
});
