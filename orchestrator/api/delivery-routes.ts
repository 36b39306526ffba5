// Deliveries: a folder that is sent, what became of it step by step, and how to call it off.
import { SOURCE_ARCHIVE_BYTES_MAX } from "../../runtime-image/contract/limits.ts";
import type { Deliveries, FollowedLog } from "../deliveries/deliveries.ts";
import { DELIVERY_STATES, type LogEvent, SOURCE_KINDS, STEPS, STEP_STATES } from "../deliveries/delivery.ts";
import type { Receiver } from "../deliveries/receive.ts";
import { APP_FIELD, type FindApp } from "./app-query.ts";
import { followed } from "./follow.ts";
import { type ApiRoute, Type, route } from "./route.ts";

export interface DeliveryRouteParts {
  readonly app: FindApp;
  readonly deliveries: Deliveries;
  readonly receiver: Receiver;
}

const COUNT = 20;
const COUNT_MAX = 1_000;
const MESSAGE_LENGTH_MAX = 500;

const STEP = Type.Enum([...STEPS]);
const STEP_STATE = Type.Enum([...STEP_STATES]);
const TEXT = Type.Union([Type.String(), Type.Null()]);
const MILLISECONDS = Type.Union([Type.Number(), Type.Null()]);

const ENDING = { releaseId: TEXT, detail: TEXT, problems: Type.Array(Type.String()), remedy: TEXT };

const DELIVERY = Type.Object({
  deliveryId: Type.String(),
  appId: Type.String(),
  app: Type.String(),
  number: Type.Integer(),
  source: Type.Object({ kind: Type.Enum([...SOURCE_KINDS]), commit: Type.String(), ref: TEXT, message: TEXT }),
  by: Type.String(),
  createdEpochMs: Type.Number(),
  state: Type.Enum([...DELIVERY_STATES]),
  steps: Type.Array(Type.Object({ step: STEP, state: STEP_STATE, durationMs: MILLISECONDS })),
  tryCount: Type.Integer(),
  ...ENDING,
});

const EVENT = Type.Union([
  Type.Object({ kind: Type.Literal("step"), step: STEP, state: STEP_STATE, durationMs: MILLISECONDS }),
  Type.Object({ kind: Type.Literal("line"), step: STEP, text: Type.String() }),
  Type.Object({ kind: Type.Literal("end"), state: Type.Enum([...DELIVERY_STATES]), ...ENDING }),
]);

const ID_PARAMS = Type.Object({ deliveryId: Type.String({ description: "as a deploy gives it, such as shop-12" }) });

export function deliveryRoutes({ app, deliveries, receiver }: DeliveryRouteParts): ApiRoute[] {
  return [
    route({
      method: "POST",
      path: "/api/deliveries",
      role: "deploy",
      summary:
        "Takes a folder as a tar, compressed or not, and begins to deliver it to staging. What it answers is recorded: it goes on if the platform dies.",
      query: Type.Object({ ...APP_FIELD, message: Type.Optional(Type.String({ maxLength: MESSAGE_LENGTH_MAX })) }),
      answer: {
        kind: "upload",
        contentType: "application/gzip",
        bytesMax: SOURCE_ARCHIVE_BYTES_MAX,
        schema: Type.Object({ deliveryId: Type.String() }),
        async handle({ query, caller, signal }, body) {
          const about = { app: app(query.app), by: caller.tokenName, message: query.message ?? null, signal };
          const { delivery } = await receiver.upload(body, about);
          return { deliveryId: delivery.deliveryId };
        },
      },
    }),
    route({
      method: "GET",
      path: "/api/deliveries",
      role: "read",
      summary: "The deliveries of an app, newest first.",
      query: Type.Object({ ...APP_FIELD, count: Type.Optional(Type.Integer({ minimum: 1, maximum: COUNT_MAX })) }),
      answer: {
        kind: "json",
        schema: Type.Object({ deliveries: Type.Array(DELIVERY) }),
        handle: async ({ query }) => ({ deliveries: (await deliveries.list(app(query.app))).slice(0, query.count ?? COUNT) }),
      },
    }),
    route({
      method: "GET",
      path: "/api/deliveries/:deliveryId",
      role: "read",
      summary: "One delivery: its steps and how it ended.",
      params: ID_PARAMS,
      answer: { kind: "json", schema: DELIVERY, handle: async ({ params }) => deliveries.find(params.deliveryId) },
    }),
    route({
      method: "GET",
      path: "/api/deliveries/:deliveryId/log",
      role: "read",
      summary: "Everything that a delivery's steps printed; with follow=true until it is over.",
      params: ID_PARAMS,
      query: Type.Object({ follow: Type.Optional(Type.Boolean()) }),
      answer: {
        kind: "lines",
        schema: EVENT,
        handle: async ({ params, query, signal }) =>
          eventsOf(await deliveries.log(params.deliveryId), { isFollowing: query.follow === true, signal }),
      },
    }),
    route({
      method: "POST",
      path: "/api/deliveries/:deliveryId/cancel",
      role: "deploy",
      summary: "Calls a delivery off; what is live stays live.",
      params: ID_PARAMS,
      answer: { kind: "json", schema: DELIVERY, handle: async ({ params }) => deliveries.cancel(params.deliveryId) },
    }),
  ];
}

/** Until the end of the delivery, where there is one to wait for. */
async function* eventsOf(
  { events, follow }: FollowedLog,
  { isFollowing, signal }: { readonly isFollowing: boolean; readonly signal: AbortSignal },
): AsyncGenerator<LogEvent> {
  const first = [...events];
  if (!isFollowing || follow === null) return yield* first;
  for await (const event of followed(follow, { first, signal })) {
    yield event;
    if (event.kind === "end") return;
  }
}
