// An instance that becomes ready while its broker goes away.
import { expect, it } from "vitest";
import type { Bus } from "../../../runtime-image/runtime/bus.ts";
import { createLifecycle } from "../../../runtime-image/runtime/lifecycle.ts";

type Parts = Parameters<typeof createLifecycle>[0];

/** A lifecycle on a bus that loses so many flushes; what it says, as kinds of events. */
function lifecycleOn(lostFlushCount: number) {
  const said: string[] = [];
  let lostCount = 0;
  const bus = {
    subscribe: () => ({ drain: async () => undefined }),
    publish: (_subject: string, bytes: Uint8Array) => void said.push((JSON.parse(Buffer.from(bytes).toString()) as { kind: string }).kind),
    flush: async () => {
      if (lostCount === lostFlushCount) return;
      lostCount += 1;
      throw new Error("the connection went away");
    },
  } as unknown as Bus; // Nothing else of it is needed.
  const parts = {
    manifest: { instanceId: "i1", timeoutMs: 1_000 },
    bus,
    shared: { setState: () => undefined, tick: () => undefined },
    invoker: { sweep: () => undefined, inFlightCount: () => 0 },
    held: { sweep: () => undefined, count: () => 0 },
    settle: async () => undefined,
    exit: () => undefined,
  } as unknown as Parts;
  return { lifecycle: createLifecycle(parts), said };
}

it("says that it is ready once, where the broker has heard it", async () => {
  const { lifecycle, said } = lifecycleOn(0);
  await lifecycle.serve(1);
  expect(said).toEqual(["ready"]);
});

it("says so again until the broker has heard it, and does not end over it", async () => {
  const { lifecycle, said } = lifecycleOn(2);
  await lifecycle.serve(1);
  expect(said).toEqual(["ready", "ready", "ready"]);
});
