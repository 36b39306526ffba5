// Which app answers on a host. Where two claim the same one, the first by id has it, whichever came first.
import type { AppSnapshot } from "../runtime-image/contract/snapshot.ts";

/** What an app says of where it answers. */
export type Claims = Pick<AppSnapshot, "appId" | "hosts" | "isDefault">;

export interface Hosts<App> {
  /** The app of a host, else the one that answers where no other does. */
  find(host: string): App | null;
  /** A snapshot costs as much as its app has hosts, however many other apps there are. */
  put(claims: Claims, app: App): void;
  remove(appId: string): void;
}

interface Claimant<App> {
  readonly claims: Claims;
  readonly app: App;
}

export function createHosts<App>(): Hosts<App> {
  const claimants = new Map<string, Claimant<App>>();
  const claimsOf = new Map<string, Set<string>>(); // App ids by host.
  const defaults = new Set<string>(); // App ids.
  const byHost = new Map<string, App>();
  let fallback: App | null = null;

  const firstOf = (appIds: ReadonlySet<string>): App | null => {
    let first: string | null = null;
    for (const appId of appIds) if (first === null || appId < first) first = appId;
    return first === null ? null : (claimants.get(first)?.app ?? null);
  };
  const settle = (hosts: Iterable<string>): void => {
    for (const host of hosts) {
      const claiming = claimsOf.get(host);
      const app = claiming === undefined ? null : firstOf(claiming);
      if (app !== null) byHost.set(host, app);
      else {
        byHost.delete(host);
        claimsOf.delete(host);
      }
    }
    fallback = firstOf(defaults);
  };
  const withdraw = (appId: string): readonly string[] => {
    const hosts = claimants.get(appId)?.claims.hosts ?? [];
    for (const host of hosts) claimsOf.get(host)?.delete(appId);
    claimants.delete(appId);
    defaults.delete(appId);
    return hosts;
  };
  return {
    find: (host) => byHost.get(host) ?? fallback,
    put(claims, app) {
      const { appId, hosts, isDefault } = claims;
      const before = withdraw(appId);
      claimants.set(appId, { claims, app });
      for (const host of hosts) {
        const claiming = claimsOf.get(host) ?? new Set();
        claimsOf.set(host, claiming.add(appId));
      }
      if (isDefault) defaults.add(appId);
      settle(new Set([...before, ...hosts]));
    },
    remove: (appId) => settle(withdraw(appId)),
  };
}
