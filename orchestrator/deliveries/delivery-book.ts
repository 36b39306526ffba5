// Remembers deliveries in the control state: those that are over for a while, those that are not until they are.
import type { ControlState } from "../releases/release-book.ts";
import { type Delivery, isOver } from "./delivery.ts";

export interface DeliveryBook {
  /** Newest first. */
  list(appId: string): Promise<readonly Delivery[]>;
  find(appId: string, number: number): Promise<Delivery | null>;
  keep(delivery: Delivery): Promise<void>;
  /** Those that the last orchestrator did not finish, oldest first. */
  unfinished(): Promise<readonly Delivery[]>;
  nextNumber(appId: string): Promise<number>;
  forget(delivery: Pick<Delivery, "appId" | "number">): Promise<void>;
  clear(appId: string): Promise<void>;
}

export function createDeliveryBook(state: ControlState): DeliveryBook {
  const numbers = new Map<string, number>(); // The last one of each app.
  const keyOf = ({ appId, number }: Pick<Delivery, "appId" | "number">): string => `delivery.${appId}.${number}`;
  const openKeyOf = ({ appId, number }: Pick<Delivery, "appId" | "number">): string => `delivery-open.${appId}.${number}`;
  const list = async (appId: string): Promise<Delivery[]> =>
    (await state.list(`delivery.${appId}`))
      .flatMap(({ value }) => (isDelivery(value) ? [value] : []))
      .toSorted((a, b) => b.number - a.number);
  return {
    list,
    async find(appId, number) {
      const value = (await state.read(keyOf({ appId, number })))?.value;
      return isDelivery(value) ? value : null;
    },
    async keep(delivery) {
      // What is open is marked so first and unmarked last: a crash in between costs a look, not a delivery.
      if (!isOver(delivery)) await state.write(openKeyOf(delivery), { appId: delivery.appId, number: delivery.number });
      await state.write(keyOf(delivery), delivery);
      if (isOver(delivery)) await state.remove(openKeyOf(delivery));
    },
    async unfinished() {
      const open = (await state.list("delivery-open")).flatMap(({ value }) => (isPlace(value) ? [value] : []));
      const found = await Promise.all(open.map(async (place) => (await state.read(keyOf(place)))?.value));
      return found
        .filter(isDelivery)
        .filter((one) => !isOver(one))
        .toSorted((a, b) => a.createdEpochMs - b.createdEpochMs);
    },
    async nextNumber(appId) {
      const last = numbers.get(appId) ?? (await list(appId))[0]?.number ?? 0;
      const next = Math.max(last, numbers.get(appId) ?? 0) + 1; // Somebody else may have asked meanwhile.
      numbers.set(appId, next);
      return next;
    },
    async forget(place) {
      await state.remove(openKeyOf(place));
      await state.remove(keyOf(place));
    },
    async clear(appId) {
      for (const prefix of ["delivery-open", "delivery"])
        for (const { key } of await state.list(`${prefix}.${appId}`)) await state.remove(key);
      numbers.delete(appId);
    },
  };
}

/** Only this file writes them. */
const isDelivery = (value: unknown): value is Delivery =>
  typeof value === "object" && value !== null && "deliveryId" in value && "steps" in value && "state" in value;

const isPlace = (value: unknown): value is Pick<Delivery, "appId" | "number"> =>
  typeof value === "object" && value !== null && "appId" in value && "number" in value;
