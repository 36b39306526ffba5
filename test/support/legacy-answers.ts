// What handlers of the legacy generation may return, payload version 1.0, and what a visitor gets for it.
import { WRONG_ANSWERS, type AnswerCase, type WrongAnswerCase } from "./current-answers.ts";

const JSON_TYPE = "application/json; charset=utf-8";

export const RIGHT_LEGACY_ANSWERS: readonly AnswerCase[] = [
  // Contract, legacy response: no field is required.
  { name: "an empty object", returns: "({})", status: 200, type: JSON_TYPE, body: "", headers: { "cache-control": null } },
  { name: "fields that are undefined", returns: "({ body: undefined, headers: undefined })", status: 200, type: JSON_TYPE, body: "" },
  {
    name: "fields that are null",
    returns: "({ statusCode: 201, body: null, headers: null, multiValueHeaders: null })",
    status: 201,
    body: "",
  },
  { name: "a promise", returns: 'Promise.resolve({ body: "[1]" })', status: 200, type: JSON_TYPE, body: "[1]" },
  // statusCode: 200 unless it is given.
  { name: "a body and no more", returns: '({ body: "hi" })', status: 200, type: JSON_TYPE, body: "hi", headers: { "content-length": "2" } },
  ...[200, 201, 226, 400, 404, 500, 599].map((status) => ({
    name: `the status ${status}`,
    returns: `({ statusCode: ${status}, body: "{}" })`,
    status,
    type: JSON_TYPE,
    body: "{}",
  })),
  {
    name: "a redirect",
    returns: '({ statusCode: 302, headers: { Location: "/elsewhere" } })',
    status: 302,
    body: "",
    headers: { location: "/elsewhere" },
  },
  { name: "a 204 with a body", returns: '({ statusCode: 204, body: "{}" })', status: 204, type: null, body: "" },
  // headers
  {
    name: "a type of its own, in any case",
    returns: '({ headers: { "Content-Type": "text/html; charset=utf8" }, body: "<p>" })',
    status: 200,
    type: "text/html; charset=utf8",
    body: "<p>",
  },
  {
    name: "numbers, booleans and lists as header values",
    returns: '({ headers: { "x-count": 7, "x-on": true, "x-off": null, "set-cookie": ["a=1", "b=2"] } })',
    status: 200,
    headers: { "x-count": "7", "x-on": "true", "x-off": null, "set-cookie": ["a=1", "b=2"] },
  },
  {
    name: "headers that speak of a connection",
    returns:
      '({ headers: { Connection: "x-mine", "Transfer-Encoding": "chunked", "Content-Length": "999", Date: "then" }, body: "short" })',
    status: 200,
    body: "short",
    headers: { "transfer-encoding": null, "content-length": "5" },
  },
  // multiValueHeaders are merged with headers, as AWS does.
  {
    name: "headers with several values",
    returns: '({ multiValueHeaders: { "Set-Cookie": ["a=1", "b=2; Path=/"], Vary: ["origin", "accept"] }, body: "" })',
    status: 200,
    headers: { "set-cookie": ["a=1", "b=2; Path=/"], vary: "origin, accept" },
  },
  {
    name: "a header with one value in headers and more in multiValueHeaders",
    returns: '({ headers: { "set-cookie": "a=1" }, multiValueHeaders: { "Set-Cookie": ["b=2"] } })',
    status: 200,
    headers: { "set-cookie": ["a=1", "b=2"] },
  },
  {
    name: "the same header in headers and multiValueHeaders, once",
    returns:
      '({ headers: { "Content-Type": "text/plain", "x-mine": "1" }, multiValueHeaders: { "content-type": ["text/plain"], "x-mine": ["1"] } })',
    status: 200,
    type: "text/plain",
    headers: { "x-mine": "1" },
  },
  {
    name: "cookies, which came with version 2.0",
    returns: '({ cookies: ["a=1", "b=2"], body: "" })',
    status: 200,
    headers: { "set-cookie": ["a=1", "b=2"] },
  },
  // body and isBase64Encoded
  {
    name: "text beyond ASCII",
    returns: '({ body: "žluťoučký 🐎" })',
    status: 200,
    body: "žluťoučký 🐎",
    headers: { "content-length": "18" },
  },
  {
    name: "binary bytes",
    returns: '({ headers: { "content-type": "application/octet-stream" }, body: "AAEC/f7/", isBase64Encoded: true })',
    status: 200,
    type: "application/octet-stream",
    body: Buffer.from([0, 1, 2, 253, 254, 255]).toString("latin1"),
  },
  { name: "base64 that is not said to be base64", returns: '({ body: "aGk=", isBase64Encoded: false })', status: 200, body: "aGk=" },
  { name: "a standard field beside others", returns: '({ body: "x", type: "text/html" })', status: 200, type: JSON_TYPE, body: "x" },
  { name: "6 MB of text", returns: '({ body: "x".repeat(6_000_000) })', status: 200, body: "x".repeat(6_000_000) },
];

const invalid = (name: string, returns: string, ...words: string[]): WrongAnswerCase => ({
  name,
  returns,
  code: "HANDLER_ANSWER_INVALID",
  words,
});

// These are right or wrong for another reason where the whole value may be JSON.
const OF_CURRENT_ONLY = new Set(["a circular object", "a BigInt", "more than 6 MB of JSON"]);

/** Decision 20 holds for every generation. */
export const SHARED_WRONG_ANSWERS: readonly WrongAnswerCase[] = WRONG_ANSWERS.filter((one) => !OF_CURRENT_ONLY.has(one.name));

export const WRONG_LEGACY_ANSWERS: readonly WrongAnswerCase[] = [
  ...SHARED_WRONG_ANSWERS,
  invalid("nothing", "undefined", "an object", "statusCode", "undefined"),
  invalid("null", "null", "an object", "null"),
  invalid("a string", '"hello"', "an object", "hello"),
  invalid("a number", "42", "an object", "42"),
  invalid("an array", '[{ body: "x" }]', "an object", "an array"),
  invalid("an object without a standard field", "({ ok: true })", "an object with at least one of", '"ok"', "JSON.stringify"),
  invalid("an error", 'new Error("returned")', "an object of Error"),
  invalid("a list as multiValueHeaders", '({ multiValueHeaders: ["x"] })', "multiValueHeaders", "object"),
  invalid("a line end in multiValueHeaders", '({ multiValueHeaders: { "x-mine": ["a\\nb"] } })', 'multiValueHeaders["x-mine"]'),
];

/** A handler that returns what the path names. */
export const legacyAnswersSource = (expressions: readonly string[]): string =>
  `const answers = [\n${expressions.map((expression) => `  () => ${expression},\n`).join("")}];\nexports.handler = async (request) => answers[request.pathParameters.number]();\n`;
