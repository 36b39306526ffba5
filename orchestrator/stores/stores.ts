// The sessions and documents of every app and environment, for their owner: connections that come and go beneath stores that stay.
import { setTimeout as delay } from "node:timers/promises";
import type { Environment } from "../../runtime-image/contract/instance-manifest.ts";
import { BROKER_IDLE_LINE_COUNT_MAX } from "../../runtime-image/contract/limits.ts";
import type { Store } from "../../runtime-image/library/bridge.ts";
import { BusFailure, type Ask } from "../../runtime-image/store/questions.ts";
import { createStore } from "../../runtime-image/store/store.ts";
import { createStoreRequests, type StoreRequests } from "../../runtime-image/store/requests.ts";
import type { BrokerSigner } from "../nats/accounts.ts";
import { createKeptLines, type HeldLine, type KeptLines, type WantedLine } from "../nats/kept-lines.ts";
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

interface Known {
  readonly settle: () => Promise<void>;
  readonly stores: AppStores;
}

const SETTLE_TIMEOUT_MS = 1_000;

export function createStores({ url, signer }: { readonly url: string; readonly signer: BrokerSigner }): Stores {
  const lines = createKeptLines<StoreLine>({ idleCountMax: BROKER_IDLE_LINE_COUNT_MAX });
  const known = new Map<string, Known>();
  const nameOf = (appId: string, environment: Environment): string => `${environment} ${appId}`;
  const lineTo = (appId: string, environment: Environment): WantedLine<StoreLine> => ({
    name: nameOf(appId, environment),
    open: async () => {
      const access = { url, ...(await signer.storeKeeperCredentials(appId, environment)) };
      return openStoreLine(access, `orchestrator stores ${appId} ${environment}`);
    },
  });
  const leave = async (name: string): Promise<void> => {
    const leaving = known.get(name);
    known.delete(name);
    if (leaving === undefined) return;
    // What it put off. A broker that is away must not keep the platform from ending.
    if (lines.isOpen(name)) await Promise.race([leaving.settle(), delay(SETTLE_TIMEOUT_MS, undefined, { ref: false })]);
    await lines.end(name);
  };
  return {
    async of(appId, environment) {
      const wanted = lineTo(appId, environment);
      await lines.use(wanted, async () => undefined); // Who cannot reach it hears of that now.
      const found = known.get(wanted.name) ?? knownOver(lines, wanted);
      known.set(wanted.name, found);
      return found.stores;
    },
    leave: (appId, environment) => leave(nameOf(appId, environment)),
    close: async () => {
      await Promise.all([...known.keys()].map(leave));
      await lines.close();
    },
  };
}

/** Its connection may be ended between any two questions, and is opened again for the second. */
function knownOver(lines: KeptLines<StoreLine>, wanted: WantedLine<StoreLine>): Known {
  const ask: Ask = async (question) => {
    const held = await lines.hold(wanted).catch((cause: unknown): never => {
      throw new BusFailure("unsent", cause instanceof Error ? cause.message : String(cause));
    });
    return answered(held, question);
  };
  const messages: StoreLine["messages"] = async function* (bucket, which) {
    const { line, letGo } = await lines.hold(wanted);
    try {
      yield* line.messages(bucket, which);
    } finally {
      letGo();
    }
  };
  const requests = createStoreRequests(ask);
  const store = createStore(requests);
  return { settle: () => store.settle(), stores: { store, requests, messages } };
}

async function answered({ line, letGo }: HeldLine<StoreLine>, question: Parameters<Ask>[0]): ReturnType<Ask> {
  try {
    return await line.ask(question);
  } finally {
    letGo();
  }
}
