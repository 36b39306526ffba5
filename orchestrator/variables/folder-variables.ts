// Keeps the variables of the .env of an app that was deployed, encrypted: its folder is not there any more when they are needed again.
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import type { Environment } from "../../runtime-image/contract/instance-manifest.ts";
import type { ControlBus } from "../nats/control-bus.ts";
import type { BrokerKeys } from "../nats/keys.ts";
import type { VariableValues } from "./change.ts";
import { type SealedValue, openValue, sealValue } from "./cipher.ts";

/** The variables of an app's folder. */
export type FolderVariables = Readonly<Record<Environment, VariableValues>>;

/** As they run, and what production gets with its next promotion. */
export interface KeptVariables {
  readonly live: FolderVariables;
  readonly next: VariableValues;
}

export const NO_FOLDER_VARIABLES: KeptVariables = { live: { staging: {}, production: {} }, next: {} };

export interface FolderVariableStore {
  /** Null where nothing was ever kept. Throws HOME_UNUSABLE where what is kept cannot be decrypted. */
  read(appId: string): Promise<KeptVariables | null>;
  write(appId: string, kept: KeptVariables): Promise<void>;
}

const NAMES = ["staging", "production", "next"] as const;
type Name = (typeof NAMES)[number];
type Sealed = Readonly<Record<Name, SealedValue>>;

const environmentOf = (name: Name): Environment => (name === "next" ? "production" : name);
const recordKey = (appId: string): string => `folder-variables.${appId}`;
// No variable has such a name, so that one record can never be taken for the other.
const placeOf = (appId: string, name: Name) => ({ appId, environment: environmentOf(name), name: `.env ${name}` });

export function createFolderVariableStore(
  bus: Pick<ControlBus, "readControl" | "writeControl">,
  keys: Pick<BrokerKeys, "variablesKey">,
): FolderVariableStore {
  const keyOf = (appId: string, name: Name): Buffer => keys.variablesKey(appId, environmentOf(name));
  const written = new Map<string, string>(); // By app. They seldom change, and each save of a watched folder says them again.
  return {
    async read(appId) {
      const value = (await bus.readControl(recordKey(appId)))?.value;
      if (!isSealed(value)) return null;
      const open = (name: Name): VariableValues => {
        const text = openValue(value[name], keyOf(appId, name), placeOf(appId, name));
        if (text === null) throw unreadable(appId);
        return JSON.parse(text) as VariableValues; // Only write() seals such a text.
      };
      return { live: { staging: open("staging"), production: open("production") }, next: open("next") };
    },
    async write(appId, { live, next }) {
      const values: Readonly<Record<Name, VariableValues>> = { ...live, next };
      const text = JSON.stringify(values);
      if (written.get(appId) === text) return;
      const sealed = NAMES.map((name) => [name, sealValue(JSON.stringify(values[name]), keyOf(appId, name), placeOf(appId, name))]);
      await bus.writeControl(recordKey(appId), { v: 1, ...Object.fromEntries(sealed) });
      written.set(appId, text);
    },
  };
}

const isSealed = (value: unknown): value is Sealed =>
  typeof value === "object" && value !== null && "v" in value && value.v === 1 && NAMES.every((name) => name in value);

const unreadable = (appId: string): PlatformError =>
  new PlatformError("HOME_UNUSABLE", {
    detail: `The variables of the .env of the app ${appId} cannot be decrypted.`,
    remedy: "Put the home's keys and its broker's data back from one and the same backup.",
  });
