// Packages that npm really installs, in a container and as a child process. The registry has to be reachable for most of this.
import { chmod, mkdir, mkdtemp, readFile, readdir, realpath, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { readAppFolder } from "../../orchestrator/apps/app-folder.ts";
import type { AppSource } from "../../orchestrator/apps/app-source.ts";
import { createInstaller } from "../../orchestrator/builds/installs.ts";
import { type InstallRequest, installRequest } from "../../orchestrator/builds/install-request.ts";
import type { Engine } from "../../orchestrator/engines/engine.ts";
import { createProcessEngine } from "../../orchestrator/engines/process-engine.ts";
import { buildRuntimeBundle } from "../../orchestrator/images/runtime-bundle.ts";
import { type OwnNpm, findOwnNpm } from "../../orchestrator/npm/own-npm.ts";
import { createTestEngine, listOwn, newPlatformId } from "../support/docker-rig.ts";
import { handler } from "../support/platform.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const PACKAGE = { "is-number": "7.0.0" }; // Small, old, and without dependencies.
const platformId = newPlatformId();
let top = "";
let npm: OwnNpm | null = null;
let engines: Record<"docker" | "process", Engine>;

beforeAll(async () => {
  top = await realpath(await mkdtemp(join(tmpdir(), "orchestrator-installs-")));
  await chmod(top, 0o711);
  const { PATH: searchPath = "", NODE_EXTRA_CA_CERTS: extraCaCerts = null } = process.env;
  npm = await findOwnNpm({ nodePath: process.execPath, searchPath, extraCaCerts });
  const runtimeBundle = buildRuntimeBundle;
  engines = {
    docker: createTestEngine(platformId),
    process: createProcessEngine({ home: join(top, "home"), platformId: "installs", nodePath: process.execPath, runtimeBundle }),
  };
  await Promise.all([engines.docker.prepare(), engines.process.prepare()]);
  await assertRegistry(npm);
});
afterAll(async () => {
  await Promise.all([engines.docker.dispose(), engines.process.dispose()]);
  await rm(top, { recursive: true, force: true });
});

/** Says plainly what the trouble is, where it is not ours. */
async function assertRegistry(found: OwnNpm | null): Promise<void> {
  const registry = /^registry=(.+)$/m.exec(found?.userConfig ?? "")?.[1];
  if (found === null || registry === undefined) throw new Error("this machine has no npm, which these tests need");
  await fetch(new URL("is-number", registry), { signal: AbortSignal.timeout(20_000) }).catch((cause: unknown) => {
    throw new Error(`the npm registry ${registry} cannot be reached from this machine, which these tests need`, { cause });
  });
}

interface Installing {
  readonly app: AppSource;
  readonly install: (request: InstallRequest) => Promise<string>;
  readonly lines: string[];
}

let count = 0;

async function appWith(kind: "docker" | "process", files: Record<string, string>, allowsInstallScripts = false): Promise<Installing> {
  const folder = join(top, `app-${++count}`);
  const all = { "src/http/get-index/index.js": handler("return { statusCode: 200 };"), ...files };
  for (const [path, content] of Object.entries(all)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
  const app = await readAppFolder(folder);
  const lines: string[] = [];
  const installer = createInstaller({
    folder: join(top, `installs-${count}`),
    engine: engines[kind],
    findNpm: async () => npm,
  });
  const progress = (line: string): void => void lines.push(line);
  return {
    app: { ...app, settings: { ...app.settings, allowsInstallScripts } },
    install: async (request) => installer.install(request, progress),
    lines,
  };
}

async function installRoot({ app, install }: Installing): Promise<string> {
  const request = await installRequest(app.folder, app);
  if (request === null) throw new Error("nothing is asked for");
  return install(request);
}

const packageJson = (fields: object): string => JSON.stringify({ name: "app", version: "1.0.0", ...fields });

describe.each(["docker", "process"] as const)("an install with the engine %s", (kind) => {
  it("brings what package.json asks for, and leaves the app's folder as it was", async () => {
    const installing = await appWith(kind, {
      "package.json": packageJson({ dependencies: PACKAGE, devDependencies: { typescript: "5" } }),
    });
    const before = await readdir(installing.app.folder, { recursive: true });
    const modules = await installRoot(installing);
    expect(await readFile(join(modules, "is-number/package.json"), "utf8")).toContain('"version": "7.0.0"');
    expect((await readdir(modules)).filter((name) => !name.startsWith("."))).toEqual(["is-number"]);
    expect(await readdir(installing.app.folder, { recursive: true })).toEqual(before);
    expect(installing.lines[0]).toBe("installing the packages of the app's folder");
    expect(installing.lines[1]).toMatch(/^installed the packages of the app's folder in \d+\.\d s$/);
  });

  it("is made once for the same request, also when several ask at once, and again when the request changes", async () => {
    const installing = await appWith(kind, { "package.json": packageJson({ dependencies: PACKAGE }) });
    const [one, other] = await Promise.all([installRoot(installing), installRoot(installing)]);
    expect(one).toBe(other);
    await writeFile(join(installing.app.folder, "package.json"), packageJson({ dependencies: PACKAGE, scripts: { build: "true" } }));
    expect(await installRoot(installing)).toBe(one);
    expect(installing.lines).toHaveLength(2);
    await writeFile(join(installing.app.folder, "package.json"), packageJson({ dependencies: { "is-number": "6.0.0" } }));
    expect(await readFile(join(await installRoot(installing), "is-number/package.json"), "utf8")).toContain('"version": "6.0.0"');
  });

  it("goes by the lock where there is one, and refuses one that does not fit", async () => {
    const lock = {
      name: "app",
      version: "1.0.0",
      lockfileVersion: 3,
      requires: true,
      packages: {
        "": { name: "app", version: "1.0.0", dependencies: { "is-number": "^6.0.0" } },
        "node_modules/is-number": { version: "6.0.0" },
      },
    };
    const files = { "package-lock.json": JSON.stringify(lock), "package.json": packageJson({ dependencies: { "is-number": "^6.0.0" } }) };
    const modules = await installRoot(await appWith(kind, files));
    expect(await readFile(join(modules, "is-number/package.json"), "utf8")).toContain('"version": "6.0.0"');
    const unfit = await appWith(kind, { ...files, "package.json": packageJson({ dependencies: PACKAGE }) });
    await expect(installRoot(unfit)).rejects.toMatchObject({
      code: "INSTALL_FAILED",
      message: expect.stringContaining("npm ci") as unknown,
    });
  });

  it("that fails names the folder, npm's last lines and the file with all of them", async () => {
    const installing = await appWith(kind, {
      "src/http/get-index/package.json": packageJson({ dependencies: { "is-number": "999.0.0" } }),
    });
    const request = await installRequest(join(installing.app.folder, "src/http/get-index"), installing.app);
    if (request === null) throw new Error("nothing is asked for");
    const error: unknown = await installing.install(request).catch((cause: unknown) => cause);
    expect(error).toMatchObject({ code: "INSTALL_FAILED", detail: { remedy: expect.stringContaining("npm install") as unknown } });
    const { detail = "", problems = [] } = (error as { detail: { detail?: string; problems?: string[] } }).detail; // Checked above.
    expect(detail).toContain("src/http/get-index: npm install ended with exit code 1");
    expect(problems.join("\n")).toMatch(/No matching version found for is-number@999/);
    expect(await readFile(/is in (\S+\.log)\./.exec(detail)?.[1] ?? "", "utf8")).toContain("is-number@999");
  });

  it("runs no script, neither of the app nor of a package", async () => {
    const marked = `node -e "require('fs').writeFileSync('marked', '')"`;
    const installing = await appWith(kind, { "package.json": packageJson({ dependencies: PACKAGE, scripts: { postinstall: marked } }) });
    const modules = await installRoot(installing);
    expect(await readdir(dirname(modules))).not.toContain("marked");
  });
});

describe("an install in a container", () => {
  it("runs scripts where the app allows them, as a user without rights", async () => {
    const report = `node -e "require('fs').writeFileSync('node_modules/report', process.getuid() + ' ' + Object.keys(process.env).filter((n) => /NATS|TOKEN|SECRET/.test(n)))"`;
    const installing = await appWith(
      "docker",
      { "package.json": packageJson({ dependencies: PACKAGE, scripts: { postinstall: report } }) },
      true,
    );
    expect(await readFile(join(await installRoot(installing), "report"), "utf8")).toBe("10001 ");
  });

  it("reaches no port of this host", async () => {
    const server = createServer((_request, response) => response.end("{}")).listen(0, "0.0.0.0");
    await new Promise((resolve) => server.once("listening", resolve));
    const address = server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const attempt = `node -e "const s = require('net').connect(${port}, '${engines.docker.brokerHost()}'); const end = (word) => { require('fs').writeFileSync('node_modules/report', word); process.exit(); }; s.on('connect', () => end('open')).on('error', () => end('refused')); setTimeout(() => end('silent'), 1500)"`;
    const installing = await appWith(
      "docker",
      { "package.json": packageJson({ dependencies: PACKAGE, scripts: { postinstall: attempt } }) },
      true,
    );
    const outcome = await readFile(join(await installRoot(installing), "report"), "utf8");
    server.close();
    expect(outcome).toMatch(/^(refused|silent)$/);
  });

  it("leaves no container behind, and its network goes with the engine", async () => {
    expect(await listOwn("container", platformId)).toEqual([]);
    await engines.docker.dispose();
    expect(await listOwn("network", platformId)).toEqual([]);
    await engines.docker.prepare();
  });

  it("leaves nothing behind when its engine is disposed of at any moment", async () => {
    for (const afterMs of [0, 50, 150, 300, 500, 800, 1_200]) {
      const installing = await appWith("docker", { "package.json": packageJson({ dependencies: PACKAGE, description: `${afterMs}` }) });
      const install = installRoot(installing).catch(() => null); // Its container was taken from under it.
      await delay(afterMs);
      await engines.docker.dispose();
      const left = async (): Promise<string[]> => [...(await listOwn("network", platformId)), ...(await listOwn("container", platformId))];
      expect(await left()).toEqual([]);
      await install;
      expect(await left()).toEqual([]);
      await engines.docker.prepare();
    }
  });
});

describe("a machine without npm", () => {
  it("is told what to do", async () => {
    const { app } = await appWith("process", { "package.json": packageJson({ dependencies: PACKAGE }) });
    const folder = join(top, "installs-none");
    const installer = createInstaller({
      folder,
      engine: engines.process,
      findNpm: async () => null,
    });
    const request = await installRequest(app.folder, app);
    if (request === null) throw new Error("nothing is asked for");
    await expect(installer.install(request, () => {})).rejects.toMatchObject({
      code: "INSTALL_FAILED",
      detail: { remedy: expect.stringContaining("npm") as unknown },
    });
  });
});
