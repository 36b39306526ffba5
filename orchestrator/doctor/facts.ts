// What doctor knows about a machine before it judges: plain values, so that every judgement can be tested without the machine.
import type { DiskReport } from "./disk-use.ts";

export interface Facts {
  readonly nodeVersion: string;
  readonly nats: NatsFacts;
  readonly tools: ToolFacts;
  readonly broker: BrokerFacts | null; // Null where no broker was named.
  readonly docker: DockerFacts;
  readonly ports: readonly PortFacts[];
  readonly disk: DiskFacts;
  readonly use: DiskReport | null; // Null where there is no home yet.
  readonly memory: { readonly totalBytes: number; readonly availableBytes: number };
  readonly fileDescriptorCountMax: number | null; // Null where the system does not tell.
  readonly hasIpv6Loopback: boolean;
}

export type NatsFacts =
  | { readonly kind: "found"; readonly path: string; readonly version: string }
  | { readonly kind: "unusable"; readonly problem: string; readonly remedy: string };

/** Where they are; null where they are not. */
export interface ToolFacts {
  readonly git: string | null;
  readonly npm: string | null;
}

export type BrokerFacts =
  | {
      readonly kind: "answers";
      readonly url: string;
      readonly version: string;
      readonly payloadBytesMax: number;
      readonly hasJetStream: boolean;
    }
  | { readonly kind: "silent"; readonly url: string; readonly problem: string };

export type DockerFacts =
  | { readonly kind: "absent"; readonly endpoint: string; readonly problem: string }
  | {
      readonly kind: "answers";
      readonly endpoint: string;
      readonly version: string;
      readonly runcVersion: string | null; // With a distribution's suffix where there is one.
      readonly cgroupVersion: string;
      readonly limits: { readonly memory: boolean; readonly swap: boolean; readonly pids: boolean; readonly cpu: boolean };
      readonly securityOptions: readonly string[]; // "seccomp", "apparmor", "rootless", …
      readonly leftovers: readonly Leftover[];
    };

/** A container or network of a platform whose home folder is gone. */
export interface Leftover {
  readonly kind: "container" | "network";
  readonly name: string;
  readonly home: string;
}

export interface PortFacts {
  readonly port: number;
  readonly purpose: string; // "staging"
  readonly flag: string; // "--staging-port"
  readonly state: "free" | "ours" | "taken" | "forbidden";
}

export interface DiskFacts {
  readonly path: string; // The home, or the nearest folder above it that exists.
  readonly freeBytes: number;
  readonly isWritable: boolean;
}
