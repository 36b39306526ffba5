// What handlers of the older simple API may return, and what a visitor gets for it.
import { type AnswerCase, type WrongAnswerCase } from "./current-answers.ts";
import { SHARED_WRONG_ANSWERS } from "./legacy-answers.ts";

const JSON_TYPE = "application/json; charset=utf-8";
const HTML = "text/html; charset=utf-8";
const ANTI_CACHE = "no-cache, no-store, must-revalidate, max-age=0, s-maxage=0";

export const RIGHT_SIMPLE_ANSWERS: readonly AnswerCase[] = [
  // Contract, simple response: all fields are optional.
  { name: "an empty object", returns: "({})", status: 200, type: JSON_TYPE, body: "", headers: { "cache-control": ANTI_CACHE } },
  { name: "nothing at all", returns: "undefined", status: 200, type: JSON_TYPE, body: "" },
  { name: "null", returns: "null", status: 200, type: JSON_TYPE, body: "" },
  {
    name: "fields that are null",
    returns: "({ body: null, status: null, type: null, location: null, cookie: null, cors: null, headers: null })",
    status: 200,
    type: JSON_TYPE,
    body: "",
    headers: { location: null, "set-cookie": null, "access-control-allow-origin": null },
  },
  // body
  { name: "a body and no more", returns: '({ body: "{}" })', status: 200, type: JSON_TYPE, body: "{}", headers: { "content-length": "2" } },
  {
    name: "binary bytes",
    returns: '({ type: "image/gif", body: "AAEC/f7/", isBase64Encoded: true })',
    status: 200,
    type: "image/gif",
    headers: { "content-length": "6", "cache-control": "max-age=86400" },
  },
  // status, code, statusCode
  { name: "a status", returns: '({ status: 201, body: "b" })', status: 201, body: "b" },
  { name: "a code, its other name", returns: '({ code: 404, body: "b" })', status: 404, body: "b" },
  { name: "a statusCode, its newer name", returns: '({ statusCode: 418, body: "b" })', status: 418, body: "b" },
  { name: "status before code before statusCode", returns: "({ statusCode: 500, code: 400, status: 201 })", status: 201 },
  { name: "code before statusCode", returns: "({ statusCode: 500, code: 400 })", status: 400 },
  { name: "a status that is null beside a code", returns: "({ status: null, code: 400 })", status: 400 },
  { name: "a 204", returns: '({ status: 204, body: "dropped" })', status: 204, type: null, body: "" },
  // type
  {
    name: "a page",
    returns: `({ type: "${HTML}", body: "<p>" })`,
    status: 200,
    type: HTML,
    body: "<p>",
    headers: { "cache-control": ANTI_CACHE },
  },
  {
    name: "a style sheet, kept for a day",
    returns: '({ type: "text/css", body: "p{}" })',
    status: 200,
    type: "text/css",
    headers: { "cache-control": "max-age=86400" },
  },
  {
    name: "JSON of a kind of its own, never kept",
    returns: '({ type: "application/vnd.api+json", body: "{}" })',
    status: 200,
    type: "application/vnd.api+json",
    headers: { "cache-control": ANTI_CACHE },
  },
  {
    name: "a type beside one in headers, which wins",
    returns: `({ type: "text/css", headers: { "Content-Type": "${HTML}" } })`,
    status: 200,
    type: HTML,
    headers: { "cache-control": ANTI_CACHE },
  },
  // location
  {
    name: "a redirect",
    returns: '({ status: 302, location: "/elsewhere?a=b" })',
    status: 302,
    body: "",
    headers: { location: "/elsewhere?a=b" },
  },
  { name: "a redirect by its newer name", returns: '({ statusCode: 303, location: "/" })', status: 303, headers: { location: "/" } },
  { name: "a location without a status", returns: '({ location: "/new", status: undefined })', status: 200, headers: { location: "/new" } },
  {
    name: "a location beside one in headers, which wins",
    returns: '({ status: 302, location: "/a", headers: { Location: "/b" } })',
    status: 302,
    headers: { location: "/b" },
  },
  // cookie
  { name: "a cookie", returns: '({ cookie: "a=1; HttpOnly" })', status: 200, headers: { "set-cookie": ["a=1; HttpOnly"] } },
  { name: "several cookies", returns: '({ cookie: ["a=1", "b=2"] })', status: 200, headers: { "set-cookie": ["a=1", "b=2"] } },
  {
    name: "a cookie beside those in headers: all of them are set",
    returns: '({ cookie: "b=2", headers: { "set-cookie": "a=1" }, cookies: ["c=3"] })',
    status: 200,
    headers: { "set-cookie": ["a=1", "b=2", "c=3"] },
  },
  // cors
  {
    name: "cors",
    returns: '({ cors: true, body: "{}" })',
    status: 200,
    headers: {
      "access-control-allow-origin": "*",
      "access-control-allow-headers": "content-type, authorization, x-requested-with",
      "access-control-allow-methods": "GET, HEAD, OPTIONS",
    },
  },
  {
    name: "no cors",
    returns: "({ cors: false })",
    status: 200,
    headers: { "access-control-allow-origin": null, "access-control-allow-methods": null },
  },
  {
    name: "cors beside headers of its own, which win",
    returns: '({ cors: true, headers: { "Access-Control-Allow-Origin": "https://example.com" } })',
    status: 200,
    headers: {
      "access-control-allow-origin": "https://example.com",
      "access-control-allow-headers": "content-type, authorization, x-requested-with",
    },
  },
  // cacheControl
  {
    name: "a cache-control of its own",
    returns: `({ type: "${HTML}", cacheControl: "max-age=60" })`,
    status: 200,
    headers: { "cache-control": "max-age=60" },
  },
  {
    name: "a cache-control beside one in headers, which wins",
    returns: '({ cacheControl: "max-age=60", headers: { "Cache-Control": "private" } })',
    status: 200,
    headers: { "cache-control": "private" },
  },
  // Mixed styles of real apps of that time.
  {
    name: "an answer of a GraphQL server",
    returns: '({ statusCode: 200, headers: { "Content-Type": "application/json", "Content-Length": "999" }, body: "{}" })',
    status: 200,
    type: "application/json",
    body: "{}",
    headers: { "content-length": "2" },
  },
  {
    name: "headers with several values",
    returns: '({ multiValueHeaders: { "Set-Cookie": ["a=1", "b=2"] } })',
    status: 200,
    headers: { "set-cookie": ["a=1", "b=2"] },
  },
];

const invalid = (name: string, returns: string, ...words: string[]): WrongAnswerCase => ({
  name,
  returns,
  code: "HANDLER_ANSWER_INVALID",
  words,
});

export const WRONG_SIMPLE_ANSWERS: readonly WrongAnswerCase[] = [
  ...SHARED_WRONG_ANSWERS.filter((one) => one.name !== "null as status"), // Here null leaves the word to the next name.
  invalid("a string", '"hello"', "an object", "hello"),
  invalid("a number", "42", "an object", "42"),
  invalid("an array", '["x"]', "an object", "an array"),
  invalid("an object of something else", "({ ok: true })", "an object with at least one of status, code", '"ok"'),
  invalid("an error", 'new Error("returned")', "an object of Error"),
  invalid("text as status", '({ status: "201" })', "status", '"201"'),
  invalid("a code that is no status", "({ code: 7 })", "code", "the number 7"),
  invalid("a number as type", "({ type: 7 })", "type", "a string"),
  invalid("an object as location", "({ location: {} })", "location", "a string"),
  invalid("a line end in a location", '({ location: "/a\\r\\nx: y" })', "location", "line ends"),
  invalid("a line end in a type", '({ type: "text/html\\nx: y" })', "content-type", "line ends"),
  invalid("a number as cookie, its older name", "({ cookie: 7 })", "cookie"),
  invalid("a line end in a cookie, its older name", '({ cookie: "a=1\\nb: 2" })', "cookie[0]"),
  invalid("text as cors", '({ cors: "https://example.com" })', "cors", "true or false"),
  invalid("a number as cacheControl", "({ cacheControl: 60 })", "cacheControl", "a string"),
];

/** A handler that returns what the path names. */
export const simpleAnswersSource = (expressions: readonly string[]): string =>
  `const answers = [\n${expressions.map((expression) => `  () => ${expression},\n`).join("")}];\nexports.handler = async (request) => answers[request.params.number]();\n`;
