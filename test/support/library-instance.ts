// An instance for tests of the library: a bridge over a store in memory, and requests that the code under test belongs to.
import { AsyncLocalStorage } from "node:async_hooks";
import { layBridge, type BridgeRequest, type BucketName, type Store } from "../../runtime-image/library/bridge.ts";
import { createMemoryStore } from "./memory-store.ts";

export interface TestInstance {
  readonly store: Store;
  /** What the store was asked since the start, as "get sessions". */
  readonly calls: string[];
  /** Runs the work as part of a request with these headers. */
  within<Value>(request: Partial<BridgeRequest>, work: () => Value): Value;
}

export const SECRET = "5ec2e7".repeat(10);

export function layTestInstance(options: { environment?: string; secret?: string } = {}): TestInstance {
  const requests = new AsyncLocalStorage<BridgeRequest>();
  const calls: string[] = [];
  const store = recorded(createMemoryStore(), calls);
  layBridge(
    {
      environment: options.environment ?? "staging",
      appName: "tests",
      secret: options.secret ?? SECRET,
      currentRequest: () => requests.getStore() ?? null,
      store,
    },
    () => {
      throw new Error("tests import the library themselves");
    },
  );
  let count = 0;
  return {
    store,
    calls,
    within: (request, work) => {
      count += 1;
      return requests.run({ id: `request-${count}`, method: "GET", path: "/", scheme: "http", headers: [], ...request }, work);
    },
  };
}

function recorded(store: Store, calls: string[]): Store {
  const note = (name: string, bucket: BucketName): void => void calls.push(`${name} ${bucket}`);
  return {
    get: (bucket, key) => (note("get", bucket), store.get(bucket, key)),
    put: (bucket, key, bytes, rest) => (note("put", bucket), store.put(bucket, key, bytes, rest)),
    remove: (bucket, key) => (note("remove", bucket), store.remove(bucket, key)),
    list: (bucket, range) => (note("list", bucket), store.list(bucket, range)),
    count: (bucket, prefix) => (note("count", bucket), store.count(bucket, prefix)),
  };
}
