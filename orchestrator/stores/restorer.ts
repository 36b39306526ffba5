// Takes backups that are sent to the platform: one restore per environment at once, kept in a file of the home until it is checked and done.
import { randomBytes } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import type { Environment } from "../../runtime-image/contract/instance-manifest.ts";
import type { Clock } from "../clock.ts";
import {
  restoreFile,
  type MarkKeeper,
  type RestoreMark,
  type RestoreOutcome,
  type RestoreProgress,
  type RestoringVariables,
} from "./restore.ts";
import type { AppStores } from "./stores.ts";

export interface RestoreTarget {
  readonly appId: string;
  readonly environment: Environment;
}

export type RestoreStatus =
  | { readonly kind: "none" }
  | { readonly kind: "broken-off"; readonly startedEpochMs: number } // Begun and not finished: what is there is a part.
  | ({ readonly kind: "running" } & RestoreProgress)
  | { readonly kind: "receiving" };

export interface Restorer {
  restore(target: RestoreTarget, body: Readable, options: RestoreOptions): Promise<RestoreOutcome>;
  status(target: RestoreTarget): Promise<RestoreStatus>;
}

export interface RestoreOptions {
  readonly variables: RestoringVariables;
  readonly isReplacing: boolean;
  readonly signal: AbortSignal;
}

export interface RestorerParts {
  readonly folder: string; // Its own; emptied at the start.
  readonly stores: (target: RestoreTarget) => Promise<AppStores>;
  readonly control: ControlState;
  readonly clock: Clock;
}

/** As the control bus has it. */
export interface ControlState {
  readControl(key: string): Promise<{ readonly value: unknown } | null>;
  writeControl(key: string, value: unknown): Promise<unknown>;
  removeControl(key: string): Promise<void>;
}

export async function createRestorer({ folder, stores, control, clock }: RestorerParts): Promise<Restorer> {
  await rm(folder, { recursive: true, force: true }); // What an orchestrator that was killed left there.
  const running = new Map<string, RestoreStatus>();
  return {
    restore: async (target, body, { variables, isReplacing, signal }) => {
      const name = nameOf(target);
      if (running.has(name)) throw new PlatformError("RESTORE_RUNNING", { detail: `Into ${target.environment}.` });
      running.set(name, { kind: "receiving" });
      const path = join(folder, randomBytes(8).toString("hex"));
      try {
        await mkdir(folder, { recursive: true, mode: 0o700 });
        await pipeline(body, createWriteStream(path, { flags: "wx", mode: 0o600 }), { signal });
        return await restoreFile(path, {
          stores: await stores(target),
          variables,
          marks: marksOf(control, target),
          nowEpochMs: clock.nowEpochMs(),
          isReplacing,
          signal,
          progress: (progress) => running.set(name, { kind: "running", ...progress }),
        });
      } finally {
        running.delete(name);
        await rm(path, { force: true });
      }
    },
    status: async (target) => {
      const known = running.get(nameOf(target));
      if (known !== undefined) return known;
      const mark = await marksOf(control, target).read();
      return mark === null ? { kind: "none" } : { kind: "broken-off", startedEpochMs: mark.startedEpochMs };
    },
  };
}

const nameOf = ({ appId, environment }: RestoreTarget): string => `restore.${appId}.${environment}`;

const marksOf = (control: ControlState, target: RestoreTarget): MarkKeeper => ({
  read: async () => markIn((await control.readControl(nameOf(target)))?.value),
  write: async (mark) => void (await control.writeControl(nameOf(target), mark)),
  remove: async () => control.removeControl(nameOf(target)),
});

function markIn(value: unknown): RestoreMark | null {
  if (typeof value !== "object" || value === null) return null;
  const { sha256, isReplacing, startedEpochMs }: Partial<Record<keyof RestoreMark, unknown>> = value;
  if (typeof sha256 !== "string" || typeof isReplacing !== "boolean" || typeof startedEpochMs !== "number") return null;
  return { sha256, isReplacing, startedEpochMs };
}
