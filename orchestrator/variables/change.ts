// What environment variables there are after a change, and whether they may be: pure.
import { SET_BY_PLATFORM, variableProblem } from "../apps/variables.ts";
import type { Environment } from "../../runtime-image/contract/instance-manifest.ts";
import { VARIABLE_COUNT_MAX } from "../../runtime-image/contract/limits.ts";

/** Names and values: secrets. */
export type VariableValues = Readonly<Record<string, string>>;

export interface VariableChange {
  readonly set: VariableValues;
  readonly remove: readonly string[];
}

/** One that was set with `orchestrator env set`, and is kept. */
export interface SetVariable {
  readonly value: string;
  readonly changedEpochMs: number;
  readonly changedBy: string; // The name of a token.
}

export type SetVariables = ReadonlyMap<string, SetVariable>;

/** What functions see: the folder's variables, and over them those that were set. */
export const mergeVariables = (folder: VariableValues, set: VariableValues): VariableValues => ({ ...folder, ...set });

export const valuesOf = (variables: SetVariables): VariableValues =>
  Object.fromEntries([...variables].map(([name, { value }]) => [name, value]));

/** A value that is set again stays as it was, its date too. */
export function changeVariables(
  before: SetVariables,
  change: VariableChange,
  by: { readonly changedBy: string; readonly changedEpochMs: number },
): SetVariables {
  const after = new Map(before);
  for (const name of change.remove) after.delete(name);
  for (const [name, value] of Object.entries(change.set)) if (after.get(name)?.value !== value) after.set(name, { value, ...by });
  return after;
}

export const isSame = (a: SetVariables, b: SetVariables): boolean =>
  a.size === b.size && [...a].every(([name, variable]) => b.get(name)?.value === variable.value);

export interface VariablesNow {
  readonly environment: Environment;
  readonly folder: VariableValues;
  readonly set: SetVariables;
}

/** Everything that is wrong with a change, without a value. */
export function changeProblems(change: VariableChange, now: readonly VariablesNow[]): string[] {
  const names = Object.keys(change.set);
  const isEmpty = names.length === 0 && change.remove.length === 0;
  return [
    ...(isEmpty ? ["there should be at least one variable to set or to remove"] : []),
    ...Object.entries(change.set).flatMap(([key, value]) => setProblem(key, value) ?? []),
    ...change.remove.filter((name) => names.includes(name)).map((name) => `${name} cannot be set and removed at once`),
    ...change.remove.flatMap((name) => removeProblem(name, now) ?? []),
    ...now.flatMap((one) => countProblem(one, change) ?? []),
  ];
}

function setProblem(key: string, value: string): string | null {
  return SET_BY_PLATFORM.has(key) ? `${key} is always the environment's name` : variableProblem({ key, value });
}

function removeProblem(name: string, now: readonly VariablesNow[]): string | null {
  if (now.some(({ set }) => set.has(name))) return null;
  const where = now.map(({ environment }) => environment).join(" or ");
  if (now.some(({ folder }) => Object.hasOwn(folder, name))) return `${name} comes from the app's folder; take it out of its .env`;
  return NAME.test(name) ? `${name} is not set on ${where}` : "a name to remove is none";
}

const NAME = /^[A-Z][A-Z0-9_]*$/; // What is none is not shown: it may be somebody's value.

function countProblem({ environment, folder, set }: VariablesNow, change: VariableChange): string | null {
  const after = new Set([...Object.keys(folder), ...[...set.keys()].filter((name) => !change.remove.includes(name))]);
  for (const name of Object.keys(change.set)) after.add(name);
  return after.size <= VARIABLE_COUNT_MAX ? null : `${environment} would have ${after.size} variables; ${VARIABLE_COUNT_MAX} are allowed`;
}
