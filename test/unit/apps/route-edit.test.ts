// Routes that are added to an app's folder and removed from it: what is there afterwards, and what is refused.
import { mkdir, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { readAppFolder } from "../../../orchestrator/apps/app-folder.ts";
import { listTree } from "../../../orchestrator/apps/real-places.ts";
import { type AddOrder, addRoute, removeRoute } from "../../../orchestrator/apps/route-edit.ts";
import type { PlatformError } from "../../../runtime-image/contract/errors.ts";
import { writeFiles } from "../../support/platform.ts";
import {
  ARC,
  type Files,
  INDEX,
  OLD,
  SUBMIT,
  addTo,
  appFolderOf,
  failureOf,
  filesIn,
  removeFrom,
  routesOf,
} from "../../support/route-folder.ts";

const ESM = "export const handler = async () => ({ statusCode: 200 });\n";

const FORMS: readonly (readonly [form: string, files: Files])[] = [
  ["app.arc", { "app.arc": "@app\nshop\n\n# routes\n@http\nget / # home\n\n@static\nfolder public\n", ...INDEX }],
  [".arc with Windows line ends", { ".arc": "@app\r\nshop\r\n@http\r\nget /\r\n", ...INDEX }],
  ["an empty @http", { "app.arc": "@app\nshop\n\n@http\n", "public/index.html": "hi" }],
  ["no @http", { "app.arc": "@app\nshop\n", "public/index.html": "hi" }],
  ["a route whose folder is named", { "app.arc": "@http\n/a\n\tmethod get post\n\tsrc lib/a\nget /\n", "lib/a/index.js": OLD, ...INDEX }],
  [
    "routes of other kinds",
    { "app.arc": "@html\nget /\n@css\n/main.css\n", "src/html/get-index/index.js": OLD, "src/css/get-main_css/index.js": OLD },
  ],
  ["app.json", { "app.json": '{\n  "http": [\n    ["get", "/"]\n  ]\n}\n', ...INDEX }],
  ["arc.json", { "arc.json": '{"app":"shop","http":{"get":"/"}}', ...INDEX }],
  ["package.json", { "package.json": '{\n\t"name": "x",\n\t"arc": { "http": [{ "get": "/" }] },\n\t"private": true\n}\n', ...INDEX }],
  ["app.yaml", { "app.yaml": "app: shop\nhttp:\n  - get: /\n", ...INDEX }],
  ["arc.yml", { "arc.yml": "http:\n  get: /\n", ...INDEX }],
];

describe("a route that is added and removed again", () => {
  it.each(FORMS)("is just one more with %s, and then one less", async (_form, files) => {
    const folder = await appFolderOf(files);
    const before = await routesOf(folder);
    const added = await addTo(folder);
    expect(added.message).toBe("Add POST /api/submit");
    expect(added.removals).toEqual([]);
    const manifest = added.writes.at(-1)?.path ?? "";
    const handler = "src/http/post-api-submit/index.js";
    expect(added.writes.map(({ path }) => path)).toEqual([handler, manifest]);
    expect(await routesOf(folder)).toEqual([...before, "http POST /api/submit src/http/post-api-submit"].toSorted());
    expect(Object.keys(await filesIn(folder))).toEqual([...Object.keys(files), handler].toSorted());

    const removed = await removeFrom(folder, "post /api/submit");
    expect(removed).toMatchObject({ removals: [], message: "Remove POST /api/submit (its files stay in src/http/post-api-submit)" });
    expect(await routesOf(folder)).toEqual(before);
    expect(await filesIn(folder)).toMatchObject(files);

    const again = await addTo(folder);
    expect(again.message).toBe("Add POST /api/submit (its handler was there already: src/http/post-api-submit/index.js)");
    expect(again.writes).toEqual(added.writes.slice(1));
  });

  it("is a folder alone where there is no manifest", async () => {
    const folder = await appFolderOf({ ...INDEX, "src/json/get-items/index.js": OLD });
    const before = await filesIn(folder);
    const added = await addTo(folder, { route: "GET /shop/:item", kind: "html" });
    expect(added.writes.map(({ path }) => path)).toEqual(["src/html/get-shop-000item/index.js"]);
    expect(await routesOf(folder)).toContain("html GET /shop/:item src/html/get-shop-000item");
    await writeFiles(folder, { "src/html/get-shop-000item/lib/deep/helper.js": "", "src/html/get-shop-000item/.hidden": "" });
    await mkdir(join(folder, "src/html/get-shop-000item/empty"));
    const removed = await removeFrom(folder, "GET /shop/:item");
    expect(removed.message).toBe("Remove GET /shop/:item");
    expect(removed.removals).toEqual(
      [".hidden", "empty", "index.js", "lib/deep/helper.js"].map((name) => `src/html/get-shop-000item/${name}`),
    );
    expect(await filesIn(folder)).toEqual(before);
    expect(await routesOf(folder)).toEqual(["http GET / src/http/get-index", "json GET /items src/json/get-items"]);
  });

  it("leaves without a manifest as a link, where its folder is one", async () => {
    const folder = await appFolderOf({ ...INDEX, "lib/orders/index.js": OLD });
    await symlink("../../lib/orders", join(folder, "src/http/post-orders"));
    expect((await removeFrom(folder, "POST /orders")).removals).toEqual(["src/http/post-orders"]);
    expect(await filesIn(folder)).toEqual({ ...INDEX, "lib/orders/index.js": OLD });
  });

  it("stays where the folder of functions is a link", async () => {
    const folder = await appFolderOf({ "lib/post-a/index.js": OLD, ...INDEX });
    await symlink("../lib", join(folder, "src/json"));
    expect(await failureOf(removeRoute(folder, { route: "POST /a" }))).toMatchObject({
      code: "ROUTE_KEPT",
      detail: { detail: "POST /a: src/json is a link, and should be a folder." },
    });
  });

  it("says nothing of files where there are none", async () => {
    const folder = await appFolderOf({ ...ARC, "app.arc": "@http\nget /\npost /a\n" });
    expect((await removeFrom(folder, "POST /a")).message).toBe("Remove POST /a");
  });

  it("says nothing of files that stay where another route has them", async () => {
    const folder = await appFolderOf({ "app.arc": "@http\n/a\n  method get post\n  src lib/a\n", "lib/a/index.js": OLD });
    expect((await removeFrom(folder, "POST /a")).message).toBe("Remove POST /a");
    expect(await routesOf(folder)).toEqual(["http GET /a lib/a"]);
  });
});

describe("where its handler is written", () => {
  const fileFor = async (files: Files, order: AddOrder = SUBMIT): Promise<string> => {
    const folder = await appFolderOf(files);
    return (await addRoute(folder, order)).writes[0]?.path ?? "";
  };

  it.each<[string, Files, string]>([
    ["GET /", { "app.arc": "@http\npost /\n", "src/http/post-index/index.js": OLD }, "src/http/get-index/index.js"],
    ["any /Shop/:item/x", ARC, "src/http/any-Shop-000item-x/index.js"],
    ["patch /api/v1", ARC, "src/http/patch-api-v1/index.js"],
  ])("for %j", async (route, files, file) => {
    expect(await fileFor(files, { route, kind: "http" })).toBe(file);
  });

  it.each<[string, Files, string]>([
    ["the package.json of the app says so", { ...ARC, "package.json": '{"type":"module"}' }, "index.mjs"],
    ["the package.json of its own folder says so", { ...ARC, "src/http/post-api-submit/package.json": '{"type":"module"}' }, "index.mjs"],
    ["its package.json says no", { ...ARC, "package.json": '{"type":"commonjs"}' }, "index.js"],
    [
      "handlers that are there are",
      { "app.arc": "@http\nget /\n", "src/http/get-index/index.mjs": ESM, "package.json": '{"type":"commonjs"}' },
      "index.mjs",
    ],
    [
      "handlers that are there are, by their words",
      { "app.arc": "@http\nget /\n", "src/http/get-index/index.js": `// Home\n${ESM}` },
      "index.mjs",
    ],
    ["handlers that are there are TypeScript", { "app.arc": "@http\nget /\n", "src/http/get-index/index.ts": ESM }, "index.mjs"],
    [
      "most handlers are not",
      { "app.arc": "@http\nget /\nget /a\nget /b\n", ...INDEX, "src/http/get-a/index.cjs": OLD, "src/http/get-b/index.mjs": ESM },
      "index.js",
    ],
    ["nothing says anything", { "app.arc": "@app x\n" }, "index.js"],
    ["a package.json cannot be read", { ...ARC, "package.json": "{" }, "index.js"],
  ])("as an ES module or not: %s", async (_case, files, name) => {
    expect(await fileFor(files)).toBe(`src/http/post-api-submit/${name}`);
  });

  it("in a folder that is there without one, beside what is there", async () => {
    const folder = await appFolderOf({ ...ARC, "src/http/post-api-submit/config.arc": "@aws\ntimeout 30\n" });
    await addTo(folder);
    expect((await readAppFolder(folder)).functions.at(-1)).toMatchObject({ path: "/api/submit", settings: { timeoutMs: 30_000 } });
  });

  it("in the generation that the platform was told, before that of the manifest", async () => {
    const folder = await appFolderOf({ "app.arc": "@http\nget /\n@generation legacy\n", ...INDEX });
    const textFor = async (order: Partial<AddOrder>) => (await addRoute(folder, { ...SUBMIT, ...order })).writes[0]?.text;
    expect(await textFor({})).toContain("statusCode: 200");
    expect(await textFor({ generation: null })).toContain("statusCode: 200");
    expect(await textFor({ generation: "simple" })).not.toContain("statusCode");
  });
});

describe("a route that is not added", () => {
  const refusalOf = async (files: Files, order: Partial<AddOrder>): Promise<PlatformError> => {
    const folder = await appFolderOf(files);
    const before = await filesIn(folder);
    const error = await failureOf(addRoute(folder, { ...SUBMIT, ...order }));
    expect(await filesIn(folder)).toEqual(before);
    return error;
  };

  it.each<[string, Files, string, string]>([
    ["one that is there", ARC, "get /", 'GET / and "get /" of @http of app.arc answer the same requests.'],
    [
      "one whose parameters are called otherwise",
      { "app.arc": "@json\nget /shop/:item/:size\n", "src/json/get-shop-000item-000size/index.js": OLD },
      "GET /shop/:a/:b",
      'GET /shop/:a/:b and "get /shop/:item/:size" of @json of app.arc answer the same requests.',
    ],
    ["one whose folder is there", INDEX, "GET /", 'GET / and "get /" of the folder src/http/get-index answer the same requests.'],
  ])("is %s", async (_case, files, route, detail) => {
    const error = await refusalOf(files, { route });
    expect(error.code).toBe("ROUTE_TAKEN");
    expect(error.detail.detail).toBe(detail);
  });

  it.each<[string, Files, string, string]>([
    ["it would share the folder of GET /", ARC, "GET /index", 'its folder would be src/http/get-index, which is that of "get /"'],
    [
      "it would share the folder of a parameter",
      { "app.arc": "@http\nget /:id\n", "src/http/get-000id/index.js": OLD },
      "GET /000id",
      'its folder would be src/http/get-000id, which is that of "get /:id"',
    ],
    [
      "a route with a dash lives there",
      { "app.arc": "@http\nget /my-event\n", "src/http/get-my-event/index.js": OLD },
      "GET /my/event",
      'its folder would be src/http/get-my-event, which is that of "get /my-event"',
    ],
    [
      "another route's src leads there",
      { "app.arc": "@http\n/x\n  method get\n  src /src/http/post-a\n", "src/http/post-a/index.js": OLD },
      "POST /a",
      'its folder would be src/http/post-a, which is that of "get /x"',
    ],
    ["a file is in its way", { ...ARC, "src/http/post-a": "" }, "POST /a", "src/http/post-a is a file, and should be a folder"],
    ["a file is where functions live", { "app.arc": "@app x\n", src: "" }, "POST /a", "src is a file, and should be a folder"],
    [
      "its folder would be read otherwise",
      { "src/http/post-x/index.js": OLD },
      "GET /index",
      'without a manifest its folder src/http/get-index would be the route "get /"',
    ],
    [
      "its folder would be read as a parameter",
      INDEX,
      "GET /a/000b",
      'without a manifest its folder src/http/get-a-000b would be the route "get /a/:b"',
    ],
  ])("has no place, because %s", async (_case, files, route, problem) => {
    const error = await refusalOf(files, { route });
    expect(error.code).toBe("ROUTE_INVALID");
    expect(error.detail.problems).toEqual([`${route}: ${problem}`]);
  });

  it.each<[string, string, string]>([
    ["out of the app's folder", "../elsewhere", "src/http"],
    ["into it", "../lib", "src/http"],
    ["nowhere", "../none", "src/http/post-a"],
  ])("is not written through a link that leads %s", async (_case, target, path) => {
    const folder = await appFolderOf({ "app.arc": "@app x\n", "lib/x.js": "", "../elsewhere/y.js": "" });
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await symlink(join("..", target), join(folder, path));
    const error = await failureOf(addRoute(folder, { route: "POST /a", kind: "http" }));
    expect(error.detail.problems).toEqual([`POST /a: ${path} is a link, and should be a folder`]);
  });

  it("has its line and its handler's place told where the manifest is better edited by hand", async () => {
    const error = await refusalOf({ "app.yaml": "http: [[get, /]]\n", ...INDEX }, {});
    expect(error).toMatchObject({
      code: "ROUTE_INVALID",
      detail: {
        problems: ["POST /api/submit: app.yaml is written in a form that cannot be edited without damage"],
        remedy:
          "Add by hand to the list below http: the line: - post: /api/submit and put its handler into src/http/post-api-submit/index.js.",
      },
    });
  });

  it("leaves a manifest alone that is a link, or no UTF-8", async () => {
    const folder = await appFolderOf({ "routes.arc": ARC["app.arc"], ...INDEX });
    await symlink("routes.arc", join(folder, "app.arc"));
    expect((await failureOf(addRoute(folder, SUBMIT))).detail.problems).toEqual([
      "POST /api/submit: app.arc is a link, which is not written through",
    ]);
    const bytes = Buffer.concat([Buffer.from("# caf"), Buffer.from([0xe9]), Buffer.from(`\n${ARC["app.arc"]}`)]);
    const latin = await appFolderOf({ ...ARC, "app.arc": bytes });
    expect((await failureOf(addRoute(latin, SUBMIT))).detail.problems).toEqual([
      "POST /api/submit: app.arc holds bytes that are no UTF-8, or changes just now",
    ]);
  });

  it("waits for a manifest that is right: every problem of it is named", async () => {
    const error = await refusalOf({ "app.arc": "@http\nget shop\n@aws\ntimeout soon\n@views\nhttp\n  get /none\n" }, {});
    expect(error.code).toBe("MANIFEST_INVALID");
    expect(error.detail.problems).toEqual([
      'app.arc: @http route 1: the path "shop" should begin with "/"',
      'app.arc: @aws timeout: should be 1 to 900 seconds, got "soon"',
      'app.arc: @views http: the app has no route "get /none"',
    ]);
    expect((await refusalOf({ "app.json": '{"app":', ...INDEX }, {})).code).toBe("MANIFEST_INVALID");
    expect((await refusalOf({ "src/http/oops/index.js": OLD }, {})).code).toBe("MANIFEST_INVALID");
  });

  it("does not read a manifest without bounds", async () => {
    const large = await refusalOf({ "app.arc": `@app x\n# ${"x".repeat(70_000)}\n` }, {});
    expect(large.detail.problems).toEqual(["app.arc: is larger than 65536 bytes"]);
    const lists = Array.from({ length: 9 }, (_one, index) => `x${index + 1}: &x${index + 1} [${Array(9).fill(`*x${index}`).join(", ")}]`);
    const bomb = await refusalOf({ "arc.yaml": `x0: &x0 [a]\n${lists.join("\n")}\nhttp:\n` }, {});
    expect(bomb.detail.problems).toEqual(["arc.yaml: holds more than 100000 values"]);
  });
});

describe("a route that is not removed", () => {
  it.each<[string, Files, string, string]>([
    ["there is none", ARC, "GET /none", '"GET /none".'],
    ["it is another kind of text", ARC, "what", '"what".'],
    ["only the parameter's name is another", { "app.arc": "@http\nget /:a\n", "src/http/get-000a/index.js": OLD }, "GET /:b", '"GET /:b".'],
  ])("because %s", async (_case, files, route, detail) => {
    const error = await failureOf(removeRoute(await appFolderOf(files), { route }));
    expect(error.code).toBe("ROUTE_UNKNOWN");
    expect(error.detail.detail).toBe(detail);
    expect(error.detail.remedy).toContain("There are: GET /");
  });

  const MORE = "@http\nget /\npost /a\n";
  it.each<[string, Files, string, string]>([
    ["GET / is what answers the rest", ARC, "get /", "GET /: it answers whatever no other route takes."],
    [
      "GET / is so in every kind",
      { "src/html/get-index/index.js": OLD, ...ARC, "app.arc": "@html\nget /\n" },
      "GET /",
      "GET /: it answers whatever no other route takes.",
    ],
    [
      "nothing else answers",
      { "app.arc": "@http\npost /a\n", "src/http/post-a/index.js": OLD },
      "POST /a",
      "POST /a: it is all that the app answers with.",
    ],
    [
      "a list of shared code names it",
      { "app.arc": `${MORE}@views\nhttp\n  post /a\n`, ...INDEX },
      "POST /a",
      "POST /a: @views of the manifest names it, too.",
    ],
    [
      "its manifest is in one line",
      { "app.yaml": "http: [[get, /], [post, /a]]\n", ...INDEX },
      "POST /a",
      "POST /a: app.yaml is written in a form that cannot be edited without damage.",
    ],
  ])("because %s", async (_case, files, route, detail) => {
    const folder = await appFolderOf(files);
    const before = await filesIn(folder);
    const error = await failureOf(removeRoute(folder, { route }));
    expect(error.code).toBe("ROUTE_KEPT");
    expect(error.detail.detail).toBe(detail);
    expect(error.detail.remedy).not.toBe(undefined);
    expect(await filesIn(folder)).toEqual(before);
  });

  it("because its folder holds more than a command should remove", async () => {
    const folder = await appFolderOf({ ...INDEX, "src/http/post-a/index.js": OLD, "src/http/post-a/lib/a.js": "" });
    expect(await listTree(folder, { place: "src/http/post-a", entryCountMax: 3 })).toBeNull();
    expect(await listTree(folder, { place: "src/http/post-a", entryCountMax: 4 })).toEqual(
      ["index.js", "lib/a.js"].map((name) => `src/http/post-a/${name}`),
    );
  });

  it("unless static files or an upstream answer without it", async () => {
    const post = { "app.arc": "@http\npost /a\n", "src/http/post-a/index.js": OLD };
    const proxied = { ...post, "app.arc": "@http\npost /a\n@proxy\nstaging http://a.example\n" };
    for (const files of [{ ...post, "public/index.html": "hi" }, proxied]) {
      const folder = await appFolderOf(files);
      await removeFrom(folder, "POST /a");
      expect(await routesOf(folder)).toEqual([]);
    }
  });
});
