// From a folder to production: apps that are made, deployed, promoted, rolled back and removed on a platform that hosts several.
import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { connectApi } from "../../orchestrator/api/client.ts";
import { hostForSuite } from "../support/hosting-rig.ts";
import { ENGINE_NAMES, handler, writeFiles } from "../support/platform.ts";
import { problemOf } from "../support/problems.ts";

const says = (text: string): string => handler(`return { statusCode: 200, body: ${JSON.stringify(text)} };`);
const app = (text: string): Record<string, string> => ({
  "app.arc": "@app\nshop\n\n@http\nget /\nget /about\n",
  "src/http/get-index/index.js": says(text),
  "src/http/get-about/index.js": says("about"),
});

interface Listed {
  readonly releaseId: string;
  readonly live: readonly string[];
  readonly by: string;
  readonly message: string | null;
  readonly commit: string | null;
  readonly outcome: string;
}

describe.each(ENGINE_NAMES)("apps on engine %s", (engine) => {
  const rig = hostForSuite({ engine });
  const releases = async (name: string): Promise<Listed[]> => {
    const { releases: listed } = await rig.json("releases", "--app", name);
    return listed as Listed[]; // What the command prints.
  };

  it("need not be there for who only asks how the platform is", async () => {
    const api = await connectApi({ port: rig.platform.ports.api, home: rig.platform.home });
    expect(await api.get("/api/status")).toMatchObject({ app: null, engine, environments: { staging: null, production: null } });
    await expect(api.get("/api/releases")).rejects.toMatchObject({ code: "APP_UNKNOWN" });
  });

  it("that are not there are told of, however much is sent to them", async () => {
    for (const byteCount of [10, 300_000, 3_000_000]) {
      const folder = await rig.folder({ ...app("one"), "public/large.bin": randomBytes(byteCount).toString("base64") });
      const deployed = await rig.run("deploy", folder, "--app", "nowhere");
      expect(deployed.stderr).toContain("APP_UNKNOWN");
      expect(deployed.exitCode).toBe(1);
    }
  });

  it("go from a folder to staging, and only there", async () => {
    await rig.json("app", "create", "shop");
    const folder = await rig.folder(app("one"));
    const deployed = await rig.ok("deploy", folder, "--app", "shop", "-m", "The first one");
    for (const step of ["verify", "deploy"]) expect(deployed.stdout).toMatch(new RegExp(`${step}.*ok`));
    expect((await rig.visit("staging", "shop")).text).toBe("one");
    expect(problemOf(await rig.visit("production", "shop"))).toMatchObject({ status: 503, code: "NOTHING_DEPLOYED" });
    const [release] = await releases("shop");
    expect(release).toMatchObject({ live: ["staging"], by: "home", message: "The first one", outcome: "green" });
    expect(release?.commit).toMatch(/^[0-9a-f]{40}$/);
  });

  it("go to production by a promote, as the very builds that ran on staging", async () => {
    const [{ releaseId } = { releaseId: "" }] = await releases("shop");
    expect(await rig.json("promote", "--app", "shop")).toMatchObject({ releaseId });
    expect((await rig.visit("production", "shop")).text).toBe("one");
    expect(await releases("shop")).toMatchObject([{ releaseId, live: ["staging", "production"] }]);
  });

  it("build what changed and nothing else, and show how two releases differ", async () => {
    const folder = await rig.folder(app("two"));
    const deployed = await rig.run("deploy", folder, "--app", "shop");
    expect(deployed.stdout).toContain("1 of 2 functions built");
    expect((await rig.visit("staging", "shop")).text).toBe("two");
    expect((await rig.visit("production", "shop")).text).toBe("one");
    expect(await rig.json("diff", "production", "staging", "--app", "shop")).toMatchObject({
      functions: [{ route: "GET /", change: "rebuilt" }],
      site: "same",
    });
  });

  it("go back to what ran before, and forth again", async () => {
    await rig.json("promote", "--app", "shop");
    expect((await rig.visit("production", "shop")).text).toBe("two");
    await rig.json("rollback", "--app", "shop");
    expect((await rig.visit("production", "shop")).text).toBe("one");
    const two = (await releases("shop")).find((one) => one.live.includes("staging"));
    await rig.json("promote", two?.releaseId.slice(0, 8) ?? "", "--app", "shop");
    expect((await rig.visit("production", "shop")).text).toBe("two");
    const refused = await rig.run("rollback", "--app", "shop", "--environment", "staging");
    expect(refused.exitCode).toBe(0);
    expect((await rig.visit("staging", "shop")).text).toBe("one");
    const nothing = await rig.run("rollback", "--app", "shop", "--environment", "staging");
    expect(nothing.exitCode).not.toBe(0);
    expect(nothing.stderr).toContain("NOTHING_TO_ROLL_BACK");
  });

  it("keep what is live when a delivery is red, which says why and where", async () => {
    const folder = await rig.folder({ ...app("three"), "src/http/get-about/index.js": "throw new Error('not today');\n" });
    const before = (await rig.visit("staging", "shop")).text;
    const deployed = await rig.run("deploy", folder, "--app", "shop");
    expect(deployed.exitCode).toBe(1);
    expect(`${deployed.stdout}${deployed.stderr}`).toMatch(/src\/http\/get-about: HANDLER_LOAD_FAILED: .*not today/);
    expect((await rig.visit("staging", "shop")).text).toBe(before);
    const red = (await releases("shop")).find((one) => one.outcome === "red");
    const refused = await rig.run("promote", red?.releaseId ?? "", "--app", "shop");
    expect(refused.stderr).toContain("RELEASE_NOT_GREEN");
  });

  it("run their own scripts before they are live: what those make is served, and a red test ends the delivery", async () => {
    const files = {
      ...app("made"),
      "package.json": JSON.stringify({
        scripts: { build: "node make.mjs", lint: "node -e 'console.log(`linted`)'", test: "node test.mjs" },
      }),
      "make.mjs": `import { mkdirSync, writeFileSync } from "node:fs";
        mkdirSync("public", { recursive: true });
        writeFileSync("public/made.txt", "made by the build");
        console.log("made it");`,
      "test.mjs": "console.log('tested');\n",
    };
    const folder = await rig.folder(files);
    const deployed = await rig.ok("deploy", folder, "--app", "shop");
    for (const line of ["made it", "linted", "tested"]) expect(deployed.stdout).toContain(line);
    expect((await rig.visit("staging", "shop", "/_static/made.txt")).text).toBe("made by the build");
    await writeFiles(folder, { "test.mjs": "console.error('two is not one'); process.exit(3);\n", ...app("untested") });
    const red = await rig.run("deploy", folder, "--app", "shop");
    expect(red.exitCode).toBe(1);
    expect(`${red.stdout}${red.stderr}`).toMatch(/two is not one/);
    expect(`${red.stdout}${red.stderr}`).toMatch(/exit code 3/);
    expect((await rig.visit("staging", "shop")).text).toBe("made");
  });

  it("answer side by side, each on its own host, with stores and variables of their own", async () => {
    await rig.json("app", "create", "blog");
    const code = `const { get, set } = require("@begin/data");
exports.handler = async (request) => {
  if (request.queryStringParameters?.set) await set({ table: "t", key: "k", value: request.queryStringParameters.set });
  const found = await get({ table: "t", key: "k" });
  return { statusCode: 200, body: [process.env.NAME ?? "", found?.value ?? ""].join(" ") };
};`;
    for (const name of ["shop", "blog"]) {
      const folder = await rig.folder({ "app.arc": `@app\n${name}\n\n@http\nget /\n`, "src/http/get-index/index.js": code });
      await rig.ok("deploy", folder, "--app", name);
      await rig.json("env", "set", `NAME=${name}`, "--app", name);
    }
    expect((await rig.visit("staging", "shop", "/?set=tea")).text).toBe("shop tea");
    expect((await rig.visit("staging", "blog")).text).toBe("blog ");
    await rig.json("app", "domain", "add", "blog", "blog.example.org", "--environment", "staging");
    const own = await rig.platform.get("staging", "/", { headers: { host: "blog.example.org" } });
    expect(own.text).toBe("blog ");
    const taken = await rig.run("app", "domain", "add", "shop", "blog.example.org", "--environment", "staging");
    expect(taken.stderr).toContain("DOMAIN_TAKEN");
  });

  it("are gone with everything of theirs when they are removed, and their names are free", async () => {
    await rig.ok("app", "rm", "blog", "--yes");
    expect((await rig.visit("staging", "shop")).text).toBe("shop tea");
    expect((await rig.platform.get("staging", "/", { headers: { host: "blog.example.org" } })).text).toBe("shop tea"); // The default app's now.
    await rig.json("app", "create", "blog");
    expect(await releases("blog")).toEqual([]);
    const { apps } = await rig.json("app", "ls");
    expect(apps).toMatchObject([{ name: "blog" }, { name: "shop" }]);
  });

  it("get a route, a handler and a delivery by one command, on staging and not on production", async () => {
    expect((await rig.visit("staging", "blog", "/api/submit")).status).toBe(503);
    const added = await rig.ok("route", "add", "POST /api/submit", "--app", "blog");
    expect(added.stdout).toContain("src/http/post-api-submit/index");
    const { ports } = rig.platform;
    expect(ports.staging).toBeGreaterThan(0);
    const posted = await rig.platform.get("staging", "/api/submit", { method: "POST", headers: { host: "blog.localhost" } });
    expect(posted.status).toBe(200);
    expect((await rig.visit("staging", "blog")).status).toBe(200); // A new app has GET /.
    expect(problemOf(await rig.visit("production", "blog"))).toMatchObject({ code: "NOTHING_DEPLOYED" });
    for (const [route, code] of [
      ["POST /api/submit", "ROUTE_TAKEN"],
      ["POST /a-path-that-is-far-too-long-for-it", "ROUTE_INVALID"],
      ["BREW /tea", "ROUTE_INVALID"],
      ["GET no-slash", "ROUTE_INVALID"],
    ] as const)
      expect((await rig.run("route", "add", route, "--app", "blog")).stderr).toContain(code);
    expect((await rig.run("route", "rm", "GET /", "--app", "blog")).stderr).toContain("ROUTE_KEPT");
    await rig.ok("route", "rm", "POST /api/submit", "--app", "blog");
    const gone = await rig.platform.get("staging", "/api/submit", { method: "POST", headers: { host: "blog.localhost" } });
    expect(gone.text).not.toBe(posted.text); // It falls to GET / now.
  });
});
