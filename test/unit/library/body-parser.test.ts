// What bodyParser makes of each kind of body, and what it does with broken ones.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bodyParser } from "../../../runtime-image/library/body-parser.ts";
import { isCallerFault } from "../../../runtime-image/library/caller-fault.ts";
import { multipart, version1, version2 } from "../../support/library-events.ts";

const FORM = "application/x-www-form-urlencoded";
const MULTIPART = "multipart/form-data; boundary=----orc";
const post = (type: string, body: string | Uint8Array) => version2({ method: "POST", type, body });
/** Forms and multipart bodies have no prototype; their fields are what counts here. */
const fieldsOf = (value: unknown): Record<string, unknown> => Object.assign({}, value);

describe("bodyParser: bodies that it parses", () => {
  const base64 = (text: string) => Buffer.from(text).toString("base64");
  const rows: readonly (readonly [name: string, event: Record<string, unknown>, expected: unknown])[] = [
    ["JSON as base64", post("application/json", '{"a":1}'), { a: 1 }],
    ["JSON as text", { ...post("application/json", ""), body: '{"a":1}', isBase64Encoded: false }, { a: 1 }],
    ["JSON with a charset", post("application/json; charset=utf-8", '{"a":"ä"}'), { a: "ä" }],
    ["JSON in another charset", post("application/json; charset=utf-16le", Buffer.from('{"a":"ä"}', "utf16le")), { a: "ä" }],
    ["JSON with a byte order mark", post("application/json", '\ufeff{"a":1}'), { a: 1 }],
    ["JSON of an API that says so", post("application/vnd.api+json", "[1]"), [1]],
    ["JSON whose type is in capitals", post("Application/JSON", "true"), true],
    ["JSON of payload version 1", version1({ method: "POST", type: "application/json", body: "{}" }), {}],
    ["JSON under a header in mixed case", { headers: { "Content-Type": "application/json" }, body: "e30=", isBase64Encoded: true }, {}],
    ["a form", post(FORM, "greeting=hello+world&x=%C3%A4"), { greeting: "hello world", x: "ä" }],
    ["a form with a repeated field", post(FORM, "a=1&a=2"), { a: ["1", "2"] }],
    ["a form with broken escapes", post(FORM, "a=%zz&b=%"), { a: "%zz", b: "%" }],
    ["a form as text", { ...post(FORM, ""), body: "a=1", isBase64Encoded: false }, { a: "1" }],
    ["plain text", post("text/plain", "hé"), "hé"],
    ["text in another charset", post("text/plain; charset=iso-8859-1", Buffer.from("hé", "latin1")), "hé"],
    ["text in a charset that nobody knows", post("text/plain; charset=klingon", "hé"), "hé"],
    ["any text", post("text/csv", "a,b"), "a,b"],
    ["XML", post("application/xml", "<a/>"), "<a/>"],
    ["bytes", post("application/octet-stream", Buffer.from([0, 255])), { base64: "AP8=" }],
    ["bytes as text", { headers: { "content-type": "application/octet-stream" }, body: "a" }, { base64: "YQ==" }],
  ];
  it.each(rows)("parses %s", (_name, event, expected) => {
    const parsed = bodyParser(event);
    expect(typeof parsed === "object" && !Array.isArray(parsed) ? fieldsOf(parsed) : parsed).toEqual(expected);
  });

  const left: readonly (readonly [name: string, event: Record<string, unknown>, expected: unknown])[] = [
    ["nothing, where payload version 2 has no body", version2(), undefined],
    ["null, where payload version 1 has no body", version1(), null],
    ["a body without a content type", version2({ body: "x" }), base64("x")],
    ["a body of a type that it does not know", post("image/png", "x"), base64("x")],
    ["a body that was parsed before", { headers: { "content-type": "application/json" }, body: { a: 1 } }, { a: 1 }],
    ["an empty object", { headers: { "content-type": "application/json" }, body: {} }, {}],
  ];
  it.each(left)("returns %s as it is", (_name, event, expected) => {
    expect(bodyParser(event)).toEqual(expected);
  });

  it("says that it wants the request object, when it is called without one", () => {
    expect(() => bodyParser(undefined)).toThrow("bodyParser takes the request object");
  });
});

describe("bodyParser: multipart bodies", () => {
  it("gives fields and files by name, at once", () => {
    const body = multipart([
      { head: 'Content-Disposition: form-data; name="title"', content: "Grüße" },
      { head: 'Content-Disposition: form-data; name="tag"', content: "a" },
      { head: 'Content-Disposition: form-data; name="tag"', content: "" },
      {
        head: 'Content-Disposition: form-data; name="photo"; filename="été.png"\r\nContent-Type: image/png\r\nContent-Transfer-Encoding: binary',
        content: Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]),
      },
    ]);
    expect(fieldsOf(bodyParser(post(MULTIPART, body)))).toEqual({
      title: "Grüße",
      tag: ["a", ""],
      photo: { filename: "été.png", contentType: "image/png", encoding: "binary", base64: "iVBORw0KGgo=" },
      base64: body.toString("base64"),
    });
  });

  it("gives a file of two million bytes unchanged", () => {
    const content = Buffer.alloc(2_000_000, "0123456789\r\n--");
    const body = multipart([{ head: 'Content-Disposition: form-data; name="f"; filename="f"', content }]);
    expect(fieldsOf(bodyParser(post(MULTIPART, body)))["f"]).toMatchObject({ base64: content.toString("base64") });
  });

  it("reads quotes and line ends in names as browsers write them", () => {
    const body = multipart([{ head: 'Content-Disposition: form-data; name="a%22b"; filename="x\\"y%0D%0A.txt"', content: "" }]);
    expect(fieldsOf(bodyParser(post(MULTIPART, body)))['a"b']).toMatchObject({ filename: 'x"y\r\n.txt' });
  });

  it("leaves out parts without a name", () => {
    const body = multipart([{ head: "Content-Type: text/plain", content: "x" }]);
    expect(Object.keys(fieldsOf(bodyParser(post(MULTIPART, body))))).toEqual(["base64"]);
  });

  it("takes a form without any field", () => {
    expect(Object.keys(fieldsOf(bodyParser(post(MULTIPART, "------orc--"))))).toEqual(["base64"]);
  });
});

describe("bodyParser: bodies that are broken", () => {
  const whole = multipart([{ head: 'Content-Disposition: form-data; name="a"', content: "x" }]).toString();
  const rows: readonly (readonly [name: string, type: string, body: string])[] = [
    ["JSON that is cut off", "application/json", '{"a":'],
    ["JSON with a stray comma", "application/json", '{"a":1,}'],
    ["multipart without a boundary in its type", "multipart/form-data", whole],
    ["multipart with an endless boundary", `multipart/form-data; boundary=${"x".repeat(300)}`, whole],
    ["multipart that is cut off before its last boundary", MULTIPART, whole.slice(0, -4)],
    ["multipart that is cut off in a header", MULTIPART, whole.slice(0, 30)],
    ["multipart whose boundary never comes", MULTIPART, "hello"],
    ["multipart with a part without headers", MULTIPART, "------orc\r\n------orc--\r\n"],
    [
      "multipart with more parts than anyone sends",
      MULTIPART,
      `${"------orc\r\nContent-Disposition: form-data\r\n\r\n\r\n".repeat(10_001)}------orc--`,
    ],
  ];
  it.each(rows)("calls %s the caller's fault", (_name, type, body) => {
    expect(faultOf(() => bodyParser(post(type, body)))).toBe("the caller's");
  });

  it("does not quote the body in its message", () => {
    expect(() => bodyParser(post("application/json", "secret"))).toThrow(/^Invalid request body encoding or invalid JSON$/);
  });
});

describe("bodyParser: names that change what an object is", () => {
  const rows: readonly (readonly [name: string, type: string, body: string | Uint8Array])[] = [
    ["JSON", "application/json", '{"__proto__":{"polluted":1},"a":{"__proto__":{"polluted":1}}}'],
    ["JSON with escapes", "application/json", '{"\\u005f\\u005fproto__":{"polluted":1},"a":{}}'],
    ["a form", FORM, "__proto__=1&__proto__=2&a=3"],
    ["a multipart body", MULTIPART, multipart([{ head: 'Content-Disposition: form-data; name="__proto__"', content: "x" }])],
  ];
  it.each(rows)("drops __proto__ from %s", (_name, type, body) => {
    const parsed = fieldsOf(bodyParser(post(type, body)));
    const merged = Object.assign({}, parsed);
    expect(Object.getPrototypeOf(merged)).toBe(Object.prototype);
    expect(Object.hasOwn(parsed, "__proto__")).toBe(false);
    expect(JSON.stringify(parsed)).not.toContain("polluted");
  });
});

describe("bodyParser: anything at all", () => {
  const types = fc.oneof(
    fc.constantFrom(
      "application/json",
      FORM,
      MULTIPART,
      "multipart/form-data; boundary=x",
      "text/plain; charset=utf-16",
      "application/xml",
    ),
    fc.string(),
  );
  const pieces = fc.constantFrom(
    "--x",
    "------orc",
    "\r\n",
    "--",
    "Content-Disposition: form-data",
    '; name="a"',
    "__proto__",
    "=",
    "&",
    ": ",
    '"',
  );
  const bodies = fc.oneof(
    fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    fc.array(fc.oneof(pieces, fc.string()), { maxLength: 30 }).map((parts) => Buffer.from(parts.join(""))),
    fc.json().map((text) => Buffer.from(text)),
  );

  it("is parsed, or is the caller's fault, and changes no prototype", () => {
    fc.assert(
      fc.property(types, bodies, fc.boolean(), (type, body, isBase64Encoded) => {
        const text = body.toString(isBase64Encoded ? "base64" : "utf8");
        const event = { headers: { "content-type": type }, body: text, isBase64Encoded };
        expect(faultOf(() => Object.assign({}, bodyParser(event)))).not.toBe("somebody else's");
        expect(Object.keys(Object.prototype)).toEqual([]);
      }),
      { numRuns: 2_000 },
    );
  });

  it("comes back as it was sent, for any JSON", () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: "binary" }), (value) => {
        const text = JSON.stringify(value);
        fc.pre(!text.includes("__proto__"));
        expect(bodyParser(post("application/json", text))).toEqual(JSON.parse(text));
      }),
    );
  });

  it("comes back as it was sent, for any fields and files", () => {
    const part = fc.record({ name: fc.stringMatching(/^[a-z]{1,8}$/), bytes: fc.uint8Array({ maxLength: 300 }) });
    fc.assert(
      fc.property(fc.uniqueArray(part, { selector: ({ name }) => name, maxLength: 6 }), (parts) => {
        const wanted = parts.filter(({ name }) => name !== "base64");
        const body = multipart(
          wanted.map(({ name, bytes }) => ({ head: `Content-Disposition: form-data; name="${name}"; filename="f"`, content: bytes })),
        );
        const parsed = fieldsOf(bodyParser(post(MULTIPART, body)));
        for (const { name, bytes } of wanted) expect(parsed[name]).toMatchObject({ base64: Buffer.from(bytes).toString("base64") });
      }),
    );
  });
});

function faultOf(work: () => unknown): "nobody's" | "the caller's" | "somebody else's" {
  try {
    work();
    return "nobody's";
  } catch (thrown) {
    return isCallerFault(thrown) ? "the caller's" : "somebody else's";
  }
}
