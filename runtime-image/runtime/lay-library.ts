// Offers the library to user code: the bridge lies ready from the start, all that it stands on is made when it is first asked for.
import { randomBytes } from "node:crypto";
import { createRequire } from "node:module";
import path from "node:path";
import type { InstanceManifest } from "../contract/instance-manifest.ts";
import { storeAnswersTo } from "../contract/subjects.ts";
import { layBridge, type Bridge } from "../library/bridge.ts";
import type { Bus } from "./bus.ts";
import { createStoreRequests } from "../store/requests.ts";
import { createStore, type InstanceStore } from "../store/store.ts";

interface Options {
  readonly manifest: InstanceManifest;
  readonly connecting: Promise<Bus>;
  readonly currentRequest: Bridge["currentRequest"];
}

export interface OfferedLibrary {
  /** Does what its store put off, where there is one. */
  settle(): Promise<void>;
}

export function offerLibrary({ manifest, connecting, currentRequest }: Options): OfferedLibrary {
  let store: InstanceStore | null = null;
  const bridge: Bridge = {
    environment: manifest.environment,
    appName: manifest.appName,
    secret: manifest.sessionSecret,
    currentRequest,
    get store() {
      return (store ??= storeOnceOpen(connecting.then((bus) => openStore(bus, manifest.instanceId))));
    },
  };
  layBridge(bridge, () => loadLibrary());
  return { settle: async () => store?.settle() };
}

/** Asks nothing, and costs nothing, before it is first used. */
export function openStore(bus: Pick<Bus, "asker">, instanceId: string): InstanceStore {
  // Other instances of the app could have the broker send here what it would answer them, if they knew where.
  const answersTo = storeAnswersTo(instanceId, randomBytes(12).toString("hex"));
  return createStore(createStoreRequests(bus.asker(answersTo)));
}

/** A file of its own, so that a cold start reads nothing of it. */
function loadLibrary(): unknown {
  const file = path.join(import.meta.dirname, "library.js");
  const library: unknown = createRequire(file)(file);
  return library;
}

/** Modules may ask for a document while they load, before the broker is connected. */
function storeOnceOpen(opening: Promise<InstanceStore>): InstanceStore {
  opening.catch(() => undefined); // Whoever asks is told; an instance without a broker never gets as far as a request.
  return {
    get: async (...query) => (await opening).get(...query),
    put: async (...change) => (await opening).put(...change),
    remove: async (...key) => (await opening).remove(...key),
    list: async (...range) => (await opening).list(...range),
    count: async (...prefix) => (await opening).count(...prefix),
    settle: async () => (await opening).settle(),
  };
}
