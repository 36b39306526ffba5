// Sessions: what is read, what is written, which cookie names them, and when they end.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { PlatformError } from "../../../runtime-image/contract/errors.ts";
import { functions } from "../../../runtime-image/library/functions.ts";
import { cookieValueOf, newSessionId, secretOf, sessionCookieOf, storeKeyOf } from "../../../runtime-image/library/session-id.ts";
import { version1, version2 } from "../../support/library-events.ts";
import { layTestInstance, type TestInstance } from "../../support/library-instance.ts";

const { http } = functions;
const DAY_MS = 86_400_000;
let instance: TestInstance;

beforeEach(() => {
  vi.useFakeTimers({ now: new Date("2026-01-01T00:00:00Z"), toFake: ["Date"] });
  instance = layTestInstance();
});
afterEach(() => void vi.useRealTimers());

const valueOf = (setCookie: string): string => (setCookie.split(";", 1)[0] ?? "").slice("_idx=".length);
const withCookie = (cookie: string) => ({ headers: ["host", "app.test", "Cookie", cookie] });

/** A request that writes a session; the value of the cookie that names it. */
const write = async (session: unknown, cookie = ""): Promise<string> =>
  valueOf((await instance.within(withCookie(cookie), () => http.session.write(session))) ?? "");

const read = (cookie: string, event = version2) =>
  instance.within(withCookie(cookie), () => http.session.read(event({ headers: { cookie } })));

describe("reading a session", () => {
  it.each([
    ["2.0", version2],
    ["1", version1],
  ])("gives what was written, under payload version %s", async (_version, event) => {
    expect(await read(`_idx=${await write({ user: "ada", tags: [1, null] })}`, event)).toEqual({ user: "ada", tags: [1, null] });
  });

  it("takes the last _idx of several", async () => {
    const [first, second] = [await write({ n: 1 }), await write({ n: 2 })];
    expect(await read(`_idx=${first}; theme=dark; _idx=${second}`)).toEqual({ n: 2 });
    expect(await read(`_idx=${first}; my_idx=x; a=_idx=; _idx2=y`)).toEqual({ n: 1 });
  });

  it("finds the cookie under a header in mixed case", async () => {
    const cookie = `_idx=${await write({ n: 1 })}`;
    expect(await http.session.read({ headers: { Cookie: cookie } })).toEqual({ n: 1 });
  });

  const forgeries: readonly (readonly [name: string, forge: (value: string) => string])[] = [
    ["no cookie", () => ""],
    ["an empty one", () => "_idx="],
    ["one without a signature", (value) => `_idx=${value.split(".")[0] ?? ""}`],
    ["another signature", (value) => `_idx=${value.slice(0, -4)}AAAA`],
    ["another id", (value) => `_idx=AAAA${value.slice(4)}`],
    ["a signature of the wrong length", (value) => `_idx=${value}A`],
    ["what others use as ids", () => "_idx=__proto__.constructor"],
  ];
  it.each(forgeries)("gives {} for %s, without asking the store", async (_name, forge) => {
    const value = await write({ n: 1 });
    instance.calls.length = 0;
    expect(await read(forge(value))).toEqual({});
    expect(instance.calls).toEqual([]);
  });

  it("gives {} for a cookie of another environment, without asking the store", async () => {
    const value = await write({ n: 1 });
    instance = layTestInstance({ secret: "0f".repeat(30) });
    expect(await read(`_idx=${value}`)).toEqual({});
    expect(instance.calls).toEqual([]);
  });

  it("gives {} for an id that nobody wrote to, and stores nothing", async () => {
    expect(await read(`_idx=${cookieValueOf(newSessionId())}`)).toEqual({});
    expect(instance.calls).toEqual(["get sessions"]);
  });

  it("takes a callback, too", async () => {
    const event = version2({ headers: { cookie: `_idx=${await write({ n: 1 })}` } });
    const session = await new Promise((resolve) => void http.session.read(event, (_thrown: unknown, value: unknown) => resolve(value)));
    expect(session).toEqual({ n: 1 });
  });
});

describe("writing a session", () => {
  it("replaces what was there, under the same id", async () => {
    const first = await write({ a: 1 });
    const second = await write({ b: 2 }, `_idx=${first}`);
    expect(second).toBe(first);
    expect(await read(`_idx=${first}`)).toEqual({ b: 2 });
  });

  it("starts a new one for a visitor whose cookie was forged", async () => {
    const forged = "A".repeat(24);
    expect(await write({ a: 1 }, `_idx=${forged}.${"A".repeat(43)}`)).not.toContain(forged);
  });

  it("keeps to one id within one request", async () => {
    const [first, second] = await instance.within({}, async () => [await http.session.write({ a: 1 }), await http.session.write({ b: 2 })]);
    expect(first).toBe(second);
    expect(await read(`_idx=${valueOf(first ?? "")}`)).toEqual({ b: 2 });
  });

  it("clears it with {}: what was stored is gone, and the visitor gets another id", async () => {
    const first = await write({ a: 1 });
    const second = await write({}, `_idx=${first}`);
    expect(await read(`_idx=${first}`)).toEqual({});
    expect(second).not.toBe(first);
    expect(await instance.store.count("sessions", "")).toBe(0);
  });

  it("stores nothing for {} of a visitor who had none", async () => {
    await write({});
    expect(instance.calls).toEqual([]);
  });

  it("refuses more than 400 KB, and keeps what was there", async () => {
    const value = await write({ a: 1 });
    await expect(write({ text: "x".repeat(400_000) }, `_idx=${value}`)).rejects.toThrow("session is larger than 400 KB");
    expect(await read(`_idx=${value}`)).toEqual({ a: 1 });
  });

  it.each([
    ["a text", "x"],
    ["nothing", undefined],
    ["a list", [1]],
    ["null", null],
  ])("refuses %s", async (_name, session) => {
    await expect(write(session)).rejects.toThrow("session should be an object");
  });

  it("keeps neither the id nor the secret in the store", async () => {
    const value = await write({ a: 1 });
    const id = value.split(".")[0] ?? "";
    const keys = await instance.store.list("sessions", { prefix: "", after: null, limit: 10 });
    expect(keys).toEqual([storeKeyOf(id)]);
    const stored = Buffer.from((await instance.store.get("sessions", storeKeyOf(id)))?.bytes ?? []).toString();
    for (const secret of [id, secretOf(id), value]) expect(`${keys.join(" ")} ${stored}`).not.toContain(secret);
  });
});

describe("the session's cookie", () => {
  it("has an id of 144 bits and a signature", async () => {
    expect(await write({ a: 1 })).toMatch(/^[\w-]{24}\.[\w-]{43}$/);
  });

  it("is for this host's pages only, for as long as a browser keeps one", () => {
    expect(sessionCookieOf("x".repeat(24)).split("; ").slice(1)).toEqual(["Max-Age=34560000", "Path=/", "HttpOnly", "SameSite=Lax"]);
  });

  it("is Secure where the request came over TLS", () => {
    const cookie = instance.within({ scheme: "https" }, () => sessionCookieOf("x".repeat(24)));
    expect(cookie.endsWith("; SameSite=Lax; Secure")).toBe(true);
  });

  it("never has the same id twice", () => {
    expect(new Set(Array.from({ length: 1_000 }, newSessionId)).size).toBe(1_000);
  });
});

describe("the end of a session", () => {
  it("comes after a week without a visit", async () => {
    const cookie = `_idx=${await write({ a: 1 })}`;
    vi.setSystemTime(Date.now() + 7 * DAY_MS - 1);
    expect(await read(cookie)).toEqual({ a: 1 });
    vi.setSystemTime(Date.now() + 7 * DAY_MS);
    expect(await read(cookie)).toEqual({});
  });

  it("moves away with every visit", async () => {
    const cookie = `_idx=${await write({ a: 1 })}`;
    for (let visit = 0; visit < 10; visit++) {
      vi.setSystemTime(Date.now() + 6 * DAY_MS);
      expect(await read(cookie)).toEqual({ a: 1 });
    }
  });

  it("is written down once a day at most", async () => {
    const cookie = `_idx=${await write({ a: 1 })}`;
    instance.calls.length = 0;
    await read(cookie);
    vi.setSystemTime(Date.now() + DAY_MS - 1);
    await read(cookie);
    expect(instance.calls).not.toContain("put sessions");
    vi.setSystemTime(Date.now() + 2);
    await read(cookie);
    await read(cookie);
    expect(instance.calls.filter((call) => call === "put sessions")).toHaveLength(1);
  });

  it("does not undo a write that came between reading and renewing", async () => {
    const cookie = `_idx=${await write({ a: 1 })}`;
    vi.setSystemTime(Date.now() + 2 * DAY_MS);
    const { get } = instance.store;
    const key = storeKeyOf(valueOf(cookie).split(".")[0] ?? "");
    vi.spyOn(instance.store, "get").mockImplementationOnce(async (bucket, asked) => {
      const before = await get(bucket, asked);
      await write({ b: 2 }, cookie);
      return before;
    });
    expect(await read(cookie)).toEqual({ a: 1 });
    vi.restoreAllMocks();
    expect(await read(cookie)).toEqual({ b: 2 });
    expect(key).toHaveLength(64);
  });

  it("is left for another visit where the store is full, and what else goes wrong is told", async () => {
    const cookie = `_idx=${await write({ a: 1 })}`;
    vi.setSystemTime(Date.now() + 2 * DAY_MS);
    const put = vi.spyOn(instance.store, "put");
    put.mockRejectedValueOnce(new PlatformError("STORE_FULL"));
    expect(await read(cookie)).toEqual({ a: 1 });
    put.mockRejectedValueOnce(new PlatformError("STORE_UNAVAILABLE"));
    await expect(read(cookie)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    vi.restoreAllMocks();
  });
});

describe("sessions under http and http.async", () => {
  const answerTo = (session: unknown, cookie = "") =>
    instance.within(withCookie(cookie), () => http.async(async () => ({ session, location: "/" }))(version2({ headers: { cookie } })));

  it("are written with the answer, whose cookie names them", async () => {
    const { headers } = await answerTo({ user: "ada" });
    const cookie = `_idx=${valueOf(String(headers["set-cookie"]))}`;
    expect(await read(cookie)).toEqual({ user: "ada" });
  });

  it("are there for the next request", async () => {
    const cookie = `_idx=${await write({ user: "ada" })}`;
    const handler = http.async(async (request: { session: unknown }) => ({ json: request.session }));
    expect((await instance.within(withCookie(cookie), () => handler(version2({ headers: { cookie } })))).body).toBe('{"user":"ada"}');
  });

  it("come beside cookies of the function's own", async () => {
    const handler = http.async(async () => ({ session: { a: 1 }, cookie: "theme=dark", text: "" }));
    const { cookies } = await instance.within({}, () => handler(version2()));
    expect(cookies).toEqual(["theme=dark", expect.stringMatching(/^_idx=/)]);
  });

  it("are kept by no cache, unless the function says so itself", async () => {
    const cacheOf = async (answer: object) =>
      (await instance.within({}, () => http.async(async () => ({ session: { a: 1 }, ...answer }))(version2()))).headers["cache-control"];
    expect(await cacheOf({ css: "" })).toContain("no-store");
    expect(await cacheOf({ css: "", cacheControl: "private" })).toBe("private");
    expect(await cacheOf({ css: "", headers: { "Cache-Control": "private" } })).toBe("private");
  });

  it("set no cookie where the answer has no session", async () => {
    const answer = await instance.within({}, () => http.async(async () => ({ text: "x" }))(version2()));
    expect(answer.headers["set-cookie"]).toBeUndefined();
    expect(instance.calls).toEqual([]);
  });

  it("are not written by an answer that is wrong", async () => {
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    const handler = http.async(async () => ({ session: { a: 1 }, body: { wrong: true } }));
    expect((await instance.within({}, () => handler(version2()))).statusCode).toBe(500);
    expect(instance.calls).toEqual([]);
  });
});
