// What an app's folder holds, read and checked: the one value that builds, sites and deploys start from.
import type { Environment, Generation } from "../../runtime-image/contract/instance-manifest.ts";
import type { RouteMethod } from "../../runtime-image/contract/snapshot.ts";

export interface AppSource {
  readonly folder: string; // Absolute.
  readonly appName: string;
  readonly generation: Generation; // What functions of src/http speak.
  readonly functions: readonly FunctionSource[];
  readonly shared: readonly SharedSource[];
  readonly site: SiteSource | null;
  readonly proxyUrls: Readonly<Partial<Record<Environment, string>>>;
  readonly settings: AppSettings;
  readonly variables: Variables; // Of the folder's .env; secrets.
  readonly warnings: readonly string[]; // What is accepted, and does not do what its author may expect.
  readonly watchedFolders: readonly string[]; // Absolute; a change in them can change the app. Some may not be there (yet).
}

export type Variables = Readonly<Record<Environment, Readonly<Record<string, string>>>>;

/** The folders below src/ that functions live in; each but "http" is a generation, or an own key of its answers. */
export const FUNCTION_KINDS = ["http", "html", "json", "css", "js", "text", "xml"] as const;
export type FunctionKind = (typeof FUNCTION_KINDS)[number];

export interface FunctionSource {
  readonly name: string; // The folder, relative to the app's, with "/". Several routes may share one.
  readonly folder: string; // Absolute.
  readonly kind: FunctionKind;
  readonly method: RouteMethod;
  readonly path: string;
  readonly generation: Generation;
  readonly settings: FunctionSettings;
  readonly packages: readonly SharedPackage[]; // Which shared code it sees.
}

export interface FunctionSettings {
  readonly timeoutMs?: number;
  readonly memoryBytesMax?: number;
  readonly concurrency?: number; // Requests at once in one instance.
  readonly seesVariables?: false; // It does without the app's environment variables.
}

export const SHARED_PACKAGES = ["@architect/shared", "@architect/views"] as const;
export type SharedPackage = (typeof SHARED_PACKAGES)[number];

export interface SharedSource {
  readonly packageName: SharedPackage;
  readonly folder: string; // Absolute, inside the app's.
}

export interface SiteSource {
  readonly folder: string; // Absolute, inside the app's.
  readonly fingerprint: "off" | "on" | "external"; // "external": files carry fingerprints of their own already.
  readonly isSpa: boolean;
  readonly ignore: readonly string[]; // A file whose path holds one of these is left out.
}

export interface AppSettings {
  readonly rawJson: boolean;
  readonly bareQuery: boolean; // rawQueryString without its "?".
  readonly allowsInstallScripts: boolean;
  readonly functionBytesMax: number;
}
