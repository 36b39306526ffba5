// What the keeper of an app's stores can not do: its rights end at the two buckets of one app and environment.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createStores } from "../../orchestrator/stores/stores.ts";
import type { Environment } from "../../runtime-image/contract/instance-manifest.ts";
import { connectBare, type BareClient } from "../support/broker-client.ts";
import { startStoreWorld, type StoreWorld } from "../support/store-world.ts";

let world: StoreWorld;
let keeper: BareClient;
let instance: BareClient;

beforeAll(async () => {
  world = await startStoreWorld();
  for (const environment of ["staging", "production"] as const) await world.control.ensureAppAccount("a1", environment);
  await world.control.ensureAppAccount("a2", "staging");
  const { signer, broker } = world.broker;
  keeper = await connectBare(broker.url, await signer.storeKeeperCredentials("a1", "staging"));
  instance = await connectBare(broker.url, await signer.instanceCredentials("a1", "staging", "one"));
});

afterAll(async () => {
  await Promise.all([keeper.close(), instance.close()]);
  await world.close();
});

describe("the keeper of stores", () => {
  it.each([
    "i.one.req",
    "i.one.ping",
    "o.one.up",
    ...["CREATE", "UPDATE", "DELETE", "PURGE", "SNAPSHOT", "RESTORE", "MSG.GET"].map((action) => `$JS.API.STREAM.${action}.KV_data`),
    "$JS.API.STREAM.CREATE.OWN",
    "$JS.API.STREAM.NAMES",
    "$JS.API.STREAM.INFO.KV_other",
    "$JS.API.CONSUMER.CREATE.KV_data",
    "$JS.API.CONSUMER.CREATE.KV_data.name",
    "$JS.API.CONSUMER.CREATE.KV_other.name.$KV.other.>",
    "$JS.API.CONSUMER.CREATE.KV_data.name.$KV.sessions.>",
    "$JS.API.CONSUMER.DURABLE.CREATE.KV_data.name",
    "$JS.ACK.KV_data.name.1.1.1.1.0",
    "$KV.other.x",
    "$SYS.REQ.CLAIMS.UPDATE",
    "gateway.staging.status",
  ])("may not publish to %s", async (subject) => {
    expect(await keeper.isPublishRefused(subject)).toBe(true);
  });

  it.each([">", "i.>", "o.>", "$KV.>", "$KV.data.>", "_INBOX.>", "_INBOX_orchestrator.>", "$JS.API.>", "$JS.EVENT.>"])(
    "may not subscribe to %s",
    async (subject) => {
      expect(await keeper.isSubscribeRefused(subject)).toBe(true);
    },
  );

  it("has answers that no instance of the app can listen to", async () => {
    expect(await instance.isSubscribeRefused("_INBOX_stores.>")).toBe(true);
    expect(await instance.isPublishRefused("_INBOX_stores.x")).toBe(true);
  });

  it("sees nothing of another app or environment, and changes nothing there", async () => {
    const stores = createStores({ url: world.broker.broker.url, signer: world.broker.signer });
    const of = async (appId: string, environment: Environment) => stores.of(appId, environment);
    const [own, ...others] = [await of("a1", "staging"), await of("a1", "production"), await of("a2", "staging")];
    await own?.store.put("data", "6161.62", Buffer.from("{}"));
    for (const other of others) {
      expect(await other.store.count("data", "")).toBe(0);
      for await (const { subject } of other.messages("data", "all")) expect(subject).toBe("none");
    }
    await stores.close();
  });

  it("leaves no consumer behind, however often a bucket is read, also where the reader stops half-way", async () => {
    const stores = createStores({ url: world.broker.broker.url, signer: world.broker.signer });
    const own = await stores.of("a1", "staging");
    for (let n = 0; n < 40; n += 1) {
      await own.store.put("data", `6161.${n.toString(16).padStart(2, "0")}`, Buffer.from("{}"));
      for await (const message of own.messages("data", "last")) if (message.revision > 0) break;
    }
    let count = 0;
    for await (const message of own.messages("data", "last")) count += message.bytes.length > 0 ? 1 : 0;
    expect(count).toBeGreaterThanOrEqual(40);
    await stores.close();
  });
});
