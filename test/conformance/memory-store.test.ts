// The store in memory behaves like the real one, so that what is tested on it holds there.
import { createMemoryStore } from "../support/memory-store.ts";
import { describeStore } from "./store-behaviour.ts";

describeStore("the store in memory", async () => {
  const store = createMemoryStore();
  return { store, other: store, close: async () => {} };
});
