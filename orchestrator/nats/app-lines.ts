// The control plane's lines into the accounts of all apps: few are open at a time, and each app's buckets are as they should be.
import type { Environment } from "../../runtime-image/contract/instance-manifest.ts";
import { BROKER_IDLE_LINE_COUNT_MAX } from "../../runtime-image/contract/limits.ts";
import { createTurn, type Turn } from "../turn.ts";
import type { BrokerSigner } from "./accounts.ts";
import { type AppLine, createAppLine } from "./app-line.ts";
import { openConnection } from "./connection.ts";
import { createKeptLines, type WantedLine } from "./kept-lines.ts";
import type { StoreState } from "./stores.ts";

export interface AppPlace {
  readonly appId: string;
  readonly environment: Environment;
}

export interface AppLines {
  /** A line that stays open while it is used, or until it is let go of. */
  use<Value>(place: AppPlace, work: (line: AppLine) => Promise<Value>): Promise<Value>;
  onInstanceEvent(place: AppPlace, onEvent: Parameters<AppLine["onInstanceEvent"]>[0]): Promise<() => void>;
  /** Its account has to be known to the broker. */
  ensureStores(place: AppPlace): Promise<void>;
  /** An earlier orchestrator made them, and nobody knows how it left them. */
  adoptStores(place: AppPlace): void;
  /** Those of every place that was adopted, one after the other, until this is closed. */
  tendStores(): Promise<void>;
  holdStores(isHeld: boolean): Promise<void>;
  dropStores(place: AppPlace): Promise<void>;
  close(): Promise<void>;
}

export interface AppLinesOptions {
  readonly url: string;
  readonly signer: Pick<BrokerSigner, "controlCredentials">;
  readonly onError: (cause: unknown) => void;
}

interface Known {
  readonly place: AppPlace;
  readonly inTurn: Turn; // What is done to its stores happens one after the other.
  isTended: boolean;
}

export function createAppLines({ url, signer, onError }: AppLinesOptions): AppLines {
  const lines = createKeptLines<AppLine>({ idleCountMax: BROKER_IDLE_LINE_COUNT_MAX });
  const known = new Map<string, Known>();
  let stores: StoreState = { isHeld: false };
  let tended: Promise<void> = Promise.resolve();
  let isClosed = false;

  const nameOf = ({ appId, environment }: AppPlace): string => `${environment} ${appId}`;
  const lineTo = (place: AppPlace): WantedLine<AppLine> => ({
    name: nameOf(place),
    open: async () => {
      const { appId, environment } = place;
      const access = { url, ...(await signer.controlCredentials(appId, environment)) };
      return createAppLine(await openConnection(access, { name: `orchestrator ${appId} ${environment}`, onError }));
    },
  });
  const knownOf = (place: AppPlace): Known => {
    const name = nameOf(place);
    const one = known.get(name) ?? { place, inTurn: createTurn(), isTended: false };
    known.set(name, one);
    return one;
  };
  const tend = async (one: Known): Promise<void> =>
    one.inTurn(async () => {
      if (known.get(nameOf(one.place)) !== one) return; // It was removed meanwhile, and must not come back.
      await lines.use(lineTo(one.place), async (line) => line.ensureStores(stores));
      one.isTended = true;
    });
  /** One that fails must not keep the others from it. */
  const tendEach = async (places: readonly Known[]): Promise<void> => {
    const failures: unknown[] = [];
    for (const one of places) {
      if (isClosed) return;
      await tend(one).catch((cause: unknown) => failures.push(cause));
    }
    if (failures.length > 0 && !isClosed) throw failures[0];
  };

  return {
    use: async (place, work) => lines.use(lineTo(place), work),
    async onInstanceEvent(place, onEvent) {
      const one = known.get(nameOf(place));
      if (one?.isTended === false) await tend(one);
      const { line, letGo } = await lines.hold(lineTo(place));
      try {
        const end = await line.onInstanceEvent(onEvent);
        return () => {
          end();
          letGo();
        };
      } catch (cause) {
        letGo();
        throw cause;
      }
    },
    ensureStores: async (place) => tend(knownOf(place)),
    adoptStores: (place) => void knownOf(place),
    async tendStores() {
      const tending = tendEach([...known.values()].filter(({ isTended }) => !isTended));
      tended = tending.catch(() => undefined); // Its caller hears of it.
      return tending;
    },
    async holdStores(isHeld) {
      stores = { isHeld };
      const isInUse = ({ place }: Known): boolean => lines.isOpen(nameOf(place));
      const all = [...known.values()];
      await tendEach([...all.filter(isInUse), ...all.filter((one) => !isInUse(one))]); // Those first in which something may write now.
    },
    async dropStores(place) {
      const { inTurn } = knownOf(place);
      known.delete(nameOf(place));
      await inTurn(async () => lines.use(lineTo(place), async (line) => line.dropStores()));
      await lines.end(nameOf(place));
    },
    async close() {
      isClosed = true;
      await lines.close();
      await tended;
    },
  };
}
