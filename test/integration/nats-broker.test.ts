// The platform's own nats-server: started, adopted, started again, stopped, refused.
import { chmod, mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { createBrokerSigner } from "../../orchestrator/nats/accounts.ts";
import { findNatsServer } from "../../orchestrator/nats/binary.ts";
import { brokerHome } from "../../orchestrator/nats/broker-home.ts";
import { externalServerConfig } from "../../orchestrator/nats/config.ts";
import { createControlBus, type ControlBus } from "../../orchestrator/nats/control-bus.ts";
import { connectExternal } from "../../orchestrator/nats/external.ts";
import { loadBrokerKeys } from "../../orchestrator/nats/keys.ts";
import { pickFreePort } from "../../orchestrator/nats/ports.ts";
import { startBroker, type Broker } from "../../orchestrator/nats/server.ts";
import { readState, startDetached, stopProcess } from "../../orchestrator/processes/detached.ts";
import { isAlive, processesWithArgument, type Identity } from "../../orchestrator/processes/identity.ts";
import { makeHome, startTestBroker, testBinary, type TestBroker } from "../support/test-broker.ts";
import { until } from "../support/until.ts";

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function open(overrides: Parameters<typeof startTestBroker>[0] = {}): Promise<TestBroker> {
  const broker = await startTestBroker(overrides);
  cleanups.push(() => broker.close());
  return broker;
}

async function busOf({ broker, signer }: Pick<TestBroker, "broker" | "signer">): Promise<ControlBus> {
  const bus = await createControlBus({ url: broker.url, signer, onError: () => {} });
  cleanups.push(() => bus.close());
  return bus;
}

async function processOf(home: string): Promise<Identity> {
  const state = await readState(brokerHome(home).stateFile);
  if (state === null) throw new Error("no broker is written down");
  return state.identity;
}

/** Also while another process is there in its place. */
const hasRestarted = (broker: TestBroker): boolean => broker.events.some((event) => event.kind === "restarted");

const content = { appId: "a1", appName: "hello", hosts: [], isDefault: true, deployment: { kind: "none" } } as const;

async function holdPort(port: number): Promise<Server> {
  const server = createServer().listen({ host: "127.0.0.1", port });
  await once(server, "listening");
  cleanups.push(async () => {
    server.close();
    await once(server, "close");
  });
  return server;
}

describe("the broker that the platform runs", () => {
  it("is started again after kill -9, on its port and with its data, while connections come back by themselves", async () => {
    const test = await open();
    const bus = await busOf(test);
    await bus.publishSnapshot("production", content);
    await bus.writeControl("apps.a1", { name: "hello" });
    const killed = await processOf(test.home);
    process.kill(killed.pid, "SIGKILL");
    await until(() => hasRestarted(test), { timeoutMs: 10_000, what: "the broker is back" });
    await until(
      () =>
        bus.readSnapshot("production", "a1").then(
          (found) => found?.sequence === 1,
          () => false,
        ),
      { timeoutMs: 10_000, what: "the snapshot is still there" },
    );
    expect((await bus.readControl("apps.a1"))?.value).toEqual({ name: "hello" });
    expect(await bus.publishSnapshot("production", content)).toBeGreaterThan(1);
    expect((await processOf(test.home)).pid).not.toBe(killed.pid);
  });

  it("is adopted by a later orchestrator, which starts no second one", async () => {
    const test = await open();
    const first = await processOf(test.home);
    await test.broker.release();
    const second = await startBroker(test.options);
    cleanups.push(() => second.stop());
    expect(second.adopted).toBe(true);
    expect(second.url).toBe(test.broker.url);
    expect(await processOf(test.home)).toEqual(first);
  });

  it("is started on the remembered port, with its data, when it died while no orchestrator was there", async () => {
    const test = await open();
    const bus = await busOf(test);
    await bus.publishSnapshot("staging", content);
    await bus.close();
    await test.broker.release();
    const dead = await processOf(test.home);
    process.kill(dead.pid, "SIGKILL");
    await until(async () => !(await isAlive(dead)), { timeoutMs: 5_000 });
    const second = await startBroker(test.options);
    cleanups.push(() => second.stop());
    expect(second.adopted).toBe(false);
    expect(second.url).toBe(test.broker.url);
    const again = await busOf({ broker: second, signer: test.signer });
    expect((await again.readSnapshot("staging", "a1"))?.appName).toBe("hello");
  });

  it("takes another port when the remembered one is held by another program", async () => {
    const home = await makeHome();
    cleanups.push(() => rm(home, { recursive: true, force: true }));
    const port = await pickFreePort("127.0.0.1");
    await mkdir(brokerHome(home).folder, { recursive: true });
    await writeFile(brokerHome(home).portFile, `${port}\n`);
    await holdPort(port);
    const test = await open({ home });
    expect(test.broker.url).not.toBe(`nats://127.0.0.1:${port}`);
  });

  it("is not moved to another port than the one that was asked for", async () => {
    const port = await pickFreePort("127.0.0.1");
    await holdPort(port);
    await expect(open({ port })).rejects.toMatchObject({ code: "PORT_IN_USE" });
  });

  it("is replaced, not adopted, when it would be configured otherwise now", async () => {
    const test = await open();
    const first = await processOf(test.home);
    await test.broker.release();
    const second = await startBroker({ ...test.options, port: await pickFreePort("127.0.0.1") });
    cleanups.push(() => second.stop());
    expect(second.adopted).toBe(false);
    expect(await isAlive(first)).toBe(false);
  });

  it("leaves no process behind when it is stopped", async () => {
    const test = await open();
    const running = await processOf(test.home);
    await test.broker.stop();
    expect(await isAlive(running)).toBe(false);
    expect(await processesWithArgument(brokerHome(test.home).configFile)).toEqual([]);
    expect(await readState(brokerHome(test.home).stateFile)).toBeNull();
  });

  it("stops one that an orchestrator started and had no time to write down", async () => {
    const test = await open();
    const stray = await processOf(test.home);
    await test.broker.release();
    await rm(brokerHome(test.home).stateFile);
    const second = await startBroker(test.options);
    cleanups.push(() => second.stop());
    expect(await isAlive(stray)).toBe(false);
    expect(await processesWithArgument(brokerHome(test.home).configFile)).toHaveLength(1);
  });

  it("shows the end of its log when it cannot start", async () => {
    const test = await open();
    await test.broker.stop();
    const store = brokerHome(test.home).storeFolder;
    await rm(store, { recursive: true });
    await writeFile(store, "a file where a folder should be");
    await expect(startBroker(test.options)).rejects.toMatchObject({ code: "HOME_UNUSABLE" });
    await rm(store);
    const fake = { path: await script(test.home, 'echo "no space left on device" >&2; exit 3'), version: "2.10.27" };
    await expect(startBroker({ ...test.options, binary: fake })).rejects.toMatchObject({
      code: "NATS_FAILED",
      detail: { problems: ["no space left on device"] },
    });
  });

  it("keeps its files to the owner of the home", async () => {
    const test = await open();
    const place = brokerHome(test.home);
    const paths = [
      place.folder,
      place.accountsFolder,
      place.storeFolder,
      place.configFile,
      join(test.home, "keys"),
      join(test.home, "keys", "broker.json"),
    ];
    const modes = await Promise.all(paths.map(async (path) => [path, (await stat(path)).mode & 0o077]));
    expect(modes).toEqual(paths.map((path) => [path, 0]));
    expect(await readFile(place.configFile, "utf8")).not.toMatch(/S[OAU]A[A-Z2-7]{50,}/); // Seeds stay in the keys.
  });
});

async function script(home: string, text: string): Promise<string> {
  const path = join(home, "fake-nats-server");
  await writeFile(path, `#!/bin/sh\n${text}\n`);
  await chmod(path, 0o755);
  return path;
}

describe("a nats-server that is not fit", () => {
  it("is refused when it is too old, with both versions and what to do", async () => {
    const home = await makeHome();
    cleanups.push(() => rm(home, { recursive: true, force: true }));
    const path = await script(home, 'echo "nats-server: v2.9.10"');
    const failure = await findNatsServer({ explicitPath: path, searchPath: "" }).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "NATS_TOO_OLD" });
    expect(String(failure)).toMatch(/2\.9\.10.*2\.10\.27/);
    expect(failure instanceof PlatformError && failure.detail.remedy).toContain("./setup");
  });

  it("is refused when it is no nats-server at all", async () => {
    const home = await makeHome();
    cleanups.push(() => rm(home, { recursive: true, force: true }));
    const path = await script(home, "echo hello");
    await expect(findNatsServer({ explicitPath: path, searchPath: "" })).rejects.toMatchObject({ code: "NATS_MISSING" });
    await expect(findNatsServer({ explicitPath: join(home, "nothing"), searchPath: "" })).rejects.toMatchObject({ code: "NATS_MISSING" });
  });
});

describe("a nats-server that the owner runs", () => {
  /** Runs one with a configuration of its own, as an owner would. */
  async function runExternal(config: (folder: string) => Promise<string>): Promise<{ url: string }> {
    const folder = await makeHome();
    const port = await pickFreePort("127.0.0.1");
    await writeFile(join(folder, "own.conf"), `listen: "127.0.0.1:${port}"\n${await config(folder)}`);
    const started = await startDetached({
      command: (await testBinary()).path,
      args: ["--config", join(folder, "own.conf")],
      env: {},
      cwd: folder,
      logFile: join(folder, "log"),
      stateFile: join(folder, "state.json"),
    });
    cleanups.push(async () => {
      await stopProcess(started, { graceMs: 5_000 });
      await rm(folder, { recursive: true, force: true });
    });
    await until(async () => (await readFile(join(folder, "log"), "utf8")).includes("Server is ready"), { timeoutMs: 10_000 });
    return { url: `nats://127.0.0.1:${port}` };
  }

  const signerOf = async (): Promise<ReturnType<typeof createBrokerSigner>> => {
    const home = await makeHome();
    cleanups.push(() => rm(home, { recursive: true, force: true }));
    return createBrokerSigner(await loadBrokerKeys(home));
  };
  const folders = (folder: string) => ({ accountsFolder: join(folder, "accounts"), storeFolder: join(folder, "store") });

  it("carries the platform once it includes what the platform prints", async () => {
    const signer = await signerOf();
    const { url } = await runExternal(async (folder) => externalServerConfig(await signer.trust(), folders(folder)));
    const broker: Broker = await connectExternal({ url, signer });
    expect(broker).toMatchObject({ kind: "external", version: "2.10.27" });
    const bus = await busOf({ broker, signer });
    await bus.ensureAppAccount("a1", "staging");
    expect(await bus.pingInstance("a1", "staging", "i1", { timeoutMs: 1_000 })).toBeNull();
    await broker.stop();
    expect(await bus.publishSnapshot("staging", content)).toBe(1); // It was not ours to stop.
  });

  it("is refused when it trusts another platform", async () => {
    const [owner, stranger] = [await signerOf(), await signerOf()];
    const { url } = await runExternal(async (folder) => externalServerConfig(await owner.trust(), folders(folder)));
    const failure = await connectExternal({ url, signer: stranger }).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "NATS_REFUSED" });
    expect(failure instanceof PlatformError && failure.detail.remedy).toContain("orchestrator nats config");
  });

  it("is refused when its messages are too small, when it has no JetStream, and when it keeps no accounts", async () => {
    const signer = await signerOf();
    const variant = async (change: (text: string) => string): Promise<void> => {
      const { url } = await runExternal(async (folder) => change(externalServerConfig(await signer.trust(), folders(folder))));
      await expect(connectExternal({ url, signer })).rejects.toMatchObject({ code: "NATS_REFUSED" });
    };
    await variant((text) => text.replace("max_payload: 8000000", "max_payload: 1048576"));
    await variant((text) => text.replace(/jetstream: \{[^}]*\}/, ""));
    await variant((text) => text.replace(/resolver: \{[^}]*\}/, "resolver: MEMORY"));
  });

  it("is BROKER_UNAVAILABLE where nothing listens", async () => {
    const port = await pickFreePort("127.0.0.1");
    await expect(connectExternal({ url: `nats://127.0.0.1:${port}`, signer: await signerOf() })).rejects.toMatchObject({
      code: "BROKER_UNAVAILABLE",
    });
  });
});
