// A delivery: one run of a received source through its steps to staging. What it is, and how it moves from one state to the next. Pure.

export const STEPS = ["verify", "install", "build", "lint", "test", "deploy"] as const;
export type Step = (typeof STEPS)[number];

export const SOURCE_KINDS = ["git", "upload", "route"] as const;

/** Where the source came from. It lies in the app's repository in every case. */
export interface DeliverySource {
  readonly kind: (typeof SOURCE_KINDS)[number];
  readonly commit: string;
  readonly ref: string | null; // Of a push.
  readonly message: string | null;
}

export const DELIVERY_STATES = ["queued", "running", "green", "red", "cancelled", "superseded"] as const;
/** "green": it is on staging; "superseded": a later one was there first. */
export type DeliveryState = (typeof DELIVERY_STATES)[number];

export const STEP_STATES = ["waiting", "running", "done", "failed", "skipped"] as const;

export interface StepRecord {
  readonly step: Step;
  readonly state: (typeof STEP_STATES)[number];
  readonly durationMs: number | null; // Null until it is over, and where it was skipped.
}

export interface Delivery {
  readonly deliveryId: string;
  readonly appId: string;
  readonly app: string; // Its name.
  readonly number: number; // Later ones of an app have higher ones.
  readonly source: DeliverySource;
  readonly by: string; // The name of a token.
  readonly createdEpochMs: number;
  readonly state: DeliveryState;
  readonly steps: readonly StepRecord[];
  readonly releaseId: string | null;
  readonly detail: string | null; // Why it is not green.
  readonly problems: readonly string[];
  readonly remedy: string | null;
  readonly tryCount: number; // How often it was begun: an orchestrator that dies leaves it to the next.
}

export const deliveryIdOf = (app: string, number: number): string => `${app}-${number}`;

export function newDelivery(about: Pick<Delivery, "appId" | "app" | "number" | "source" | "by" | "createdEpochMs">): Delivery {
  return {
    ...about,
    deliveryId: deliveryIdOf(about.app, about.number),
    state: "queued",
    steps: STEPS.map((step) => ({ step, state: "waiting", durationMs: null })),
    releaseId: null,
    detail: null,
    problems: [],
    remedy: null,
    tryCount: 0,
  };
}

export const begun = (delivery: Delivery): Delivery => ({
  ...delivery,
  state: "running",
  steps: STEPS.map((step) => ({ step, state: "waiting", durationMs: null })),
  tryCount: delivery.tryCount + 1,
});

/** Of an orchestrator that was stopped in good order, which is no try that failed. */
export const postponed = (delivery: Delivery): Delivery => ({ ...delivery, state: "queued", tryCount: delivery.tryCount - 1 });

export const withStep = (delivery: Delivery, record: StepRecord): Delivery => ({
  ...delivery,
  steps: delivery.steps.map((one) => (one.step === record.step ? record : one)),
});

export interface Ending {
  readonly state: Exclude<DeliveryState, "queued" | "running">;
  readonly releaseId: string | null;
  readonly detail: string | null;
  readonly problems: readonly string[];
  readonly remedy: string | null;
}

export const ended = (delivery: Delivery, ending: Ending): Delivery => ({ ...delivery, ...ending });

export const isOver = ({ state }: Pick<Delivery, "state">): boolean => state !== "queued" && state !== "running";

/** What happens in one, as its log tells it. */
export type LogEvent =
  | { readonly kind: "step"; readonly step: Step; readonly state: StepRecord["state"]; readonly durationMs: number | null }
  | { readonly kind: "line"; readonly step: Step; readonly text: string }
  | ({ readonly kind: "end" } & Ending);
