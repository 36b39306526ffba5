// What handlers of the current generation may return, and what a visitor gets for it: the table behind the response contract.

export interface AnswerCase {
  readonly name: string;
  readonly returns: string; // JavaScript.
  readonly status: number;
  readonly type?: string | null; // The content type; null for none.
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[] | null>>; // Null: must not be there.
}

const TEXT = "text/plain; charset=utf-8";
const JSON_TYPE = "application/json";
const EVERY_BYTE = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));

export const RIGHT_ANSWERS: readonly AnswerCase[] = [
  // Decision 18: without a standard field, the whole value is JSON.
  {
    name: "an object without a standard field",
    returns: "({ ok: true })",
    status: 200,
    type: JSON_TYPE,
    body: '{"ok":true}',
    headers: { "cache-control": null },
  },
  { name: "an empty object", returns: "({})", status: 200, type: JSON_TYPE, body: "{}" },
  { name: "an array", returns: '[1, "two"]', status: 200, type: JSON_TYPE, body: '[1,"two"]' },
  { name: "a number", returns: "42", status: 200, type: JSON_TYPE, body: "42" },
  { name: "false", returns: "false", status: 200, type: JSON_TYPE, body: "false" },
  { name: "a string, as it is", returns: "'say \"hi\"'", status: 200, type: JSON_TYPE, body: 'say "hi"' },
  { name: "undefined", returns: "undefined", status: 200, type: JSON_TYPE, body: "null" },
  { name: "null", returns: "null", status: 200, type: JSON_TYPE, body: "null" },
  { name: "a promise", returns: "Promise.resolve([1])", status: 200, type: JSON_TYPE, body: "[1]" },
  {
    name: "a thenable that is no promise",
    returns: '({ then: (done) => done({ body: "later" }) })',
    status: 200,
    type: TEXT,
    body: "later",
  },
  // With any standard field and no status: 200 and the default type.
  { name: "a body and no more", returns: '({ body: "hi" })', status: 200, type: TEXT, body: "hi", headers: { "content-length": "2" } },
  {
    name: "headers and no more",
    returns: '({ headers: { "X-Mine": "1" } })',
    status: 200,
    type: TEXT,
    body: "",
    headers: { "x-mine": "1", "content-length": "0" },
  },
  { name: "cookies and no more", returns: '({ cookies: ["a=1"] })', status: 200, type: TEXT, body: "", headers: { "set-cookie": ["a=1"] } },
  { name: "isBase64Encoded and no more", returns: "({ isBase64Encoded: false })", status: 200, type: TEXT, body: "" },
  { name: "a standard field beside others", returns: '({ body: "x", ok: true })', status: 200, type: TEXT, body: "x" },
  // statusCode
  ...[200, 201, 226, 400, 404, 418, 500, 503, 599].map((status) => ({
    name: `the status ${status}`,
    returns: `({ statusCode: ${status}, body: "b" })`,
    status,
    type: TEXT,
    body: "b",
  })),
  {
    name: "a redirect",
    returns: '({ statusCode: 302, headers: { location: "/elsewhere?a=b" } })',
    status: 302,
    body: "",
    headers: { location: "/elsewhere?a=b" },
  },
  {
    name: "a 204 with a body",
    returns: "({ statusCode: 204, body: JSON.stringify({ ok: false }) })",
    status: 204,
    type: null,
    body: "",
    headers: { "content-length": null, "transfer-encoding": null },
  },
  {
    name: "a 304 with a body",
    returns: '({ statusCode: 304, headers: { etag: \'"1"\' }, body: "x" })',
    status: 304,
    type: null,
    body: "",
    headers: { etag: '"1"', "content-length": null, "transfer-encoding": null },
  },
  // headers
  {
    name: "a type of its own, in any case",
    returns: '({ headers: { "Content-Type": "text/html" }, body: "<p>" })',
    status: 200,
    type: "text/html",
    body: "<p>",
  },
  {
    name: "anti-cache headers",
    returns: '({ headers: { "cache-control": "no-cache, no-store, must-revalidate, max-age=0, s-maxage=0" }, body: "" })',
    status: 200,
    headers: { "cache-control": "no-cache, no-store, must-revalidate, max-age=0, s-maxage=0" },
  },
  {
    name: "numbers and booleans as header values",
    returns: '({ headers: { "x-count": 7, "x-on": true, "x-off": null }, body: "" })',
    status: 200,
    headers: { "x-count": "7", "x-on": "true", "x-off": null },
  },
  {
    name: "a list as header value",
    returns: '({ headers: { "set-cookie": ["a=1", "b=2"], vary: ["origin", "accept"] }, body: "" })',
    status: 200,
    headers: { "set-cookie": ["a=1", "b=2"], vary: "origin, accept" },
  },
  {
    name: "several cookies",
    returns:
      '({ headers: { "set-cookie": "a=0" }, cookies: ["b=1; Path=/; Expires=Wed, 21 Oct 2099 07:28:00 GMT", "c=2; HttpOnly"], body: "" })',
    status: 200,
    headers: { "set-cookie": ["a=0", "b=1; Path=/; Expires=Wed, 21 Oct 2099 07:28:00 GMT", "c=2; HttpOnly"] },
  },
  {
    name: "headers that speak of a connection",
    returns:
      '({ headers: { Connection: "x-mine", "Keep-Alive": "timeout=7", "Transfer-Encoding": "chunked", TE: "gzip", Trailer: "x-t", Upgrade: "h2c", "Proxy-Connection": "close", "Content-Length": "999", Date: "then" }, body: "short" })',
    status: 200,
    body: "short",
    headers: {
      connection: "close",
      "keep-alive": null,
      "transfer-encoding": null,
      te: null,
      trailer: null,
      upgrade: null,
      "proxy-connection": null,
      "content-length": "5",
    },
  },
  // body and isBase64Encoded
  {
    name: "text beyond ASCII",
    returns: '({ body: "žluťoučký 🐎" })',
    status: 200,
    body: "žluťoučký 🐎",
    headers: { "content-length": "18" },
  },
  { name: "base64 that is not said to be base64", returns: '({ body: "aGk=", isBase64Encoded: false })', status: 200, body: "aGk=" },
  {
    name: "binary bytes",
    returns: `({ headers: { "content-type": "application/octet-stream" }, body: "${EVERY_BYTE.toString("base64")}", isBase64Encoded: true })`,
    status: 200,
    type: "application/octet-stream",
    body: EVERY_BYTE.toString("latin1"),
  },
  { name: "no body with isBase64Encoded", returns: "({ statusCode: 200, isBase64Encoded: true })", status: 200, body: "" },
  { name: "6 MB of text", returns: '({ body: "x".repeat(6_000_000) })', status: 200, body: "x".repeat(6_000_000) },
  {
    name: "6 MB of binary",
    returns: '({ body: Buffer.alloc(6_000_000, 7).toString("base64"), isBase64Encoded: true })',
    status: 200,
    body: "\u0007".repeat(6_000_000),
  },
];

export interface WrongAnswerCase {
  readonly name: string;
  readonly returns: string;
  readonly code: "HANDLER_ANSWER_INVALID" | "ANSWER_TOO_LARGE";
  readonly words: readonly string[]; // Of the explanation.
}

const invalid = (name: string, returns: string, ...words: string[]): WrongAnswerCase => ({
  name,
  returns,
  code: "HANDLER_ANSWER_INVALID",
  words,
});
const tooLarge = (name: string, returns: string): WrongAnswerCase => ({ name, returns, code: "ANSWER_TOO_LARGE", words: ["6000000"] });

export const WRONG_ANSWERS: readonly WrongAnswerCase[] = [
  ...["99", "100", "101", "199", "600", "1e9", "200.5", "NaN", "-200"].map((status) =>
    invalid(`the status ${status}`, `({ statusCode: ${status} })`, "statusCode", "from 200 to 599"),
  ),
  invalid("a status as text", '({ statusCode: "200" })', "statusCode", '"200"'),
  invalid("null as status", "({ statusCode: null })", "statusCode", "null"),
  invalid("an object as body", "({ body: { a: 1 } })", "body", "a string", "JSON.stringify"),
  invalid("a number as body", "({ statusCode: 200, body: 5 })", "body", "the number 5"),
  invalid("a Buffer as body", '({ body: Buffer.from("x") })', "body", "base64"),
  invalid("text as isBase64Encoded", '({ body: "aGk=", isBase64Encoded: "true" })', "isBase64Encoded", "true or false"),
  invalid("a body that is no base64", '({ body: "not base64!", isBase64Encoded: true })', "body", "base64"),
  invalid("base64 that was cut", '({ body: "aGk", isBase64Encoded: true })', "body", "base64"),
  invalid("text as headers", '({ headers: "x: y" })', "headers", "object"),
  invalid("a list as headers", '({ headers: ["x", "y"] })', "headers", "object"),
  invalid("an object as header value", '({ headers: { "x-mine": {} } })', "x-mine"),
  invalid("a line end in a header", '({ headers: { "x-mine": "a\\r\\nset-cookie: stolen=1" } })', "x-mine", "line ends"),
  invalid("a NUL in a header", '({ headers: { "x-mine": "a\\0b" } })', "x-mine", "control characters"),
  invalid("a line end in a header's name", '({ headers: { "x\\r\\ny": "1" } })', "headers", "name"),
  invalid("a line end in a cookie", '({ cookies: ["a=1\\nb: 2"] })', "cookies[0]"),
  invalid("text as cookies", '({ cookies: "a=1" })', "cookies", "array"),
  invalid("a number as cookie", "({ cookies: [1] })", "cookies[0]"),
  invalid("headers beyond their limit", '({ headers: { "x-long": "x".repeat(17_000) } })', "headers", "16384"),
  invalid("a circular object", "(() => { const circle = {}; circle.itself = circle; return circle; })()", "JSON", "circular"),
  invalid("a BigInt", "({ count: 1n })", "JSON", "BigInt"),
  invalid("a getter that throws", '({ get body() { throw new Error("gotcha"); } })', "gotcha"),
  tooLarge("a byte more than 6 MB", '({ body: "x".repeat(6_000_001) })'),
  tooLarge("6 MB of characters with two bytes each", '({ body: "ž".repeat(3_000_001) })'),
  tooLarge("a byte more than 6 MB once decoded", '({ body: Buffer.alloc(6_000_001).toString("base64"), isBase64Encoded: true })'),
  tooLarge("more than 6 MB of JSON", '({ text: "x".repeat(6_000_000) })'),
];

/** A synchronous handler that returns what the path names. */
export const answersSource = (expressions: readonly string[]): string =>
  `const answers = [\n${expressions.map((expression) => `  () => ${expression},\n`).join("")}];\nexports.handler = (request) => answers[request.pathParameters.number]();\n`;
