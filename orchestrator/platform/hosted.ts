// The apps of a platform, how their sources come in, and what becomes of them on the way to staging.
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Environment } from "../../runtime-image/contract/instance-manifest.ts";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import type { AuditLog } from "../api/audit.ts";
import { readAppRecord } from "../apps/app-record.ts";
import type { AppSource } from "../apps/app-source.ts";
import type { BuildShop } from "../builds/build-tools.ts";
import type { Clock } from "../clock.ts";
import { type Deliveries, createDeliveries } from "../deliveries/deliveries.ts";
import { createDeliveryBook } from "../deliveries/delivery-book.ts";
import { createDeliveryLogs } from "../deliveries/delivery-log.ts";
import { createPushReceiver } from "../deliveries/pushes.ts";
import { type Receiver, createReceiver } from "../deliveries/receive.ts";
import type { Engine } from "../engines/engine.ts";
import { type GitDoor, createGitDoor } from "../git/git-door.ts";
import { createRepositories } from "../git/repositories.ts";
import { openAppBook } from "../hosting/app-book.ts";
import { hostsOf } from "../hosting/app-names.ts";
import type { HostedApp } from "../hosting/hosted-app.ts";
import { type Hosting, type HostingParts, createHosting } from "../hosting/hosting.ts";
import type { ControlBus } from "../nats/control-bus.ts";
import type { BrokerKeys } from "../nats/keys.ts";
import type { UsedBuilds } from "../releases/used-builds.ts";
import { createFolderVariableStore } from "../variables/folder-variables.ts";
import { createVariableStore } from "../variables/variable-store.ts";
import { sitesFolderOf } from "./own-gateways.ts";

export interface Hosted {
  readonly hosting: Hosting;
  readonly deliveries: Deliveries;
  readonly receiver: Receiver;
  /** What answers git, once there is a log for what is done through it. */
  readonly openGit: (audit: Pick<AuditLog, "begin">) => Promise<GitDoor>;
}

export interface HostedParts extends Pick<
  HostingParts,
  "bus" | "state" | "fleet" | "instanceCounts" | "stores" | "snapshots" | "sessionSecret" | "announce"
> {
  readonly home: string;
  readonly engine: Engine;
  readonly shop: BuildShop;
  readonly used: UsedBuilds;
  readonly clock: Clock;
  readonly app: AppSource | null;
  readonly bus: ControlBus;
  readonly keys: BrokerKeys;
  readonly searchPath: string;
  readonly ports: Readonly<Record<Environment, number>>;
  readonly scheme: "http" | "https";
  readonly warn: (text: string) => void;
  readonly onTrouble: (error: unknown) => void;
}

export async function openHosted(parts: HostedParts): Promise<Hosted> {
  const { home, bus, keys, state, clock, engine, shop, app } = parts;
  const book = await openAppBook({ state, clock });
  const variables = app === null ? null : { live: app.variables, next: app.variables.production };
  const folderApp = app === null || variables === null ? null : { known: await book.openDefault(app.appName), variables };
  const repositories = createRepositories({ folder: join(home, "repositories"), searchPath: parts.searchPath });
  const hosting = await createHosting({
    bus,
    state,
    book,
    folderApp,
    fleet: parts.fleet,
    instanceCounts: parts.instanceCounts,
    stores: parts.stores,
    snapshots: parts.snapshots,
    sessionSecret: parts.sessionSecret,
    variableStore: createVariableStore(bus, keys),
    folderVariables: createFolderVariableStore(bus, keys),
    clock,
    report: parts.warn,
    announce: parts.announce,
    async onRemove(leaving) {
      await deliveries.removeApp(leaving);
      await repositories.remove(leaving.appId);
    },
  });
  const receiving = await emptyFolder(join(home, "receiving"));
  const deliveries = createDeliveries({
    folder: await emptyFolder(join(home, "delivering")),
    hosting,
    book: createDeliveryBook(state),
    logs: createDeliveryLogs(join(home, "deliveries")),
    shop,
    engine,
    used: parts.used,
    clock,
    sitesFolder: sitesFolderOf(home),
    checkOut:
      ({ appId, source }) =>
      async (options) => {
        await repositories.describe(appId, source.commit).catch(brokenOff);
        return repositories.checkOut(appId, source.commit, options);
      },
    report: parts.onTrouble,
  });
  const receiver = createReceiver({
    folder: receiving,
    repositories,
    deliveries,
    appFolder: app?.folder ?? null,
    toldGeneration: async () => (await readAppRecord(home)).generation,
  });
  return {
    hosting,
    deliveries,
    receiver,
    openGit: async (audit) =>
      createGitDoor({
        repositories,
        receiver: createPushReceiver({ hosting, deliveries, addressOf: addressOf(parts), audited: auditedBy(audit) }),
        socketFolder: join(home, "git"),
        nodePath: process.execPath,
        report: parts.warn,
      }),
  };
}

/** What an orchestrator that was killed left there is of no use to this one. */
async function emptyFolder(folder: string): Promise<string> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return folder;
}

/** A commit is stored when its push has ended well; one whose push ended with the orchestrator never was. */
function brokenOff(cause: unknown): never {
  throw new PlatformError("DELIVERY_CANCELLED", { detail: "The push that it came with was broken off.", remedy: "Push again." }, { cause });
}

const addressOf =
  ({ ports, scheme }: Pick<HostedParts, "ports" | "scheme">) =>
  (app: HostedApp, environment: Environment): string => {
    const { name, domains } = app.known();
    const [host = "localhost"] = hostsOf(name, environment, domains[environment]);
    return `${scheme}://${host}:${ports[environment]}`;
  };

const auditedBy =
  (audit: Pick<AuditLog, "begin">) =>
  async <Value>(
    { by, app, refs }: { readonly by: string; readonly app: string; readonly refs: readonly string[] },
    work: () => Promise<Value>,
  ): Promise<Value> => {
    const end = await audit.begin({ tokenName: by, role: "deploy", method: "PUSH", path: "/git/:app", input: { app, refs } });
    try {
      const value = await work();
      await end("done");
      return value;
    } catch (cause) {
      await end({ code: cause instanceof PlatformError ? cause.code : "INTERNAL" });
      throw cause;
    }
  };
