// Remembers the apps that the platform hosts, in the control state: their names, where their source lies, their domains.
import { randomBytes } from "node:crypto";
import { ENVIRONMENTS, type Environment } from "../../runtime-image/contract/instance-manifest.ts";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { APP_DOMAIN_COUNT_MAX } from "../../runtime-image/contract/limits.ts";
import type { Clock } from "../clock.ts";
import type { ControlState } from "../releases/release-book.ts";
import { createTurn } from "../turn.ts";
import { domainProblem, nameProblem } from "./app-names.ts";

export interface KnownApp {
  readonly appId: string; // Stays when the name changes: accounts and stores hang on it.
  readonly name: string;
  /** A folder of this machine that is watched, or a repository of ours that is pushed to. */
  readonly source: "folder" | "repository";
  readonly isDefault: boolean; // Answers for every host that no app names: the folder's, else the first one.
  readonly domains: Readonly<Record<Environment, readonly string[]>>;
  readonly createdEpochMs: number;
  readonly createdBy: string;
  readonly isLeaving: boolean; // Its removal was begun.
}

export interface AppBook {
  list(): readonly KnownApp[];
  byId(appId: string): KnownApp | null;
  /** Throws APP_UNKNOWN. */
  named(name: string): KnownApp;
  /** The app of the folder that the platform was started for. Its name is the manifest's. */
  openDefault(name: string): Promise<KnownApp>;
  create(name: string, createdBy: string): Promise<KnownApp>;
  addDomain(name: string, place: DomainPlace): Promise<KnownApp>;
  removeDomain(name: string, domain: string): Promise<KnownApp>;
  beginRemoval(name: string): Promise<KnownApp>;
  forget(appId: string): Promise<void>;
}

export interface DomainPlace {
  readonly domain: string;
  readonly environment: Environment;
}

const DEFAULT_KEY = "app.default";
const PREFIX = "app";
const NO_DOMAINS: KnownApp["domains"] = { staging: [], production: [] };

export async function openAppBook({ state, clock }: { readonly state: ControlState; readonly clock: Clock }): Promise<AppBook> {
  const apps = new Map<string, KnownApp>();
  for (const { key, value } of await state.list(PREFIX)) if (key !== DEFAULT_KEY && isKnownApp(value)) apps.set(value.appId, value);

  const keep = async (app: KnownApp): Promise<KnownApp> => {
    await state.write(`${PREFIX}.${app.appId}`, app);
    apps.set(app.appId, app);
    return app;
  };
  const find = (name: string): KnownApp | null => [...apps.values()].find((app) => app.name === name) ?? null;
  const named = (name: string): KnownApp => {
    const app = find(name);
    if (app !== null) return app;
    const names = [...apps.values()].map((one) => one.name).toSorted();
    throw new PlatformError("APP_UNKNOWN", {
      detail: `"${name.slice(0, 64)}".`,
      remedy: names.length === 0 ? "Make it with: orchestrator app create <name>." : `There are: ${names.slice(0, 20).join(", ")}.`,
    });
  };
  const turn = createTurn();
  const made = (name: string, rest: Pick<KnownApp, "appId" | "source" | "isDefault" | "createdBy">): KnownApp => ({
    name,
    domains: NO_DOMAINS,
    createdEpochMs: clock.nowEpochMs(),
    isLeaving: false,
    ...rest,
  });

  return {
    list: () => [...apps.values()].toSorted((one, other) => (one.name < other.name ? -1 : 1)),
    byId: (appId) => apps.get(appId) ?? null,
    named,
    async openDefault(name) {
      const appId = defaultIdIn((await state.read(DEFAULT_KEY))?.value) ?? newAppId();
      await state.write(DEFAULT_KEY, { appId });
      const before = apps.get(appId);
      for (const one of apps.values()) if (one.isDefault && one.appId !== appId) await keep({ ...one, isDefault: false });
      const other = find(name);
      if (other !== null && other.appId !== appId)
        throw new PlatformError("APP_NAME_TAKEN", {
          detail: `The folder's app is called ${name}, as one is that was deployed to this platform.`,
          remedy: `Call it something else below @app in its manifest, or remove the other one.`,
        });
      return keep({ ...(before ?? made(name, { appId, source: "folder", isDefault: true, createdBy: "up" })), name, isDefault: true });
    },
    create: async (name, createdBy) =>
      turn(async () => {
        const problem = nameProblem(name);
        if (problem !== null) throw new PlatformError("APP_NAME_INVALID", { detail: `"${name.slice(0, 64)}" ${problem}.` });
        if (find(name) !== null)
          throw new PlatformError("APP_NAME_TAKEN", { detail: `"${name}".`, remedy: "orchestrator app ls shows them all." });
        return keep(
          made(name, { appId: newAppId(), source: "repository", isDefault: ![...apps.values()].some((one) => one.isDefault), createdBy }),
        );
      }),
    addDomain: async (name, { domain, environment }) =>
      turn(async () => {
        const app = named(name);
        const problem = domainProblem(domain);
        if (problem !== null) throw new PlatformError("DOMAIN_INVALID", { detail: `"${domain.slice(0, 64)}" ${problem}.` });
        const holder = [...apps.values()].find((one) => one.domains[environment].includes(domain));
        if (holder !== undefined && holder !== app)
          throw new PlatformError("DOMAIN_TAKEN", { detail: `${domain} leads to ${holder.name} on ${environment}.` });
        if (holder === app) return app;
        if (app.domains[environment].length >= APP_DOMAIN_COUNT_MAX)
          throw new PlatformError("DOMAIN_INVALID", { detail: `An app has ${APP_DOMAIN_COUNT_MAX} domains of one environment at most.` });
        return keep({ ...app, domains: { ...app.domains, [environment]: [...app.domains[environment], domain] } });
      }),
    removeDomain: async (name, domain) =>
      turn(async () => {
        const app = named(name);
        if (!ENVIRONMENTS.some((environment) => app.domains[environment].includes(domain)))
          throw new PlatformError("DOMAIN_INVALID", { detail: `"${domain.slice(0, 64)}" is no domain of ${name}.` });
        const without = (list: readonly string[]): string[] => list.filter((one) => one !== domain);
        return keep({ ...app, domains: { staging: without(app.domains.staging), production: without(app.domains.production) } });
      }),
    beginRemoval: async (name) =>
      turn(async () => {
        const app = named(name);
        if (app.source === "folder")
          throw new PlatformError("APP_KEPT", {
            detail: `${name} is the app of the folder that this platform was started for.`,
            remedy: "Stop the platform and remove its home to be rid of it.",
          });
        return keep({ ...app, isLeaving: true });
      }),
    async forget(appId) {
      await state.remove(`${PREFIX}.${appId}`);
      apps.delete(appId);
    },
  };
}

const newAppId = (): string => randomBytes(6).toString("hex");

function defaultIdIn(value: unknown): string | null {
  const isThere = typeof value === "object" && value !== null && "appId" in value && typeof value.appId === "string";
  return isThere ? String(value.appId) : null;
}

/** Only this file writes them. */
const isKnownApp = (value: unknown): value is KnownApp =>
  typeof value === "object" && value !== null && "appId" in value && "name" in value && "domains" in value && "source" in value;
