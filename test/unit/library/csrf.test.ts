// Csrf tokens: what verifies, what does not, and for whom.
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { functions } from "../../../runtime-image/library/functions.ts";
import { cookieValueOf, newSessionId } from "../../../runtime-image/library/session-id.ts";
import { version2 } from "../../support/library-events.ts";
import { layTestInstance, type TestInstance } from "../../support/library-instance.ts";

const { create, verify } = functions.http.csrf;
let instance: TestInstance;
let visitor: { headers: string[] };

beforeEach(() => {
  vi.useFakeTimers({ now: new Date("2026-01-01T00:00:00Z"), toFake: ["Date"] });
  instance = layTestInstance();
  visitor = visitorWith(newSessionId());
});
afterEach(() => void vi.useRealTimers());

const visitorWith = (id: string) => ({ headers: ["cookie", `_idx=${cookieValueOf(id)}`] });
const created = (data?: string, expires?: number): string => instance.within(visitor, () => create(data, expires));
const verified = (token: unknown, by = visitor): boolean => instance.within(by, () => verify(token));

describe("http.csrf", () => {
  it("verifies what it created, for the same visitor", () => {
    expect(verified(created())).toBe(true);
  });

  it("creates data, expiry and signature, joined with dots", () => {
    expect(created()).toMatch(/^[0-9a-f]{32}\.1767312000000\.[0-9a-f]{64}$/);
    expect(created("my.data", 1_800_000_000_000)).toMatch(/^my\.data\.1800000000000\.[0-9a-f]{64}$/);
    expect(verified(created("my.data", 1_800_000_000_000))).toBe(true);
  });

  it("does not verify the token of another visitor", () => {
    expect(verified(created(), visitorWith(newSessionId()))).toBe(false);
  });

  it("does not verify a visitor's token for somebody without a session", () => {
    expect(verified(created(), { headers: [] })).toBe(false);
  });

  it("does not verify the token of somebody without a session for a visitor", () => {
    const token = instance.within({}, () => create());
    expect(instance.within({}, () => verify(token))).toBe(true);
    expect(verified(token)).toBe(false);
  });

  it("does not verify a token of another environment", () => {
    const token = created();
    const { headers } = visitor;
    instance = layTestInstance({ secret: "0f".repeat(30) });
    expect(instance.within({ headers }, () => verify(token))).toBe(false);
  });

  it("does not verify a token whose time is over", () => {
    const token = created();
    vi.setSystemTime(Date.now() + 86_400_000 - 1);
    expect(verified(token)).toBe(true);
    vi.setSystemTime(Date.now() + 1);
    expect(verified(token)).toBe(false);
    expect(verified(created("x", Date.now() - 1))).toBe(false);
  });

  it("does not verify a token whose life a client extended", () => {
    const [data = "", expiry = "", signature = ""] = created().split(".");
    expect(verified(`${data}.${Number(expiry) + 1}.${signature}`)).toBe(false);
  });

  it.each([
    ["nothing", undefined],
    ["an object", {}],
    ["an empty text", ""],
    ["dots", ".."],
    ["a list", ["a", "b"]],
  ])("does not verify %s", (_name, token) => {
    expect(verified(token)).toBe(false);
  });

  it("verifies nothing that was changed anywhere", () => {
    const token = created();
    fc.assert(
      fc.property(fc.nat(token.length - 1), fc.string({ minLength: 1, maxLength: 1 }), (index, character) => {
        const changed = token.slice(0, index) + character + token.slice(index + 1);
        expect(verified(changed)).toBe(changed === token);
      }),
    );
  });

  it("gives a visitor without a session the id that the token is bound to, where a wrapper answers", async () => {
    let token = "";
    const handler = functions.http.async(async () => {
      token = create();
      return { html: "<form>" };
    });
    const answer = await instance.within({}, () => handler(version2()));
    const cookie = String(answer.headers["set-cookie"]).split(";", 1)[0] ?? "";
    expect(verified(token, { headers: ["cookie", cookie] })).toBe(true);
    expect(instance.calls).toEqual([]);
  });
});

describe("html.csrf", () => {
  const guarded = functions.http(functions.html.csrf, (_request: unknown, res: (value: unknown) => void) => res({ text: "in" }));
  const send = (token: string) => {
    const event = version2({
      method: "POST",
      type: "application/x-www-form-urlencoded",
      body: new URLSearchParams({ csrf: token }).toString(),
    });
    return instance.within(visitor, () => guarded(event));
  };

  it("lets a form with its token through", async () => {
    expect(await send(created())).toMatchObject({ statusCode: 200, body: "in" });
  });

  it("answers any other form with 403", async () => {
    const answer = await send("x");
    expect(answer.statusCode).toBe(403);
    expect(answer.body).toContain("invalid csrf token");
  });

  it("guards functions of http.async as well", async () => {
    const handler = functions.http.async(functions.html.csrf, async () => ({ text: "in" }));
    expect((await instance.within(visitor, () => handler(version2({ method: "POST" })))).statusCode).toBe(403);
  });
});
