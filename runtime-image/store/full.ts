// Says which limit a store has run into, from what the broker tells of its stream. Pure.
import type { BucketName } from "../library/bridge.ts";

export interface StreamFill {
  readonly messageCount: number;
  readonly byteCount: number;
  readonly messageCountMax: number;
  readonly byteCountMax: number;
}

const NAMES: Readonly<Record<BucketName, string>> = { data: "documents", sessions: "sessions" };
const MESSAGE_EXTRA_BYTES = 2_000; // Headers, a subject of 800 characters, and what the broker writes around each message.

/** What the broker said stands where it is none of ours: the account's own limit, for one. */
export function fullBecause(bucket: BucketName, fill: StreamFill, refused: { readonly byteCount: number; readonly text: string }): string {
  const { messageCount, byteCount, messageCountMax, byteCountMax } = fill;
  if (messageCountMax === 1) return "The broker's disk is nearly full."; // How the control plane holds all stores.
  if (messageCountMax > 0 && messageCount >= messageCountMax)
    return `The limit of ${messageCountMax.toLocaleString("en-US")} ${NAMES[bucket]} is reached.`;
  if (byteCountMax > 0 && byteCount + refused.byteCount + MESSAGE_EXTRA_BYTES > byteCountMax)
    return `The limit of ${byteCountMax / 1_000_000} MB for ${NAMES[bucket]} is reached.`;
  return `The broker says: ${refused.text}.`;
}

interface StreamInfo {
  readonly config?: { readonly max_msgs?: number; readonly max_bytes?: number };
  readonly state?: { readonly messages?: number; readonly bytes?: number };
}

/** From the broker's own answer; what it leaves out is no limit. */
export function fillIn(info: object): StreamFill {
  const { config, state }: StreamInfo = info;
  return {
    messageCount: state?.messages ?? 0,
    byteCount: state?.bytes ?? 0,
    messageCountMax: config?.max_msgs ?? -1,
    byteCountMax: config?.max_bytes ?? -1,
  };
}
