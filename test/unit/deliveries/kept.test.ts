// How many deliveries are remembered, with their logs: the latest of each app, through any number of orchestrators.
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Deliveries, type DeliveriesParts, createDeliveries } from "../../../orchestrator/deliveries/deliveries.ts";
import { createDeliveryBook } from "../../../orchestrator/deliveries/delivery-book.ts";
import { createDeliveryLogs } from "../../../orchestrator/deliveries/delivery-log.ts";
import { newDelivery } from "../../../orchestrator/deliveries/delivery.ts";
import type { HostedApp } from "../../../orchestrator/hosting/hosted-app.ts";
import { DELIVERY_COUNT_KEPT } from "../../../runtime-image/contract/limits.ts";
import { PlatformError } from "../../../runtime-image/contract/errors.ts";
import { memoryState } from "../../support/control-state.ts";
import { until } from "../../support/until.ts";

let home = "";
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "deliveries-kept-"));
});
afterEach(async () => {
  await rm(home, { recursive: true });
});

const APP = { appId: "a1", name: "shop" } as HostedApp; // Deliveries whose source is refused need no more of it.
const SOURCE = { kind: "upload", commit: "c", ref: null, message: null } as const;
const refused = async (): Promise<never> => Promise.reject(new PlatformError("SOURCE_REFUSED", { detail: "for this test" }));

function orchestrator(state: ReturnType<typeof memoryState>): Deliveries {
  return createDeliveries({
    folder: join(home, "delivering"),
    hosting: { app: () => APP, byId: (appId) => (appId === APP.appId ? APP : null) },
    book: createDeliveryBook(state),
    logs: createDeliveryLogs(join(home, "deliveries")),
    checkOut: () => refused,
    clock: { nowEpochMs: () => 0 },
    report: (error) => expect.fail(String(error)),
    used: { during: async (work) => work(() => undefined) },
    sitesFolder: join(home, "sites"),
    ...({} as Pick<DeliveriesParts, "shop" | "engine">), // No delivery comes so far as to ask for them.
  });
}
const logs = async (): Promise<string[]> => readdir(join(home, "deliveries"));

describe("deliveries that are over", () => {
  it("are the latest hundred, and so are their logs, however often the orchestrator is started anew", async () => {
    const state = memoryState();
    const count = DELIVERY_COUNT_KEPT + 35;
    for (let number = 1; number <= count; number += 1) {
      const deliveries = orchestrator(state); // A new one for each.
      await deliveries.resume();
      const { over } = await deliveries.begin({ app: APP, source: SOURCE, by: "ann", checkOut: refused });
      expect(await over).toMatchObject({ number, state: "red" });
      await deliveries.close();
    }
    await until(async () => (await logs()).length === DELIVERY_COUNT_KEPT, { timeoutMs: 5_000 });
    const known = await orchestrator(state).list(APP);
    expect(known.map(({ number }) => number)).toEqual(Array.from({ length: DELIVERY_COUNT_KEPT }, (_, index) => count - index));
    expect((await logs()).toSorted()).toEqual(known.map(({ deliveryId }) => `${deliveryId}.ndjson`).toSorted());
    expect(state.keys().filter((key) => key.startsWith("delivery-open"))).toEqual([]);
  });

  it("leave nothing where their app was gone when the orchestrator was started anew", async () => {
    const state = memoryState();
    const left = newDelivery({ appId: "gone", app: "gone", number: 7, source: SOURCE, by: "ann", createdEpochMs: 0 });
    await createDeliveryBook(state).keep(left);
    await (await createDeliveryLogs(join(home, "deliveries")).begin(left.deliveryId)).close();
    await orchestrator(state).resume();
    expect(await logs()).toEqual([]);
    expect(state.keys()).toEqual([]);
  });
});
