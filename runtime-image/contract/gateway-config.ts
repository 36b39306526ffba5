// What a gateway process is told when it starts (a 0600 file, its path is the only argument), and what it says of itself.
import type { BrokerAccess, Environment } from "./instance-manifest.ts";

export interface GatewayConfig {
  readonly v: 1;
  readonly gatewayId: string; // Lower-case letters and digits.
  readonly environment: Environment;
  readonly listen: readonly { readonly host: string; readonly port: number }[]; // 127.0.0.1 and ::1 unless configured.
  readonly trustedProxies: readonly string[]; // Addresses or CIDR ranges whose x-forwarded-* is believed.
  readonly broker: BrokerAccess; // In the account of this environment's gateways: reads this environment's snapshots, answers its status.
  readonly sitesFolder: string; // Absolute; holds the static files of releases.
  readonly limits: GatewayLimits;
}

export interface GatewayLimits {
  readonly requestBodyBytesMax: number;
  readonly headerBytesMax: number;
  readonly targetBytesMax: number;
}

/** The answer to a request on the gateway's status subject. */
export interface GatewayStatus {
  readonly pid: number;
  readonly gatewayId: string;
  readonly listening: boolean;
  readonly requestCount: number; // In flight.
  readonly sequences: Readonly<Record<string, number>>; // Per app id, the snapshot that it serves from.
  readonly connected: Readonly<Record<string, boolean>>; // Per app id, whether the app's broker connection is up.
}
