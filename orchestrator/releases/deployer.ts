// Moves an app's environments from release to release: deploys, promotions, rollbacks and changed variables, one at a time.
import { ENVIRONMENTS, type Environment } from "../../runtime-image/contract/instance-manifest.ts";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { createTurn } from "../turn.ts";
import { mergeVariables, type VariableValues } from "../variables/change.ts";
import type { FolderVariables, KeptVariables } from "../variables/folder-variables.ts";
import { AppEnvironments, type EnvironmentsParts, type FunctionFailure, type Live } from "./app-environments.ts";
import { type Pointer, type ReleaseBook, type ReleaseOrigin, backTo, movedTo } from "./release-book.ts";
import type { Release } from "./release.ts";

export interface Deployer {
  /** Puts back what was live when the last orchestrator ended, and tells the gateways of every environment. */
  restore(): Promise<void>;
  /**
   * Makes a release live on staging, with these variables of the folder from now on; those of production come with its promotion.
   * Throws DEPLOY_FAILED and leaves what was live untouched if it does not start, DEPLOY_SUPERSEDED if it is not wanted any more.
   */
  deploy(release: Release, order: DeployOrder): Promise<DeployOutcome>;
  /** Gives what is live other variables of the folder, and what is promoted later as well: instances are replaced without a new build. */
  useVariables(environment: Environment, folder: VariableValues): Promise<void>;
  /**
   * Replaces the variables that were set, which win over the folder's. `record` is called once instances run with them, before
   * they serve. Where either fails, what was live stays, and so do the variables that were set before. Tells which functions
   * do not start, as they did not before.
   */
  setVariables(environment: Environment, set: VariableValues, record: () => Promise<void>): Promise<readonly FunctionFailure[]>;
  folderVariables(environment: Environment): VariableValues;
  /** Makes production run a release that was green, the one that is live on staging where none is named. */
  promote(releaseId: string | null): Promise<DeployOutcome>;
  /** Makes an environment run an earlier release again, the one before where none is named. */
  rollback(environment: Environment, releaseId: string | null): Promise<DeployOutcome>;
  live(environment: Environment): Release | null;
  /** Tells the gateways of hosts that have changed. */
  tell(): Promise<void>;
  /** Does something at a moment in which no release of the app is recorded and none is put live. */
  whileStill<Value>(work: () => Promise<Value>): Promise<Value>;
  /** Takes the app off its gateways, then lets its instances go. Nothing can be deployed afterwards. */
  remove(): Promise<void>;
  /** Deploys that wait for instances fail at once, and leave what is live. */
  giveUp(): void;
  /** From now on gateways are told nothing: what stops next is no news to them. */
  close(): Promise<void>;
}

export interface DeployOrder {
  readonly folder: FolderVariables;
  readonly origin: ReleaseOrigin;
  readonly isWanted: () => boolean; // Asked when its turn has come.
  readonly onRecorded: () => void; // Before the turn of the next.
}

export interface DeployOutcome {
  readonly release: Release;
  readonly environment: Environment;
  readonly isUnchanged: boolean;
  readonly failures: readonly FunctionFailure[]; // Functions of a first deploy that do not start; the others answer.
}

export interface DeployerParts extends EnvironmentsParts {
  readonly variables: {
    readonly folder: KeptVariables;
    readonly set: Readonly<Record<Environment, VariableValues>>;
    /** What the next orchestrator should begin with, where it cannot read it from the app's folder. */
    readonly keep: (kept: KeptVariables) => Promise<void>;
  };
  readonly book: ReleaseBook;
  readonly announce: (news: DeployNews) => void;
}

/** What became of a deploy, a promote or a rollback, for those who watch. */
export interface DeployNews {
  readonly app: string;
  readonly kind: "deployed" | "promoted" | "rolled-back" | "deploy-failed";
  readonly environment: Environment;
  readonly releaseId: string;
  readonly text: string;
}

export function createDeployer(parts: DeployerParts): Deployer {
  return new AppDeployer(parts);
}

class AppDeployer implements Deployer {
  readonly #parts: DeployerParts;
  readonly #book;
  readonly #environments;
  readonly #folderVariables: Record<Environment, VariableValues>;
  #next: VariableValues;
  readonly #setVariables: Record<Environment, VariableValues>;
  readonly #inTurn = createTurn();

  constructor(parts: DeployerParts) {
    this.#parts = parts;
    this.#book = parts.book;
    this.#environments = new AppEnvironments(parts);
    this.#folderVariables = { ...parts.variables.folder.live };
    this.#next = parts.variables.folder.next;
    this.#setVariables = { ...parts.variables.set };
  }

  async restore(): Promise<void> {
    for (const environment of ENVIRONMENTS) {
      const release = await this.#book.deployed(environment);
      await this.#environments.restore(environment, release === null ? null : { release, variables: this.#variables(environment) });
    }
  }

  live(environment: Environment): Release | null {
    return this.#environments.live(environment)?.release ?? null;
  }

  async tell(): Promise<void> {
    await this.#environments.tell();
  }

  async whileStill<Value>(work: () => Promise<Value>): Promise<Value> {
    return this.#inTurn(work);
  }

  giveUp(): void {
    this.#environments.giveUp();
  }

  async close(): Promise<void> {
    this.giveUp();
    await this.#inTurn(async () => undefined); // What was begun is over then.
    await this.#environments.settled();
  }

  async remove(): Promise<void> {
    await this.close();
    await this.#environments.remove();
  }

  /** One deploy at a time: each begins with what the one before it left live. */
  async deploy(release: Release, { folder, origin, isWanted, onRecorded }: DeployOrder): Promise<DeployOutcome> {
    return this.#inTurn(async () => {
      const environment = "staging";
      const keep = async (outcome: "green" | "red" | "superseded"): Promise<void> => this.#book.keep({ release, origin, outcome });
      if (!isWanted()) {
        await keep("superseded");
        throw new PlatformError("DEPLOY_SUPERSEDED", { detail: `Release ${release.releaseId} was not put on ${environment}.` });
      }
      const before = { live: this.#folderVariables[environment], next: this.#next };
      this.#folderVariables[environment] = folder[environment];
      this.#next = folder.production;
      const record = async (): Promise<void> => {
        await this.#keepVariables();
        await keep("green");
        await this.#book.point(environment, movedTo(release.releaseId));
        onRecorded();
      };
      const done = this.#deployNow(environment, { release, variables: this.#variables(environment) }, record).catch(
        async (cause: unknown) => {
          this.#folderVariables[environment] = before.live;
          this.#next = before.next;
          if (!this.#environments.isClosing) await keep("red"); // What ends with the platform is begun again.
          throw cause;
        },
      );
      return this.#announced(done, { kind: "deployed", environment, releaseId: release.releaseId });
    });
  }

  async useVariables(environment: Environment, folder: VariableValues): Promise<void> {
    await this.#inTurn(async () => {
      this.#folderVariables[environment] = folder;
      if (environment === "production") this.#next = folder;
      await this.#tell(environment, this.#variables(environment));
    });
  }

  async setVariables(environment: Environment, set: VariableValues, record: () => Promise<void>): Promise<readonly FunctionFailure[]> {
    return this.#inTurn(async () => {
      const recorded = async (): Promise<void> => {
        await record();
        this.#setVariables[environment] = set;
      };
      const failing = await this.#tell(environment, mergeVariables(this.#folderVariables[environment], set), recorded);
      if (failing === null) await recorded();
      return failing ?? [];
    });
  }

  folderVariables(environment: Environment): VariableValues {
    return this.#folderVariables[environment];
  }

  #variables(environment: Environment): VariableValues {
    return mergeVariables(this.#folderVariables[environment], this.#setVariables[environment]);
  }

  /** Replaces the instances of what is live. Null where there is nothing to replace: nothing is live, or runs with these very variables. */
  async #tell(environment: Environment, variables: VariableValues, record?: () => Promise<void>): Promise<FunctionFailure[] | null> {
    const live = this.#environments.live(environment);
    if (live === null || this.#environments.isRunning(environment, { ...live, variables })) return null;
    return this.#environments.roll(environment, { ...live, variables }, record);
  }

  async promote(releaseId: string | null): Promise<DeployOutcome> {
    return this.#inTurn(async () => {
      const release = releaseId === null ? this.live("staging") : await this.#greenRelease(releaseId);
      if (release === null)
        throw new PlatformError("NOTHING_TO_PROMOTE", {
          remedy: "Deploy the app to staging first, with: orchestrator deploy, git push, or orchestrator up <folder>.",
        });
      const before = this.#folderVariables.production;
      this.#folderVariables.production = this.#next;
      const done = this.#moved("production", release, movedTo(release.releaseId)).catch((cause: unknown) => {
        this.#folderVariables.production = before;
        throw cause;
      });
      return this.#announced(done, { kind: "promoted", environment: "production", releaseId: release.releaseId });
    });
  }

  async rollback(environment: Environment, releaseId: string | null): Promise<DeployOutcome> {
    return this.#inTurn(async () => {
      const target = releaseId ?? (await this.#book.pointer(environment))?.earlier.at(-1) ?? null;
      if (target === null)
        throw new PlatformError("NOTHING_TO_ROLL_BACK", {
          detail: `There is no release that ${environment} ran before.`,
          remedy: "orchestrator releases shows those that there are; name one of them.",
        });
      const release = await this.#greenRelease(target);
      const done = this.#moved(environment, release, backTo(release.releaseId));
      return this.#announced(done, { kind: "rolled-back", environment, releaseId: release.releaseId });
    });
  }

  /** Only what ran on staging may go elsewhere. */
  async #greenRelease(releaseId: string): Promise<Release> {
    const known = await this.#book.find(releaseId);
    if (known === null)
      throw new PlatformError("RELEASE_NOT_FOUND", { detail: `${releaseId} is no release of ${this.#parts.app.appName}.`, remedy: LOOK });
    if (known.outcome !== "green")
      throw new PlatformError("RELEASE_NOT_GREEN", {
        detail: `Release ${releaseId} never ran on staging: it is ${known.outcome}.`,
        remedy: LOOK,
      });
    return known.release;
  }

  async #moved(environment: Environment, release: Release, move: (before: Pointer | null) => Pointer): Promise<DeployOutcome> {
    return this.#deployNow(environment, { release, variables: this.#variables(environment) }, async () => {
      await this.#keepVariables();
      await this.#book.point(environment, move);
    });
  }

  async #keepVariables(): Promise<void> {
    await this.#parts.variables.keep({ live: { ...this.#folderVariables }, next: this.#next });
  }

  async #announced(work: Promise<DeployOutcome>, about: Omit<DeployNews, "text" | "app">): Promise<DeployOutcome> {
    const news = { ...about, app: this.#parts.app.appName };
    try {
      const outcome = await work;
      this.#parts.announce({ ...news, text: `${news.environment} runs release ${news.releaseId}` });
      return outcome;
    } catch (cause) {
      this.#parts.announce({ ...news, kind: "deploy-failed", text: cause instanceof Error ? cause.message : String(cause) });
      throw cause;
    }
  }

  async #deployNow(environment: Environment, next: Live, record: () => Promise<void>): Promise<DeployOutcome> {
    const { release } = next;
    const isUnchanged = this.live(environment)?.releaseId === release.releaseId && this.#environments.isRunning(environment, next);
    const failures = await this.#environments.roll(environment, next, record);
    return { release, environment, isUnchanged, failures };
  }
}

const LOOK = "orchestrator releases shows those that there are.";
