// Reads an instance's answer to a ping.
import type { Pong } from "../../runtime-image/contract/instance-events.ts";

/** Null for what is no answer to a ping; that someone spoke counts all the same. */
export function readPong(bytes: Uint8Array): Pick<Pong, "state"> | null {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    if (typeof value !== "object" || value === null || !("state" in value)) return null;
    const { state } = value;
    return state === "starting" || state === "ready" || state === "retiring" ? { state } : null;
  } catch {
    return null;
  }
}
