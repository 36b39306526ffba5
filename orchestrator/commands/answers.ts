// What the management API answers about apps, deliveries, releases and the disk, as commands read it; an answer that is something else is told as such.
import { ENVIRONMENTS } from "../../runtime-image/contract/instance-manifest.ts";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { type Static, type TSchema, Type, problemsIn } from "../api/schema.ts";
import { DELIVERY_STATES, SOURCE_KINDS, STEPS, STEP_STATES } from "../deliveries/delivery.ts";
import { DISK_PARTS } from "../doctor/disk-use.ts";
import { RELEASE_OUTCOMES } from "../releases/release-book.ts";

/** More than what a command reads may be there. */
const open = <Properties extends Parameters<typeof Type.Object>[0]>(properties: Properties) =>
  Type.Object(properties, { additionalProperties: true });
const orNull = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()]);
const TEXTS = Type.Array(Type.String());

export const APP = open({
  name: Type.String(),
  isDefault: Type.Boolean(),
  source: Type.Enum(["folder", "repository"]),
  hosts: open({ staging: TEXTS, production: TEXTS }),
  live: open({ staging: orNull(Type.String()), production: orNull(Type.String()) }),
  createdEpochMs: Type.Number(),
});
export type App = Static<typeof APP>;
export const APPS = open({ apps: Type.Array(APP) });
export const MADE_APP = open({ ...APP.properties, gitUrl: orNull(Type.String()) });
export type MadeApp = Static<typeof MADE_APP>;
export const REMOVED_APP = open({ name: Type.String() });

const STEP = Type.Enum([...STEPS]);

export const DELIVERY = open({
  deliveryId: Type.String(),
  app: Type.String(),
  number: Type.Number(),
  source: open({
    kind: Type.Enum([...SOURCE_KINDS]),
    commit: orNull(Type.String()),
    ref: orNull(Type.String()),
    message: orNull(Type.String()),
  }),
  by: Type.String(),
  createdEpochMs: Type.Number(),
  state: Type.Enum([...DELIVERY_STATES]),
  releaseId: orNull(Type.String()),
  detail: orNull(Type.String()),
});
export type Delivery = Static<typeof DELIVERY>;
export const DELIVERIES = open({ deliveries: Type.Array(DELIVERY) });
export const BEGUN_DELIVERY = open({ deliveryId: Type.String() });

const STEP_LINE = open({
  kind: Type.Literal("step"),
  step: STEP,
  state: Type.Enum([...STEP_STATES]),
  durationMs: orNull(Type.Number()),
});
export type StepLine = Static<typeof STEP_LINE>;
const OUTPUT_LINE = open({ kind: Type.Literal("line"), step: STEP, text: Type.String() });
const END_LINE = open({
  kind: Type.Literal("end"),
  state: Type.Enum([...DELIVERY_STATES]),
  releaseId: orNull(Type.String()),
  detail: orNull(Type.String()),
  problems: TEXTS,
  remedy: orNull(Type.String()),
});
export type EndLine = Static<typeof END_LINE>;
export const LOG_LINE = Type.Union([STEP_LINE, OUTPUT_LINE, END_LINE], { description: "a line of a delivery's log" });
export type LogLine = Static<typeof LOG_LINE>;

export const RELEASE = open({
  releaseId: Type.String(),
  createdEpochMs: Type.Number(),
  by: Type.String(),
  commit: orNull(Type.String()),
  message: orNull(Type.String()),
  outcome: Type.Enum([...RELEASE_OUTCOMES]),
  live: Type.Array(Type.Enum([...ENVIRONMENTS])),
  functionCount: Type.Number(),
});
export type ListedRelease = Static<typeof RELEASE>;
export const RELEASES = open({ releases: Type.Array(RELEASE) });

const FAILURES = Type.Array(open({ functionName: Type.String(), code: Type.String(), message: Type.String() }));
export type Failures = Static<typeof FAILURES>;
export const MOVED = open({ releaseId: Type.String(), failures: FAILURES });

export const DIFF = open({
  from: Type.String(),
  to: Type.String(),
  functions: Type.Array(
    open({
      name: Type.String(),
      route: Type.String(),
      change: Type.Enum(["added", "removed", "rebuilt", "settings"]),
      settings: Type.Array(open({ name: Type.String(), from: Type.String(), to: Type.String() })),
    }),
  ),
  site: Type.Enum(["same", "changed", "added", "removed"]),
  proxies: Type.Array(open({ environment: Type.Enum([...ENVIRONMENTS]), from: orNull(Type.String()), to: orNull(Type.String()) })),
});
export type Diff = Static<typeof DIFF>;

export const ROUTE_CHANGE = open({ deliveryId: orNull(Type.String()), files: TEXTS });
export const RESTARTED_GATEWAY = open({ environment: Type.Enum([...ENVIRONMENTS]) });

export const COLLECTED = open({
  releaseCount: Type.Number(),
  buildCount: Type.Number(),
  siteCount: Type.Number(),
  installCount: Type.Number(),
  outdatedCount: Type.Number(),
  bytesFreed: Type.Number(),
});
export type Collected = Static<typeof COLLECTED>;

const DISK_PART = open({ part: Type.Enum([...DISK_PARTS]), bytes: Type.Number(), fileCount: Type.Number(), isWhole: Type.Boolean() });
const ENGINE_USE = open({
  kind: Type.Enum(["docker", "process"]),
  buildCount: Type.Number(),
  buildBytes: Type.Number(),
  imageBytes: Type.Number(),
  freeBytes: orNull(Type.Number()),
});
export const DISK = open({
  home: Type.String(),
  parts: Type.Array(DISK_PART),
  bytes: Type.Number(),
  isWhole: Type.Boolean(),
  freeBytes: orNull(Type.Number()),
  engine: orNull(ENGINE_USE),
});

/** The answer as what it should be. */
export function checkedAnswer<Schema extends TSchema>(schema: Schema, answer: unknown, call: string): Static<Schema> {
  const problems = problemsIn(schema, answer, "answer");
  if (problems.length === 0) return answer as Static<Schema>; // It was just checked.
  throw new PlatformError("INTERNAL", {
    detail: `The answer to ${call} is not what this command expects.`,
    problems,
    remedy: "Perhaps the orchestrator that runs is of another version: stop it, and start the one of this checkout.",
  });
}
