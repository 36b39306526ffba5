// One app's way to its instances: its links to the broker, and the dispatcher that uses them.
import { randomBytes } from "node:crypto";
import type { BrokerAccess } from "../runtime-image/contract/instance-manifest.ts";
import { answersTo } from "../runtime-image/contract/subjects.ts";
import type { Clock } from "./clock.ts";
import { createDispatcher, type Dispatcher } from "./dispatch/dispatcher.ts";
import type { Links, Way } from "./dispatch/links.ts";
import type { Log } from "./log.ts";
import { openLink, type BrokerLink } from "./upstreams/functions.ts";

export interface AppUpstream extends Pick<Dispatcher, "update" | "submit" | "sweep" | "takeQueued" | "isIdle"> {
  readonly access: BrokerAccess;
  isUp(): boolean;
  close(): Promise<void>;
}

export interface UpstreamParts {
  readonly appId: string;
  readonly access: BrokerAccess;
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
  opened.small = open("small");

  return {
    access: parts.access,
    update: dispatcher.update,
    submit: dispatcher.submit,
    sweep: dispatcher.sweep,
    takeQueued: dispatcher.takeQueued,
    isIdle: dispatcher.isIdle,
    isUp: () => links.isUp("small"),
    async close() {
      dispatcher.letGoAll();
      await Promise.all([opened.small?.close(), opened.bulk?.close()]);
    },
  };
}
