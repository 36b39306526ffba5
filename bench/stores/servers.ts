// Starts the servers of the comparison, each in a folder of its own on a free port of 127.0.0.1, and takes them away again.
import { chown, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../orchestrator/clock.ts";
import { environmentSettings } from "../../orchestrator/config.ts";
import { createBrokerSigner } from "../../orchestrator/nats/accounts.ts";
import { findNatsServer } from "../../orchestrator/nats/binary.ts";
import { createControlBus } from "../../orchestrator/nats/control-bus.ts";
import { loadBrokerKeys } from "../../orchestrator/nats/keys.ts";
import { pickFreePort } from "../../orchestrator/nats/ports.ts";
import { startBroker } from "../../orchestrator/nats/server.ts";
import { BenchError, run, start, versionOf } from "../processes.ts";
import type { OurAccess } from "./our-driver.ts";

const HOST = "127.0.0.1";
const READY_TIMEOUT_MS = 30_000;
const INSTALL = "On Debian and Ubuntu: apt-get install --no-install-recommends redis-server postgresql";

export interface Started {
  readonly stack: AsyncDisposableStack;
  readonly signal: AbortSignal;
}

async function makeFolder(name: string, stack: AsyncDisposableStack): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), `orchestrator-bench-${name}-`));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Every write is on the disk before it is answered: appendfsync always. */
export async function startRedis({ stack, signal }: Started): Promise<{ port: number; version: string }> {
  const version = await versionOf("redis-server", ["--version"]);
  if (version === null) throw new BenchError(`redis-server is missing. ${INSTALL}`);
  const folder = await makeFolder("redis", stack);
  const port = await pickFreePort(HOST);
  const files = ["--dir", folder, "--appendonly", "yes", "--appendfsync", "always", "--save", ""];
  const server = await start({
    command: "redis-server",
    args: ["--bind", HOST, "--port", String(port), ...files],
    isReady: (line) => line.includes("Ready to accept connections"),
    timeoutMs: READY_TIMEOUT_MS,
    signal,
  });
  stack.defer(() => server.stop());
  return { port, version: /v=(\S+)/.exec(version)?.[1] ?? version };
}

/** As it comes: fsync and synchronous_commit are on. It refuses to run as root, so there it runs as the user that its package made. */
export async function startPostgres({ stack, signal }: Started): Promise<{ port: number; version: string }> {
  const binaries = await postgresBinaries();
  const version = await versionOf(join(binaries, "postgres"), ["--version"]);
  const isRoot = process.getuid?.() === 0;
  const as = isRoot ? ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] : [];
  const folder = await makeFolder("postgres", stack);
  if (isRoot) await chown(folder, await idOf("-u"), await idOf("-g"));
  const [command = "", ...args]: string[] = [
    ...as,
    join(binaries, "initdb"),
    "-D",
    folder,
    "-U",
    "bench",
    "--auth=trust",
    "--encoding=UTF8",
  ];
  await run(command, args, { timeoutMs: READY_TIMEOUT_MS, signal });
  const port = await pickFreePort(HOST);
  const settings = ["-c", `listen_addresses=${HOST}`, "-c", `port=${port}`, "-c", `unix_socket_directories=${folder}`];
  const [program = "", ...programArgs]: string[] = [...as, join(binaries, "postgres"), "-D", folder, ...settings];
  const server = await start({
    command: program,
    args: programArgs,
    isReady: (line) => line.includes("ready to accept connections"),
    timeoutMs: READY_TIMEOUT_MS,
    signal,
  });
  stack.defer(() => server.stop("SIGINT")); // Ends sessions at once; SIGTERM would wait for them.
  return { port, version: /\d+(?:\.\d+)*/.exec(version ?? "")?.[0] ?? "of unknown version" };
}

const idOf = async (option: "-u" | "-g"): Promise<number> => Number((await run("id", [option, "postgres"])).trim());

/** Debian keeps them apart for each version, outside of PATH. */
async function postgresBinaries(): Promise<string> {
  const root = "/usr/lib/postgresql";
  const versions = await readdir(root).catch(() => []);
  const newest = versions.toSorted((one, other) => Number(one) - Number(other)).at(-1);
  if (newest !== undefined) return join(root, newest, "bin");
  const folder = await run("pg_config", ["--bindir"]).catch(() => "");
  if (folder === "") throw new BenchError(`PostgreSQL is missing. ${INSTALL}`);
  return folder.trim();
}

/** A broker as the platform starts it, with the buckets of one app, and what an instance of it needs. */
export async function startStores({ stack, signal }: Started): Promise<OurAccess> {
  signal.throwIfAborted();
  const home = await makeFolder("stores", stack);
  const signer = createBrokerSigner(await loadBrokerKeys(home));
  const { natsServer, searchPath } = environmentSettings();
  const binary = await findNatsServer({ explicitPath: natsServer, searchPath });
  const broker = await startBroker({ home, host: HOST, port: null, binary, signer, clock: systemClock, onEvent: () => undefined });
  stack.defer(() => broker.stop());
  const control = await createControlBus({ url: broker.url, signer, onError: () => undefined });
  stack.defer(() => control.close());
  await control.ensureAppAccount("bench", "staging");
  const instanceId = "bench";
  return { instanceId, broker: { url: broker.url, ...(await signer.instanceCredentials("bench", "staging", instanceId)) } };
}
