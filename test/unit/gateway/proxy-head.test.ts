// What crosses to an upstream and back, for given and for any headers.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createTrust } from "../../../gateway/forwarded.ts";
import { readHead, type RequestHead } from "../../../gateway/request-head.ts";
import { answerHeaders, planUpstream, readAddress, upgradeAnswerHeaders, type Asked } from "../../../gateway/upstreams/proxy-head.ts";

const limits = { requestBodyBytesMax: 1_000, headerBytesMax: 16_000, targetBytesMax: 8_000 };
const peer = { address: "203.0.113.9", isTrusted: false, isSecure: false, localPort: 8080 };

function headOf(rawHeaders: readonly string[], target = "/x"): RequestHead {
  const reading = readHead({ method: "GET", target, httpVersion: "1.1", rawHeaders }, peer, { limits, trust: createTrust([]) });
  if (reading.kind === "refused") throw new Error(reading.code);
  return reading.head;
}

function planOf(rawHeaders: readonly string[], more: Partial<Asked> & { target?: string } = {}) {
  const { target, ...asked } = more;
  const head = headOf(["host", "visitor.test", ...rawHeaders], target);
  const plan = planUpstream({ url: "http://up.test:81/base", head, connection: "", bodyBytes: 0, purpose: "request", ...asked });
  if (plan.kind !== "ask") throw new Error(plan.kind);
  return plan;
}

describe("the address of an upstream", () => {
  it.each([
    ["http://up.test", { hostname: "up.test", host: "up.test", port: "80", auth: null }],
    ["https://up.test/a", { hostname: "up.test", host: "up.test", port: "443", origin: "https://up.test" }],
    ["http://[::1]:81", { hostname: "::1", host: "[::1]:81", port: "81" }],
    ["http://a%zz:b@up.test", { auth: "a%zz:b", origin: "http://up.test" }],
  ])("of %s is what a socket and a Host header need", (url, expected) => expect(readAddress(url)).toMatchObject(expected));

  it.each(["", "up.test", "ftp://up.test", "ws://up.test", "http://"])("is none in %j", (url) => expect(readAddress(url)).toBeNull());
});

describe("the request", () => {
  it.each([
    ["http://up.test", "/a//b/../c?x=//", "/a//b/../c?x=//"],
    ["http://up.test/", "/", "/"],
    ["http://up.test/base/", "/a", "/base/a"],
    ["http://up.test/base", "//a", "/base//a"],
    ["http://up.test/base?lost#lost", "/a?q", "/base/a?q"],
  ])("below %s for %s asks for %s", (url, target, path) => expect(planOf([], { url, target }).path).toBe(path));

  it("frames itself: whatever the client said of its body, the length is ours, and there is none without a body", () => {
    const said = ["Content-Length", "7", "Transfer-Encoding", "chunked", "Expect", "100-continue"];
    expect(planOf(said, { bodyBytes: 3 }).headers).toMatchObject({ "content-length": "3" });
    const names = Object.keys(planOf(said).headers).map((name) => name.toLowerCase());
    expect(names.filter((name) => ["content-length", "transfer-encoding", "expect"].includes(name))).toEqual([]);
  });

  it("for an upgrade names a WebSocket, for any other none", () => {
    const said = ["Upgrade", "h2c", "Sec-WebSocket-Key", "x"];
    expect(planOf(said, { purpose: "upgrade", connection: "upgrade" }).headers).toMatchObject({
      connection: "Upgrade",
      upgrade: "websocket",
      "Sec-WebSocket-Key": "x",
    });
    expect(planOf(said).headers).not.toHaveProperty("upgrade");
  });

  it("counts its rounds, believes the highest count, and stops", () => {
    const hops = "x-orchestrator-hops";
    expect(planOf([]).headers[hops]).toBe("1");
    expect(planOf([hops, "2", hops, "nonsense", hops, "1"]).headers[hops]).toBe("3");
    const head = headOf(["host", "a", hops, "4"]);
    expect(planUpstream({ url: "http://up.test", head, connection: "", bodyBytes: 0, purpose: "request" })).toEqual({
      kind: "looped",
      hopCount: 4,
    });
  });
});

describe("the answer", () => {
  it("keeps order, case and repeats, and drops what belongs to the upstream's connection", () => {
    const raw = [
      "X-A",
      "1",
      "Connection",
      "close, X-Bound",
      "x-bound",
      "2",
      "Set-Cookie",
      "a",
      "set-cookie",
      "b",
      "X-Request-Id",
      "theirs",
    ];
    expect(answerHeaders(raw, { requestId: "ours", status: 200 })).toEqual([
      "X-A",
      "1",
      "Set-Cookie",
      "a",
      "set-cookie",
      "b",
      "x-request-id",
      "ours",
    ]);
  });

  it("says no length with 204, and cannot lose it by naming it in Connection", () => {
    expect(answerHeaders(["content-length", "5"], { requestId: "i", status: 204 })).toEqual(["x-request-id", "i"]);
    expect(answerHeaders(["connection", "content-length", "content-length", "5"], { requestId: "i", status: 200 })).toContain(
      "content-length",
    );
  });

  it("to an upgrade is the last of its connection, unless it switches", () => {
    const raw = ["transfer-encoding", "chunked", "connection", "keep-alive", "www-authenticate", "a", "WWW-Authenticate", "b"];
    expect(upgradeAnswerHeaders(raw, { requestId: "i", status: 401 })).toEqual({
      "www-authenticate": ["a", "b"],
      "x-request-id": "i",
      connection: "close",
    });
    expect(upgradeAnswerHeaders([], { requestId: "i", status: 101 })).toMatchObject({ connection: "Upgrade", upgrade: "websocket" });
  });
});

const NAMES = [
  "host",
  "connection",
  "content-length",
  "transfer-encoding",
  "te",
  "upgrade",
  "expect",
  "x-a",
  "X-A",
  "__proto__",
  "constructor",
  "x-forwarded-for",
];
const flatHeaders = fc
  .array(
    fc.tuple(
      fc.oneof(fc.constantFrom(...NAMES), fc.string({ minLength: 1 })),
      fc.oneof(fc.constantFrom("x-a", "close, te", "7"), fc.string()),
    ),
  )
  .map((pairs) => pairs.flat());

describe("any headers", () => {
  it("become a request with one host, one address of the visitor, and no framing but ours", () => {
    fc.assert(
      fc.property(flatHeaders, fc.string(), fc.nat(100), (flat, connection, bodyBytes) => {
        const head: RequestHead = {
          ...headOf(["host", "a"]),
          headers: [...flat.filter((_, index) => !isForwardedAt(flat, index)), "x-forwarded-for", peer.address],
        };
        const plan = planUpstream({ url: "http://up.test", head, connection, bodyBytes, purpose: "request" });
        if (plan.kind !== "ask") return;
        const named = (wanted: string) =>
          Object.entries(plan.headers)
            .filter(([name]) => name.toLowerCase() === wanted)
            .map(([, value]) => value);
        expect(named("host")).toEqual(["up.test"]);
        expect(named("content-length")).toEqual(bodyBytes === 0 ? [] : [String(bodyBytes)]);
        expect(named("x-forwarded-for")).toEqual([peer.address]);
        expect(Object.getPrototypeOf(plan.headers)).toBe(Object.prototype);
      }),
      { numRuns: 500 },
    );
  });

  it("become an answer without any that belongs to a connection", () => {
    fc.assert(
      fc.property(flatHeaders, fc.constantFrom(101, 200, 204, 401), (flat, status) => {
        const names = answerHeaders(flat, { requestId: "ours", status })
          .filter((_, index) => index % 2 === 0)
          .map((name) => name.toLowerCase());
        for (const bound of ["connection", "transfer-encoding", "te", "upgrade"]) expect(names).not.toContain(bound);
        expect(Object.getPrototypeOf(upgradeAnswerHeaders(flat, { requestId: "ours", status }))).toBe(Object.prototype);
      }),
      { numRuns: 500 },
    );
  });
});

const isForwardedAt = (flat: readonly string[], index: number): boolean => flat[index - (index % 2)]?.toLowerCase() === "x-forwarded-for";
