// One app's way to its instances: its links to the broker, open while there are requests for it, and the dispatcher that uses them.
import { randomBytes } from "node:crypto";
import type { BrokerAccess } from "../runtime-image/contract/instance-manifest.ts";
import { GATEWAY_LINK_IDLE_MS } from "../runtime-image/contract/limits.ts";
import { answersTo } from "../runtime-image/contract/subjects.ts";
import type { Clock } from "./clock.ts";
import { createDispatcher, type Dispatcher } from "./dispatch/dispatcher.ts";
import type { Links, Way } from "./dispatch/links.ts";
import type { Log } from "./log.ts";
import { openLink, type BrokerLink } from "./upstreams/functions.ts";

export interface AppUpstream extends Pick<Dispatcher, "update" | "submit" | "sweep" | "takeQueued" | "isIdle"> {
  readonly access: BrokerAccess;
  /** Null where no request has needed a link for a while. */
  isUp(): boolean | null;
  close(): Promise<void>;
}

export interface UpstreamParts {
  readonly appId: string;
  readonly access: BrokerAccess;
  readonly opensAtOnce: boolean; // Without waiting for a first request.
  readonly gatewayId: string;
  readonly clock: Clock;
  readonly log: Log;
}

export function openAppUpstream(parts: UpstreamParts): AppUpstream {
  // Nobody but this process may get what is meant for it, whoever else calls itself by the same gateway id.
  const receivers: Record<Way, string> = {
    small: `${parts.gatewayId}s${randomBytes(8).toString("hex")}`,
    bulk: `${parts.gatewayId}b${randomBytes(8).toString("hex")}`,
  };
  const opened: Record<Way, BrokerLink | null> = { small: null, bulk: null };
  const onError = (message: string, cause: unknown): void => parts.log.error(message, { appId: parts.appId, cause });

  const open = (way: Way): BrokerLink =>
    openLink({
      access: parts.access,
      name: `gateway ${parts.gatewayId} ${way}`,
      subscriptions: { [answersTo(receivers[way])]: (delivery) => dispatcher.onMessage(delivery) },
      onUp: () => dispatcher.onUp(way),
      onDown: () => dispatcher.onDown(way),
      onError,
    });
  const links: Links = {
    isUp: (way) => opened[way]?.isUp ?? false,
    openBulk: () => void (opened.bulk ??= open("bulk")),
    receiverId: (way) => receivers[way],
    publish: (way, message) => opened[way]?.publish(message),
  };
  const dispatcher = createDispatcher({ links, clock: parts.clock, onError });
  let isUsed = true; // Since the last look.
  let usedMs = 0;
  const closeLinks = async (): Promise<void> => {
    const { small, bulk } = opened;
    opened.small = null;
    opened.bulk = null;
    await Promise.all([small?.close(), bulk?.close()]);
  };
  if (parts.opensAtOnce) opened.small = open("small");

  return {
    access: parts.access,
    update: dispatcher.update,
    submit(key, job) {
      isUsed = true;
      opened.small ??= open("small");
      dispatcher.submit(key, job);
    },
    sweep(now) {
      if (opened.small === null) return; // Nothing was asked for, and hundreds of such apps must cost nothing.
      dispatcher.sweep(now);
      if (isUsed || !dispatcher.isIdle()) usedMs = now.nowMs;
      else if (now.nowMs - usedMs >= GATEWAY_LINK_IDLE_MS) void closeLinks(); // Never fails.
      isUsed = false;
    },
    takeQueued: dispatcher.takeQueued,
    isIdle: dispatcher.isIdle,
    isUp: () => (opened.small === null ? null : links.isUp("small")),
    async close() {
      dispatcher.letGoAll();
      await closeLinks();
    },
  };
}
