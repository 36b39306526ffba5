// As an owner who runs everything in containers: a broker of their own in one, the platform's own image in another, driven from outside.
import { execFile } from "node:child_process";
import { copyFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { GenericContainer, type StartedTestContainer, Wait } from "testcontainers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseDockerAddress } from "../../orchestrator/docker/address.ts";
import { createDockerClient } from "../../orchestrator/docker/client.ts";
import { ensureNodeBase } from "../../orchestrator/images/node-base.ts";
import { dockerLeftoversOf } from "../support/leftovers.ts";
import { natsServerPath } from "../support/nats-binary.ts";
import { CHECKOUT, freePort, makeApp, runCommand, send, startPlatform } from "../support/platform.ts";
import { until } from "../support/until.ts";

const run = promisify(execFile);
const images = { broker: `orchestrator-test-nats:${process.pid}`, platform: `orchestrator-test-platform:${process.pid}` };
let nodeImage = "";
const folders: string[] = [];

beforeAll(async () => {
  // A missing Docker fails here, with the remedy in its message.
  nodeImage = (await ensureNodeBase(createDockerClient(parseDockerAddress(undefined)), { nodeImage: null, progress: () => undefined }))
    .reference;
});

afterAll(async () => {
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
  // What was built for this file only, and the stages that it was built from.
  await run("docker", ["image", "rm", "--force", ...Object.values(images)]);
  await run("docker", ["image", "prune", "--force", "--filter", "label=orchestrator.image=platform"]);
});

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "orchestrator-containers-"));
  folders.push(folder);
  return folder;
}

describe("a nats-server of the owner's, in a container", () => {
  let broker: StartedTestContainer;
  let home = "";
  const port = 4222;

  beforeAll(async () => {
    const context = await temporaryFolder();
    home = await temporaryFolder();
    await copyFile(natsServerPath(), join(context, "nats-server"));
    await writeFile(
      join(context, "Dockerfile"),
      'ARG NODE_IMAGE\nFROM ${NODE_IMAGE}\nCOPY nats-server /nats-server\nENTRYPOINT ["/nats-server"]\n',
    );
    const image = await GenericContainer.fromDockerfile(context).withBuildArgs({ NODE_IMAGE: nodeImage }).build(images.broker);
    const { stdout } = await runCommand(["nats", "config", "--home", home]);
    broker = await image
      .withCopyContentToContainer([{ content: `listen: 0.0.0.0:${port}\n${stdout}`, target: "/nats.conf" }])
      .withCommand(["--config", "/nats.conf"])
      .withTmpFs({ "/data": "rw" })
      .withWorkingDir("/data")
      .withWaitStrategy(Wait.forLogMessage("Server is ready"))
      .start();
  });

  afterAll(async () => {
    await broker.stop();
  });

  const url = (): string => `nats://${broker.getIpAddress(broker.getNetworkNames()[0] ?? "bridge")}:${port}`;

  it("carries the platform once it includes what `orchestrator nats config` prints", async () => {
    const platform = await startPlatform({ app: join(CHECKOUT, "examples/hello"), engine: "process", home, flags: ["--nats", url()] });
    expect((await platform.get("staging", "/")).text).toBe("Hello, world!\n");
    expect(await platform.stop()).toBe(0);
  });

  it("is refused by a platform that it does not trust, with what to include", async () => {
    const stranger = await temporaryFolder();
    const ports = [
      "--staging-port",
      `${await freePort()}`,
      "--production-port",
      `${await freePort()}`,
      "--api-port",
      `${await freePort()}`,
    ];
    const { exitCode, stderr } = await runCommand([
      "up",
      join(CHECKOUT, "examples/hello"),
      "--engine",
      "process",
      "--home",
      stranger,
      "--nats",
      url(),
      ...ports,
    ]);
    expect(stderr).toContain("NATS_REFUSED");
    expect(stderr).toContain("orchestrator nats config");
    expect(exitCode).toBe(1);
  });
});

describe("the platform's own image", () => {
  let platform: StartedTestContainer;
  const home = `/home/orchestrator/${process.pid}`;
  const ports = { staging: 0, production: 0, api: 0 };

  beforeAll(async () => {
    for (const name of ["staging", "production", "api"] as const) ports[name] = await freePort();
    const app = await makeApp({}, "examples/hello");
    folders.push(app);
    const base = (await runCommand(["image", "base"])).stdout.trim(); // Node's, and git.
    const image = await GenericContainer.fromDockerfile(CHECKOUT).withBuildArgs({ NODE_IMAGE: base }).build(images.platform);
    const flags = ["--staging-port", `${ports.staging}`, "--production-port", `${ports.production}`, "--api-port", `${ports.api}`];
    platform = await image
      .withNetworkMode("host")
      .withBindMounts([{ source: "/var/run/docker.sock", target: "/var/run/docker.sock" }])
      .withCopyDirectoriesToContainer([{ source: app, target: "/app" }])
      .withCommand(["up", "/app", "--engine", "docker", "--home", home, "--promote", ...flags])
      .withWaitStrategy(Wait.forLogMessage("is up"))
      .withStartupTimeout(120_000)
      .start();
  });

  afterAll(async () => {
    await run("docker", ["rm", "--force", "--volumes", platform.getId()]); // The last test stopped it and left it.
  });

  it("serves an app in containers beside its own, on both environments", async () => {
    expect((await send(ports.staging, "/?name=on-premises")).text).toBe("Hello, on-premises!\n");
    expect((await send(ports.production, "/")).text).toBe("Hello, world!\n");
    expect(await dockerLeftoversOf(home)).not.toEqual([]);
  });

  it("shows logs and state through its own command", async () => {
    const { exitCode, output } = await platform.exec([
      "/usr/local/bin/node",
      "/opt/orchestrator/orchestrator/bin.mjs",
      "promote",
      "--home",
      home,
      "--api-port",
      `${ports.api}`,
    ]);
    expect(output).toContain("production runs release");
    expect(exitCode).toBe(0);
  });

  it("takes everything with it when it is stopped", async () => {
    await platform.restart({ timeout: 30 });
    await until(async () => (await send(ports.staging, "/").catch(() => null))?.status === 200, { timeoutMs: 60_000 });
    await platform.stop({ timeout: 30_000, remove: false });
    expect(await dockerLeftoversOf(home)).toEqual([]);
  });
});
