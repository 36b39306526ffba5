// How the head of a request is read: targets, hosts, ids, and whom to believe.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createTrust, originOf, plainAddress } from "../../../gateway/forwarded.ts";
import { hostName, readHead, type RequestHead } from "../../../gateway/request-head.ts";
import { readTarget } from "../../../gateway/target.ts";

const limits = { requestBodyBytesMax: 100, headerBytesMax: 200, targetBytesMax: 50 };
const trust = createTrust(["10.0.0.0/8", "192.168.1.1", "fd00::/8"]);
const stranger = { address: "203.0.113.9", isTrusted: false, isSecure: false, localPort: 8080 };
const proxy = { address: "10.0.0.1", isTrusted: true, isSecure: false, localPort: 8080 };

const read = (rawHeaders: readonly string[], more: { target?: string; method?: string; httpVersion?: string; peer?: typeof proxy } = {}) =>
  readHead({ method: "GET", target: "/", httpVersion: "1.1", rawHeaders, ...more }, more.peer ?? stranger, { limits, trust });
const headOf = (...parameters: Parameters<typeof read>): RequestHead => {
  const reading = read(...parameters);
  if (reading.kind === "refused") throw new Error(reading.code);
  return reading.head;
};
const codeOf = (...parameters: Parameters<typeof read>): string | null => {
  const reading = read(...parameters);
  return reading.kind === "refused" ? reading.code : null;
};
const valueOf = (head: RequestHead, name: string): string | undefined => head.headers[head.headers.indexOf(name) + 1];

describe("a target", () => {
  it("is split at the first question mark and kept as it was sent", () => {
    expect(readTarget("/a%2Fb/?x=%zz?y")).toEqual({ kind: "path", path: "/a%2Fb/", query: "x=%zz?y", host: null });
    expect(readTarget("http://Host:1?q")).toEqual({ kind: "path", path: "/", query: "q", host: "Host:1" });
  });

  it.each(["", "*", "a", "/%", "/%zz", "/%ff", "/a b", "/é", "/a#b", "ftp://host/", "http://", "http:///a"])(
    "is refused where it is no path: %j",
    (target) => {
      expect(readTarget(target).kind).toBe("malformed");
    },
  );

  it("never throws, and what it takes can be decoded", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const target = readTarget(`/${text}`);
        const path = target.kind === "path" ? target.path : "/";
        expect(() => decodeURIComponent(path)).not.toThrow();
      }),
    );
  });
});

describe("a host", () => {
  it.each([
    ["Example.COM", "example.com"],
    ["a.test:80", "a.test"],
    ["[::1]:80", "[::1]"],
    ["", ""],
    ["a:b", null],
    ["[::1", null],
    ["[::1]x", null],
    ["a/b", null],
    ["a@b", null],
    ["a b", null],
  ])("%j is %j", (host, name) => expect(hostName(host)).toBe(name));
});

describe("limits and shape", () => {
  it("counts names and values of headers, the target, and the announced body", () => {
    expect(codeOf(["host", "x", "a", "b".repeat(194)])).toBeNull();
    expect(codeOf(["host", "x", "a", "b".repeat(195)])).toBe("HEADERS_TOO_LARGE");
    expect(codeOf(["host", "x"], { target: `/${"a".repeat(49)}` })).toBeNull();
    expect(codeOf(["host", "x"], { target: `/${"a".repeat(50)}` })).toBe("TARGET_TOO_LONG");
    expect(codeOf(["host", "x", "content-length", "100"])).toBeNull();
    expect(codeOf(["host", "x", "content-length", "101"])).toBe("BODY_TOO_LARGE");
  });

  it("needs one host, except from HTTP/1.0", () => {
    expect(codeOf([])).toBe("REQUEST_MALFORMED");
    expect(codeOf(["host", "a", "Host", "a"])).toBe("REQUEST_MALFORMED");
    expect(headOf([], { httpVersion: "1.0" }).host).toBe("");
  });

  it("keeps order, case and repeats of headers, and drops those of the connection", () => {
    const raw = ["Host", "x", "Cookie", "a=1", "cookie", "b=2", "Connection", "keep-alive", "TE", "trailers", "Upgrade", "h2c", "X-A", ""];
    expect(headOf(raw).headers.slice(0, 8)).toEqual(["Host", "x", "Cookie", "a=1", "cookie", "b=2", "X-A", ""]);
  });

  it("lets the host of an absolute target stand above the header", () => {
    const head = headOf(["Host", "x"], { target: "http://Other.test/a" });
    expect(head).toMatchObject({ host: "other.test", path: "/a" });
    expect(valueOf(head, "Host")).toBe("Other.test");
  });
});

describe("what proxies say", () => {
  const said = [
    "host",
    "inner",
    "x-forwarded-for",
    "6.6.6.6, 198.51.100.7, 10.0.0.2",
    "x-forwarded-proto",
    "https",
    "x-forwarded-host",
    "Outer.test",
    "x-request-id",
    "id-1",
  ];

  it("counts from a trusted one", () => {
    const head = headOf(said, { peer: proxy });
    expect(head).toMatchObject({ sourceIp: "198.51.100.7", scheme: "https", host: "outer.test", id: "id-1" });
    expect(valueOf(head, "x-forwarded-for")).toBe("198.51.100.7");
    expect(valueOf(head, "x-forwarded-port")).toBe("443");
    expect(valueOf(head, "host")).toBe("inner");
  });

  it("does not count from a stranger", () => {
    const head = headOf(said);
    expect(head).toMatchObject({ sourceIp: "203.0.113.9", scheme: "http", host: "inner" });
    expect(head.id).not.toBe("id-1");
    expect(head.headers.join()).not.toContain("6.6.6.6");
  });

  it.each([["a b"], ["a".repeat(129)], ['"'], [""]])("replaces an id that makes no sense: %j", (id) => {
    expect(headOf(["host", "x", "x-request-id", id].slice(0, 4), { peer: proxy }).id).toMatch(/^[0-9a-f-]{36}$/);
  });

  it.each([
    ["198.51.100.7:1234", "198.51.100.7"],
    ["[2001:db8::1]:443, 10.1.1.1", "2001:db8::1"],
    ["unknown", "10.0.0.1"],
    ["6.6.6.6, nonsense, 10.1.1.1", "10.1.1.1"],
    ["10.0.0.9", "10.0.0.9"],
  ])("finds the source in %j: %s", (list, source) => {
    expect(originOf(proxy, { for: list, proto: null, host: null, port: null }, trust).sourceIp).toBe(source);
  });

  it("knows trusted addresses by range, also mapped into IPv6", () => {
    expect(["10.9.9.9", "192.168.1.1", "fd00::5", "192.168.1.2", "::1", "nonsense"].map(trust)).toEqual([
      true,
      true,
      true,
      false,
      false,
      false,
    ]);
    expect(plainAddress("::ffff:10.1.2.3")).toBe("10.1.2.3");
  });
});

const NAMES = ["Host", "host", "Accept", "Content-Length", "Transfer-Encoding", "Connection", "TE", "Upgrade", "Forwarded", "X-Request-Id"];
const FORWARDED = ["x-forwarded-for", "X-Forwarded-Host", "x-forwarded-proto", "x-forwarded-port", "x-forwarded-other", "__proto__"];
const headerName = fc.oneof(fc.constantFrom(...NAMES, ...FORWARDED), fc.string({ minLength: 1 }));
const headerValue = fc.oneof(fc.constantFrom("a.test", "A:80", "[::1]:8", "10.0.0.1, 6.6.6.6", "https", "3", "", "chunked"), fc.string());
const rawHeaders = fc.array(fc.tuple(headerName, headerValue), { maxLength: 12 }).map((pairs) => pairs.flat());
const incomingHead = fc.record({
  method: fc.oneof(fc.constantFrom("GET", "POST", "TRACE", "get", ""), fc.string()),
  target: fc.oneof(
    fc.webUrl(),
    fc.string(),
    fc.string().map((rest) => `/${rest}`),
    fc.webPath().map((rest) => `/${rest}`),
  ),
  httpVersion: fc.oneof(fc.constantFrom("1.1", "1.0", "0.9", "2.0"), fc.string()),
  rawHeaders,
});

/** What should never be said of a head that was taken. */
function wrongOf(head: RequestHead, isTrusted: boolean): string[] {
  const names = head.headers.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
  const countOf = (wanted: string): number => names.filter((name) => name === wanted).length;
  const forwarded = names.filter((name) => name.startsWith("x-forwarded-"));
  const wrong = {
    "a path that is none": !head.path.startsWith("/") || readTarget(head.path).kind === "malformed",
    "a host in upper case": head.host !== head.host.toLowerCase(),
    "ours not exactly once": ["for", "proto", "host", "port"].some((ours) => countOf(`x-forwarded-${ours}`) !== 1),
    "what belongs to a connection": ["connection", "transfer-encoding", "te", "upgrade"].some((bound) => names.includes(bound)),
    "what a stranger says of itself":
      !isTrusted && (head.sourceIp !== stranger.address || forwarded.length !== 4 || names.includes("forwarded")),
  };
  return Object.entries(wrong).flatMap(([what, isSo]) => (isSo ? [what] : []));
}

describe("any head", () => {
  it("is read without an error; what is taken makes sense, and says of its visitor only what is believed", () => {
    fc.assert(
      fc.property(incomingHead, fc.boolean(), (incoming, isTrusted) => {
        const reading = readHead(incoming, isTrusted ? proxy : stranger, { limits, trust });
        expect(reading.kind === "head" ? wrongOf(reading.head, isTrusted) : []).toEqual([]);
      }),
      { numRuns: 2_000 },
    );
  });

  it("of a sane form is taken as often as not", () => {
    const sane = fc.record({ target: fc.webPath().map((rest) => `/${rest}`.slice(0, 50)), rawHeaders });
    const readings = fc
      .sample(sane, { numRuns: 500, seed: 1 })
      .map(({ target, rawHeaders: more }) =>
        codeOf(["host", "a.test", ...more.filter((_, index) => more[index - (index % 2)]?.toLowerCase() !== "host")], { target }),
      );
    expect(readings.filter((code) => code === null).length).toBeGreaterThan(250); // Or the property above would say little.
  });
});
