// Looks whether a broker can carry this platform: trusted, new enough, with JetStream and room for our largest message.
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { BROKER_PAYLOAD_BYTES_MAX, BROKER_VERSION_MIN } from "../../runtime-image/contract/limits.ts";
import type { BrokerSigner } from "./accounts.ts";
import { lookUpAccount } from "./account-directory.ts";
import { openConnection, type BrokerConnection, type ConnectionOptions, type ServerFacts } from "./connection.ts";
import { isVersionAtLeast } from "./version.ts";

const PROBE: ConnectionOptions = { name: "orchestrator probe", onError: () => {} }; // It subscribes to nothing.

/** Throws NATS_REFUSED, NATS_TOO_OLD, NATS_FAILED, or BROKER_UNAVAILABLE where nothing answers. */
export async function probeBroker(url: string, signer: BrokerSigner): Promise<ServerFacts> {
  const platform = await openConnection({ url, ...(await signer.orchestratorPlatformCredentials()) }, PROBE);
  try {
    refuseUnfit(url, platform.server);
    await platform.checkJetStream();
  } finally {
    await platform.close();
  }
  const system = await openConnection({ url, ...(await signer.systemCredentials()) }, PROBE);
  try {
    await checkResolver(url, system, (await signer.trust()).system.publicKey);
  } finally {
    await system.close();
  }
  return platform.server;
}

export function refuseUnfit(url: string, server: ServerFacts): void {
  if (!isVersionAtLeast(server.version, BROKER_VERSION_MIN))
    throw new PlatformError("NATS_TOO_OLD", {
      detail: `${url} is version ${server.version}; at least ${BROKER_VERSION_MIN} is needed.`,
      remedy: "Replace that nats-server.",
    });
  if (server.payloadBytesMax < BROKER_PAYLOAD_BYTES_MAX)
    throw new PlatformError("NATS_REFUSED", {
      detail: `${url} takes messages of ${server.payloadBytesMax} bytes; ${BROKER_PAYLOAD_BYTES_MAX} are needed.`,
      remedy: `Set max_payload: ${BROKER_PAYLOAD_BYTES_MAX} there; "orchestrator nats config" prints everything that is needed.`,
    });
}

async function checkResolver(url: string, system: BrokerConnection, publicKey: string): Promise<void> {
  if ((await lookUpAccount(system, publicKey)) !== null) return;
  throw new PlatformError("NATS_REFUSED", {
    detail: `${url} keeps no accounts: its resolver is not of type "full".`,
    remedy: 'Include what "orchestrator nats config" prints in its configuration.',
  });
}
