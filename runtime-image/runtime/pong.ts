// The answer to a ping, the same from the main thread and from the watchdog.
import type { Pong } from "../contract/instance-events.ts";
import type { SharedState } from "./shared-state.ts";

export function encodePong(instanceId: string, shared: SharedState): Uint8Array {
  const pong: Pong = { instanceId, state: shared.state(), requestCount: shared.requestCount() };
  return Buffer.from(JSON.stringify(pong));
}
