// Documents as a function uses them: the library over a bridge, as the runtime lays it in an instance.
import type { BrokerAccess } from "../../runtime-image/contract/instance-manifest.ts";
import { layBridge } from "../../runtime-image/library/bridge.ts";
import { count, get, set } from "../../runtime-image/library/data.ts";
import { connectBus } from "../../runtime-image/runtime/bus.ts";
import { openStore } from "../../runtime-image/runtime/lay-library.ts";
import type { InstanceStore } from "../../runtime-image/store/store.ts";
import type { Driver } from "./driver.ts";

export interface OurDriver extends Driver {
  readonly store: InstanceStore;
  /** A page of 100 after this cursor. */
  page(table: string, cursor: string): Promise<unknown>;
  count(table: string): Promise<unknown>;
}

export interface OurAccess {
  readonly broker: BrokerAccess;
  readonly instanceId: string;
}

const TABLE = "bench";
const PAGE_COUNT = 100;
const CONNECT_TIMEOUT_MS = 5_000;

export async function openOurs({ broker, instanceId }: OurAccess): Promise<OurDriver> {
  const bus = await connectBus(broker, { name: instanceId, timeoutMs: CONNECT_TIMEOUT_MS });
  const store = openStore(bus, instanceId);
  layBridge({ environment: "staging", appName: "bench", secret: "00".repeat(32), currentRequest: () => null, store }, () => null);
  return {
    store,
    get: async (key) => get({ table: TABLE, key }),
    set: async (key, value) => set({ ...value, table: TABLE, key }),
    page: async (table, cursor) => get({ table, cursor, limit: PAGE_COUNT }),
    count: async (table) => count({ table }),
    close: () => bus.close(),
  };
}
