// ./setup as its users meet it: quick when all is there, honest when something is not, and never a program that was not checked.
import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, readFile, realpath, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { BROKER_VERSION_MIN } from "../../runtime-image/contract/limits.ts";

const CHECKOUT = join(import.meta.dirname, "..", "..");
const RUN_TIMEOUT_MS = 60_000;
// What setup may use besides node and npm; everything else on this machine is out of its sight.
const TOOLS = [
  "bash",
  "cat",
  "chmod",
  "cksum",
  "cut",
  "dirname",
  "env",
  "head",
  "ln",
  "mkdir",
  "mktemp",
  "mv",
  "node",
  "npm",
  "rm",
  "sed",
  "sha256sum",
  "tar",
];

// Where the packages are out of date, setup would replace them below the running tests.
beforeAll(async () => {
  const installed = await readFile(join(CHECKOUT, "node_modules/.setup-lock"), "utf8").catch(() => "none");
  const { out } = await run("/bin/sh", ["-c", `cksum <"${CHECKOUT}/package-lock.json"`], { path: process.env["PATH"] ?? "" });
  if (installed !== out) throw new Error("the installed packages are not those of package-lock.json: run ./setup first");
});

let folder = ""; // Holds a checkout whose packages are installed, and a PATH of its own.
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "setup-")));
  await mkdir(join(folder, "bin"));
  for (const file of ["setup", "package.json", "package-lock.json"]) await copyFile(join(CHECKOUT, file), join(folder, file));
  await symlink(join(CHECKOUT, "node_modules"), join(folder, "node_modules"));
  for (const tool of TOOLS) await symlink(await which(tool), join(folder, "bin", tool));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

interface Ended {
  readonly exitCode: number;
  readonly out: string;
  readonly err: string;
}

async function run(program: string, args: readonly string[], options: { readonly path: string }): Promise<Ended> {
  return new Promise((done) => {
    const settings = { timeout: RUN_TIMEOUT_MS, env: { ...process.env, PATH: options.path, DOCKER_HOST: "" } };
    execFile(program, args, settings, (error, out, err) => done({ exitCode: error === null ? 0 : Number(error.code ?? -1), out, err }));
  });
}

async function which(tool: string): Promise<string> {
  const { out } = await run("/bin/sh", ["-c", `command -v ${tool}`], { path: process.env["PATH"] ?? "" });
  return realpath(out.trim());
}

const setup = async (...args: string[]): Promise<Ended> => run(join(folder, "setup"), args, { path: join(folder, "bin") });

/** Puts a program on setup's PATH. */
async function provide(name: string, script: string): Promise<void> {
  await writeFile(join(folder, "bin", name), `#!/bin/bash\n${script}\n`, { mode: 0o755 });
}

const natsServer = (version: string): string => `echo "nats-server: v${version}"`;
const isThere = async (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

describe("./setup", () => {
  it("takes less than two seconds where everything is there, and says what there is", async () => {
    await provide("nats-server", natsServer("2.11.0"));
    const started = performance.now();
    const { exitCode, out, err } = await setup();
    expect({ exitCode, err }).toEqual({ exitCode: 0, err: "" });
    expect(performance.now() - started).toBeLessThan(2_000);
    expect(out).toMatch(/npm packages +installed\n/);
    expect(out).toContain(`nats-server    2.11.0 (${join(folder, "bin/nats-server")})`);
  });

  it("is known to work in the checkout that these tests run in", async () => {
    const { exitCode, out } = await run(join(CHECKOUT, "setup"), [], { path: process.env["PATH"] ?? "" });
    expect({ exitCode, out }).toEqual({ exitCode: 0, out: expect.stringMatching(/^ready/m) as string });
  });

  it("prefers the nats-server of the checkout to the one on the PATH", async () => {
    await provide("nats-server", natsServer("2.11.0"));
    await mkdir(join(folder, ".tools"));
    await writeFile(join(folder, ".tools/nats-server"), `#!/bin/bash\n${natsServer("2.10.30")}\n`, { mode: 0o755 });
    expect((await setup()).out).toContain("2.10.30 (in .tools)");
  });

  it.each(["2.10.26", "2.9.99", "1.99.99"])("does not take a nats-server %s for new enough", async (version) => {
    await provide("nats-server", natsServer(version));
    await provide("uname", "echo Plan9");
    const { exitCode, err } = await setup();
    expect(exitCode).toBe(1);
    expect(err).toContain(`no nats-server of version ${BROKER_VERSION_MIN} or newer could be had: Plan9`);
    expect(err).toContain("https://github.com/nats-io/nats-server/releases");
  });

  it("throws away a release whose checksum is wrong", async () => {
    await provide("uname", "if [[ ${1:-} == -m ]]; then echo x86_64; else echo Linux; fi");
    await provide("curl", 'while [[ $1 != --output ]]; do shift; done; echo tampered >"$2"');
    const { exitCode, err } = await setup();
    expect(exitCode).toBe(1);
    expect(err).toContain("wrong checksum");
    expect(await isThere(join(folder, ".tools/nats-server"))).toBe(false);
  });

  it("says what to do where nothing can be downloaded, and leaves no half-made files", async () => {
    await provide("uname", "if [[ ${1:-} == -m ]]; then echo aarch64; else echo Linux; fi");
    await provide("curl", 'echo "curl: (6) Could not resolve host" >&2; exit 6');
    const { exitCode, err } = await setup();
    expect(exitCode).toBe(1);
    expect(err).toContain("neither Debian's package nor the official release could be downloaded");
    const { out } = await run("/bin/sh", ["-c", `ls -A ${join(folder, ".tools")}`], { path: process.env["PATH"] ?? "" });
    expect(out).toBe("");
  });

  it("refuses a Node that is too old, and says where a newer one is", async () => {
    await rm(join(folder, "bin/node"));
    await provide("node", "echo 18.20.4");
    const { exitCode, err } = await setup();
    expect(exitCode).toBe(1);
    expect(err).toContain("Node 18.20.4 is too old: version 20 or newer is needed.");
    expect(err).toContain("https://nodejs.org");
  });

  it("says so when there is no Node at all", async () => {
    await rm(join(folder, "bin/node"));
    expect(await setup()).toMatchObject({ exitCode: 1, err: expect.stringContaining("no Node found") as string });
  });

  it("passes on what npm says when the packages cannot be installed, and does not take them for installed", async () => {
    await rm(join(folder, "node_modules"));
    await rm(join(folder, "bin/npm"));
    await provide("npm", 'echo "npm error network" >&2; exit 1');
    const { exitCode, err } = await setup();
    expect(exitCode).toBe(1);
    expect(err).toContain("npm error network");
    expect(err).toContain("setup: npm ci failed");
    expect(await isThere(join(folder, "node_modules/.setup-lock"))).toBe(false);
  });

  it("names an unknown option, exits with 2 and changes nothing", async () => {
    const { exitCode, err } = await setup("--dcoker");
    expect(exitCode).toBe(2);
    expect(err).toContain("unknown option: --dcoker");
    expect(await isThere(join(folder, ".tools"))).toBe(false);
  });

  it("explains itself", async () => {
    expect(await setup("--help")).toMatchObject({ exitCode: 0, out: expect.stringContaining("--docker") as string });
  });
});

describe("./setup --docker", () => {
  it("finds the engine that these tests need", async () => {
    const { exitCode, out, err } = await run(join(CHECKOUT, "setup"), ["--docker"], { path: process.env["PATH"] ?? "" });
    expect({ exitCode, err }).toEqual({ exitCode: 0, err: "" });
    expect(out).toMatch(/^Docker +\d+\.\d+/m);
    expect(out).toMatch(/^base images +there/m);
  });

  it("finds the browser that these tests need", async () => {
    const { out } = await run(join(CHECKOUT, "setup"), ["--docker"], { path: process.env["PATH"] ?? "" });
    expect(out).toMatch(/^browser +\/\S+/m);
  });

  it("says how to come by a browser where it cannot install one, and is ready all the same", async () => {
    const { exitCode, out } = await run(join(CHECKOUT, "setup"), ["--docker"], { path: join(folder, "bin") });
    expect({ exitCode, out }).toEqual({ exitCode: 0, out: expect.stringMatching(/^ready/m) as string });
    expect(out).toMatch(/^browser +none; .*apt-get install chromium/m);
  });
});

describe("the numbers in ./setup", () => {
  it("agree with the platform's own", async () => {
    const text = await readFile(join(CHECKOUT, "setup"), "utf8");
    expect(text).toContain(`NATS_VERSION_MIN=${BROKER_VERSION_MIN} `);
  });
});
