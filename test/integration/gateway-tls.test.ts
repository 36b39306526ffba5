// A gateway that speaks HTTPS itself: what functions see of it, certificates that change under it, and hand-overs.
import { once } from "node:events";
import { mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { Agent, get } from "node:https";
import type { IncomingMessage } from "node:http";
import { connect as connectPlain } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type TLSSocket } from "node:tls";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { GatewayConfig } from "../../runtime-image/contract/gateway-config.ts";
import {
  createWorld,
  fn,
  freePort,
  live,
  startGateway,
  startInstance,
  text,
  type ScriptedInstance,
  type World,
} from "../support/gateway-world.ts";
import { failedHandOver, handOver } from "../support/hand-overs.ts";
import { OTHER_TEST_CERTIFICATE, OTHER_TEST_KEY, TEST_CERTIFICATE, TEST_KEY } from "../support/test-certificate.ts";
import { until } from "../support/until.ts";

const FIRST = "a test's upstream"; // Whom each of the certificates names.
const OTHER = "another of a test";
const NOTICE_TIMEOUT_MS = 8_000;

let folder: string;
let certFile: string;
let keyFile: string;
let port: number;
let world: World;
let instance: ScriptedInstance;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "gateway-tls-"));
  [certFile, keyFile] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  await Promise.all([writeFile(certFile, TEST_CERTIFICATE), writeFile(keyFile, TEST_KEY, { mode: 0o600 })]);
  port = await freePort();
  world = await createWorld({ config: { listen: [{ host: "127.0.0.1", port, tls: { certFile, keyFile } }] } });
  instance = await startInstance(world, "one", ({ header, respond }) =>
    text(respond, JSON.stringify({ scheme: header.scheme, headers: header.headers })),
  );
  await world.put({ deployment: live(world, [fn("ANY", "/*", { instanceIds: ["one"] })]) });
});

afterEach(async () => {
  await instance.kill();
  await world.close();
  await rm(folder, { recursive: true, force: true });
});

const AUTHORITIES = [TEST_CERTIFICATE, OTHER_TEST_CERTIFICATE];

function ask(agent: Agent | false = false): Promise<{ status: number; connection: string; body: string }> {
  return new Promise((resolve, reject) => {
    const take = (incoming: IncomingMessage): void => {
      let body = "";
      incoming.on("data", (part: Buffer) => void (body += part.toString()));
      incoming.once("end", () => resolve({ status: incoming.statusCode ?? 0, connection: incoming.headers.connection ?? "", body }));
      incoming.once("error", reject);
    };
    get({ host: "127.0.0.1", port, path: "/x", ca: AUTHORITIES, agent, timeout: 10_000 }, take).once("error", reject);
  });
}

/** Whom the certificate of a new connection names. */
async function presented(): Promise<string> {
  const socket: TLSSocket = connect({ host: "127.0.0.1", port, ca: AUTHORITIES });
  await once(socket, "secureConnect");
  const { CN } = socket.getPeerCertificate().subject;
  socket.destroy();
  return String(CN);
}

/** As programs that renew certificates do: complete files, moved to their place. */
async function replace(certificate: string, key: string): Promise<void> {
  for (const [file, content] of [
    [certFile, certificate],
    [keyFile, key],
  ] as const) {
    await writeFile(`${file}.new`, content, { mode: 0o600 });
    await rename(`${file}.new`, file);
  }
}

const logged = (message: string): Promise<void> =>
  until(() => world.gateway.output().includes(message), { timeoutMs: NOTICE_TIMEOUT_MS, what: `the log says: ${message}` });

describe("HTTPS", () => {
  it("is what functions are told of it, in the event and in the forwarded headers", async () => {
    const { status, body } = await ask();
    expect(status).toBe(200);
    const seen = JSON.parse(body) as { scheme: string; headers: string[] }; // What the instance above answers.
    expect(seen.scheme).toBe("https");
    expect(seen.headers.slice(seen.headers.indexOf("x-forwarded-proto")).slice(0, 4)).toEqual([
      "x-forwarded-proto",
      "https",
      "x-forwarded-port",
      `${port}`,
    ]);
  });

  it("refuses who speaks plain HTTP, and versions before TLS 1.2", async () => {
    const plain = connectPlain({ host: "127.0.0.1", port });
    let received = "";
    plain.on("data", (part: Buffer) => void (received += part.toString())).on("error", () => undefined);
    plain.write("GET /x HTTP/1.1\r\nhost: x\r\n\r\n");
    await once(plain, "close", { signal: AbortSignal.timeout(5_000) });
    expect(received).not.toContain("HTTP/1.1");
    const old = connect({
      host: "127.0.0.1",
      port,
      ca: AUTHORITIES,
      minVersion: "TLSv1",
      maxVersion: "TLSv1.1",
      ciphers: "DEFAULT@SECLEVEL=0",
    });
    const [failure] = (await once(old, "error")) as unknown as [Error]; // What a socket emits.
    expect(failure.message).toMatch(/protocol version|unsupported protocol/);
    expect((await ask()).status).toBe(200);
  });
});

describe("a certificate whose files change", () => {
  it("is the new one for new connections, and open ones go on", async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    await ask(agent);
    const socketsBefore = Object.values(agent.freeSockets).flat();
    expect(await presented()).toBe(FIRST);
    await replace(OTHER_TEST_CERTIFICATE, OTHER_TEST_KEY);
    await until(async () => (await presented()) === OTHER, { timeoutMs: NOTICE_TIMEOUT_MS, what: "the new certificate is presented" });
    expect((await ask(agent)).status).toBe(200);
    expect(Object.values(agent.freeSockets).flat()).toEqual(socketsBefore);
    agent.destroy();
    expect(world.gateway.output()).not.toContain('"level":"error"');
  });

  it("stays the old one while the new files cannot be used, says so once, and is the new one when they can", async () => {
    await writeFile(certFile, OTHER_TEST_CERTIFICATE); // The key belongs to the other one.
    await logged("the certificate's files cannot be used any more; the one before is served on");
    expect(await presented()).toBe(FIRST);
    await rm(certFile);
    await until(() => world.gateway.output().includes("cert.pem cannot be read (ENOENT)"), { timeoutMs: NOTICE_TIMEOUT_MS });
    expect(await presented()).toBe(FIRST);
    await replace(OTHER_TEST_CERTIFICATE, OTHER_TEST_KEY);
    await logged("the certificate was replaced");
    expect(await presented()).toBe(OTHER);
    expect(world.gateway.output().split('"level":"error"').length - 1).toBe(2);
  });
});

describe("a hand-over of an HTTPS address", () => {
  it("loses no request, tells kept connections to close, and has the certificate of the moment", async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 4 });
    const over = new AbortController();
    const failures: string[] = [];
    const closes = new Set<string>();
    const clients = [agent, agent, agent, false as const].map(async (one) => {
      while (!over.signal.aborted)
        await ask(one).then(
          ({ status, connection }) => (status === 200 ? closes.add(connection) : failures.push(String(status))),
          (cause: unknown) => failures.push(String(cause)),
        );
    });
    await writeFile(keyFile, OTHER_TEST_KEY);
    await writeFile(certFile, OTHER_TEST_CERTIFICATE);
    for (let round = 0; round < 3; round += 1) await handOver(world);
    over.abort();
    await Promise.all(clients);
    agent.destroy();
    expect(failures).toEqual([]);
    expect(closes).toContain("close");
    expect(await presented()).toBe(OTHER);
  });

  it("to one whose certificate cannot be read leaves everything as it is, and names the file", async () => {
    const missing = join(folder, "gone.pem");
    const config = JSON.parse(await readFile(world.gateway.configFile, "utf8")) as GatewayConfig; // Written by the world.
    const listen = [{ host: "127.0.0.1", port, tls: { certFile: missing, keyFile } }];
    await writeFile(world.gateway.configFile, JSON.stringify({ ...config, listen }));
    expect(await failedHandOver(world)).toContain(`${missing} cannot be read (ENOENT).`);
    expect((await ask()).status).toBe(200);
  });
});

describe("a gateway whose certificate is none", () => {
  it("does not start, and says which file it is", async () => {
    await writeFile(certFile, "nonsense");
    const other = await mkdtemp(join(tmpdir(), "gateway-tls-"));
    const listen = [{ host: "127.0.0.1", port: await freePort(), tls: { certFile, keyFile } }];
    const gateway = startGateway(other, { broker: { url: world.url, jwt: "", seed: "" }, listen });
    expect(await gateway.exited).toBe(1);
    expect(gateway.output()).toContain(`${certFile} and ${keyFile} are no certificate and its key`);
    await rm(other, { recursive: true, force: true });
  });
});
