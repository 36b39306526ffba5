// Real stores: a broker, apps with accounts and buckets, and as many clients of them as a test wants.
import { createControlBus, type ControlBus } from "../../orchestrator/nats/control-bus.ts";
import type { Environment } from "../../runtime-image/contract/instance-manifest.ts";
import type { Store } from "../../runtime-image/library/bridge.ts";
import { connectBus, type Bus } from "../../runtime-image/runtime/bus.ts";
import { createStore } from "../../runtime-image/runtime/store.ts";
import { startTestBroker, type TestBroker } from "./test-broker.ts";

export interface StoreWorld {
  readonly broker: TestBroker;
  readonly control: ControlBus;
  /** A store as an instance of its own has it. */
  store(options?: { readonly appId?: string; readonly environment?: Environment }): Promise<Store>;
  close(): Promise<void>;
}

export async function startStoreWorld(): Promise<StoreWorld> {
  const broker = await startTestBroker();
  const control = await createControlBus({ url: broker.broker.url, signer: broker.signer, onError: () => {} });
  const buses: Bus[] = [];
  return {
    broker,
    control,
    store: async ({ appId = "app", environment = "staging" } = {}) => {
      await control.ensureAppAccount(appId, environment);
      const instanceId = `i${buses.length}`;
      const credentials = await broker.signer.instanceCredentials(appId, environment, instanceId);
      const bus = await connectBus({ url: broker.broker.url, ...credentials }, { name: instanceId, timeoutMs: 5_000 });
      buses.push(bus);
      return createStore(bus, { instanceId });
    },
    close: async () => {
      await Promise.all(buses.map((bus) => bus.close()));
      await control.close();
      await broker.close();
    },
  };
}
