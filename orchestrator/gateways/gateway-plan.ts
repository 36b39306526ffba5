// Decides how an environment gets the gateway that is wanted, from what is there already.
import type { GatewayConfig } from "../../runtime-image/contract/gateway-config.ts";
import { BACKOFF_FIRST_MS, BACKOFF_MAX_MS } from "../../runtime-image/contract/limits.ts";

export interface GatewayFacts<Listening> {
  readonly isAnyAlive: boolean;
  readonly listening: Listening | null; // The one that answers over the broker.
  readonly written: KnownConfig | null; // The last one that a gateway was started with, or should have been.
  readonly wanted: KnownConfig;
}

interface KnownConfig {
  readonly hash: string;
  readonly config: Pick<GatewayConfig, "listen" | "broker">;
}

interface SaysItsConfig {
  readonly status: { readonly configHash: string; readonly handOver?: unknown };
}

export type GatewayPlan<Listening> =
  | { readonly kind: "launch" }
  | { readonly kind: "adopt"; readonly listening: Listening }
  | { readonly kind: "hand over"; readonly listening: Listening }
  | { readonly kind: "replace"; readonly why: string }; // Nobody listens between the end of the one and the start of the other.

/** On another broker it can neither be asked how it is, nor reach anything of what is deployed. */
export const isOnOtherBroker = ({ written, wanted }: Pick<GatewayFacts<unknown>, "written" | "wanted">): boolean =>
  written !== null && written.config.broker.url !== wanted.config.broker.url;

export function planGateway<Listening extends SaysItsConfig>(facts: GatewayFacts<Listening>): GatewayPlan<Listening> {
  const { listening, written, wanted } = facts;
  if (!facts.isAnyAlive) return { kind: "launch" };
  if (isOnOtherBroker(facts)) return { kind: "replace", why: "it is on another broker" };
  if (listening === null) return { kind: "replace", why: "it does not answer" };
  if (listening.status.configHash === wanted.hash) return { kind: "adopt", listening };
  if (listening.status.handOver === undefined) return { kind: "replace", why: "it is of a version that cannot hand over" };
  const isKnown = written !== null && written.hash === listening.status.configHash;
  if (isKnown && inTheWay(written.config, wanted.config)) return { kind: "replace", why: "its addresses are in the way of the new ones" };
  return { kind: "hand over", listening };
}

type Listen = Pick<GatewayConfig, "listen">;

// A socket on every address of the machine and one on a single address cannot both have a port; all other pairs can.
const inTheWay = (before: Listen, wanted: Listen): boolean =>
  wanted.listen.some((one) =>
    before.listen.some(
      (other) =>
        one.port === other.port &&
        one.host !== other.host &&
        one.host.includes(":") === other.host.includes(":") &&
        [one.host, other.host].some((host) => host === "0.0.0.0" || host === "::"),
    ),
  );

/** The first end is made good at once; one that keeps ending is waited for longer each time. */
export const restartDelayMs = (endCount: number): number =>
  endCount <= 1 ? 0 : Math.min(BACKOFF_MAX_MS, BACKOFF_FIRST_MS * 2 ** (endCount - 2));
