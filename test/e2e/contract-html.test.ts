// HTML routes and their kin below src/css, js, text and xml, over HTTP: the twins of JSON routes, with pages for errors.
import { describe, expect, it } from "vitest";
import { CookieJar } from "../support/cookie-jar.ts";
import { ENGINE_NAMES, type SendOptions } from "../support/platform.ts";
import { FAILURES, RIGHT_ANSWERS, WRONG_ANSWERS, middlewareAnswers } from "../support/route-answers.ts";
import { serveForSuite } from "../support/served-app.ts";

const FORM = `
const { html } = require("@architect/functions");
exports.handler = html.get((req, res) => res({ html: JSON.stringify({ csrf: req.csrf, verified: req._verify(req.csrf), url: req._url("/a"), session: req.session }) }));
`;
const CHECKED = `
const { html } = require("@architect/functions");
exports.handler = html.post(html.csrf, (req, res) => res({ session: { name: req.body.name }, location: "/form" }));
`;
const OWN_PAGE = `
const { html } = require("@architect/functions");
exports.handler = html.get((req, res) => res(Object.assign(new Error("all <gone>"), { status: 404 })));
`;
const kin = (key: string, value: string): string =>
  `const { ${key} } = require("@architect/functions");\nexports.handler = ${key}.get((req, res) => res({ ${key}: ${JSON.stringify(value)} }));\n`;

const APP = {
  "app.arc": `@app
contract-html

@html
get /
get /answer/:number
get /form
post /form
get /own-page

@css
get /style

@js
get /script

@text
get /robots

@xml
get /feed
`,
  "src/html/get-index/index.js": kin("html", "<h1>home</h1>"),
  "src/html/get-answer-000number/index.js": middlewareAnswers("html", [...RIGHT_ANSWERS, ...WRONG_ANSWERS, ...FAILURES]),
  "src/html/get-form/index.js": FORM,
  "src/html/post-form/index.js": CHECKED,
  "src/html/get-own_page/index.js": OWN_PAGE,
  "src/html/get-own_page/error.js": "module.exports = (error) => `<p>so sorry: ${error.message.length}</p>`;\n",
  "src/css/get-style/index.js": kin("css", "p { color: red }"),
  "src/js/get-script/index.js": kin("js", "alert(1)"),
  "src/text/get-robots/index.js": kin("text", "Disallow: /"),
  "src/xml/get-feed/index.js": kin("xml", "<feed/>"),
};

const HTML_TYPE = /^text\/html; ?charset=utf-?8$/;
const AS_PAGE = { "content-type": expect.stringMatching(HTML_TYPE) as unknown };
const form = (fields: Record<string, string>, cookie: string): SendOptions => ({
  method: "POST",
  body: new URLSearchParams(fields).toString(),
  headers: { "content-type": "application/x-www-form-urlencoded", cookie },
});

describe.each(ENGINE_NAMES)("HTML routes on engine %s", (engine) => {
  const served = serveForSuite(APP, { engine, flags: ["--promote", "--no-watch"] });

  const { get } = served;

  it.each(RIGHT_ANSWERS.map((one, number) => [one.name, number, one] as const))("answer %s", async (_name, number, expected) => {
    const answer = await get(`/answer/${number}`);
    const headers = expected.status === 302 ? {} : AS_PAGE;
    expect(answer).toMatchObject({ status: expected.status, text: expected.body("html"), headers });
    for (const [name, value] of Object.entries(expected.headers ?? {})) expect(answer.headers[name]?.toString()).toMatch(value);
  });

  it.each(WRONG_ANSWERS.map((one, index) => [one.name, RIGHT_ANSWERS.length + index, one.words] as const))(
    "answer 500 for %s, and say so on a page",
    async (_name, number, words) => {
      const answer = await get(`/answer/${number}`);
      expect(answer.status).toBe(500);
      expect(answer.headers["content-type"]).toMatch(HTML_TYPE);
      for (const word of words) expect(answer.text).toContain(word);
    },
  );

  it.each(FAILURES.map((one, index) => [one.name, RIGHT_ANSWERS.length + WRONG_ANSWERS.length + index, one] as const))(
    "answer %s, with its stack outside production only",
    async (_name, number, { status, message }) => {
      const onStaging = await get(`/answer/${number}`);
      expect(onStaging.status).toBe(status);
      expect(onStaging.headers["content-type"]).toMatch(HTML_TYPE);
      expect(onStaging.text).toContain(message);
      expect(onStaging.text).toContain("index.js");
      const onProduction = await served.platform.get("production", `/answer/${number}`);
      expect(onProduction.status).toBe(status);
      expect(onProduction.text).not.toContain("index.js");
    },
  );

  it("answer what nothing else does with GET /", async () => {
    expect(await get("/no/such", { method: "PUT" })).toMatchObject({ status: 200, text: "<h1>home</h1>" });
  });

  it("show an app's own page for errors", async () => {
    const answer = await get("/own-page");
    expect(answer).toMatchObject({ status: 404, text: "<p>so sorry: 10</p>" });
    expect(answer.headers["content-type"]).toMatch(HTML_TYPE);
  });

  it("give pages anti-cache headers", async () => {
    expect((await get("/")).headers["cache-control"]).toContain("no-store");
  });

  describe("with a form", () => {
    const page = async (jar: CookieJar): Promise<{ csrf: string; verified: boolean; url: string; session: unknown }> => {
      const answer = await get("/form", { headers: { cookie: jar.header } });
      jar.take(answer);
      return JSON.parse(answer.text) as { csrf: string; verified: boolean; url: string; session: unknown }; // FORM writes it.
    };

    it("take it back with the token that they gave to this visitor", async () => {
      const jar = new CookieJar();
      const { csrf, verified, url } = await page(jar);
      expect({ verified, url }).toEqual({ verified: true, url: "/a" });
      const answer = await get("/form", form({ csrf, name: "Ada" }, jar.header));
      jar.take(answer);
      expect(answer).toMatchObject({ status: 302, headers: { location: "/form" } });
      expect((await page(jar)).session).toEqual({ name: "Ada" });
    });

    it.each<[what: string, tokenOf: (mine: string, others: string) => string]>([
      ["without a token", () => ""],
      ["with another visitor's token", (_mine, others) => others],
      ["with a token that was changed", (mine) => `${mine.slice(0, -1)}${mine.endsWith("0") ? "1" : "0"}`],
      [
        "with a token whose time was made longer",
        (mine) => mine.replace(/\.(\d+)\./, (_all, epochMs: string) => `.${Number(epochMs) + 1}.`),
      ],
    ])("refuse it %s", async (_what, tokenOf) => {
      const [mine, others] = [new CookieJar(), new CookieJar()];
      const token = tokenOf((await page(mine)).csrf, (await page(others)).csrf);
      const answer = await get("/form", form({ csrf: token, name: "Mallory" }, mine.header));
      expect(answer.status).toBe(403);
      expect((await page(mine)).session).toEqual({});
    });
  });

  it.each([
    ["/style", /^text\/css; ?charset=utf-?8$/, "p { color: red }"],
    ["/script", /^(?:text|application)\/javascript; ?charset=utf-?8$/, "alert(1)"],
    ["/robots", /^text\/plain; ?charset=utf-?8$/, "Disallow: /"],
    ["/feed", /^(?:text|application)\/xml; ?charset=utf-?8$/, "<feed/>"],
  ])("stand beside %s with a key of its own", async (path, type, text) => {
    const answer = await get(path);
    expect(answer).toMatchObject({ status: 200, text });
    expect(answer.headers["content-type"]).toMatch(type);
  });
});
