// Everything that one app of the platform has: its releases and what is live, its variables, its stores.
import type { Environment } from "../../runtime-image/contract/instance-manifest.ts";
import type { Clock } from "../clock.ts";
import { type Deployer, type DeployerParts, createDeployer } from "../releases/deployer.ts";
import { type ControlState, type ReleaseBook, createReleaseBook } from "../releases/release-book.ts";
import type { AppStores, Stores } from "../stores/stores.ts";
import { type FolderVariableStore, type KeptVariables, NO_FOLDER_VARIABLES } from "../variables/folder-variables.ts";
import { type AppVariables, createAppVariables } from "../variables/variables.ts";
import { type VariableStore, readSetVariables } from "../variables/variable-store.ts";
import type { KnownApp } from "./app-book.ts";
import { hostsOf } from "./app-names.ts";

export interface HostedApp {
  readonly appId: string;
  readonly name: string;
  known(): KnownApp;
  readonly deployer: Deployer;
  readonly book: ReleaseBook;
  readonly variables: AppVariables;
  stores(environment: Environment): Promise<AppStores>;
}

/** What apps share. */
export interface HostedAppParts extends Pick<
  DeployerParts,
  "fleet" | "instanceCounts" | "snapshots" | "sessionSecret" | "report" | "announce"
> {
  readonly state: ControlState;
  readonly stores: Stores;
  readonly variableStore: VariableStore;
  readonly folderVariables: FolderVariableStore;
  readonly clock: Clock;
}

/** `folder`: the variables of the folder that is watched; null for an app whose source lies in a repository. */
export async function hostApp(known: () => KnownApp, folder: KeptVariables | null, parts: HostedAppParts): Promise<HostedApp> {
  const { appId, name } = known();
  const book = createReleaseBook(parts.state, appId);
  const deployer = createDeployer({
    app: { appId, appName: name },
    surface: () => {
      const { domains, isDefault } = known();
      return {
        hosts: { staging: hostsOf(name, "staging", domains.staging), production: hostsOf(name, "production", domains.production) },
        isDefault,
      };
    },
    variables: {
      folder: folder ?? (await parts.folderVariables.read(appId)) ?? NO_FOLDER_VARIABLES,
      set: await readSetVariables(parts.variableStore, appId),
      // Also of a folder: the next platform on this home may be started without it.
      keep: async (kept) => parts.folderVariables.write(appId, kept),
    },
    book,
    fleet: parts.fleet,
    instanceCounts: parts.instanceCounts,
    snapshots: parts.snapshots,
    sessionSecret: parts.sessionSecret,
    report: parts.report,
    announce: parts.announce,
  });
  return {
    appId,
    name,
    known,
    deployer,
    book,
    variables: createAppVariables({ appId, store: parts.variableStore, deployer, clock: parts.clock }),
    stores: async (environment) => parts.stores.of(appId, environment),
  };
}
