// Keeps the variables that were set for an app and environment in the control state: names in clear, values encrypted.
import { randomBytes } from "node:crypto";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import type { Environment } from "../../runtime-image/contract/instance-manifest.ts";
import type { ControlBus } from "../nats/control-bus.ts";
import type { BrokerKeys } from "../nats/keys.ts";
import { type SetVariable, type SetVariables, type VariableValues, valuesOf } from "./change.ts";
import { type SealedValue, openValue, sealValue } from "./cipher.ts";

export interface VariableStore {
  /** Throws HOME_UNUSABLE where what is kept cannot be decrypted. */
  read(target: VariableTarget): Promise<StoredVariables>;
  /** All of them at once, in place of what was read; false where somebody else wrote in between. */
  write(target: VariableTarget, variables: SetVariables, expectedRevision: number): Promise<boolean>;
  remove(target: VariableTarget): Promise<void>;
}

export interface VariableTarget {
  readonly appId: string;
  readonly environment: Environment;
}

export interface StoredVariables {
  readonly variables: SetVariables;
  readonly revision: number; // 0: nothing was ever written.
}

/** What is in the control state. */
interface KeptRecord {
  readonly v: 1;
  readonly writeId: string; // Tells after a lost connection whether this very write came through.
  readonly variables: Readonly<Record<string, KeptVariable>>;
}

type KeptVariable = SealedValue & Omit<SetVariable, "value">;

const WRITE_TRY_COUNT_MAX = 3;

export function createVariableStore(
  bus: Pick<ControlBus, "readControl" | "writeControl" | "removeControl">,
  keys: Pick<BrokerKeys, "variablesKey">,
): VariableStore {
  const read = async (target: VariableTarget): Promise<{ record: KeptRecord | null; revision: number }> => {
    const entry = await bus.readControl(recordKey(target));
    if (entry === null) return { record: null, revision: 0 };
    if (!isRecord(entry.value)) throw unreadable(target, ["what is kept is no list of variables"]);
    return { record: entry.value, revision: entry.revision };
  };
  return {
    async read(target) {
      const { record, revision } = await read(target);
      return {
        variables: record === null ? new Map() : opened(record, keys.variablesKey(target.appId, target.environment), target),
        revision,
      };
    },
    remove: async (target) => bus.removeControl(recordKey(target)),
    async write(target, variables, expectedRevision) {
      const record = sealed(variables, keys.variablesKey(target.appId, target.environment), target);
      for (let attempt = 1; ; attempt += 1) {
        try {
          return (await bus.writeControl(recordKey(target), record, { expectedRevision })) !== null || (await isKept(record.writeId));
        } catch (cause) {
          // The connection was lost: the same write at the same revision can be made again without harm.
          if (!(cause instanceof PlatformError) || cause.code !== "BROKER_UNAVAILABLE" || attempt === WRITE_TRY_COUNT_MAX) throw cause;
        }
      }
      async function isKept(writeId: string): Promise<boolean> {
        return (await read(target)).record?.writeId === writeId;
      }
    },
  };
}

/** The values of every environment, as a deployer begins with them. */
export async function readSetVariables(store: VariableStore, appId: string): Promise<Record<Environment, VariableValues>> {
  const valuesIn = async (environment: Environment): Promise<VariableValues> =>
    valuesOf((await store.read({ appId, environment })).variables);
  return { staging: await valuesIn("staging"), production: await valuesIn("production") };
}

const recordKey = ({ appId, environment }: VariableTarget): string => `variables.${appId}.${environment}`;

function sealed(variables: SetVariables, key: Buffer, target: VariableTarget): KeptRecord {
  const kept = [...variables].map(
    ([name, { value, ...rest }]) => [name, { ...sealValue(value, key, { ...target, name }), ...rest }] as const,
  );
  return { v: 1, writeId: randomBytes(8).toString("hex"), variables: Object.fromEntries(kept) };
}

function opened(record: KeptRecord, key: Buffer, target: VariableTarget): SetVariables {
  const variables = new Map<string, SetVariable>();
  const problems: string[] = [];
  for (const [name, { nonce, sealed: bytes, changedEpochMs, changedBy }] of Object.entries(record.variables)) {
    const value = openValue({ nonce, sealed: bytes }, key, { ...target, name });
    if (value === null) problems.push(`${target.environment}: ${name} was encrypted with other keys, or altered`);
    else variables.set(name, { value, changedEpochMs, changedBy });
  }
  if (problems.length > 0) throw unreadable(target, problems);
  return variables;
}

const unreadable = ({ environment }: VariableTarget, problems: readonly string[]): PlatformError =>
  new PlatformError("HOME_UNUSABLE", {
    detail: `Environment variables that were set for ${environment} cannot be decrypted.`,
    problems,
    remedy: "Put the home's keys and its broker's data back from one and the same backup.",
  });

function isRecord(value: unknown): value is KeptRecord {
  if (!isFields(value) || value["v"] !== 1 || typeof value["writeId"] !== "string" || !isFields(value["variables"])) return false;
  return Object.values(value["variables"]).every(
    (one) =>
      isFields(one) &&
      ["nonce", "sealed", "changedBy"].every((name) => typeof one[name] === "string") &&
      typeof one["changedEpochMs"] === "number",
  );
}

const isFields = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
