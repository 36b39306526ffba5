// Apps as folders: which file is the manifest, where functions are found, what belongs to them, and what is said of broken ones.
import { mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { PlatformError } from "../../../runtime-image/contract/errors.ts";
import { type ReadOptions, readAppFolder } from "../../../orchestrator/apps/app-folder.ts";
import type { AppSource } from "../../../orchestrator/apps/app-source.ts";
import { writeFiles } from "../../support/platform.ts";

type Files = Record<string, string>;

async function folderOf(files: Files): Promise<string> {
  const parent = await mkdtemp(join(tmpdir(), "orchestrator-apps-"));
  onTestFinished(async () => rm(parent, { recursive: true, force: true }));
  const folder = join(parent, "my-app");
  await mkdir(folder);
  await writeFiles(folder, files);
  return folder;
}

const read = async (files: Files, options?: ReadOptions): Promise<AppSource> => readAppFolder(await folderOf(files), options);

async function failureOf(work: Promise<unknown>): Promise<PlatformError> {
  const error: unknown = await work.then(
    () => null,
    (cause: unknown) => cause,
  );
  if (error instanceof PlatformError) return error;
  throw new Error("it did not fail as it should", { cause: error });
}

const problemsOf = async (files: Files): Promise<readonly string[]> => (await failureOf(read(files))).detail.problems ?? [];

const shown = (app: AppSource): string[] => app.functions.map((fn) => `${fn.method} ${fn.path} ${fn.name} ${fn.generation}`);

const INDEX = { "src/http/get-index/index.js": "" };
const ROUTES = "@http\nget /\n";

describe("the manifest", () => {
  it("is looked for in a fixed order", async () => {
    const files: Files = {
      "app.arc": "@app a\n",
      ".arc": "@app b\n",
      "app.json": '{"app":"c"}',
      "arc.json": '{"app":"d"}',
      "app.yaml": "app: e\n",
      "app.yml": "app: f\n",
      "arc.yaml": "app: g\n",
      "arc.yml": "app: h\n",
      "package.json": '{"arc":{"app":"i"},"architect":{"app":"j"}}',
      "public/index.html": "",
    };
    for (const name of ["a", "b", "c", "d", "e", "f", "g", "h", "i"]) {
      expect((await read(files)).appName).toBe(name);
      delete files[Object.keys(files)[0] ?? ""];
    }
    expect((await read({ ...files, "package.json": '{"architect":{"app":"j"}}' })).appName).toBe("j");
  });

  it("is not a file of another tool that has the same name", async () => {
    const app = await read({ "app.json": '{"name":"x","buildpacks":[]}', "arc.json": '{"app":"mine","http":[["get","/"]]}', ...INDEX });
    expect(app.appName).toBe("mine");
  });

  it("is not a package.json without a key for it", async () => {
    const app = await read({ "package.json": '{"name":"x"}', ...INDEX });
    expect(app).toMatchObject({ appName: "my-app", functions: [{ path: "/" }] });
  });

  it.each<[string, Files, string]>([
    ["app.arc", { "app.arc": "@app x\n@http\nget / {\n" }, "app.arc: unknown character"],
    ["package.json", { "package.json": "{" }, "package.json: "],
    ["arc.json", { "arc.json": "[]" }, "arc.json: a manifest is an object whose keys are pragmas"],
    ["a function's own", { "app.arc": ROUTES, ...INDEX, "src/http/get-index/arc.json": "{" }, "src/http/get-index/arc.json: "],
  ])("that cannot be read is named: %s", async (_name, files, problem) => {
    expect(await problemsOf(files)).toEqual([expect.stringContaining(problem)]);
  });
});

describe("functions of a manifest", () => {
  it("live in the folders that the originals and the contract name, below the folder of their kind", async () => {
    const app = await read({
      "app.arc":
        "@http\nget /\npost /my-event\nget /other-way\nany /foo/:bar/*\n@json\npost /login\n@html\nget /page\n@css\n/main.css\n@js\n/a.js\n@text\n/robots.txt\n@xml\n/feed\n",
      "src/http/get-index/index.js": "",
      "src/http/post-my_event/index.js": "",
      "src/http/get-other-way/index.js": "",
      "src/http/any-foo-000bar-catchall/index.js": "",
      "src/json/post-login/index.js": "",
      "src/html/get-page/index.js": "",
      "src/css/get-main_css/index.js": "",
      "src/js/get-a.js/index.js": "",
      "src/text/get-robots_txt/index.js": "",
      "src/xml/get-feed/index.js": "",
    });
    expect(shown(app).toSorted()).toEqual(
      [
        "GET / src/http/get-index current",
        "POST /my-event src/http/post-my_event current",
        "GET /other-way src/http/get-other-way current",
        "ANY /foo/:bar/* src/http/any-foo-000bar-catchall current",
        "POST /login src/json/post-login json",
        "GET /page src/html/get-page html",
        "GET /main.css src/css/get-main_css html",
        "GET /a.js src/js/get-a.js html",
        "GET /robots.txt src/text/get-robots_txt html",
        "GET /feed src/xml/get-feed html",
      ].toSorted(),
    );
  });

  it("keep a folder of the contract's dashes for the route that has a better claim to it", async () => {
    const manifest = "@http\nget /my-event\nget /my/event\n";
    expect(await problemsOf({ "app.arc": manifest, "src/http/get-my-event/index.js": "" })).toEqual([
      'src/http/get-my_event: missing, though the manifest has the route "get /my-event"; make the folder with an index.js in it',
    ]);
  });

  it("live wherever src says, which several routes may share", async () => {
    const app = await read({
      "app.arc": "@http\n/a\n  method get\n  src lib/a\n/b\n  method get post\n  src /lib/a\n",
      "lib/a/index.js": "",
    });
    expect(shown(app)).toEqual(["GET /a lib/a current", "GET /b lib/a current", "POST /b lib/a current"]);
    expect(app.functions[0]?.folder).toBe(join(app.folder, "lib/a"));
  });

  it("fit the layout of the contract's GraphQL example", async () => {
    const app = await read({
      "package.json": '{"arc":{"app":"graph","http":[{"/graphql":{"method":"post","src":"graphql"}}]}}',
      "graphql/index.js": "",
      "public/index.html": "",
      "public/404.html": "",
    });
    expect(shown(app)).toEqual(["POST /graphql graphql current"]);
    expect(app.site?.folder).toBe(join(app.folder, "public"));
  });

  it.each<[string, string, string]>([
    [
      "get /a",
      "src/http/get-a",
      'src/http/get-a: missing, though the manifest has the route "get /a"; make the folder with an index.js in it',
    ],
    ["/a\n  method get\n  src ../x", "../x", '../x: the folder of "get /a" should lie inside the app\'s folder'],
    ["/a\n  method get\n  src .", ".", '.: the folder of "get /a" should be a folder below the app\'s, not the app itself'],
    ["/a\n  method get\n  src out", "out", 'out: the folder of "get /a" is a link that leads out of the app\'s folder'],
  ])("are missed where %j leads nowhere", async (route, _folder, problem) => {
    const folder = await folderOf({ "app.arc": `@http\n${route}\n` });
    await symlink(tmpdir(), join(folder, "out"));
    const error = await failureOf(readAppFolder(folder));
    expect(error.code).toBe("MANIFEST_INVALID");
    expect(error.detail.problems).toEqual([problem]);
  });

  it("have every problem told at once, of the manifest, their folders, their settings and the variables", async () => {
    const error = await failureOf(
      read({
        "app.arc": "@app X\n@http\nget /\nget /a\n@shared\nsrc lib\n",
        ...INDEX,
        "src/http/get-index/config.arc": "@aws\ntimeout 0\n",
        ".env": "PATH=/bin\n",
      }),
    );
    expect(error.code).toBe("MANIFEST_INVALID");
    expect(error.message).toContain("5 problems");
    expect(error.detail.problems?.map((problem) => problem.slice(0, 24))).toEqual([
      "app.arc: @app: should be",
      "lib: missing, though the",
      "src/http/get-index/confi",
      "src/http/get-a: missing,",
      ".env line 1: PATH is rea",
    ]);
  });
});

describe("functions without a manifest", () => {
  it("follow from the names of their folders, of every kind", async () => {
    const app = await read({
      "src/http/get-index/index.js": "",
      "src/http/post-api-submit/index.js": "",
      "src/http/node_modules/x/index.js": "",
      "src/json/get-shop-000item/index.js": "",
      "src/html/post-my_form/index.js": "",
      "src/css/get-main_css/index.js": "",
      "src/text/any-robots.txt/index.js": "",
      "src/shared/x.js": "",
    });
    expect(shown(app)).toEqual([
      "GET / src/http/get-index current",
      "POST /api/submit src/http/post-api-submit current",
      "POST /my-form src/html/post-my_form html",
      "GET /shop/:item src/json/get-shop-000item json",
      "GET /main.css src/css/get-main_css html",
      "ANY /robots.txt src/text/any-robots.txt html",
    ]);
  });

  it("must have names that say a route, and one each", async () => {
    expect(
      await problemsOf({
        ...INDEX,
        "src/http/helpers/index.js": "",
        "src/html/get-index/index.js": "",
        "src/css/get-main_css/index.js": "",
        "src/css/get-main.css/index.js": "",
      }),
    ).toEqual([
      "src/http/helpers: a function's folder is named <method>-<path>, such as get-index or post-api-submit",
      '"get /" (src/http/get-index) and "get /" (src/html/get-index) answer the same requests; keep one of them',
      '"get /main.css" (src/css/get-main.css) and "get /main.css" (src/css/get-main_css) answer the same requests; keep one of them',
    ]);
  });

  it("are the same as with a manifest that lists them", async () => {
    const part = fc.stringMatching(/^[a-z][a-z0-9]{0,5}$/).filter((text) => text !== "index" && text !== "catchall");
    const path = fc
      .array(
        fc.oneof(
          part,
          part.map((name) => `:${name}`),
        ),
        { maxLength: 3 },
      )
      .map((parts) => `/${parts.join("/")}`);
    const route = fc.record({ method: fc.constantFrom("get", "post", "put", "patch", "delete", "any"), path });
    const shape = (one: { method: string; path: string }): string => `${one.method} ${one.path.replaceAll(/:[^/]+/g, ":")}`;
    const routes = fc.uniqueArray(route, { minLength: 1, maxLength: 6, selector: shape });
    const parameters = (one: string): string[] => one.split("/").filter((segment) => segment.startsWith(":"));
    await fc.assert(
      fc.asyncProperty(routes, async (all) => {
        fc.pre(all.every((one) => new Set(parameters(one.path)).size === parameters(one.path).length));
        const names = all.map(
          (one) => `${one.method}${one.path === "/" ? "-index" : one.path.replaceAll("/", "-").replaceAll(":", "000")}`,
        );
        const files: Files = Object.fromEntries(names.map((name) => [`src/http/${name}/index.js`, ""]));
        const scanned = shown(await read(files)).toSorted();
        const manifest = `@http\n${all.map((one) => `${one.method} ${one.path}\n`).join("")}`;
        expect(shown(await read({ ...files, "app.arc": manifest })).toSorted()).toEqual(scanned);
      }),
      { numRuns: 30 },
    );
  });
});

describe("generations", () => {
  it("are the app's for src/http, and their own for every other folder", async () => {
    const files = { "app.arc": "@generation simple\n@http\nget /\n@json\nget /a\n", ...INDEX, "src/json/get-a/index.js": "" };
    const app = await read(files);
    expect([app.generation, ...app.functions.map((fn) => fn.generation)]).toEqual(["simple", "simple", "json"]);
  });

  it("follow what the platform was told before what the manifest says", async () => {
    const app = await read({ "app.arc": `@generation simple\n${ROUTES}`, ...INDEX }, { generation: "legacy" });
    expect([app.generation, app.functions[0]?.generation]).toEqual(["legacy", "legacy"]);
    expect((await read({ "app.arc": ROUTES, ...INDEX }, { generation: null })).generation).toBe("current");
  });
});

describe("own settings of a function", () => {
  it.each<[string, string]>([
    ["config.arc", "@aws\ntimeout 3\nconcurrency 2\n"],
    [".arc-config", "@aws\ntimeout 3\nconcurrency 2\n"],
    ["arc.json", '{"aws":{"timeout":3,"concurrency":2}}'],
    ["arc.yaml", "aws:\n  timeout: 3\n  concurrency: 2\n"],
  ])("in %s win over the manifest's, one by one", async (fileName, text) => {
    const app = await read({ "app.arc": `${ROUTES}@aws\ntimeout 30\nmemory 256\n`, ...INDEX, [`src/http/get-index/${fileName}`]: text });
    expect(app.functions[0]?.settings).toEqual({ timeoutMs: 3_000, memoryBytesMax: 256_000_000, concurrency: 2 });
  });

  it("that are wrong are named with their file", async () => {
    const files = { "app.arc": ROUTES, ...INDEX, "src/http/get-index/config.arc": "@aws\nmemory 1\n@arc\nshared maybe\n" };
    expect(await problemsOf(files)).toEqual([
      "src/http/get-index/config.arc: @aws memory: should be 64 to 10240 MB, got 1",
      'src/http/get-index/config.arc: @arc shared: should be true or false, got "maybe"',
    ]);
  });
});

describe("shared code", () => {
  const FUNCTIONS = { ...INDEX, "src/http/post-a/index.js": "", "src/http/any-b/index.js": "" };
  const MANIFEST = "@http\nget /\npost /a\nany /b\n";
  const packagesOf = (app: AppSource): Record<string, readonly string[]> =>
    Object.fromEntries(app.functions.map((fn) => [fn.name, fn.packages]));

  it("reaches every function, and views those that show pages", async () => {
    const app = await read({ "app.arc": MANIFEST, ...FUNCTIONS, "src/shared/a.js": "", "src/views/b.js": "" });
    expect(app.shared).toEqual([
      { packageName: "@architect/shared", folder: join(app.folder, "src/shared") },
      { packageName: "@architect/views", folder: join(app.folder, "src/views") },
    ]);
    expect(packagesOf(app)).toEqual({
      "src/http/get-index": ["@architect/shared", "@architect/views"],
      "src/http/post-a": ["@architect/shared"],
      "src/http/any-b": ["@architect/shared", "@architect/views"],
    });
  });

  it("is nothing where there is no such folder", async () => {
    const app = await read({ "app.arc": MANIFEST, ...FUNCTIONS });
    expect([app.shared, packagesOf(app)["src/http/get-index"]]).toEqual([[], []]);
  });

  it("lies where the manifest says, for those that it lists", async () => {
    const app = await read({
      "app.arc": `${MANIFEST}@shared\nsrc lib/common\n@views\nhttp\n  post /a\n`,
      ...FUNCTIONS,
      "lib/common/a.js": "",
      "src/views/b.js": "",
    });
    expect(app.shared[0]?.folder).toBe(join(app.folder, "lib/common"));
    expect(packagesOf(app)).toEqual({
      "src/http/get-index": ["@architect/shared"],
      "src/http/post-a": ["@architect/shared", "@architect/views"],
      "src/http/any-b": ["@architect/shared"],
    });
  });

  it("stays away from a function that does without", async () => {
    const config = { "src/http/get-index/config.arc": "@arc\nshared false\nviews false\n" };
    const app = await read({ "app.arc": MANIFEST, ...FUNCTIONS, ...config, "src/shared/a.js": "", "src/views/b.js": "" });
    expect(packagesOf(app)["src/http/get-index"]).toEqual([]);
    expect(packagesOf(app)["src/http/any-b"]).toHaveLength(2);
  });

  it.each<[string, string]>([
    ["@shared\nsrc lib\n", "lib: missing, though the manifest names it as the folder of @architect/shared"],
    ["@shared\nsrc ../lib\n", "../lib: the folder of @architect/shared should lie inside the app's folder"],
    ["@views\nhttp\n  get /c\n", 'app.arc: @views http: the app has no route "get /c"'],
  ])("has its problem told in %j", async (text, problem) => {
    expect(await problemsOf({ "app.arc": `${MANIFEST}${text}`, ...FUNCTIONS })).toEqual([problem]);
  });
});

describe("static files and proxies", () => {
  it("are an app without any function", async () => {
    expect(await read({ "public/index.html": "" })).toMatchObject({
      functions: [],
      site: { fingerprint: "off", isSpa: false, ignore: [] },
    });
    const proxied = await read({ "app.arc": "@http\n@proxy\nstaging http://a.example\nproduction http://b.example\n" });
    expect(proxied).toMatchObject({
      functions: [],
      site: null,
      proxyUrls: { staging: "http://a.example", production: "http://b.example" },
    });
  });

  it("come from the folder that the manifest names, and from nowhere when turned off", async () => {
    const files = { ...INDEX, "public/a.txt": "", "dist/a.txt": "" };
    const app = await read({ ...files, "app.arc": `${ROUTES}@static\nfolder dist\n` });
    expect(app.site?.folder).toBe(join(app.folder, "dist"));
    expect((await read({ ...files, "app.arc": `${ROUTES}@static\nfalse\n` })).site).toBeNull();
  });

  it("are not served, with a word, while their folder is not there", async () => {
    const app = await read({ ...INDEX, "app.arc": `${ROUTES}@static\nfolder dist\n` });
    expect(app.site).toBeNull();
    expect(app.warnings).toEqual(["dist: the folder of static files is not there, so none are served"]);
    expect(app.watchedFolders).toContain(join(app.folder, "dist"));
  });

  it.each(["..", "."])("cannot be the folder %s", async (name) => {
    expect(await problemsOf({ ...INDEX, "app.arc": `${ROUTES}@static\nfolder ${name}\n` })).toEqual([
      expect.stringContaining(`${name}: the folder of static files should`),
    ]);
  });
});

describe("a folder that is no app", () => {
  it.each<[string, Files]>([
    ["empty", { "readme.txt": "" }],
    ["a manifest without anything", { "app.arc": "@app x\n" }],
    ["static files turned off", { "app.arc": "@static false\n", "public/index.html": "" }],
    ["an empty @http", { "arc.json": '{"http":[]}' }],
  ])("says what to do: %s", async (_name, files) => {
    const error = await failureOf(read(files));
    expect(error.code).toBe("APP_FOLDER_INVALID");
    expect(error.detail.remedy).toContain("orchestrator init");
  });

  it("is a file, or is not there", async () => {
    const folder = await folderOf({ "a.txt": "" });
    for (const path of [join(folder, "a.txt"), join(folder, "nowhere")])
      expect((await failureOf(readAppFolder(path))).code).toBe("APP_FOLDER_INVALID");
  });
});

describe("what is watched", () => {
  it("is src, static files, shared code and every folder that the manifest names", async () => {
    const app = await read({
      "app.arc": "@http\n/a\n  method get\n  src graphql\n@shared\nsrc lib\n",
      "graphql/index.js": "",
      "lib/a.js": "",
    });
    expect(app.watchedFolders).toEqual(["src", "public", "lib", "graphql"].map((name) => join(app.folder, name)));
  });
});
