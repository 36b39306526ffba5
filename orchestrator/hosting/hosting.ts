// The apps that the platform hosts, as they are worked with: found by name, made, given domains, removed without a trace.
import { setTimeout as delay } from "node:timers/promises";
import { ENVIRONMENTS } from "../../runtime-image/contract/instance-manifest.ts";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { STOP_GRACE_MS } from "../../runtime-image/contract/limits.ts";
import { mapAtOnce } from "../at-once.ts";
import type { ControlBus } from "../nats/control-bus.ts";
import { createTurn } from "../turn.ts";
import type { KeptVariables } from "../variables/folder-variables.ts";
import type { AppBook, DomainPlace, KnownApp } from "./app-book.ts";
import { type HostedApp, type HostedAppParts, hostApp } from "./hosted-app.ts";

export interface Hosting {
  list(): readonly HostedApp[];
  /** Those that are being removed too. */
  all(): readonly HostedApp[];
  /** The default app where no name is given. Throws APP_UNKNOWN. */
  app(name?: string): HostedApp;
  defaultApp(): HostedApp | null;
  byId(appId: string): HostedApp | null;
  create(name: string, createdBy: string): Promise<HostedApp>;
  addDomain(name: string, place: DomainPlace): Promise<HostedApp>;
  removeDomain(name: string, domain: string): Promise<HostedApp>;
  /** Resolves when visitors get nothing of it any more and everything of it is gone. */
  remove(name: string): Promise<void>;
  /** Puts back what was live when the last orchestrator ended; removals that it did not finish are finished. */
  restore(): Promise<void>;
  /** Deploys that wait for instances fail at once. */
  giveUp(): void;
  close(): Promise<void>;
}

export interface HostingParts extends HostedAppParts {
  readonly bus: Pick<ControlBus, "ensureAppAccount" | "adoptAppAccount" | "dropApp">;
  readonly book: AppBook;
  /** The app of the folder that this platform was started for. */
  readonly folderApp: { readonly known: KnownApp; readonly variables: KeptVariables } | null;
  /** What others keep of an app: removed before the app is forgotten. */
  readonly onRemove: (app: HostedApp) => Promise<void>;
}

const INSTANCES_POLL_MS = 50;
const RESTORED_AT_ONCE = 16; // Each waits for the broker most of the time.

export async function createHosting(parts: HostingParts): Promise<Hosting> {
  const { book, folderApp } = parts;
  const apps = new Map<string, HostedApp>();
  const inTurn = createTurn();
  const knownNow = (appId: string): KnownApp => {
    const known = book.byId(appId);
    if (known === null) throw new PlatformError("APP_UNKNOWN", { detail: "It is being removed." });
    return known;
  };
  const add = async (known: KnownApp): Promise<HostedApp> => {
    const isFolder = folderApp !== null && known.appId === folderApp.known.appId;
    const app = await hostApp(() => knownNow(known.appId), isFolder ? folderApp.variables : null, parts);
    apps.set(known.appId, app);
    return app;
  };
  const addKnown = async (known: KnownApp): Promise<void> => {
    for (const environment of ENVIRONMENTS) await parts.bus.adoptAppAccount(known.appId, environment);
    await add(known);
  };
  const create = async (name: string, createdBy: string): Promise<HostedApp> => {
    const known = await book.create(name, createdBy);
    await Promise.all(ENVIRONMENTS.map(async (environment) => parts.bus.ensureAppAccount(known.appId, environment)));
    const app = await add(known);
    await app.deployer.restore();
    return app;
  };
  const named = (name: string): HostedApp => {
    const app = apps.get(book.named(name).appId);
    if (app === undefined || app.known().isLeaving) throw new PlatformError("APP_UNKNOWN", { detail: `"${name}" is being removed.` });
    return app;
  };
  const changed = async (known: KnownApp): Promise<HostedApp> => {
    const app = named(known.name);
    await app.deployer.tell();
    return app;
  };

  const removeNow = async (app: HostedApp): Promise<void> => {
    await app.deployer.remove();
    await untilGone(app, parts);
    for (const environment of ENVIRONMENTS) {
      await parts.stores.leave(app.appId, environment);
      await parts.bus.dropApp(app.appId, environment);
    }
    await parts.onRemove(app);
    await app.variables.clear();
    await parts.state.remove(`folder-variables.${app.appId}`);
    await app.book.clear();
    await book.forget(app.appId); // Last: until then the next orchestrator goes on with it.
    apps.delete(app.appId);
  };

  const defaultApp = (): HostedApp | null => [...apps.values()].find((one) => one.known().isDefault) ?? null;

  await mapAtOnce(book.list(), RESTORED_AT_ONCE, addKnown);

  return {
    all: () => [...apps.values()],
    list: () => [...apps.values()].filter((app) => !app.known().isLeaving).toSorted((one, other) => (one.name < other.name ? -1 : 1)),
    app(name) {
      if (name !== undefined) return named(name);
      const app = defaultApp();
      if (app !== null) return app;
      throw new PlatformError("APP_UNKNOWN", {
        detail: "This platform has no default app, so that one has to be named.",
        remedy: "Name it with --app; orchestrator app ls shows those that there are.",
      });
    },
    defaultApp,
    byId: (appId) => apps.get(appId) ?? null,
    create: async (name, createdBy) => inTurn(async () => create(name, createdBy)),
    addDomain: async (name, place) => inTurn(async () => changed(await book.addDomain(name, place))),
    removeDomain: async (name, domain) => inTurn(async () => changed(await book.removeDomain(name, domain))),
    remove: async (name) =>
      inTurn(async () => {
        const { appId } = await book.beginRemoval(name);
        const app = apps.get(appId);
        if (app !== undefined) await removeNow(app);
      }),
    async restore() {
      const all = [...apps.values()];
      const staying = all.filter((app) => !app.known().isLeaving);
      await mapAtOnce(staying, RESTORED_AT_ONCE, async (app) => app.deployer.restore());
      for (const app of all.filter((one) => one.known().isLeaving))
        await removeNow(app).catch((cause: unknown) => parts.report(`the removal of ${app.name} could not be finished: ${String(cause)}`));
    },
    giveUp: () => {
      for (const app of apps.values()) app.deployer.giveUp();
    },
    close: async () => {
      await Promise.all([...apps.values()].map(async (app) => app.deployer.close()));
    },
  };
}

/** Instances use the stores until they end. */
async function untilGone({ appId }: HostedApp, { fleet, clock }: Pick<HostingParts, "fleet" | "clock">): Promise<void> {
  const deadlineEpochMs = clock.nowEpochMs() + 2 * STOP_GRACE_MS;
  const isThere = (): boolean => ENVIRONMENTS.some((environment) => fleet.instanceCount({ appId, environment }) > 0);
  while (isThere() && clock.nowEpochMs() < deadlineEpochMs) await delay(INSTANCES_POLL_MS);
}
