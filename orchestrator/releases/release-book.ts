// Remembers releases and which one is live where, in the control state; nothing else of a deploy is written down.
import type { Environment } from "../../runtime-image/contract/instance-manifest.ts";
import type { Release } from "./release.ts";

/** Durable and small; keys of letters, digits, dots and dashes. */
export interface ControlState {
  read(key: string): Promise<unknown>;
  write(key: string, value: unknown): Promise<void>;
}

export interface ReleaseBook {
  keep(release: Release): Promise<void>;
  point(environment: Environment, release: Release): Promise<void>;
  deployed(environment: Environment): Promise<Release | null>;
}

export function createReleaseBook(state: ControlState, appId: string): ReleaseBook {
  const releaseKey = (releaseId: string): string => `release.${appId}.${releaseId}`;
  const pointerKey = (environment: Environment): string => `deployment.${appId}.${environment}`;
  return {
    async keep(release) {
      if ((await state.read(releaseKey(release.releaseId))) === null) await state.write(releaseKey(release.releaseId), release);
    },
    async point(environment, release) {
      await state.write(pointerKey(environment), { releaseId: release.releaseId });
    },
    async deployed(environment) {
      const pointer = await state.read(pointerKey(environment));
      if (!isPointer(pointer)) return null;
      const release = await state.read(releaseKey(pointer.releaseId));
      // Releases of the first days knew no sites and no proxies.
      return isRelease(release) ? { ...release, site: release.site ?? null, proxyUrls: release.proxyUrls ?? {} } : null;
    },
  };
}

const isPointer = (value: unknown): value is { readonly releaseId: string } =>
  typeof value === "object" && value !== null && "releaseId" in value && typeof value.releaseId === "string";

/** Only this file writes releases, so their outline is enough to know one. */
const isRelease = (value: unknown): value is Omit<Release, "site" | "proxyUrls"> & Partial<Release> =>
  typeof value === "object" && value !== null && "releaseId" in value && "functions" in value && Array.isArray(value.functions);
