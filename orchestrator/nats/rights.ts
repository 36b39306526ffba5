// Who may publish and subscribe to what, as plain values: the one place that decides it.
import type { Environment } from "../../runtime-image/contract/instance-manifest.ts";
import {
  BROKER_GATEWAY_SUBSCRIPTION_COUNT_MAX,
  BROKER_INSTANCE_PAYLOAD_BYTES_MAX,
  BROKER_INSTANCE_SUBSCRIPTION_COUNT_MAX,
  BROKER_PAYLOAD_BYTES_MAX,
} from "../../runtime-image/contract/limits.ts";
import {
  EVERY_INBOUND,
  EVERY_OUTBOUND,
  gatewayStatusSubject,
  inboundOf,
  outboundOf,
  pingSubject,
  snapshotBucket,
  STORE_BUCKETS,
  storePrefix,
  storeStream,
  storeSubjects,
  type StoreBucket,
} from "../../runtime-image/contract/subjects.ts";

export interface UserRights {
  readonly publish: readonly string[]; // Never empty: an empty list would mean everything.
  readonly subscribe: readonly string[]; // The same.
  readonly answers: { readonly countMax: number; readonly ttlMs: number } | null; // Whether it may answer requests that it got.
  readonly subscriptionCountMax: number;
  readonly payloadBytesMax: number;
}

/** Where answers to the orchestrator arrive. Gateways keep the client's own prefix, so that they cannot listen in. */
export const ORCHESTRATOR_INBOX_PREFIX = "_INBOX_orchestrator";
const GATEWAY_INBOX = "_INBOX.>";
const ORCHESTRATOR_INBOX = `${ORCHESTRATOR_INBOX_PREFIX}.>`;

const GATEWAY_LIMITS = { subscriptionCountMax: BROKER_GATEWAY_SUBSCRIPTION_COUNT_MAX, payloadBytesMax: BROKER_PAYLOAD_BYTES_MAX };

/**
 * Hears what is meant for it, speaks as itself, and uses the two buckets. No inbox: answers go out on its own branch.
 * The buckets are no wall between instances of one app and environment: they share what is in them, and since the broker checks
 * no reply subjects, one of them can have the broker's answer to a question sent on another's branch. Such an answer carries no
 * reply subject, and headers where it carries bytes of a value; whoever listens on a branch takes neither (gateways and the
 * control plane refuse headers, instances answer only where a reply subject of theirs is named).
 */
export const instanceRights = (instanceId: string): UserRights => ({
  publish: [outboundOf(instanceId), ...STORE_BUCKETS.flatMap(storeRights)],
  subscribe: [inboundOf(instanceId)],
  answers: null,
  subscriptionCountMax: BROKER_INSTANCE_SUBSCRIPTION_COUNT_MAX,
  payloadBytesMax: BROKER_INSTANCE_PAYLOAD_BYTES_MAX,
});

/** Read a key, write it, list and count, delete the one message that holds a key. No consumers, nothing that changes a stream. */
const storeRights = (bucket: StoreBucket): string[] => {
  const stream = storeStream(bucket);
  return [...storeSubjects(bucket), `$JS.API.DIRECT.GET.${stream}`, `$JS.API.STREAM.INFO.${stream}`, `$JS.API.STREAM.MSG.DELETE.${stream}`];
};

/** A gateway in an app's account: speaks to every instance, hears every one. */
export const gatewayRights = (): UserRights => ({
  publish: [EVERY_INBOUND],
  subscribe: [EVERY_OUTBOUND],
  answers: null,
  ...GATEWAY_LIMITS,
});

/** The control plane in an app's account: asks instances how they are, never sends them a request, and makes and removes their buckets. */
export const controlRights = (): UserRights => ({
  publish: [pingSubject("*"), ...STORE_BUCKETS.flatMap(bucketMakingRights)],
  subscribe: [EVERY_OUTBOUND, ORCHESTRATOR_INBOX],
  answers: null,
  ...GATEWAY_LIMITS,
});

const bucketMakingRights = (bucket: StoreBucket): string[] =>
  ["CREATE", "UPDATE", "DELETE"].map((action) => `$JS.API.STREAM.${action}.${storeStream(bucket)}`);

/** Where the keeper of an app's stores gets its answers: nobody else in the account may subscribe there. */
export const STORE_KEEPER_INBOX_PREFIX = "_INBOX_stores";

/**
 * The control plane as the keeper of an app's stores, for their owner: what an instance may do with the buckets, and consumers of them,
 * which are how a whole bucket is read. It hears no instance and tells none anything.
 */
export const storeKeeperRights = (): UserRights => ({
  publish: STORE_BUCKETS.flatMap((bucket) => [...storeRights(bucket), ...bucketReadingRights(bucket)]),
  subscribe: [`${STORE_KEEPER_INBOX_PREFIX}.>`],
  answers: null,
  ...GATEWAY_LIMITS,
});

const bucketReadingRights = (bucket: StoreBucket): string[] => {
  const stream = storeStream(bucket);
  return [
    `$JS.API.CONSUMER.CREATE.${stream}.*.${storePrefix(bucket)}>`,
    `$JS.API.CONSUMER.MSG.NEXT.${stream}.*`,
    `$JS.API.CONSUMER.DELETE.${stream}.*`,
  ];
};

/**
 * A gateway in its environment's account: watches the one bucket there, and says how it is when asked.
 * No wall against itself: the broker checks no reply subjects, so a request of the API could have its answer written into
 * the bucket. That is why each environment's bucket lies in an account of its own.
 */
export function gatewaySnapshotRights(environment: Environment): UserRights {
  const bucket = snapshotBucket(environment);
  const stream = `KV_${bucket}`;
  return {
    publish: [
      "$JS.API.INFO",
      `$JS.API.STREAM.INFO.${stream}`,
      // A watch: one consumer with the bucket as its filter, told apart by a name that the client makes up.
      `$JS.API.CONSUMER.CREATE.${stream}.*.$KV.${bucket}.>`,
      `$JS.API.CONSUMER.INFO.${stream}.*`,
      `$JS.API.CONSUMER.DELETE.${stream}.*`,
      `$JS.FC.${stream}.>`, // Flow control of a watch.
    ],
    subscribe: [GATEWAY_INBOX, gatewayStatusSubject(environment)],
    answers: { countMax: 1, ttlMs: 30_000 }, // Who asks waits far shorter than that.
    ...GATEWAY_LIMITS,
  };
}

/** The control plane in the accounts that hold its state. */
export const orchestratorRights = (): UserRights => ({
  publish: ["$JS.API.>", "$JS.FC.>", "$KV.>", "gateway.*.status"],
  subscribe: [ORCHESTRATOR_INBOX],
  answers: null,
  ...GATEWAY_LIMITS,
});

/** Hands accounts to the broker, looks up what it has and how far their streams are, and nothing else of the system. */
export const systemRights = (): UserRights => ({
  publish: ["$SYS.REQ.CLAIMS.UPDATE", "$SYS.REQ.ACCOUNT.*.CLAIMS.LOOKUP", "$SYS.REQ.ACCOUNT.*.JSZ"],
  subscribe: [ORCHESTRATOR_INBOX],
  answers: null,
  ...GATEWAY_LIMITS,
});
