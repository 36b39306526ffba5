// What happens when the connection to the Docker engine breaks, seen through a socket of the test's own in front of Docker's.
import { mkdtemp, rm } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createDockerClient } from "../../orchestrator/docker/client.ts";
import { watchDockerExits } from "../../orchestrator/engines/docker-exits.ts";
import type { InstanceExit } from "../../orchestrator/engines/engine.ts";
import { createTestEngine, docker, newPlatformId, removeBuildImages, startScript } from "../support/docker-rig.ts";
import { until } from "../support/until.ts";

const DOCKER_SOCKET = "/var/run/docker.sock";

/** Passes every byte on, until it is told to cut all connections. */
async function listenInFront(path: string): Promise<{ cut(): void; connectionCount(): number; close(): void }> {
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(DOCKER_SOCKET);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    near.pipe(far).pipe(near);
  });
  server.listen(path);
  await once(server, "listening");
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    cut,
    connectionCount: () => sockets.size / 2,
    close() {
      server.close();
      cut();
    },
  };
}

describe("a connection to Docker that breaks", () => {
  const platformId = newPlatformId();
  let folder: string;
  let front: Awaited<ReturnType<typeof listenInFront>>;
  let engine: ReturnType<typeof createTestEngine>;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "orc-docker-"));
    const socket = join(folder, "d.sock");
    front = await listenInFront(socket);
    engine = createTestEngine(platformId, { docker: { kind: "socket", path: socket } });
    await engine.prepare();
  });
  afterAll(async () => {
    await engine.dispose();
    front.close();
    await removeBuildImages(platformId);
    await rm(folder, { recursive: true });
  });

  it("loses no exit and no line, and tells none twice", async () => {
    const exits: InstanceExit[] = [];
    const watching = new AbortController();
    engine.watchExits((exit) => exits.push(exit), watching.signal);
    const script = `
      let count = 0;
      const timer = setInterval(() => console.log("line", ++count), 20);
      process.on("SIGTERM", () => { clearInterval(timer); console.log("last", count); process.exit(5); });
    `;
    const { lines, ended } = await startScript(engine, script, { instanceId: "talker" });
    await until(() => lines.length >= 5, { timeoutMs: 10_000 });
    front.cut();
    await docker("kill", "--signal", "SIGTERM", `orchestrator-${platformId}-talker`);
    await ended;
    await until(() => exits.length > 0, { timeoutMs: 15_000 });
    const count = Number(lines.at(-1)?.text.replace("last ", ""));
    const expected = [...Array.from({ length: count }, (_, index) => `line ${index + 1}`), `last ${count}`];
    expect(lines.map(({ text }) => text)).toEqual(expected);
    expect(exits).toEqual([{ instanceId: "talker", exitCode: 5, outOfMemory: false }]);
    watching.abort();
  });

  it("is let go when nobody watches any more", async () => {
    front.cut(); // Connections that were kept for later calls.
    await until(() => front.connectionCount() === 0, { timeoutMs: 5_000 });
    const client = createDockerClient({ kind: "socket", path: join(folder, "d.sock") });
    const stop = new AbortController();
    const platform = { platformId, homeLabel: "/test/home" };
    const watching = watchDockerExits(client, { platform, sinceEpochMs: Date.now(), signal: stop.signal }, () => {});
    await until(() => front.connectionCount() === 1, { timeoutMs: 5_000 });
    stop.abort();
    await watching;
    await until(() => front.connectionCount() === 0, { timeoutMs: 5_000 });
    expect(front.connectionCount()).toBe(0);
  });
});

describe("an upload that cannot be read to its end", () => {
  it("fails with the reason, and does not hang", async () => {
    const broken = Readable.from(
      (async function* () {
        yield Buffer.alloc(1024);
        throw new Error("the disk is gone");
      })(),
    );
    const upload = createDockerClient({ kind: "socket", path: DOCKER_SOCKET }).images.importTar(broken, {
      repository: "orchestrator-test-broken",
      tag: "1",
      changes: [],
    });
    await expect(upload).rejects.toMatchObject({ code: "ENGINE_FAILED", message: expect.stringContaining("the disk is gone") as unknown });
  });
});
