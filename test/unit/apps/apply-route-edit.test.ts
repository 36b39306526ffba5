// Edits of routes as they are carried out in a folder: whole or not at all, never over what is there, never outside.
import { chmod, lstat, readFile, readdir, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readAppFolder } from "../../../orchestrator/apps/app-folder.ts";
import { type RouteEdit, addRoute, applyRouteEdit, removeRoute } from "../../../orchestrator/apps/route-edit.ts";
import { starterFiles } from "../../../orchestrator/apps/starter.ts";
import { writeFiles } from "../../support/platform.ts";
import { ARC, type Files, INDEX, OLD, SUBMIT, addTo, appFolderOf, failureOf, filesIn } from "../../support/route-folder.ts";

describe("an edit that is carried out", () => {
  const MOVED: Files = { ...ARC, "app.arc": `${ARC["app.arc"]}get /meanwhile\n` };

  it("keeps who may read the manifest, and leaves nothing else behind", async () => {
    const folder = await appFolderOf(ARC);
    await chmod(join(folder, "app.arc"), 0o640);
    await addTo(folder);
    expect((await stat(join(folder, "app.arc"))).mode & 0o777).toBe(0o640);
    expect(Object.keys(await filesIn(folder))).toEqual(["app.arc", "src/http/get-index/index.js", "src/http/post-api-submit/index.js"]);
  });

  it.each<[string, Files, string]>([
    ["a handler that came to be there", { "src/http/post-api-submit/index.js": "mine" }, "ROUTE_TAKEN"],
    ["a handler in another style", { "src/http/post-api-submit/index.mjs": "mine" }, "ROUTE_TAKEN"],
    ["a manifest that was changed", MOVED, "ROUTE_INVALID"],
  ])("writes nothing at all over %s meanwhile", async (_case, meanwhile, code) => {
    const folder = await appFolderOf(ARC);
    const edit = await addRoute(folder, SUBMIT);
    await writeFiles(folder, { ...meanwhile });
    expect((await failureOf(applyRouteEdit(folder, edit))).code).toBe(code);
    expect(await filesIn(folder)).toEqual({ ...ARC, ...meanwhile });
  });

  it("writes nothing where a folder has become a link meanwhile", async () => {
    const folder = await appFolderOf({ ...ARC, "../elsewhere/mine.txt": "mine" });
    const edit = await addRoute(folder, SUBMIT);
    await symlink("../../../elsewhere", join(folder, "src/http/post-api-submit"));
    expect((await failureOf(applyRouteEdit(folder, edit))).code).toBe("ROUTE_INVALID");
    expect(await readdir(join(folder, "../elsewhere"))).toEqual(["mine.txt"]);
    expect(await readFile(join(folder, "app.arc"), "utf8")).toBe(ARC["app.arc"]);
  });

  it("never leaves the app's folder", async () => {
    const folder = await appFolderOf({ ...ARC, "../mine.txt": "mine" });
    const outside: RouteEdit[] = [
      { writes: [{ path: "../new.txt", text: "" }], removals: [], message: "" },
      { writes: [{ path: "src/../../mine.txt", text: "", replaces: "mine" }], removals: [], message: "" },
      { writes: [], removals: ["../mine.txt"], message: "" },
    ];
    for (const edit of outside) expect((await failureOf(applyRouteEdit(folder, edit))).code).toBe("ROUTE_INVALID");
    expect(await readdir(join(folder, ".."))).toEqual(["mine.txt", "shop"]);
  });

  it("can be the first one of a folder that is still to be made", async () => {
    const folder = join(await appFolderOf({}), "new");
    const writes = starterFiles("shop").map(([path, text]) => ({ path, text }));
    await applyRouteEdit(folder, { writes, removals: [], message: "" });
    await addTo(folder);
    const app = await readAppFolder(folder);
    expect(app.appName).toBe("shop");
    expect(app.functions.map((fn) => `${fn.method} ${fn.path}`)).toEqual(["GET /", "POST /api/submit"]);
    expect((await lstat(join(folder, "orchestrator.d.ts"))).isFile()).toBe(true);
  });

  it("finds what is gone already removed", async () => {
    const folder = await appFolderOf({ ...INDEX, "src/http/post-a/index.js": OLD, "src/http/post-a/x.js": "" });
    const edit = await removeRoute(folder, { route: "POST /a" });
    await rm(join(folder, "src/http/post-a/x.js"));
    await writeFile(join(folder, "src/http/post-a/new.js"), "mine");
    await applyRouteEdit(folder, edit);
    expect(await readdir(join(folder, "src/http/post-a"))).toEqual(["new.js"]);
  });
});
