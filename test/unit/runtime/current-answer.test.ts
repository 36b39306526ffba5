// One case per row and rule of the contract's response object, payload version 2.0.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PlatformError } from "../../../runtime-image/contract/errors.ts";
import { toCurrentAnswer } from "../../../runtime-image/runtime/generations/current-answer.ts";

const TEXT = ["content-type", "text/plain; charset=utf-8"];
const JSON_TYPE = ["content-type", "application/json"];

function answerOf(value: unknown) {
  const { status, headers, body } = toCurrentAnswer(value);
  return { status, headers, body: Buffer.from(body).toString() };
}

function refusalOf(value: unknown): { code: string; message: string } {
  try {
    toCurrentAnswer(value);
  } catch (error) {
    if (error instanceof PlatformError) return { code: error.code, message: error.message };
    throw error;
  }
  throw new Error("the answer was taken");
}

/** "none" for an answer that HTTP can carry and for a refusal that is explained. */
function problemOf(value: unknown): string {
  try {
    const { status, headers } = toCurrentAnswer(value);
    const isSendable = status >= 200 && status <= 599 && headers.length % 2 === 0 && headers.every((text) => !/[\0\r\n]/.test(text));
    return isSendable ? "none" : `an answer that cannot be sent: ${status} ${headers.join()}`;
  } catch (error) {
    const isExplained = error instanceof PlatformError && ["HANDLER_ANSWER_INVALID", "ANSWER_TOO_LARGE"].includes(error.code);
    return isExplained ? "none" : String(error);
  }
}

describe("a value without any standard field", () => {
  it.each([
    [{ ok: true, n: 1 }, '{"ok":true,"n":1}'],
    ["hello", "hello"],
    [[1, 2], "[1,2]"],
    [7, "7"],
    [false, "false"],
    [undefined, "null"],
    [null, "null"],
    [{}, "{}"],
    [() => 1, "null"],
    [Symbol("a"), "null"],
    [{ toJSON: () => undefined }, "null"],
    [{ status: 201, type: "text/html", cors: true }, '{"status":201,"type":"text/html","cors":true}'],
    [{ body: undefined }, "{}"],
  ])("is sent whole as JSON: %o", (value, body) => {
    expect(answerOf(value)).toEqual({ status: 200, headers: JSON_TYPE, body });
  });

  it("that JSON cannot write is refused with the reason", () => {
    const circle: Record<string, unknown> = {};
    circle["self"] = circle;
    expect(refusalOf(circle)).toMatchObject({ code: "HANDLER_ANSWER_INVALID", message: expect.stringContaining("circular") as string });
    expect(refusalOf({ big: 1n })).toMatchObject({ code: "HANDLER_ANSWER_INVALID", message: expect.stringContaining("BigInt") as string });
  });
});

describe("a response", () => {
  it.each([
    [{ statusCode: 201 }, { status: 201, headers: TEXT, body: "" }],
    [{ body: "<b>x</b>" }, { status: 200, headers: TEXT, body: "<b>x</b>" }],
    [
      { headers: { "Content-Type": "text/html" }, body: "a" },
      { status: 200, headers: ["Content-Type", "text/html"], body: "a" },
    ],
    [{ isBase64Encoded: false }, { status: 200, headers: TEXT, body: "" }],
    [
      { statusCode: 302, headers: { location: "/a" } },
      { status: 302, headers: ["location", "/a", ...TEXT], body: "" },
    ],
    [
      { statusCode: 204, body: '{"ok":false}' },
      { status: 204, headers: [], body: '{"ok":false}' },
    ],
    [
      { statusCode: 200, body: null, headers: null, cookies: null, isBase64Encoded: null },
      { status: 200, headers: TEXT, body: "" },
    ],
    [
      { body: "aGVsbG8=", isBase64Encoded: true },
      { status: 200, headers: TEXT, body: "hello" },
    ],
    [
      { statusCode: 200, extra: 1n, body: "a" },
      { status: 200, headers: TEXT, body: "a" },
    ],
    [
      { headers: { "x-n": 1, "x-b": true, "x-u": undefined, "x-0": null } },
      { status: 200, headers: ["x-n", "1", "x-b", "true", ...TEXT], body: "" },
    ],
    [{ headers: { "x-a": ["1", 2] } }, { status: 200, headers: ["x-a", "1", "x-a", "2", ...TEXT], body: "" }],
    [
      { headers: { "set-cookie": "a=1" }, cookies: ["b=2; HttpOnly", "c=3"] },
      { status: 200, headers: ["set-cookie", "a=1", "set-cookie", "b=2; HttpOnly", "set-cookie", "c=3", ...TEXT], body: "" },
    ],
    [
      {
        headers: {
          Connection: "close",
          "Transfer-Encoding": "chunked",
          "Content-Length": "3",
          Date: "now",
          Upgrade: "a",
          "Keep-Alive": "1",
          TE: "a",
        },
      },
      { status: 200, headers: TEXT, body: "" },
    ],
  ])("is read: %o", (value, answer) => {
    expect(answerOf(value)).toEqual(answer);
  });

  it.each([
    [{ statusCode: "201" }, 'statusCode should be an integer from 200 to 599, got the string "201"'],
    [{ statusCode: 199 }, "got the number 199"],
    [{ statusCode: 600 }, "got the number 600"],
    [{ statusCode: 200.5 }, "got the number 200.5"],
    [{ statusCode: null }, "got null"],
    [{ statusCode: Number.NaN }, "got the number NaN"],
    [{ body: { a: 1 } }, "body should be a string, got an object (JSON.stringify() makes a string of it)"],
    [{ body: 7 }, "body should be a string, got the number 7"],
    [{ body: Buffer.from("a") }, "got an object of Buffer"],
    [{ isBase64Encoded: "true" }, 'isBase64Encoded should be true or false, got the string "true"'],
    [{ body: "no base64!", isBase64Encoded: true }, "body should be base64"],
    [{ headers: ["a", "b"] }, "headers should be a plain object of names and values, got an array"],
    [{ headers: new Headers({ a: "b" }) }, "got an object of Headers (Object.fromEntries()"],
    [{ headers: "a: b" }, 'got the string "a: b"'],
    [{ headers: { "a b": "c" } }, 'the name "a b"'],
    [{ headers: { "": "c" } }, 'the name ""'],
    [{ headers: { "x-a": {} } }, 'headers["x-a"] should be a string, a number, a boolean or an array of them, got an object'],
    [{ headers: { "x-a": "b\r\nx-c: d" } }, 'headers["x-a"] should be free of line ends'],
    [{ headers: { "x-a": "b\0" } }, 'headers["x-a"] should be free of'],
    [{ headers: { "x-a": ["b", "c\n"] } }, 'headers["x-a"] should be free of'],
    [{ headers: { "x-a": "ł" } }, 'headers["x-a"] should be free of'],
    [{ headers: { "x-a": "b".repeat(20_000) } }, "headers should be at most 16384 bytes, cookies included"],
    [{ cookies: "a=1" }, 'cookies should be an array of strings, got the string "a=1"'],
    [{ cookies: ["a=1", 2] }, "cookies[1] should be a string, got the number 2"],
    [{ cookies: ["a=1\n"] }, "cookies[0]"],
  ])("with a wrong shape is refused: %o", (value, explanation) => {
    const refusal = refusalOf(value);
    expect(refusal.code).toBe("HANDLER_ANSWER_INVALID");
    expect(refusal.message).toContain(explanation);
  });
});

describe("base64", () => {
  it.each(["YQ", "YQ=", "YQ==YQ==", "Y-Q=", "Y_Q=", "YWJj\n", "====", "YWJjZ", "=", "YW=j"])("that is not whole is refused: %j", (body) => {
    expect(refusalOf({ body, isBase64Encoded: true }).message).toContain("body should be base64");
  });

  it("of any bytes is sent as those bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 1_000 }), (bytes) => {
        const { body } = toCurrentAnswer({ body: Buffer.from(bytes).toString("base64"), isBase64Encoded: true });
        expect(Buffer.from(body).equals(bytes)).toBe(true);
      }),
    );
  });
});

describe("size", () => {
  it("may be 6 MB and not a byte more, counted in UTF-8 or decoded", () => {
    expect(toCurrentAnswer({ body: "a".repeat(6_000_000) }).body).toHaveLength(6_000_000);
    expect(toCurrentAnswer({ body: Buffer.alloc(6_000_000).toString("base64"), isBase64Encoded: true }).body).toHaveLength(6_000_000);
    for (const value of [
      { body: "a".repeat(6_000_001) },
      { body: "ä".repeat(3_000_001) },
      "a".repeat(6_000_001),
      { body: Buffer.alloc(6_000_001).toString("base64"), isBase64Encoded: true },
    ])
      expect(refusalOf(value)).toMatchObject({ code: "ANSWER_TOO_LARGE", message: expect.stringContaining("at most 6000000") as string });
  });
});

describe("any value at all", () => {
  it("is an answer that HTTP can carry or an explained refusal, never another error", () => {
    const response = fc.record(
      {
        statusCode: fc.anything(),
        headers: fc.oneof(fc.dictionary(fc.string(), fc.anything()), fc.anything()),
        body: fc.anything(),
        cookies: fc.anything(),
        isBase64Encoded: fc.anything(),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.oneof(response, fc.anything({ withBigInt: true, withNullPrototype: true, withTypedArray: true })), (value) => {
        expect(problemOf(value)).toBe("none");
      }),
      { numRuns: 500 },
    );
  });
});
