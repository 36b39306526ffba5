// What a gateway process is told when it starts (a 0600 file, its path is the only argument), and what it says of itself.
import type { BrokerAccess, Environment } from "./instance-manifest.ts";

export interface GatewayConfig {
  readonly v: 1;
  readonly gatewayId: string; // Lower-case letters and digits.
  readonly environment: Environment;
  readonly listen: readonly GatewayAddress[]; // 127.0.0.1 and ::1 unless configured.
  readonly trustedProxies: readonly string[]; // Addresses or CIDR ranges whose x-forwarded-* is believed.
  readonly broker: BrokerAccess; // In the account of this environment's gateways: reads this environment's snapshots, answers its status.
  readonly sitesFolder: string; // Absolute; holds the static files of releases.
  readonly limits: GatewayLimits;
  readonly program?: GatewayProgram; // Without it, a running gateway cannot hand over to a successor.
}

export interface GatewayAddress {
  readonly host: string;
  readonly port: number;
  readonly tls?: GatewayTls; // HTTPS; without it, HTTP.
}

/** Files in PEM, absolute. They may change at any time: connections from then on get the new certificate. */
export interface GatewayTls {
  readonly certFile: string;
  readonly keyFile: string;
}

/**
 * How a gateway of this config is started, be it by the orchestrator or by the gateway whose place it takes. That one may be of an
 * earlier version and reads nothing else of the config: these fields stay as they are.
 */
export interface GatewayProgram {
  readonly nodePath: string;
  readonly nodeArguments: readonly string[];
  readonly mainFile: string;
  readonly variables: Readonly<Record<string, string>>; // All of its environment variables.
  readonly logFile: string; // Appended to.
  readonly version: string; // Other code is another config.
}

export interface GatewayLimits {
  readonly requestBodyBytesMax: number;
  readonly headerBytesMax: number;
  readonly targetBytesMax: number;
}

/** The answer to a request on the gateway's status subject. One that handed over is silent: its successor answers. */
export interface GatewayStatus {
  readonly pid: number;
  readonly gatewayId: string;
  readonly configHash: string; // SHA-256 of its config file, as it read it.
  readonly listening: boolean;
  readonly requestCount: number; // In flight.
  readonly sequences: Readonly<Record<string, number>>; // Per app id, the snapshot that it serves from.
  readonly connected: Readonly<Record<string, boolean>>; // Per app id that had requests lately, whether its broker connection is up.
  readonly handOver: HandOverStatus;
}

/** What became of the hand-overs that this gateway was asked for; after one that succeeded it is silent. */
export interface HandOverStatus {
  readonly failureCount: number;
  readonly lastFailure: string | null; // Why no successor took over.
}

/** Asks a gateway to start a successor, to give it its listening sockets, and to go once that one serves. */
export const HAND_OVER_SIGNAL = "SIGUSR2";
