// What middleware of JSON and HTML routes may call res with, and what a visitor gets for it.

export interface RouteAnswerCase {
  readonly name: string;
  readonly res: string; // JavaScript; KEY stands for the route's own key, "json" or "html", VALUE for something to put there.
  readonly status: number;
  readonly body: (key: RouteKey) => string;
  readonly headers?: Readonly<Record<string, RegExp>>;
}

export type RouteKey = "json" | "html" | "css" | "js" | "text" | "xml";

/** The statuses that such routes may answer with besides 200 and 302. */
export const ALLOWED_STATUSES = [400, 403, 404, 406, 409, 415, 500] as const;

const value = (key: RouteKey): string => (key === "json" ? '{"a":1}' : "<a>");

export const RIGHT_ANSWERS: readonly RouteAnswerCase[] = [
  { name: "200 by default", res: "{ KEY: VALUE }", status: 200, body: value },
  { name: "a string as it is", res: `{ KEY: ' {"a" : 1} ' }`, status: 200, body: () => ' {"a" : 1} ' },
  {
    name: "302 with a path in location",
    res: '{ location: "/there?a=1" }',
    status: 302,
    body: () => "",
    headers: { location: /^\/there\?a=1$/ },
  },
  {
    name: "302 with a whole URL in location",
    res: '{ location: "https://example.org/there" }',
    status: 302,
    body: () => "",
    headers: { location: /^https:\/\/example\.org\/there$/ },
  },
  {
    name: "302 with a relative path in location",
    res: '{ location: "there" }',
    status: 302,
    body: () => "",
    headers: { location: /^there$/ },
  },
  {
    name: "a redirect with the cookie of the session that it stores",
    res: '{ location: "/", session: { a: 1 } }',
    status: 302,
    body: () => "",
    headers: { "set-cookie": /^_idx=[^;]+;/ },
  },
  {
    name: "a first answer with a signed cookie, though nothing is stored",
    res: "{ KEY: VALUE }",
    status: 200,
    body: value,
    headers: { "set-cookie": /^_idx=[^;]+;.*HttpOnly/ },
  },
  ...ALLOWED_STATUSES.map((status) => ({ name: `the status ${status}`, res: `{ KEY: VALUE, status: ${status} }`, status, body: value })),
  { name: "code in the place of status", res: "{ KEY: VALUE, code: 404 }", status: 404, body: value },
  { name: "statusCode in the place of status", res: "{ KEY: VALUE, statusCode: 409 }", status: 409, body: value },
  { name: "the status 200 said out loud", res: "{ KEY: VALUE, status: 200 }", status: 200, body: value },
  { name: "the status 302 said out loud", res: '{ location: "/", status: 302 }', status: 302, body: () => "" },
];

export const WRONG_ANSWERS: readonly { readonly name: string; readonly res: string; readonly words: readonly string[] }[] = [
  {
    name: "a status outside of those that are allowed",
    res: "{ KEY: VALUE, status: 201 }",
    words: ["201", "400, 403, 404, 406, 409, 415, 500"],
  },
  { name: "another redirect than 302", res: '{ location: "/", status: 301 }', words: ["301"] },
  { name: "both a value and a location", res: '{ KEY: VALUE, location: "/" }', words: ["location"] },
  { name: "neither a value nor a location", res: "{ session: {} }", words: ["location"] },
  { name: "text", res: '"hello"', words: ["object"] },
  { name: "nothing", res: "", words: ["object"] },
  { name: "a list", res: "[1]", words: ["object"] },
  { name: "a line end in location", res: '{ location: "/\\r\\nx: y" }', words: ["location"] },
];

const error = (fields: string): string => `Object.assign(new Error("out of tea"), ${fields})`;

/** Errors that res is called with, or that are thrown: the first of status, code, statusCode that is allowed wins. */
export const FAILURES: readonly { readonly name: string; readonly res: string; readonly status: number; readonly message: string }[] = [
  { name: "an Error as 500", res: 'new Error("out of tea")', status: 500, message: "out of tea" },
  ...ALLOWED_STATUSES.map((status) => ({
    name: `an Error with the status ${status}`,
    res: error(`{ status: ${status} }`),
    status,
    message: "out of tea",
  })),
  { name: "an Error with a code", res: error("{ code: 403 }"), status: 403, message: "out of tea" },
  { name: "an Error with a statusCode", res: error("{ statusCode: 406 }"), status: 406, message: "out of tea" },
  {
    name: "an Error whose status is not allowed, but whose code is",
    res: error("{ status: 418, code: 404 }"),
    status: 404,
    message: "out of tea",
  },
  { name: "an Error whose code is a word", res: error('{ code: "ENOENT" }'), status: 500, message: "out of tea" },
  { name: "an Error that is thrown", res: "(() => { throw new Error('thrown') })()", status: 500, message: "thrown" },
];

/** A route whose middleware calls res with what the path names. */
export function middlewareAnswers(key: RouteKey, cases: readonly { readonly res: string }[]): string {
  const put = key === "json" ? "{ a: 1 }" : '"<a>"';
  const calls = cases.map(({ res }) => `  (res) => res(${res.replaceAll("KEY", key).replaceAll("VALUE", put)}),\n`).join("");
  return `const { ${key} } = require("@architect/functions");\nconst calls = [\n${calls}];\nexports.handler = ${key}.get((req, res) => calls[req.params.number](res));\n`;
}
