// Facts about a real machine: ports that are really taken, a socket that really answers, a folder that really is not there.
import { chmod, mkdtemp, realpath, rm, symlink } from "node:fs/promises";
import { createServer as createHttpServer, type RequestListener, type Server } from "node:http";
import { createServer, type Server as NetServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { gatherBrokerFacts } from "../../../orchestrator/doctor/broker-facts.ts";
import { diagnose } from "../../../orchestrator/doctor/diagnose.ts";
import { measureDisk } from "../../../orchestrator/doctor/disk-use.ts";
import { gatherDockerFacts } from "../../../orchestrator/doctor/docker-facts.ts";
import {
  fileDescriptorCountMax,
  gatherDiskFacts,
  gatherMemoryFacts,
  gatherNatsFacts,
  gatherPortFacts,
} from "../../../orchestrator/doctor/machine-facts.ts";
import { gatherToolFacts } from "../../../orchestrator/doctor/tool-facts.ts";
import { writeFiles } from "../../support/platform.ts";

let folder = "";
const servers: (Server | NetServer)[] = [];
const sockets = new Set<Socket>();
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "doctor-"));
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  await Promise.all(servers.splice(0).map((server) => new Promise((done) => server.close(done))));
  await rm(folder, { recursive: true });
});

async function listen(server: Server | NetServer, where: { path: string } | { port: 0; host: string }): Promise<number> {
  servers.push(server);
  server.on("connection", (socket: Socket) => sockets.add(socket));
  await new Promise<void>((done) => server.listen(where, done));
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

const http = async (answer: RequestListener): Promise<number> => listen(createHttpServer(answer), { port: 0, host: "127.0.0.1" });
const stateOf = async (port: number): Promise<string> =>
  (await gatherPortFacts({ port, purpose: "staging", flag: "--staging-port" })).state;

describe("gatherPortFacts", () => {
  it("tells a free port from one that another program has", async () => {
    const port = await http((_request, response) => response.end("hello"));
    expect(await stateOf(port)).toBe("taken");
    await new Promise((done) => servers.pop()?.close(done));
    expect(await stateOf(port)).toBe("free");
  });

  it("knows a gateway by its request id and the management API by its name", async () => {
    expect(await stateOf(await http((_request, response) => response.writeHead(503, { "x-request-id": "1" }).end()))).toBe("ours");
    expect(await stateOf(await http((_request, response) => response.end('{"product":"orchestrator","home":"/h"}')))).toBe("ours");
  });

  it("does not wait for a program that accepts connections and says nothing", async () => {
    const port = await listen(createServer(), { port: 0, host: "127.0.0.1" });
    expect(await stateOf(port)).toBe("taken");
  });
});

describe("gatherDockerFacts", () => {
  const answers: Record<string, unknown> = {
    "/version": {
      Version: "20.10.24+dfsg1",
      Components: [{ Name: "Engine" }, { Name: "runc", Version: "1.1.5+ds1", Details: { GitCommit: "1.1.5+ds1-1+deb12u1" } }],
    },
    "/info": {
      CgroupVersion: "1",
      MemoryLimit: true,
      SwapLimit: false,
      PidsLimit: true,
      CpuCfsQuota: true,
      SecurityOptions: ["name=seccomp,profile=default"],
    },
  };

  it("reads version, runc's package, limits, and what homes that are gone left behind", async () => {
    const gone = join(folder, "gone");
    const path = join(folder, "docker.sock");
    const items = [
      { Names: ["/kept"], Name: "kept", Labels: { "orchestrator.home": folder } },
      { Names: ["/left"], Labels: { "orchestrator.home": gone } },
    ];
    await listen(
      createHttpServer((request, response) => {
        const route = (request.url ?? "").split("?")[0] ?? "";
        response.end(JSON.stringify(answers[route] ?? (route === "/networks" ? [] : items)));
      }),
      { path },
    );
    expect(await gatherDockerFacts({ kind: "socket", path })).toEqual({
      kind: "answers",
      endpoint: path,
      version: "20.10.24+dfsg1",
      runcVersion: "1.1.5+ds1-1+deb12u1",
      cgroupVersion: "1",
      limits: { memory: true, swap: false, pids: true, cpu: true },
      securityOptions: ["seccomp"],
      leftovers: [{ kind: "container", name: "left", home: gone }],
    });
  });

  it("says why no engine answers", async () => {
    const path = join(folder, "none.sock");
    expect(await gatherDockerFacts({ kind: "socket", path })).toMatchObject({
      kind: "absent",
      problem: expect.stringContaining("ENOENT") as string,
    });
    await listen(
      createHttpServer((_request, response) => response.writeHead(500).end("no")),
      { path },
    );
    expect(await gatherDockerFacts({ kind: "socket", path })).toMatchObject({
      kind: "absent",
      problem: expect.stringContaining("500") as string,
    });
  });
});

describe("gatherBrokerFacts", () => {
  const broker = async (greeting: string): Promise<string> =>
    `nats://127.0.0.1:${await listen(
      createServer((socket) => socket.on("error", () => {}).end(greeting)),
      { port: 0, host: "127.0.0.1" },
    )}`;

  it("reads version and limits from a server's greeting", async () => {
    const url = await broker('INFO {"version":"2.10.27","max_payload":8000000,"jetstream":true} \r\n');
    expect(await gatherBrokerFacts(url)).toEqual({
      kind: "answers",
      url,
      version: "2.10.27",
      payloadBytesMax: 8_000_000,
      hasJetStream: true,
    });
  });

  it("says what is wrong with something else, and with nothing", async () => {
    expect(await gatherBrokerFacts(await broker("220 mail ready\r\n"))).toMatchObject({
      kind: "silent",
      problem: expect.stringContaining("nats-server") as string,
    });
    expect(await gatherBrokerFacts("nats://127.0.0.1:1")).toMatchObject({ kind: "silent", problem: "ECONNREFUSED" });
    expect(await gatherBrokerFacts("nonsense")).toMatchObject({ kind: "silent" });
  });
});

describe("the machine's own facts", () => {
  it("looks at the nearest folder that exists when there is no home yet", async () => {
    expect(await gatherDiskFacts(join(folder, "a/b/c"))).toMatchObject({ path: folder, isWritable: true });
  });

  it("has numbers that a machine can have", async () => {
    const memory = gatherMemoryFacts();
    expect(memory.availableBytes).toBeGreaterThan(0);
    expect(memory.totalBytes).toBeGreaterThanOrEqual(memory.availableBytes);
    expect(fileDescriptorCountMax()).toBeGreaterThan(0);
    expect((await gatherDiskFacts(folder)).freeBytes).toBeGreaterThan(0);
  });

  it("says what to do about a nats-server that is not there", async () => {
    const facts = await gatherNatsFacts({ explicitPath: join(folder, "nats-server"), searchPath: "" });
    expect(facts).toMatchObject({ kind: "unusable", remedy: expect.stringContaining("./setup") as string });
  });
});

describe("gatherToolFacts", () => {
  it("finds git and npm where a shell would, and tells where there is none", async () => {
    const [bin, node] = [join(folder, "bin"), join(folder, "node/bin/node")];
    await writeFiles(folder, { "node/bin/node": "", "bin/git": "", "npm/bin/npm-cli.js": "" });
    await symlink("../npm/bin/npm-cli.js", join(bin, "npm"));
    expect(await gatherToolFacts({ nodePath: node, searchPath: bin })).toEqual({ git: null, npm: join(await realpath(folder), "npm") });
    await chmod(join(bin, "git"), 0o755);
    expect(await gatherToolFacts({ nodePath: node, searchPath: bin })).toMatchObject({ git: join(bin, "git") });
    expect(await gatherToolFacts({ nodePath: node, searchPath: "" })).toEqual({ git: null, npm: null });
  });
});

describe("diagnose", () => {
  it("looks at everything, and ends although an engine is away", async () => {
    const checks = await diagnose({
      home: folder,
      natsSearch: { explicitPath: join(folder, "nats-server"), searchPath: "" },
      toolSearch: { nodePath: process.execPath, searchPath: process.env["PATH"] ?? "" },
      natsUrl: "nats://127.0.0.1:1",
      ports: [],
      askDocker: async () => gatherDockerFacts({ kind: "socket", path: join(folder, "none.sock") }),
      askDisk: async () => measureDisk({ home: folder, engine: null }),
    });
    const names = checks.map((check) => check.name);
    expect(names).toEqual(expect.arrayContaining(["Node", "nats-server", "git", "npm", "broker", "Docker", "disk", "disk use", "memory"]));
    expect(checks.filter((check) => check.state === "bad").map((check) => check.name)).toEqual(["nats-server", "broker"]);
  });
});
