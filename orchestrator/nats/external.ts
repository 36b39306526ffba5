// Uses a nats-server that the owner runs, once it is known to fit.
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import type { BrokerSigner } from "./accounts.ts";
import { probeBroker } from "./probe.ts";
import type { Broker } from "./server.ts";

export async function connectExternal(options: { readonly url: string; readonly signer: BrokerSigner }): Promise<Broker> {
  const { version } = await probeBroker(options.url, options.signer).catch((error: unknown) => {
    throw explained(error, options.url);
  });
  return {
    kind: "external",
    url: options.url,
    version,
    adopted: true,
    stop: async () => {}, // It is the owner's.
    release: async () => {},
  };
}

/** JetStream that is switched off is the owner's to switch on there, no failure of ours. */
function explained(error: unknown, url: string): unknown {
  if (!(error instanceof PlatformError) || error.code !== "NATS_FAILED") return error;
  const detail = `${url} has no JetStream for this platform: ${error.message}`;
  return new PlatformError(
    "NATS_REFUSED",
    { detail, remedy: 'Include what "orchestrator nats config" prints in its configuration.' },
    { cause: error },
  );
}
