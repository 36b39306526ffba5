// Real stores: a broker, apps with accounts and buckets, and as many clients of them as a test wants.
import { brokerHome } from "../../orchestrator/nats/broker-home.ts";
import { createControlBus, type ControlBus } from "../../orchestrator/nats/control-bus.ts";
import { openConnection } from "../../orchestrator/nats/connection.ts";
import { storeConfig } from "../../orchestrator/nats/stores.ts";
import { readState } from "../../orchestrator/processes/detached.ts";
import type { Environment } from "../../runtime-image/contract/instance-manifest.ts";
import { storeStream, type StoreBucket } from "../../runtime-image/contract/subjects.ts";
import { connectBus, type Bus } from "../../runtime-image/runtime/bus.ts";
import { openStore } from "../../runtime-image/runtime/lay-library.ts";
import type { InstanceStore } from "../../runtime-image/store/store.ts";
import { startTestBroker, type TestBroker } from "./test-broker.ts";
import { until } from "./until.ts";

export interface StoreWorld {
  readonly broker: TestBroker;
  readonly control: ControlBus;
  /** A store as an instance of its own has it. */
  store(options?: { readonly appId?: string; readonly environment?: Environment }): Promise<InstanceStore>;
  /** Gives a bucket of staging other settings than the platform does. */
  changeBucket(appId: string, bucket: StoreBucket, settings: Readonly<Record<string, unknown>>): Promise<void>;
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
      return openStore(bus, instanceId);
    },
    changeBucket: async (appId, bucket, settings) => {
      const credentials = await broker.signer.controlCredentials(appId, "staging");
      const connection = await openConnection({ url: broker.broker.url, ...credentials }, { name: "test", onError: () => {} });
      const subject = `$JS.API.STREAM.UPDATE.${storeStream(bucket)}`;
      const bytes = Buffer.from(JSON.stringify({ ...storeConfig(bucket), ...settings }));
      const answer = await connection.ask({ subject, bytes, timeoutMs: 5_000, read: (message) => Buffer.from(message.bytes).toString() });
      await connection.close();
      if (answer?.includes('"error"') !== false) throw new Error(`the bucket was not changed: ${answer ?? "no answer"}`);
    },
    close: async () => {
      await Promise.all(buses.map((bus) => bus.close()));
      await control.close();
      await broker.close();
    },
  };
}

/** Kills it where it stands, and waits until the platform has started another. */
export async function killBroker({ broker }: StoreWorld): Promise<void> {
  const restartCount = (): number => broker.events.filter(({ kind }) => kind === "restarted").length;
  const before = restartCount();
  const state = await readState(brokerHome(broker.home).stateFile);
  if (state === null) throw new Error("no broker is written down");
  process.kill(state.identity.pid, "SIGKILL");
  await until(() => restartCount() > before, { timeoutMs: 20_000 });
}
