// The text that makes a nats-server of the owner's trust this platform.
import { createBrokerSigner } from "./accounts.ts";
import { externalServerConfig } from "./config.ts";
import { loadBrokerKeys } from "./keys.ts";

export async function externalBrokerConfig(home: string): Promise<string> {
  const trust = await createBrokerSigner(await loadBrokerKeys(home)).trust();
  return externalServerConfig(trust, { accountsFolder: "./accounts", storeFolder: "./store" });
}
