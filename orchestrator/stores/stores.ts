// The sessions and documents of every app and environment, for their owner: a line to each, opened when it is first needed.
import { setTimeout as delay } from "node:timers/promises";
import type { Environment } from "../../runtime-image/contract/instance-manifest.ts";
import type { Store } from "../../runtime-image/library/bridge.ts";
import { createStore } from "../../runtime-image/store/store.ts";
import { createStoreRequests, type StoreRequests } from "../../runtime-image/store/requests.ts";
import type { BrokerSigner } from "../nats/accounts.ts";
import { openStoreLine, type StoreLine } from "./store-line.ts";

export interface AppStores {
  readonly store: Store; // The very one that instances have.
  readonly requests: StoreRequests;
  readonly messages: StoreLine["messages"];
}

export interface Stores {
  /** The app's account has to be known to the broker, and its buckets made. */
  of(appId: string, environment: Environment): Promise<AppStores>;
  /** Ends the line, where there is one: an app that is removed needs none. */
  leave(appId: string, environment: Environment): Promise<void>;
  close(): Promise<void>;
}

interface Opened {
  readonly line: StoreLine;
  readonly settle: () => Promise<void>;
  readonly stores: AppStores;
}

const SETTLE_TIMEOUT_MS = 1_000;

export function createStores({ url, signer }: { readonly url: string; readonly signer: BrokerSigner }): Stores {
  const opened = new Map<string, Promise<Opened>>();
  const nameOf = (appId: string, environment: Environment): string => `${environment} ${appId}`;
  const open = async (appId: string, environment: Environment): Promise<Opened> => {
    const access = { url, ...(await signer.storeKeeperCredentials(appId, environment)) };
    const line = await openStoreLine(access, `orchestrator stores ${appId} ${environment}`);
    const requests = createStoreRequests(line.ask);
    const store = createStore(requests);
    return { line, settle: () => store.settle(), stores: { store, requests, messages: line.messages } };
  };
  const end = async (name: string): Promise<void> => {
    const ending = opened.get(name);
    opened.delete(name);
    const known = await ending?.catch(() => null); // One that never opened needs no closing.
    if (known === undefined || known === null) return;
    // What it put off. A broker that is away must not keep the platform from ending.
    await Promise.race([known.settle(), delay(SETTLE_TIMEOUT_MS, undefined, { ref: false })]);
    await known.line.close();
  };
  return {
    of: async (appId, environment) => {
      const name = nameOf(appId, environment);
      const known = opened.get(name);
      if (known !== undefined) return (await known).stores;
      const opening = open(appId, environment);
      opened.set(name, opening);
      opening.catch(() => opened.delete(name)); // The next caller tries anew; this one is told by the same promise.
      return (await opening).stores;
    },
    leave: (appId, environment) => end(nameOf(appId, environment)),
    close: async () => {
      await Promise.all([...opened.keys()].map(end));
    },
  };
}
