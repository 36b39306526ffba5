// What an instance is told when it starts: one JSON text in one environment variable or on standard input, and nothing else.

export const INSTANCE_MANIFEST_VARIABLE = "ORCHESTRATOR_INSTANCE";

/** The value of that variable where an InstanceInput comes on standard input: an engine may write environments to its disk. */
export const MANIFEST_ON_INPUT = "-";

export interface InstanceInput {
  readonly manifest: InstanceManifest;
  readonly variables: Readonly<Record<string, string>>; // For process.env.
}

export const GENERATIONS = ["current", "legacy", "simple", "json", "html"] as const;
export type Generation = (typeof GENERATIONS)[number];

export const ENVIRONMENTS = ["staging", "production"] as const;
export type Environment = (typeof ENVIRONMENTS)[number];

export interface InstanceManifest {
  readonly v: 1;
  readonly instanceId: string;
  readonly appId: string;
  readonly appName: string;
  readonly environment: Environment;
  readonly functionName: string; // The folder as the owner knows it: "src/http/get-index".
  readonly generation: Generation;
  readonly folder: string; // Where the function's files are, absolute, inside the instance.
  readonly timeoutMs: number;
  readonly concurrency: number;
  readonly memoryBytesMax: number;
  readonly bareQuery: boolean; // rawQueryString without its "?" (payload version 2).
  readonly rawJson: boolean; // JSON bodies reach handlers as text, not as base64 (payload versions 2 and 1).
  readonly sessionSecret: string; // Hex, of this app and environment; what session cookies and csrf tokens are signed with.
  readonly watchMemory: boolean; // True where nothing outside bounds the memory (engine "process").
  readonly broker: BrokerAccess;
}

export interface BrokerAccess {
  readonly url: string;
  readonly jwt: string;
  readonly seed: string;
}
