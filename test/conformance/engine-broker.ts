// A real nats-server for the engines' behaviour list, with the platform's own accounts and rights, and a gateway's connection to it.
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";

import { connect, jwtAuthenticator } from "nats";
import type { NatsConnection } from "nats";

import { createBrokerSigner } from "../../orchestrator/nats/accounts.ts";
import { loadBrokerKeys } from "../../orchestrator/nats/keys.ts";
import type { BrokerAccess, Environment } from "../../runtime-image/contract/instance-manifest.ts";
import { BROKER_PAYLOAD_BYTES_MAX } from "../../runtime-image/contract/limits.ts";
import { natsServerPath } from "../support/nats-binary.ts";
import { until } from "../support/until.ts";

export interface TestBroker {
  readonly address: { readonly host: string; readonly port: number };
  readonly gateway: NatsConnection;
  instanceAccess(instanceId: string): Promise<BrokerAccess>;
  stop(): Promise<void>;
}

export const APP_ID = "conform";
export const ENVIRONMENT: Environment = "staging";

export async function startTestBroker(folder: string, host: string): Promise<TestBroker> {
  const signer = createBrokerSigner(await loadBrokerKeys(folder));
  const trust = await signer.trust();
  const accounts = [...trust.preloaded, await signer.appAccount(APP_ID, ENVIRONMENT)];
  const port = await freePort(host);
  const config = [
    `listen: "${host}:${port}"`,
    `max_payload: ${BROKER_PAYLOAD_BYTES_MAX}`,
    `operator: ${trust.operatorJwt}`,
    `system_account: ${trust.system.publicKey}`,
    "resolver: MEMORY",
    `resolver_preload: {\n${accounts.map((account) => `  ${account.publicKey}: ${account.jwt}`).join("\n")}\n}`,
  ];
  const configFile = join(folder, "nats.conf");
  await writeFile(configFile, config.join("\n"));
  const server = spawn(natsServerPath(), ["-c", configFile, "-l", join(folder, "nats.log")], { stdio: "ignore" });
  const url = `nats://${host}:${port}`;
  const gateway = await connectWhenUp({ url, ...(await signer.gatewayCredentials(APP_ID, ENVIRONMENT)) });
  return {
    address: { host, port },
    gateway,
    instanceAccess: async (instanceId) => ({ url, ...(await signer.instanceCredentials(APP_ID, ENVIRONMENT, instanceId)) }),
    stop: async () => {
      await gateway.close();
      await end(server);
    },
  };
}

async function connectWhenUp(access: BrokerAccess): Promise<NatsConnection> {
  const authenticator = jwtAuthenticator(access.jwt, new TextEncoder().encode(access.seed));
  let connection: NatsConnection | null = null;
  const tryOnce = async (): Promise<boolean> => {
    connection = await connect({ servers: access.url, authenticator, reconnect: false }).catch(() => null);
    return connection !== null;
  };
  await until(tryOnce, { timeoutMs: 10_000, what: "the nats-server accepts a gateway" });
  if (connection === null) throw new Error("unreachable: until() resolved");
  return connection;
}

async function freePort(host: string): Promise<number> {
  const server = createServer().listen(0, host);
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("a listening TCP server has an address with a port");
  return address.port;
}

async function end(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const exited = once(server, "exit");
  server.kill("SIGTERM");
  await exited;
}
