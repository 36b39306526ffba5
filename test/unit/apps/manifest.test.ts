// What manifests say, in each of their forms, and what is said about wrong ones.
import { describe, expect, it } from "vitest";
import { readManifest } from "../../../orchestrator/apps/manifest.ts";
import { type ManifestFormat, parseManifestText } from "../../../orchestrator/apps/manifest-text.ts";

const read = (text: string, format: ManifestFormat = "arc") => readManifest(parseManifestText(text, format), "fallback");

const routesOf = (text: string, format: ManifestFormat = "arc"): string[] => {
  const { value, problems } = read(text, format);
  expect(problems).toEqual([]);
  return value.routes.map((route) => `${route.kind}: ${route.method} ${route.path}${route.source === null ? "" : ` in ${route.source}`}`);
};

describe("routes of a manifest", () => {
  it.each<[string, ManifestFormat, string, string[]]>([
    ["lines", "arc", "@http\nget /\npost /api/submit\n", ["http: GET /", "http: POST /api/submit"]],
    ["a block", "arc", "@http\n/foo\n  method any\n  src lib/foo\n", ["http: ANY /foo in lib/foo"]],
    ["a block with tabs", "arc", "@http\n/foo\n\tmethod get\n\tsrc /foo\n", ["http: GET /foo in /foo"]],
    ["a block without src", "arc", "@http\n/foo\n  method patch\nget /\n", ["http: PATCH /foo", "http: GET /"]],
    ["a block with two methods", "arc", "@http\n/a\n  method get\n  method post\n  src a\n", ["http: GET /a in a", "http: POST /a in a"]],
    ["a block with methods in one line", "arc", "@http\n/a\n  method get post\n  src a\n", ["http: GET /a in a", "http: POST /a in a"]],
    ["Windows line ends and comments", "arc", "# shop\r\n@http\r\nget / # home\r\n\r\npost /x\r\n", ["http: GET /", "http: POST /x"]],
    ["a byte order mark", "arc", "\uFEFF@http\nget /\n", ["http: GET /"]],
    ["upper-case methods", "arc", "@http\nGET /\n", ["http: GET /"]],
    ["our own methods", "arc", "@http\nhead /a\noptions /a\n", ["http: HEAD /a", "http: OPTIONS /a"]],
    ["nothing below @http", "arc", "@http\n@proxy\nstaging http://a.example\nproduction http://a.example\n", []],
    ["pages of 2017", "arc", "@html\nget /\npost /login\n", ["html: GET /", "html: POST /login"]],
    ["JSON routes of 2017", "arc", "@json\nget /api\ndelete /api/:id\n", ["json: GET /api", "json: DELETE /api/:id"]],
    [
      "paths alone, where the originals allowed it",
      "arc",
      "@css\n/main.css\n@js\n/main.js\n@text\n/robots.txt\n@xml\n/feed\n",
      ["css: GET /main.css", "js: GET /main.js", "text: GET /robots.txt", "xml: GET /feed"],
    ],
    ["styles with a method", "arc", "@css\nget /main.css\n", ["css: GET /main.css"]],
    ["JSON pairs", "json", '{"http":[["get","/"],["post","/a"]]}', ["http: GET /", "http: POST /a"]],
    ["JSON objects", "json", '{"http":[{"get":"/"},{"post":"/a"}]}', ["http: GET /", "http: POST /a"]],
    ["one JSON object with several keys", "json", '{"http":[{"get":"/","post":"/a"}]}', ["http: GET /", "http: POST /a"]],
    ["a JSON object instead of a list", "json", '{"http":{"get":"/","post":"/a"}}', ["http: GET /", "http: POST /a"]],
    ["JSON blocks", "json", '{"http":[{"/todos":{"method":"post","src":"/todos/create"}}]}', ["http: POST /todos in /todos/create"]],
    ["JSON blocks below an object", "json", '{"http":{"/todos":{"method":"post"}}}', ["http: POST /todos"]],
    ["JSON texts", "json", '{"http":["get /","post /a"]}', ["http: GET /", "http: POST /a"]],
    ["JSON of 2017", "json", '{"json":[["get","/api"]],"css":["/a.css"]}', ["json: GET /api", "css: GET /a.css"]],
    ["nothing in JSON", "json", '{"http":null}', []],
    ["YAML", "yaml", "http:\n  - get: /\n  - /a:\n      method: post\n      src: lib/a\n", ["http: GET /", "http: POST /a in lib/a"]],
    ["a YAML object", "yaml", "app: shop\nhttp:\n  get: /\n", ["http: GET /"]],
  ])("are read from %s", (_form, format, text, expected) => {
    expect(routesOf(text, format)).toEqual(expected);
  });

  it.each([
    ["@http\nfetch /\n", '@http route 1: the method should be one of get, post, patch, put, delete, head, options, any, got "fetch"'],
    ["@http\nget shop\n", '@http route 1: the path "shop" should begin with "/"'],
    ["@http\nget /\nget /a/:\n", '@http route 2: the path "/a/:" should write a parameter as a whole part, such as /:name'],
    ["@http\npost /x /y\n", '@http route 1: should be "<method> <path>" or a path with a method below it, got ["post","/x","/y"]'],
    ["@http\n/x\n", '@http route 1: should be "<method> <path>" or a path with a method below it, got "/x"'],
    ["@http\nget 5\n", "@http route 1: the path 5 should be text, got 5"],
    ["@http\n/x\n  method get\n  src 5\n", "@http route 1: src should be a folder, got 5"],
    ["@css\npost\n", '@css route 1: the path "post" should begin with "/"'],
    ["@http\nget /a\nget /a\n", '@http: "get /a" and "get /a" answer the same requests; keep one of them'],
    ["@http\nget /:a\n@json\nget /:b\n", '"get /:a" (@http) and "get /:b" (@json) answer the same requests; keep one of them'],
    ["@http\nget /a\n@css\n/a\n", '"get /a" (@http) and "get /a" (@css) answer the same requests; keep one of them'],
  ])("are refused in %j", (text, problem) => {
    expect(read(text).problems).toEqual([problem]);
  });

  it("lets any and a method share a path, because the method wins", () => {
    expect(routesOf("@http\nany /a\nget /a\n@json\npost /a\n")).toHaveLength(3);
  });
});

describe("names and generations", () => {
  it.each([
    ["@app\nshop\n", "shop"],
    ["@app shop\n", "shop"],
    ["@app\nmy_shop-2\n", "my_shop-2"],
    ["@http\nget /\n", "fallback"],
  ])("takes the name from %j", (text, name) => {
    expect(read(text).value.appName).toBe(name);
    expect(read(text).problems).toEqual([]);
  });

  it.each(["@app\nBig\n", "@app\n2048\n", "@app\nmy app\n", "@app\na.b\n"])("refuses the name in %j", (text) => {
    expect(read(text).problems).toEqual([expect.stringContaining("@app: should be one name of lower-case letters")]);
  });

  it.each<[string, ManifestFormat, string]>([
    ["@http\nget /\n", "arc", "current"],
    ["@aws\napigateway http\n", "arc", "current"],
    ["@aws\napigateway httpv2\n", "arc", "current"],
    ["@aws\napigateway rest\n", "arc", "legacy"],
    ["@aws\napigateway httpv1\n", "arc", "legacy"],
    ["@aws\napigateway rest\n@generation\nsimple\n", "arc", "simple"],
    ["@generation legacy\n", "arc", "legacy"],
    ['{"generation":"simple"}', "json", "simple"],
    ['{"aws":{"apigateway":"httpv1"}}', "json", "legacy"],
    ["generation: legacy\n", "yaml", "legacy"],
  ])("reads the generation of %j as %s", (text, format, generation) => {
    const { value, problems } = read(text, format);
    expect(problems).toEqual([]);
    expect(value.generation).toBe(generation);
  });

  it.each([
    ["@generation next\n", '@generation: should be one of current, legacy, simple, got "next"'],
    ["@generation json\n", '@generation: should be one of current, legacy, simple, got "json"'],
    ["@aws\napigateway soap\n", '@aws apigateway: should be one of http, httpv1, httpv2, rest, got "soap"'],
  ])("refuses the generation in %j", (text, problem) => {
    expect(read(text).problems).toEqual([problem]);
  });
});

describe("limits of functions", () => {
  it("turns the units into ours", () => {
    const { value } = read("@aws\ntimeout 30\nmemory 256\nconcurrency 4\nruntime nodejs18.x\nregion us-west-2\n");
    expect(value.settings).toEqual({ timeoutMs: 30_000, memoryBytesMax: 256_000_000, concurrency: 4 });
    expect(read('{"aws":{"timeout":3}}', "json").value.settings).toEqual({ timeoutMs: 3_000 });
    expect(read("@aws\nconcurrency unthrottled\n").value.settings).toEqual({});
  });

  it.each([
    ["timeout 901", "@aws timeout: should be 1 to 900 seconds, got 901"],
    ["timeout soon", '@aws timeout: should be 1 to 900 seconds, got "soon"'],
    ["memory 1", "@aws memory: should be 64 to 10240 MB, got 1"],
    ["concurrency 0", "@aws concurrency: should be 1 to 1000 requests at once in an instance, got 0"],
    ["runtime python3.9", '@aws runtime: functions are JavaScript or TypeScript and run on Node, got "python3.9"'],
  ])("refuses %s", (line, problem) => {
    expect(read(`@aws\n${line}\n`).problems).toEqual([problem]);
  });
});

describe("static files", () => {
  const USUAL = { folder: null, fingerprint: "off", isSpa: false, ignore: [] };

  it.each<[string, ManifestFormat, object | null]>([
    ["@http\nget /\n", "arc", USUAL],
    ["@static\n", "arc", USUAL],
    ["@static false\n", "arc", null],
    ["@static\nfalse\n", "arc", null],
    ["@static\noff\n", "arc", null],
    ["@static\ndisabled\n", "arc", null],
    ['{"static":false}', "json", null],
    ["@static\nfolder dist\nspa true\nfingerprint true\n", "arc", { ...USUAL, folder: "dist", isSpa: true, fingerprint: "on" }],
    ["@static\nfingerprint external\n", "arc", { ...USUAL, fingerprint: "external" }],
    ["@static\nfingerprint false\nspa false\n", "arc", USUAL],
    ["@static\nignore\n  drafts\n  .psd\n", "arc", { ...USUAL, ignore: ["drafts", ".psd"] }],
    ["@static\nignore drafts\n", "arc", { ...USUAL, ignore: ["drafts"] }],
    ["@static\nprune true\nstaging my-bucket\nproduction my-other-bucket\n", "arc", USUAL],
    ['{"static":{"folder":"build","ignore":["a","b"]}}', "json", { ...USUAL, folder: "build", ignore: ["a", "b"] }],
    ['{"static":[{"fingerprint":true},["spa",true]]}', "json", { ...USUAL, fingerprint: "on", isSpa: true }],
    ["static:\n  folder: build\n", "yaml", { ...USUAL, folder: "build" }],
  ])("are read from %j", (text, format, expected) => {
    const { value, problems } = read(text, format);
    expect(problems).toEqual([]);
    expect(value.site).toEqual(expected);
  });

  it.each([
    ["folder 5", "@static folder: should be a folder, got 5"],
    ["folder a b", '@static folder: should be a folder, got ["a","b"]'],
    ["fingerprint maybe", '@static fingerprint: should be true, false or external, got "maybe"'],
    ["spa maybe", '@static spa: should be true or false, got "maybe"'],
    ["ignore 5", "@static ignore: should be parts of file names, got [5]"],
  ])("refuse %s", (line, problem) => {
    expect(read(`@static\n${line}\n`).problems).toEqual([problem]);
  });
});

describe("@proxy", () => {
  it.each<[string, ManifestFormat]>([
    ["@proxy\ntesting http://localhost:3000\nstaging http://127.0.0.1:8080/a\nproduction https://x.example\n", "arc"],
    ['{"proxy":{"testing":"http://localhost:3000","staging":"http://127.0.0.1:8080/a","production":"https://x.example"}}', "json"],
  ])("is read from %j", (text, format) => {
    const { value, problems, warnings } = read(text, format);
    expect([problems, warnings]).toEqual([[], []]);
    expect(value.proxyUrls).toEqual({ staging: "http://127.0.0.1:8080/a", production: "https://x.example" });
  });

  it("warns where an environment has no URL", () => {
    const { value, warnings } = read("@proxy\nstaging http://a.example\n");
    expect(value.proxyUrls).toEqual({ staging: "http://a.example" });
    expect(warnings).toEqual(["@proxy: has no URL for production, so nothing is passed on there"]);
  });

  it.each([
    ["staging ftp://a.example", '@proxy staging: should be a URL with http:// or https://, got "ftp://a.example"'],
    ["production a.example", '@proxy production: should be a URL with http:// or https://, got "a.example"'],
    ["staging 80", "@proxy staging: should be a URL, got 80"],
    ["staging http://a.example?x=1", '@proxy staging: should end with its path, got "http://a.example?x=1"'],
    ['staging "http://me:hunter2@a.example"', "@proxy staging: should have no user name and no password in it"],
    ["live http://a.example", '@proxy: should name testing, staging or production, got "live"'],
  ])("refuses %s", (line, problem) => {
    expect(read(`@proxy\n${line}\n`).problems).toEqual([problem]);
  });
});

describe("@shared and @views", () => {
  const shared = (text: string, format: ManifestFormat = "arc") => {
    const { value, problems } = read(text, format);
    expect(problems).toEqual([]);
    return value.shared[0];
  };

  it("are the usual folders for everyone where the manifest says nothing", () => {
    expect(read("@http\nget /\n").value.shared).toEqual([
      { packageName: "@architect/shared", folder: null, picks: null },
      { packageName: "@architect/views", folder: null, picks: null },
    ]);
  });

  it.each<[string, ManifestFormat]>([
    ["@shared\nsrc lib\nhttp\n  get /a\n  get /b\n", "arc"],
    ['{"shared":[["src","lib"],{"http":[["get","/a"],["get","/b"]]}]}', "json"],
    ['{"shared":{"src":"lib","http":[{"get":"/a"},"get /b"]}}', "json"],
  ])("take a folder and a list of functions from %j", (text, format) => {
    const picks = [
      { kind: "http", method: "GET", path: "/a" },
      { kind: "http", method: "GET", path: "/b" },
    ];
    expect(shared(text, format)).toEqual({ packageName: "@architect/shared", folder: "lib", picks });
  });

  it("leave all other functions out where only events are listed", () => {
    expect(shared("@shared\nevents\n  mailed\n")?.picks).toEqual([]);
  });

  it.each([
    ["@shared\nsrc 5\n", "@shared src: should be a folder, got 5"],
    ["@views\nget /\n", '@views: should hold src and lists of functions such as http, got ["get","/"]'],
    ["@views\nhttp\n  fetch /\n", '@views http: should list routes such as "get /", got [["fetch","/"]]'],
  ])("refuse %j", (text, problem) => {
    expect(read(text).problems).toEqual([problem]);
  });
});

describe("@orchestrator", () => {
  it("is off and usual where the manifest says nothing", () => {
    expect(read("@http\n").value.appSettings).toEqual({
      rawJson: false,
      bareQuery: false,
      allowsInstallScripts: false,
      functionBytesMax: 5_000_000,
    });
  });

  it.each<[string, ManifestFormat]>([
    ["@orchestrator\nraw-json true\nbare-query true\ninstall-scripts true\nfunction-size 12.5\n", "arc"],
    ['{"orchestrator":{"raw-json":true,"bare-query":true,"install-scripts":true,"function-size":12.5}}', "json"],
  ])("is read from %j", (text, format) => {
    expect(read(text, format).value.appSettings).toEqual({
      rawJson: true,
      bareQuery: true,
      allowsInstallScripts: true,
      functionBytesMax: 12_500_000,
    });
  });

  it.each([
    ["raw-jsn true", '@orchestrator: should hold raw-json, bare-query, install-scripts, function-size, got "raw-jsn"'],
    ["raw-json yes", '@orchestrator raw-json: should be true or false, got "yes"'],
    ["function-size 0", "@orchestrator function-size: should be a number of MB up to 250, got 0"],
    ["function-size 251", "@orchestrator function-size: should be a number of MB up to 250, got 251"],
  ])("refuses %s", (line, problem) => {
    expect(read(`@orchestrator\n${line}\n`).problems).toEqual([problem]);
  });
});

describe("pragmas of the originals", () => {
  it("accepts in silence what has no bearing here", () => {
    const { problems, warnings } = read("@app\nx\n@begin\nappID A1B2\n@tables\nnotes\n  id *String\n@domain\nx.example\n@http\nget /\n");
    expect([problems, warnings]).toEqual([[], []]);
  });

  it.each([
    ["@events\nmailed\n", "@events: events are not delivered on this platform"],
    ["@scheduled\ndaily rate(1 day)\n", "@scheduled: nothing runs on a schedule on this platform"],
    ["@queues\njobs\n", "@queues: queues are not run on this platform"],
    ["@ws\nconnect\n", "@ws: WebSocket functions are not run on this platform"],
    ["@htpp\nget /\n", "@htpp: nothing is known by this name, so it is ignored"],
  ])("warns of %j", (text, warning) => {
    expect(read(text)).toMatchObject({ problems: [], warnings: [warning] });
  });

  it("does not warn of one that is empty", () => {
    expect(read("@http\nget /\n@events\n").warnings).toEqual([]);
  });
});

describe("the text of a manifest", () => {
  it("names every problem at once, each with its place", () => {
    const { problems } = read(
      "@app\nBig_Shop\n\n@http\nfetch /\nget shop\nget /a/:\npost /x /y\n@aws\ntimeout 901\nmemory 1\napigateway soap\n@generation\nnext\n@static\nspa maybe\n@proxy\nstaging x\n@orchestrator\nraw-json 5\n",
    );
    expect(problems.map((problem) => problem.split(":")[0])).toEqual([
      "@app",
      "@generation",
      "@http route 1",
      "@http route 2",
      "@http route 3",
      "@http route 4",
      "@aws timeout",
      "@aws memory",
      "@static spa",
      "@proxy staging",
      "@orchestrator raw-json",
    ]);
  });

  it.each<[string, ManifestFormat, string]>([
    ["@app x\n@http\nget / {\n", "arc", "(line: 3 column: 7)"],
    ["@app x\n@generation simple\n@http\nget /\n@http\n", "arc", "@http pragma already defined (line: 5 column: 1)"],
    ["@http\n/foo\n  method get\n  src\n", "arc", "a key of a block has no value"],
    ["hello\n", "arc", "at least one pragma"],
    ["[]", "json", "a manifest is an object whose keys are pragmas"],
    ["{", "json", "JSON"],
    ["a: b: c", "yaml", "mapping"],
  ])("fails with a place or a reason in %j", (text, format, message) => {
    expect(() => parseManifestText(text, format)).toThrow(message);
  });
});
