// From folders on disk to builds: what ships, what is refused, and what makes a build a new one.
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { PlatformError } from "../../../runtime-image/contract/errors.ts";
import { readAppFolder } from "../../../orchestrator/apps/app-folder.ts";
import { planApp } from "../../../orchestrator/builds/build-plan.ts";

let folder = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "orchestrator-test-"));
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

async function write(files: Record<string, string | Buffer>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
}

const HANDLER = "exports.handler = async () => ({ statusCode: 200 });\n";
const plan = async () => (await planApp(await readAppFolder(folder))).functions;

async function refusal(): Promise<PlatformError> {
  const outcome = await plan().catch((error: unknown) => error);
  if (outcome instanceof PlatformError) return outcome;
  throw new Error("the folder was accepted");
}

describe("an app's folder", () => {
  it("needs no manifest where its folders are named after routes", async () => {
    await write({ "src/http/get-index/index.js": HANDLER, "src/http/post-api-submit/index.mjs": "export const handler = () => 1;" });
    const planned = await plan();
    expect(planned.map((one) => `${one.release.method} ${one.release.path}`)).toEqual(["GET /", "POST /api/submit"]);
  });

  it("finds a folder that is spelled with the contract's plain dash", async () => {
    await write({ "app.arc": "@http\nget /contact-us\n", "src/http/get-contact-us/index.js": HANDLER });
    expect((await plan())[0]?.release.name).toBe("src/http/get-contact-us");
  });

  it("names every missing folder at once", async () => {
    await write({ "app.arc": "@http\nget /\nget /a\npost /b\n" });
    const error = await refusal();
    expect(error.code).toBe("MANIFEST_INVALID");
    expect(error.detail.problems).toHaveLength(3);
  });

  it("names the line of a manifest that cannot be parsed", async () => {
    await write({ "app.arc": "@http\nget /[\n" });
    expect((await refusal()).detail.problems?.[0]).toMatch(/app\.arc: .*line: 2/);
  });

  it("is refused when the folder is missing, with what to do", async () => {
    const error = await readAppFolder(join(folder, "nowhere")).catch((cause: unknown) => cause);
    expect(error).toMatchObject({ code: "APP_FOLDER_INVALID", detail: { remedy: expect.stringContaining("init") as unknown } });
  });
});

describe("a function's folder", () => {
  it("is the same build as long as its content is, and another one when a byte changes", async () => {
    await write({ "src/http/get-index/index.js": HANDLER, "src/http/get-index/data.json": "[1]" });
    const first = (await plan())[0]?.release.buildId;
    expect((await plan())[0]?.release.buildId).toBe(first);
    await write({ "src/http/get-index/data.json": "[2]" });
    expect((await plan())[0]?.release.buildId).not.toBe(first);
  });

  it("is another build when a file becomes executable", async () => {
    await write({ "src/http/get-index/index.js": HANDLER });
    const first = (await plan())[0]?.release.buildId;
    await chmod(join(folder, "src/http/get-index/index.js"), 0o755);
    expect((await plan())[0]?.release.buildId).not.toBe(first);
  });

  it("takes the package type from the folder above it", async () => {
    await write({ "package.json": '{"type":"module"}', "src/http/get-index/index.js": "export const handler = () => 1;" });
    const paths = (await plan())[0]?.source.files.map((file) => file.path) ?? [];
    expect(paths.filter((path) => !path.startsWith("node_modules/"))).toEqual(["package.json", "src/http/get-index/index.js"]);
  });

  it("is refused without a handler file", async () => {
    await write({ "src/http/get-index/main.js": HANDLER });
    expect((await refusal()).code).toBe("HANDLER_MISSING");
  });

  it("is refused with a syntax error, by file, line and column", async () => {
    await write({ "src/http/get-index/index.js": "exports.handler = async () => {\n  return {;\n};\n" });
    const error = await refusal();
    expect(error.code).toBe("FUNCTION_INVALID");
    expect(error.detail.problems?.[0]).toMatch(/^src\/http\/get-index\/index\.js:2:\d+: /);
  });

  it("is refused above 5 MB, with its five largest entries", async () => {
    await write({
      "src/http/get-index/index.js": HANDLER,
      "src/http/get-index/big.bin": Buffer.alloc(5_000_000),
      "src/http/get-index/lib/a.bin": Buffer.alloc(10_000),
    });
    const error = await refusal();
    expect(error.code).toBe("FUNCTION_TOO_LARGE");
    expect(error.detail.problems?.[0]).toBe("src/http/get-index/big.bin: 5.00 MB");
    expect(error.detail.problems?.[1]).toBe("src/http/get-index/lib: 0.01 MB");
  });

  it("is accepted at exactly 5 MB", async () => {
    await write({ "src/http/get-index/index.js": HANDLER, "src/http/get-index/big.bin": Buffer.alloc(5_000_000 - HANDLER.length) });
    expect(await plan()).toHaveLength(1);
  });

  it("ships what an inner link points to, and refuses a link that leads out", async () => {
    await write({ "src/http/get-index/index.js": HANDLER, "src/lib/shared.js": "module.exports = 1;\n" });
    await symlink("../../lib/shared.js", join(folder, "src/http/get-index/shared.js"));
    const shared = (await plan())[0]?.source.files.find((file) => file.path === "src/http/get-index/shared.js");
    expect(Buffer.from(shared?.bytes ?? []).toString()).toBe("module.exports = 1;\n");
    await symlink("/etc/passwd", join(folder, "src/http/get-index/passwd"));
    expect((await refusal()).message).toContain("leads out");
  });

  it("is refused with a link to a folder that it lies in", async () => {
    await write({ "src/http/get-index/index.js": HANDLER });
    await symlink("..", join(folder, "src/http/get-index/loop"));
    expect((await refusal()).code).toBe("FUNCTION_INVALID");
  });

  it("does not hide the problems of one function behind those of another", async () => {
    await write({ "src/http/get-index/index.js": "const = 1", "src/http/get-a/main.js": HANDLER });
    const error = await refusal();
    expect(error.detail.problems?.join("\n")).toContain("get-index/index.js:1:");
    expect(error.detail.problems?.join("\n")).toContain("get-a has none of");
  });

  it("has its problems told together with those of the static files", async () => {
    await write({ "src/http/get-index/index.js": "const = 1", "public/two\nlines.txt": "" });
    const error = await refusal();
    const told = error.detail.problems?.join("\n") ?? "";
    for (const part of ["SITE_INVALID", "two\\nlines", "FUNCTION_INVALID", "get-index/index.js:1:"]) expect(told).toContain(part);
    for (const remedy of ["@static ignore", "Mend the line"]) expect(error.detail.remedy).toContain(remedy);
  });
});
