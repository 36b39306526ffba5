// Sets, removes and lists the environment variables of an app: checked, in effect in every environment that was named or in none, then kept.
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { ENVIRONMENTS, type Environment } from "../../runtime-image/contract/instance-manifest.ts";
import type { Clock } from "../clock.ts";
import type { FunctionFailure } from "../releases/app-environments.ts";
import type { Deployer } from "../releases/deployer.ts";
import { createTurn } from "../turn.ts";
import {
  type SetVariables,
  type VariableChange,
  type VariableValues,
  changeProblems,
  changeVariables,
  isSame,
  valuesOf,
} from "./change.ts";
import type { StoredVariables, VariableStore } from "./variable-store.ts";

export interface AppVariables {
  /**
   * Resolves when gateways serve from instances that run with the change. Throws VARIABLES_INVALID with every problem, or
   * DEPLOY_FAILED where functions do not start with it; then nothing has changed anywhere.
   */
  change(environments: readonly Environment[], change: VariableChange, changedBy: string): Promise<ChangeOutcome>;
  /** Makes these, and no others, the ones that are set; as change() does. */
  replace(environment: Environment, values: VariableValues, changedBy: string): Promise<EnvironmentOutcome>;
  /** Those that were set, with their values: for whoever encrypts them again, and nobody else. */
  keptValues(environment: Environment): Promise<VariableValues>;
  list(environment: Environment): Promise<readonly ListedVariable[]>;
  /** Removes all that were set, without telling instances: the app is gone. */
  clear(): Promise<void>;
}

export interface ChangeOutcome {
  readonly environments: readonly EnvironmentOutcome[];
}

export interface EnvironmentOutcome {
  readonly environment: Environment;
  readonly changed: readonly string[]; // Names: what had this value, or no value, already is none of them.
  readonly failures: readonly FunctionFailure[]; // Functions that did not start before and do not start now.
}

/** Everything but the value. */
export interface ListedVariable {
  readonly name: string;
  readonly environment: Environment;
  readonly source: "set" | "folder";
  readonly hidesFolder: boolean; // The folder has one of this name, which this one wins over.
  readonly changedEpochMs: number | null; // Null for the folder's.
  readonly changedBy: string | null;
}

export interface AppVariablesParts {
  readonly appId: string;
  readonly store: VariableStore;
  readonly deployer: Pick<Deployer, "setVariables" | "folderVariables">;
  readonly clock: Clock;
}

interface Step {
  readonly environment: Environment;
  readonly before: StoredVariables;
  readonly after: SetVariables;
}

export function createAppVariables({ appId, store, deployer, clock }: AppVariablesParts): AppVariables {
  const inTurn = createTurn();

  /** Boots instances with them, keeps them, lets them serve. */
  const use = async (environment: Environment, variables: SetVariables, expectedRevision: number): Promise<readonly FunctionFailure[]> =>
    deployer.setVariables(environment, valuesOf(variables), async () => {
      if (await store.write({ appId, environment }, variables, expectedRevision)) return;
      throw new PlatformError("VARIABLES_INVALID", {
        detail: `The variables of ${environment} were changed from elsewhere at the same moment.`,
        remedy: "Look at them with: orchestrator env ls; then try again.",
      });
    });

  /** Takes back what was done already, and tells what to say. */
  const undone = async (done: readonly Step[], cause: unknown): Promise<unknown> => {
    const kept: string[] = [];
    for (const { environment, before } of done.toReversed()) {
      try {
        const { revision } = await store.read({ appId, environment });
        await use(environment, before.variables, revision);
      } catch (error) {
        kept.push(`${environment} keeps the change, because its old values do not work any more: ${String(error)}`);
      }
    }
    if (kept.length === 0 || !(cause instanceof PlatformError)) return cause;
    return new PlatformError(cause.code, { ...cause.detail, problems: [...(cause.detail.problems ?? []), ...kept] }, { cause });
  };

  const changeNow = async (
    environments: readonly Environment[],
    change: VariableChange,
    changedBy: string,
  ): Promise<ChangeOutcome["environments"]> => {
    const by = { changedBy, changedEpochMs: clock.nowEpochMs() };
    const steps = await Promise.all(
      environments.map(async (environment): Promise<Step> => {
        const before = await store.read({ appId, environment });
        return { environment, before, after: changeVariables(before.variables, change, by) };
      }),
    );
    const problems = changeProblems(
      change,
      steps.map(({ environment, before }) => ({ environment, folder: deployer.folderVariables(environment), set: before.variables })),
    );
    if (problems.length > 0)
      throw new PlatformError("VARIABLES_INVALID", { problems, remedy: "Nothing was changed. See: orchestrator env --help" });
    const outcome = [];
    const done: Step[] = [];
    for (const step of steps) {
      const { environment, before, after } = step;
      const changed = changedNames(before.variables, after);
      try {
        const failures = isSame(before.variables, after) ? [] : await use(environment, after, before.revision);
        outcome.push({ environment, changed, failures });
      } catch (cause) {
        throw await undone(done, cause);
      }
      if (changed.length > 0) done.push(step);
    }
    return outcome;
  };

  return {
    /** One change at a time: each begins with what the one before it left. */
    change: async (environments, change, changedBy) => ({
      environments: await inTurn(async () => changeNow(environments, change, changedBy)),
    }),
    replace: async (environment, values, changedBy) =>
      inTurn(async () => {
        const { variables } = await store.read({ appId, environment });
        const remove = [...variables.keys()].filter((name) => !Object.hasOwn(values, name));
        const isNothing = remove.length === 0 && Object.keys(values).length === 0;
        const [outcome] = isNothing ? [] : await changeNow([environment], { set: values, remove }, changedBy);
        return outcome ?? { environment, changed: [], failures: [] };
      }),
    keptValues: async (environment) => valuesOf((await store.read({ appId, environment })).variables),
    clear: async () => {
      for (const environment of ENVIRONMENTS) await store.remove({ appId, environment });
    },
    list: async (environment) => {
      const { variables } = await store.read({ appId, environment });
      const folder = deployer.folderVariables(environment);
      const ofSet = [...variables].map(([name, { changedEpochMs, changedBy }]): ListedVariable => {
        return { name, environment, source: "set", hidesFolder: Object.hasOwn(folder, name), changedEpochMs, changedBy };
      });
      const ofFolder = Object.keys(folder)
        .filter((name) => !variables.has(name))
        .map((name): ListedVariable => {
          return { name, environment, source: "folder", hidesFolder: false, changedEpochMs: null, changedBy: null };
        });
      return [...ofSet, ...ofFolder].toSorted((a, b) => (a.name < b.name ? -1 : 1));
    },
  };
}

const changedNames = (before: SetVariables, after: SetVariables): string[] =>
  [...new Set([...before.keys(), ...after.keys()])].filter((name) => before.get(name)?.value !== after.get(name)?.value).toSorted();
