// What a gateway needs to know to serve one app: one value per app in the snapshot bucket of its environment.
import type { BrokerAccess, Generation } from "./instance-manifest.ts";

export const SNAPSHOT_VERSION = 1;

export const ROUTE_METHODS = ["GET", "POST", "PATCH", "PUT", "DELETE", "HEAD", "OPTIONS", "ANY"] as const;
export type RouteMethod = (typeof ROUTE_METHODS)[number];

export interface AppSnapshot {
  readonly v: typeof SNAPSHOT_VERSION;
  readonly appId: string;
  readonly appName: string;
  readonly hosts: readonly string[]; // Lower case, without port.
  readonly isDefault: boolean; // Answers for every host that no app names.
  readonly sequence: number; // Moves forward with every change; a gateway ignores an older one.
  readonly deployment: Deployment;
}

export type Deployment =
  | { readonly kind: "none" } // Nothing was deployed here yet (production: nothing was promoted).
  | {
      readonly kind: "live";
      readonly releaseId: string;
      readonly broker: BrokerAccess; // A gateway's credentials in the app's own account.
      readonly functions: readonly FunctionSnapshot[];
      readonly site?: SiteSnapshot; // Absent where the app has no static files.
      readonly proxyUrl?: string; // What "@proxy" names for this environment: it takes the place of $default.
    };

/** The static files of a release. Gateways read them from the folder that their config names; nothing in it ever changes. */
export interface SiteSnapshot {
  readonly siteId: string; // Hex; the hash of the index, which lies in <sitesFolder>/<siteId>.json.
  readonly answersRoot: boolean; // Files answer below "/" too, because no function answers GET /. Below /_static they always do.
  readonly isSpa: boolean; // A path without an extension that no file has is answered with index.html.
}

/** The index of a site: which content answers on which path. Contents lie in <sitesFolder>/files/<contentId>. */
export interface SiteIndex {
  readonly v: 1;
  readonly files: Readonly<Record<string, SiteFile>>; // By path below the folder, without a leading "/": "docs/index.html".
}

export interface SiteFile {
  readonly contentId: string; // SHA-256 of the bytes, hex.
  readonly bytes: number;
  readonly encodings?: Readonly<Partial<Record<"br" | "gzip", { readonly contentId: string; readonly bytes: number }>>>; // Precompressed variants.
  readonly isImmutable: boolean; // Its name holds a fingerprint of its content.
}

export interface FunctionSnapshot {
  readonly name: string;
  readonly method: RouteMethod;
  readonly path: string; // As the manifest writes it: "/shop/:item", "/files/*".
  readonly generation: Generation;
  readonly concurrency: number; // Requests at once in one instance.
  readonly timeoutMs: number;
  readonly instanceIds: readonly string[]; // Ready ones. Empty while the only one is being replaced.
  /** Why there is none, where it crashes on start; shown outside production. */
  readonly failure?: { readonly code: string; readonly message: string };
}
