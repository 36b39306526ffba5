// Manifests with one route more or less: every form of them, what stays as it was to the byte, and what is rather left alone.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readManifest } from "../../../orchestrator/apps/manifest.ts";
import { withRoute, withoutRoute } from "../../../orchestrator/apps/manifest-edit.ts";
import type { ManifestFile } from "../../../orchestrator/apps/manifest-files.ts";
import type { KindOfRoute } from "../../../orchestrator/apps/manifest-piece.ts";
import { type ManifestFormat, parseManifestText } from "../../../orchestrator/apps/manifest-text.ts";

const fileOf = (text: string, format: ManifestFormat, key: string | null = null): ManifestFile => ({ name: "app", text, format, key });

const SUBMIT: KindOfRoute = { kind: "http", method: "POST", path: "/api/submit" };

function routesOf({ text, format, key }: ManifestFile): string[] {
  const whole: unknown = key === null ? null : JSON.parse(text);
  // Only a package.json has a key, and that is an object.
  const own = key === null ? text : JSON.stringify((whole as Record<string, unknown>)[key]);
  const { value, problems } = readManifest(parseManifestText(own, format), "app");
  expect(problems).toEqual([]);
  return value.routes.map(({ kind, method, path, source }) => `${kind} ${method} ${path} ${source}`);
}

/** Added and taken out again: exactly that route more, then the same bytes. */
function addsAndRemoves(file: ManifestFile, route: KindOfRoute): string | null {
  const added = withRoute(file, route);
  if (added === null) return null;
  const after = { ...file, text: added };
  expect(routesOf(after).toSorted()).toEqual([...routesOf(file), `${route.kind} ${route.method} ${route.path} null`].toSorted());
  expect(withoutRoute(after, route)).toBe(file.text);
  return added;
}

describe("a route that is added", () => {
  it.each<[string, string, string]>([
    [
      "below the last one",
      "@app\nx\n\n@http\nget /\n\n@static\nfolder dist\n",
      "@app\nx\n\n@http\nget /\npost /api/submit\n\n@static\nfolder dist\n",
    ],
    [
      "below a pragma without any",
      "@http\n\n@proxy\nstaging http://a.example\nproduction http://a.example\n",
      "@http\npost /api/submit\n\n@proxy\nstaging http://a.example\nproduction http://a.example\n",
    ],
    ["below a pragma of its own", "@app\nx\n", "@app\nx\n\n@http\npost /api/submit\n"],
    ["to an end without a line break", "@app x\n@http\nget /", "@app x\n@http\nget /\npost /api/submit"],
    ["to a manifest of one line", "@app x", "@app x\n\n@http\npost /api/submit"],
    [
      "between comments",
      "# shop\n@http # routes\n# the home page\nget / # home\n# more to come\n\n# files\n@static\n",
      "# shop\n@http # routes\n# the home page\nget / # home\npost /api/submit\n# more to come\n\n# files\n@static\n",
    ],
    ["with Windows line ends", "@app\r\nx\r\n\r\n@http\r\nget /\r\n", "@app\r\nx\r\n\r\n@http\r\nget /\r\npost /api/submit\r\n"],
    ["with the line ends of old Macs", "@app\rx\r@http\rget /\r", "@app\rx\r@http\rget /\rpost /api/submit\r"],
    [
      "as far to the right as the others",
      "@http\n  get /\n  get /a\n@app\n  x\n",
      "@http\n  get /\n  get /a\n  post /api/submit\n@app\n  x\n",
    ],
    ["with tabs, as the others", "@http\n\tget /\n\tget /a\n", "@http\n\tget /\n\tget /a\n\tpost /api/submit\n"],
    [
      "below a block",
      "@http\n/a\n  method get post\n  src lib/a\n\n\n@app\nx\n",
      "@http\n/a\n  method get post\n  src lib/a\npost /api/submit\n\n\n@app\nx\n",
    ],
    [
      "below a block with tabs and comments",
      "@http\n/a # of two\n\tmethod get # one\n\tsrc lib/a\n",
      "@http\n/a # of two\n\tmethod get # one\n\tsrc lib/a\npost /api/submit\n",
    ],
    ["below the only one on the pragma's own line", "@http get /\n@app x\n", "@http get /\npost /api/submit\n@app x\n"],
    ["to odd spacing", "\n\n@http\n\n\n   get    /  \n\n", "\n\n@http\n\n\n   get    /  \n   post /api/submit\n\n"],
    ["behind a byte order mark", "\uFEFF@http\nget /\n", "\uFEFF@http\nget /\npost /api/submit\n"],
  ])("goes %s", (_place, text, expected) => {
    expect(addsAndRemoves(fileOf(text, "arc"), SUBMIT)).toBe(expected);
  });

  it.each<[string, string, string]>([
    ["the last one", "@http\n\n@app\nx\n", "@http\npost /api/submit\n\n@app\nx\n"],
    ["the first pragma", "@http\n", "@http\npost /api/submit\n"],
    ["with a comment", "@app\nx\n\n@http # none yet\n", "@app\nx\n\n@http # none yet\npost /api/submit\n"],
    ["set apart, where it would be taken for one that came with the route", "@app\nx\n\n@http\n", "@app\nx\n\n@http\n\npost /api/submit\n"],
    ["the same without a line break at its end", "@app\nx\n\n@http", "@app\nx\n\n@http\n\npost /api/submit"],
    ["with blank lines below", "@app\nx\n\n@http\n\n\n", "@app\nx\n\n@http\npost /api/submit\n\n\n"],
  ])("leaves an empty pragma behind when it goes again: %s", (_case, text, expected) => {
    expect(addsAndRemoves(fileOf(text, "arc"), SUBMIT)).toBe(expected);
  });

  it.each<["html" | "json"]>([["html"], ["json"]])("goes below @%s, if that is its kind", (kind) => {
    const route: KindOfRoute = { kind, method: "POST", path: "/login" };
    expect(addsAndRemoves(fileOf("@http\nget /\n", "arc"), route)).toBe(`@http\nget /\n\n@${kind}\npost /login\n`);
    expect(addsAndRemoves(fileOf(`@${kind}\nget /\n@http\nget /a\n`, "arc"), route)).toBe(`@${kind}\nget /\npost /login\n@http\nget /a\n`);
  });

  it.each<[string, string, string]>([
    ["pairs", '{"app":"x","http":[["get","/"]]}', '{"app":"x","http":[["get","/"],["post","/api/submit"]]}'],
    ["pairs with spaces", '{ "http": [["get", "/"]], "app": "x" }\n', '{ "http": [["get", "/"], ["post", "/api/submit"]], "app": "x" }\n'],
    [
      "pairs on lines",
      '{\n  "http": [\n    ["get", "/"]\n  ]\n}\n',
      '{\n  "http": [\n    ["get", "/"],\n    ["post", "/api/submit"]\n  ]\n}\n',
    ],
    [
      "pairs as npm writes them",
      '{\n  "http": [\n    [\n      "get",\n      "/"\n    ]\n  ]\n}\n',
      '{\n  "http": [\n    [\n      "get",\n      "/"\n    ],\n    ["post", "/api/submit"]\n  ]\n}\n',
    ],
    [
      "tabs and Windows line ends",
      '{\r\n\t"http": [\r\n\t\t["get", "/"]\r\n\t]\r\n}',
      '{\r\n\t"http": [\r\n\t\t["get", "/"],\r\n\t\t["post", "/api/submit"]\r\n\t]\r\n}',
    ],
    ["objects", '{"http":[{"get":"/"}]}', '{"http":[{"get":"/"},{"post":"/api/submit"}]}'],
    [
      "objects with several keys",
      '{ "http": [{ "get": "/", "put": "/a" }] }',
      '{ "http": [{ "get": "/", "put": "/a" }, { "post": "/api/submit" }] }',
    ],
    ["texts", '{"http":["get /", "get /a"]}', '{"http":["get /", "get /a", "post /api/submit"]}'],
    ["one object", '{"http":{"get":"/"}}', '{"http":{"get":"/","post":"/api/submit"}}'],
    ["one object that has the method", '{ "http": { "post": "/" } }', '{ "http": { "post": "/", "/api/submit": { "method": "post" } } }'],
    [
      "blocks in a list",
      '{"http":[{"/a":{"method":"get","src":"lib"}}]}',
      '{"http":[{"/a":{"method":"get","src":"lib"}},["post","/api/submit"]]}',
    ],
    [
      "blocks in an object",
      '{"http":{"/a":{"method":"get","src":"lib"}}}',
      '{"http":{"/a":{"method":"get","src":"lib"},"post":"/api/submit"}}',
    ],
    ["an empty list", '{"http":[],"app":"x"}', '{"http":[["post","/api/submit"]],"app":"x"}'],
    [
      "an empty list that would be taken for one that came with the route",
      '{"app":"x","http":[]}',
      '{"app":"x","http":["post /api/submit"]}',
    ],
    ["an empty object", '{"app": "x", "http": {}}', '{"app": "x", "http": {"post": "/api/submit"}}'],
    ["no key", '{\n    "app": "x"\n}\n', '{\n    "app": "x",\n    "http": [["post", "/api/submit"]]\n}\n'],
    ["no key in one line", '{"app":"x"}', '{"app":"x","http":[["post","/api/submit"]]}'],
    [
      "brackets and quotes in texts",
      '{"description":"a \\"]}[{\\\\","http":[["get","/"]],"b":["\\"http\\":[]"]}',
      '{"description":"a \\"]}[{\\\\","http":[["get","/"],["post","/api/submit"]],"b":["\\"http\\":[]"]}',
    ],
    ["an escaped key", '{"ht\\u0074p":[["get","/"]]}', '{"ht\\u0074p":[["get","/"],["post","/api/submit"]]}'],
    [
      "the same key twice",
      '{"http":[["get","/b"]],"http":[["get","/"]]}',
      '{"http":[["get","/b"]],"http":[["get","/"],["post","/api/submit"]]}',
    ],
    ["a byte order mark", '\uFEFF{"http":[["get","/"]]}', '\uFEFF{"http":[["get","/"],["post","/api/submit"]]}'],
    ["routes of other kinds alone", '{"json":[["get","/"]]}', '{"json":[["get","/"]],"http":[["post","/api/submit"]]}'],
  ])("is written in JSON as its neighbours are: %s", (_form, text, expected) => {
    expect(addsAndRemoves(fileOf(text, "json"), SUBMIT)).toBe(expected);
  });

  it.each<[string, string, string]>([
    ["null", '{"app":"x","http":null}', '{"app":"x","http":[["post","/api/submit"]]}'],
    ["a single text", '{"app":"x","http":"get /"}', '{"app":"x","http":["get /","post /api/submit"]}'],
  ])("makes a list of what is none: %s", (_form, text, expected) => {
    const added = withRoute(fileOf(text, "json"), SUBMIT);
    expect(added).toBe(expected);
    expect(routesOf(fileOf(withoutRoute(fileOf(expected, "json"), SUBMIT) ?? "", "json"))).toEqual(routesOf(fileOf(text, "json")));
  });

  it.each(["arc", "architect"])('goes into a package.json below its key "%s", and nowhere else', (key) => {
    const other = `  "scripts": {\n    "http": "[]"\n  },\n  "http": [["get", "/not-ours"]]`;
    const text = `{\n  "name": "x",\n  "${key}": {\n    "app": "x",\n    "http": [\n      ["get", "/"]\n    ]\n  },\n${other}\n}\n`;
    expect(addsAndRemoves(fileOf(text, "json", key), SUBMIT)).toBe(
      `{\n  "name": "x",\n  "${key}": {\n    "app": "x",\n    "http": [\n      ["get", "/"],\n      ["post", "/api/submit"]\n    ]\n  },\n${other}\n}\n`,
    );
  });

  it.each<[string, string, string]>([
    [
      "a list",
      "app: x\nhttp:\n  - get: /\n\nstatic:\n  folder: dist\n",
      "app: x\nhttp:\n  - get: /\n  - post: /api/submit\n\nstatic:\n  folder: dist\n",
    ],
    ["a list that is not indented", "http:\n- get: /\n# more\napp: x\n", "http:\n- get: /\n- post: /api/submit\n# more\napp: x\n"],
    [
      "a list of blocks",
      "http:\n    - /a:\n        method: get\n        src: lib\n",
      "http:\n    - /a:\n        method: get\n        src: lib\n    - post: /api/submit\n",
    ],
    ["an object", "http: # routes\r\n  get: /\r\n", "http: # routes\r\n  get: /\r\n  post: /api/submit\r\n"],
    ["an object that has the method", "http:\n  post: /\n", "http:\n  post: /\n  /api/submit:\n    method: post\n"],
    ["nothing", "http:\napp: x\n", "http:\n  - post: /api/submit\napp: x\n"],
    ["nothing that would be taken for what came with the route", "app: x\n\nhttp:\n", "app: x\n\nhttp:\n- post: /api/submit\n"],
    ["no key", "app: x", "app: x\n\nhttp:\n  - post: /api/submit"],
    ["a document with its marks", "---\napp: x\nhttp:\n  - get: /\n...\n", "---\napp: x\nhttp:\n  - get: /\n  - post: /api/submit\n...\n"],
  ])("is written in YAML as its neighbours are: %s", (_form, text, expected) => {
    expect(addsAndRemoves(fileOf(text, "yaml"), SUBMIT)).toBe(expected);
  });

  it.each<[string, ManifestFormat, string]>([
    ["a list in one line", "yaml", "http: [[get, /], [post, /a]]\n"],
    ["a whole manifest in one line", "yaml", "{app: x, http: [[get, /]]}\n"],
    ["an alias", "yaml", "other: &routes\n  - get: /x\nhttp: *routes\n"],
    ["text over several lines that looks like a pragma", "arc", '@description\n"two\n@http\nlines"\n@http\nget /\n'],
    ["an object that has the method and the path", "json", '{"http":{"post":"/","/api/submit":{"method":"get"}}}'],
  ])("is rather not written than with damage: %s", (_form, format, text) => {
    expect(withRoute(fileOf(text, format), SUBMIT)).toBeNull();
  });
});

describe("a route that is removed", () => {
  const LOGIN: KindOfRoute = { kind: "http", method: "POST", path: "/login" };

  it.each<[string, ManifestFormat, string, string]>([
    ["a line with its comment", "arc", "@http\nget /\n# the form\npost /login # here\nget /a\n", "@http\nget /\n# the form\nget /a\n"],
    ["a line in upper case and quotes", "arc", '@http\nPOST   "/login"\nget /\n', "@http\nget /\n"],
    ["the pragma's own line", "arc", "@http post /login\nget /\n", "@http\nget /\n"],
    ["a block", "arc", "@http\n/login\n  method post\n  src lib/login\n\nget /\n", "@http\n\nget /\n"],
    ["a word of a block", "arc", "@http\n/login\n  method get post put\n  src lib\n", "@http\n/login\n  method get put\n  src lib\n"],
    ["a line of a block", "arc", "@http\n/login\n  method get\n  method post\n  src lib\n", "@http\n/login\n  method get\n  src lib\n"],
    [
      "a deeper line of a block",
      "arc",
      "@http\n/login\n  method\n    get\n    post\n  src lib\n",
      "@http\n/login\n  method\n    get\n  src lib\n",
    ],
    ["the only one of the only pragma", "arc", "\n@http\npost /login\n", "\n@http\n"],
    ["the only one, and not the last pragma", "arc", "@http\npost /login\n\n@app\nx\n", "@http\n\n@app\nx\n"],
    ["the last line, which has no end", "arc", "@http\nget /\npost /login", "@http\nget /"],
    ["a pair", "json", '{\n  "http": [\n    ["post", "/login"],\n    ["get", "/"]\n  ]\n}\n', '{\n  "http": [\n    ["get", "/"]\n  ]\n}\n'],
    ["the only pair", "json", '{\n  "http": [\n    ["post", "/login"]\n  ],\n  "app": "x"\n}\n', '{\n  "http": [],\n  "app": "x"\n}\n'],
    ["the only pair of a manifest that has nothing else", "json", '{"http":[["post","/login"]]}', '{"http":[]}'],
    ["a key of an object in a list", "json", '{"http":[{"get":"/","post":"/login"},{"put":"/a"}]}', '{"http":[{"get":"/"},{"put":"/a"}]}'],
    ["a key of an object", "json", '{"http":{"post":"/login","get":"/"}}', '{"http":{"get":"/"}}'],
    ["a block of an object", "json", '{"http":{"/login":{"method":"post"},"get":"/"}}', '{"http":{"get":"/"}}'],
    [
      "a method of a block",
      "json",
      '{"http":[{"/login":{"method":["get","post"],"src":"lib"}}]}',
      '{"http":[{"/login":{"method":["get"],"src":"lib"}}]}',
    ],
    [
      "a method of a block of pairs",
      "json",
      '{"http":[{"/login":[["method","get"],["method","POST"],["src","lib"]]}]}',
      '{"http":[{"/login":[["method","get"],["src","lib"]]}]}',
    ],
    [
      "a method of a block of pairs, in one",
      "json",
      '{"http":[{"/login":[["method","get","post"],["src","lib"]]}]}',
      '{"http":[{"/login":[["method","get"],["src","lib"]]}]}',
    ],
    ["a text", "json", '{"http":["post /login","get /"]}', '{"http":["get /"]}'],
    ["an item", "yaml", "http:\n  - post: /login # here\n  - get: /\n", "http:\n  - get: /\n"],
    ["a block item", "yaml", "http:\n  - /login:\n      method: post\n      src: lib\n  - get: /\n", "http:\n  - get: /\n"],
    ["a line of an item", "yaml", "http:\n  - get: /\n    post: /login\n", "http:\n  - get: /\n"],
    ["a field", "yaml", "http:\n  post: /login\n  get: /\n", "http:\n  get: /\n"],
    ["a word of a list", "yaml", "http:\n  - /login:\n      method: [get, post]\n", "http:\n  - /login:\n      method: [get]\n"],
    ["the first word of a list", "yaml", "http:\n  - /login:\n      method: [post, get]\n", "http:\n  - /login:\n      method: [get]\n"],
  ])("leaves with %s", (_part, format, text, expected) => {
    const file = fileOf(text, format);
    const edited = withoutRoute(file, LOGIN);
    expect(edited).toBe(expected);
    expect(routesOf({ ...file, text: expected })).toEqual(routesOf(file).filter((route) => !route.startsWith("http POST /login ")));
  });

  it("may be one whose path stands alone", () => {
    const route: KindOfRoute = { kind: "css", method: "GET", path: "/b.css" };
    expect(withoutRoute(fileOf("@css\n/a.css\n/b.css\n/c.css\n", "arc"), route)).toBe("@css\n/a.css\n/c.css\n");
  });

  it.each<[string, ManifestFormat, string]>([
    ["in a list in one line", "yaml", "http: [[post, /login]]\n"],
    ["in the line that a list's item begins with", "yaml", "http:\n  - post: /login\n    get: /\n  - get: /a\n"],
    ["in a key whose earlier twin would come back", "json", '{"http":{"post":"/a","post":"/login"}}'],
  ])("rather stays than leave damage: %s", (_form, format, text) => {
    expect(withoutRoute(fileOf(text, format), LOGIN)).toBeNull();
  });
});

describe("any manifest", () => {
  const method = fc.constantFrom("get", "post", "PUT", "any", "delete");
  const path = fc.constantFrom("/", "/a", "/b", "/a/:id", "/shop/:item/x", "/my-page", "/files/*", "/A");
  const listed = fc.uniqueArray(fc.tuple(method, path), { maxLength: 5, selector: ([method, path]) => `${method.toLowerCase()} ${path}` });
  const added = fc.record<KindOfRoute>({
    kind: fc.constantFrom("http", "html", "json"),
    method: fc.constantFrom("GET", "POST", "PATCH"),
    path: fc.constantFrom("/new", "/new/:id", "/api/submit"),
  });
  const gap = fc.constantFrom("", "", "", "\n", "\n\n", "# a comment\n", "   \n");
  const note = fc.constantFrom("", "", " # here", "\t#", "  ");
  const section = fc.oneof(
    fc
      .tuple(fc.constantFrom("http", "html", "json"), listed, fc.constantFrom("", "", " ", "  ", "\t"), gap, note)
      .map(([kind, routes, indent, gap, note]) => ({
        kind,
        text: `@${kind}${note}\n${gap}${routes.map(([method, path]) => `${indent}${method} ${path}${note}\n${gap}`).join("")}`,
      })),
    fc.tuple(fc.constantFrom("http", "json"), gap).map(([kind, gap]) => ({
      kind,
      text: `@${kind}\n${gap}/block\n  method get post\n  src lib/a\n${gap}/other\n\tmethod any\n`,
    })),
    fc.constantFrom(
      { kind: "app", text: "@app\nx\n" },
      { kind: "app", text: "@app x\n" },
      { kind: "static", text: "@static\nfolder dist\nignore\n  a\n  b\n" },
      { kind: "proxy", text: "@proxy\nstaging http://a.example # old\nproduction http://a.example\n" },
    ),
  );
  const arc = fc
    .tuple(
      fc.uniqueArray(section, { minLength: 1, maxLength: 4, selector: ({ kind }) => kind }),
      fc.array(gap, { minLength: 5, maxLength: 5 }),
      fc.constantFrom("\n", "\r\n", "\r"),
      fc.boolean(),
    )
    .map(([sections, gaps, end, endsWithout]) => {
      const text = sections.map((one, index) => (gaps[index] ?? "") + one.text).join("") + (gaps[4] ?? "");
      return (endsWithout ? text.replace(/\n+$/, "") : text).replaceAll("\n", end);
    });
  const isFine = (text: string, format: ManifestFormat): boolean => {
    try {
      return readManifest(parseManifestText(text, format), "app").problems.length === 0;
    } catch {
      return false;
    }
  };

  it("in the format of its own gains a route, says the rest as before, and gets its bytes back", () => {
    let refusedCount = 0;
    fc.assert(
      fc.property(arc, added, (text, route) => {
        fc.pre(isFine(text, "arc"));
        if (addsAndRemoves(fileOf(text, "arc"), route) === null) refusedCount += 1;
      }),
      { numRuns: 500 },
    );
    expect(refusedCount).toBe(0);
  });

  const json = fc
    .record({
      before: fc.constantFrom<object>({}, { app: "x" }, { static: { folder: "dist", ignore: ["a"] } }),
      key: fc.constantFrom("http", "json", "http"),
      routes: fc.oneof(
        listed,
        listed.map((routes) => routes.map(([method, path]) => `${method} ${path}`)),
        listed.map((routes) => routes.map(([method, path]) => ({ [method]: path }))),
        listed.map((routes) => Object.fromEntries(routes)),
        listed.map((routes) => routes.map(([method, path]) => ({ [path]: { method, src: "lib" } }))),
      ),
      after: fc.constantFrom<object>({}, { proxy: { staging: "http://a.example", production: "http://a.example" } }),
      indent: fc.constantFrom<(string | number)[]>(0, 2, 4, "\t"),
      end: fc.constantFrom("", "\n"),
    })
    .map(({ before, key, routes, after, indent, end }) => JSON.stringify({ ...before, [key]: routes, ...after }, null, indent) + end);

  it("in JSON does so, too", () => {
    let refusedCount = 0;
    fc.assert(
      fc.property(json, added, (text, route) => {
        fc.pre(isFine(text, "json"));
        if (addsAndRemoves(fileOf(text, "json"), route) === null) refusedCount += 1;
      }),
      { numRuns: 500 },
    );
    expect(refusedCount).toBe(0);
  });

  const yaml = fc
    .record({
      before: fc.constantFrom("", "app: x\n", "---\n# shop\napp: x\n\n"),
      key: fc.constantFrom("http", "json", '"http"'),
      routes: listed,
      form: fc.constantFrom("  - ", "- ", "    - ", "  "),
      gap: fc.constantFrom("", "\n", "  # a comment\n", "# a comment\n"),
      after: fc.constantFrom("", "\n", "\nproxy:\n  staging: http://a.example\n  production: http://a.example\n"),
      end: fc.constantFrom("\n", "\r\n"),
      endsWithout: fc.boolean(),
    })
    .map(({ before, key, routes, form, gap, after, end, endsWithout }) => {
      const items = routes.map(([method, path], index) =>
        index === 0 ? `${form}${path}:\n${" ".repeat(form.length + 2)}method: ${method}\n${gap}` : `${form}${method}: ${path}\n${gap}`,
      );
      const text = `${before}${key}:\n${gap}${items.join("")}${after}`;
      return (endsWithout ? text.replace(/\n+$/, "") : text).replaceAll("\n", end);
    });

  it("in YAML does so, too, or is left alone", () => {
    let editedCount = 0;
    fc.assert(
      fc.property(yaml, added, (text, route) => {
        fc.pre(isFine(text, "yaml"));
        if (addsAndRemoves(fileOf(text, "yaml"), route) !== null) editedCount += 1;
      }),
      { numRuns: 500 },
    );
    expect(editedCount).toBeGreaterThan(400);
  });
});
