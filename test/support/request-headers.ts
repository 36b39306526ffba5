// Request headers of envelopes, as tests of event builders vary them.
import fc from "fast-check";
import type { RequestHeader } from "../../runtime-image/contract/envelope.ts";

export const SHOP_REQUEST: RequestHeader = {
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

const name = fc.oneof(fc.string(), fc.constantFrom("__proto__", "constructor", "toString", "cookie", "Cookie", "content-type"));
const route = fc.constantFrom("GET /", "POST /a/:b", "ANY /*", "$default", "nonsense", "");

/** Anything that a gateway might send, and some things that it never does. */
export const anyRequest: fc.Arbitrary<RequestHeader> = fc
  .record({
    method: fc.constantFrom("GET", "POST", "HEAD", "OPTIONS", "PROPFIND"),
    path: fc.webPath(),
    query: fc.oneof(fc.webQueryParameters(), fc.string(), fc.constant("__proto__=1&__proto__=2&constructor=%ff")),
    route,
    params: fc.option(fc.dictionary(name, fc.string())),
    headers: fc.array(fc.tuple(name, fc.string())).map((pairs) => pairs.flat()),
  })
  .map((fields) => ({ ...SHOP_REQUEST, ...fields }));
