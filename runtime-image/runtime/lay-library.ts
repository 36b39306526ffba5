// Offers the library to user code: the bridge lies ready from the start, all that it stands on is made when it is first asked for.
import { createRequire } from "node:module";
import path from "node:path";
import type { InstanceManifest } from "../contract/instance-manifest.ts";
import { layBridge, type Bridge } from "../library/bridge.ts";
import type { Bus } from "./bus.ts";
import { createStore, type InstanceStore } from "./store.ts";

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
      return (store ??= storeOnceOpen(connecting.then((bus) => createStore(bus, manifest))));
    },
  };
  layBridge(bridge, () => loadLibrary());
  return { settle: async () => store?.settle() };
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
