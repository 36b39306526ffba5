// Attacks from inside a function of a running platform: each fails, and its neighbour keeps answering all the while.
import { execFile } from "node:child_process";
import { readFile, rm } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { once } from "node:events";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { containersOf } from "../support/leftovers.ts";
import { type RunningPlatform, handler, makeApp, startPlatform } from "../support/platform.ts";
import { until } from "../support/until.ts";

const run = promisify(execFile);

/** Does what the query says and answers how it went: "done ..." where it worked, "refused ..." where not. */
const ATTACKER = `
const fs = require("node:fs");
const net = require("node:net");
const { spawn } = require("node:child_process");

const attacks = {
  write: ({ path }) => fs.writeFileSync(path, "x"),
  read: ({ path }) => fs.readFileSync(path, "utf8").slice(0, 200),
  list: ({ path }) => fs.readdirSync(path).join(" "),
  connect: ({ host, port }) => new Promise((done, fail) => {
    const socket = net.connect(host.startsWith("/") ? { path: host } : { host, port: Number(port) });
    socket.setTimeout(600, () => { socket.destroy(); fail(new Error("silence")); });
    socket.once("connect", () => { socket.destroy(); done("connected"); });
    socket.once("error", fail);
  }),
  fork: () => new Promise((done, fail) => {
    const children = [];
    for (let count = 0; count < 400; count += 1) {
      const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
      child.once("error", (error) => { for (const one of children) one.kill("SIGKILL"); fail(error); });
      children.push(child);
    }
    setTimeout(() => { for (const one of children) one.kill("SIGKILL"); done("400 children"); }, 3000);
  }),
  memory: () => { const kept = []; for (;;) kept.push(Buffer.alloc(16_000_000, 1)); },
  environment: () => JSON.stringify(process.env),
  identity: () => [process.getuid(), process.getgid(), fs.readFileSync("/proc/self/status", "utf8").match(/CapEff:\\s*(\\w+)/)[1]].join(" "),
  gateway: () => fs.readFileSync("/proc/net/route", "utf8").split("\\n").slice(1).map((line) => line.split("\\t"))
    .filter((fields) => fields[1] === "00000000").map((fields) => fields[2].match(/../g).reverse().map((byte) => parseInt(byte, 16)).join("."))[0],
};

exports.handler = async (request) => {
  const { attack, ...arguments_ } = request.queryStringParameters;
  try {
    return { body: "done " + String(await attacks[attack](arguments_)) };
  } catch (error) {
    return { body: "refused " + error.message };
  }
};
`;

const APP = {
  "app.arc": "@app\nwalls\n\n@http\nget /\nget /attack\n\n@aws\nmemory 128\n",
  "src/http/get-index/index.js": handler('return { body: "neighbour" };'),
  "src/http/get-index/secret.txt": "a neighbour's secret",
  "src/http/get-attack/index.js": ATTACKER,
};

describe("a function in a container", () => {
  let platform: RunningPlatform;
  let app = "";
  const listeners: Server[] = [];

  beforeAll(async () => {
    app = await makeApp(APP);
    platform = await startPlatform({ app, engine: "docker", flags: ["--promote"] });
  });

  afterAll(async () => {
    for (const listener of listeners) listener.close();
    await platform.stop();
    await rm(app, { recursive: true, force: true });
  });

  async function attack(name: string, arguments_: Record<string, string> = {}): Promise<string> {
    const query = new URLSearchParams({ attack: name, ...arguments_ });
    const { text } = await platform.get("staging", `/attack?${query.toString()}`);
    expect((await platform.get("staging", "/")).text).toBe("neighbour");
    return text;
  }

  /** A listener on every address of this host, as a database of the owner's may be. */
  async function openListener(): Promise<number> {
    const server = createServer((socket) => socket.destroy()).listen(0, "0.0.0.0");
    listeners.push(server);
    await once(server, "listening");
    const address = server.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  }

  const hostAddresses = (): string[] =>
    Object.values(networkInterfaces())
      .flatMap((addresses) => addresses ?? [])
      .filter((address) => address.family === "IPv4" && !address.internal)
      .map((address) => address.address);

  it("answers at all, so that a refusal below means something", async () => {
    expect(await attack("identity")).toBe("done 10001 10001 0000000000000000");
    expect(await attack("write", { path: "/tmp/mine" })).toBe("done undefined");
  });

  it.each(["/mine", "/app/src/http/get-index/index.js", "/runtime/main.js", "/etc/passwd", "/usr/local/bin/node", "/dev/shm/mine"])(
    "cannot write to %s",
    async (path) => {
      expect(await attack("write", { path })).toMatch(/^refused /);
    },
  );

  it("cannot read another function's code", async () => {
    expect(await attack("list", { path: "/app/src/http" })).toBe("done get-attack");
    expect(await attack("read", { path: "/app/src/http/get-index/secret.txt" })).toMatch(/^refused /);
    for (const path of [
      "/proc/1/root/app/src/http/get-index/secret.txt",
      "/var/lib/docker",
      "/app/src/http/get-attack/../get-index/secret.txt",
    ])
      expect(await attack("read", { path })).toMatch(/^refused /);
  });

  it("finds no Docker socket", async () => {
    for (const host of ["/var/run/docker.sock", "/run/docker.sock"])
      expect(await attack("connect", { host, port: "0" })).toMatch(/^refused /);
  });

  it("cannot reach the management API or either gateway on any address of the host", async () => {
    const own = (await attack("gateway")).replace("done ", "");
    const { api, staging, production } = platform.ports;
    // The broker listens on an address of its own, where its port may by chance be one of these: that one is let through.
    const broker = /^listen: "?([\d.]+:\d+)/m.exec(await readFile(join(platform.home, "broker/nats.conf"), "utf8"))?.[1];
    expect(broker).toMatch(`${own}:`);
    for (const host of [own, "127.0.0.1", ...hostAddresses()])
      for (const port of [api, staging, production].filter((one) => `${host}:${one}` !== broker)) {
        const answer = await attack("connect", { host, port: `${port}` });
        // The bridge of another platform may be gone by now; then the address is somewhere in the outside world, and none of this host's.
        if (host !== own && host !== "127.0.0.1" && !hostAddresses().includes(host)) continue;
        expect({ host, port, answer }).toMatchObject({ answer: expect.stringMatching(/^refused /) as unknown });
      }
  });

  it("cannot reach a port that the host has open on every address", async () => {
    const port = await openListener();
    const own = (await attack("gateway")).replace("done ", "");
    for (const host of [own, ...hostAddresses()])
      expect({ host, answer: await attack("connect", { host, port: `${port}` }) }).toMatchObject({
        answer: expect.stringMatching(/^refused /) as unknown,
      });
  });

  it("cannot reach a container of the other environment, nor its neighbour's", async () => {
    const names = await containersOf(platform.home);
    const format = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}";
    const { stdout } = await run("docker", ["inspect", "--format", format, ...names]);
    for (const host of stdout.split("\n").filter((line) => line !== "")) {
      // Its own address refuses at once; every other one is behind a wall.
      expect(await attack("connect", { host, port: "9" })).toMatch(/^refused /);
    }
  });

  it("has nothing of the platform's in its environment", async () => {
    const variables: unknown = JSON.parse((await attack("environment")).replace("done ", ""));
    expect(JSON.stringify(variables)).not.toContain("jwt");
    expect(JSON.stringify(variables)).not.toContain("seed");
    expect(variables).toMatchObject({ NODE_ENV: "staging", ARC_ENV: "staging" });
  });

  it("cannot fork without end", async () => {
    expect(await attack("fork")).toMatch(/^refused .*(EAGAIN|ENOMEM)|^\{.*INSTANCE_LOST/);
  });

  it("is ended when it takes more memory than it may, alone, and replaced", async () => {
    const text = await attack("memory");
    expect(text).toContain("INSTANCE_LOST");
    await until(async () => (await attack("identity")).startsWith("done"), { timeoutMs: 10_000 });
  });

  it("runs with every option closed", async () => {
    const [name = ""] = await containersOf(platform.home);
    const { stdout } = await run("docker", ["inspect", name]);
    const inspected: unknown = JSON.parse(stdout);
    expect(inspected).toMatchObject([
      {
        Config: { User: "10001:10001", Labels: { "orchestrator.home": platform.home } },
        HostConfig: {
          Privileged: false,
          ReadonlyRootfs: true,
          CapDrop: ["ALL"],
          CapAdd: null,
          SecurityOpt: expect.arrayContaining(["no-new-privileges"]) as unknown,
          Memory: 128_000_000,
          MemorySwap: 128_000_000,
          NanoCpus: 1_000_000_000,
          PidsLimit: 128,
          PortBindings: null,
          PublishAllPorts: false,
          Binds: null,
          Devices: expect.toSatisfy((devices: unknown) => devices === null || (Array.isArray(devices) && devices.length === 0)) as unknown,
          PidMode: "",
          UTSMode: "",
          RestartPolicy: { Name: expect.stringMatching(/^(no)?$/) as unknown },
        },
        Mounts: [],
      },
    ]);
  });
});
