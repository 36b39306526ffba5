// The subjects of one app and environment: inside its account, every instance has a branch in and a branch out.

/** What an instance may subscribe to: everything that is meant for it, and nothing else. */
export const inboundOf = (instanceId: string): string => `i.${instanceId}.>`;
/** What an instance may publish to: it can only ever speak as itself. */
export const outboundOf = (instanceId: string): string => `o.${instanceId}.>`;

export const requestSubject = (instanceId: string): string => `i.${instanceId}.req`;
export const pullSubject = (instanceId: string): string => `i.${instanceId}.pull`;
export const pingSubject = (instanceId: string): string => `i.${instanceId}.ping`;

/** Events of an instance's life, for the control plane. "up" is no receiver's id. */
export const eventSubject = (instanceId: string): string => `o.${instanceId}.up`;
export const EVERY_EVENT = "o.*.up";

/** Answers: the receiver (one connection of one gateway) subscribes once and tells its requests apart by the last token. */
export const answerSubject = (address: { instanceId: string; receiverId: string; sequence: string }): string =>
  `o.${address.instanceId}.${address.receiverId}.${address.sequence}`;
export const answersTo = (receiverId: string): string => `o.*.${receiverId}.*`;

/** What may send to instances and hear them: gateways and the control plane, never an instance. */
export const EVERY_INBOUND = "i.>";
export const EVERY_OUTBOUND = "o.>";

/** Sessions and documents: two buckets in the same account, one stream each. */
export const STORE_BUCKETS = ["sessions", "data"] as const;
export type StoreBucket = (typeof STORE_BUCKETS)[number];
export const storeStream = (bucket: StoreBucket): string => `KV_${bucket}`;
export const storePrefix = (bucket: StoreBucket): string => `$KV.${bucket}.`;
/** Beside the documents, in their stream: what says when which of them end. */
export const EXPIRY_PREFIX = "$KV.expiry.";
/** Everything that a bucket's stream holds. */
export const storeSubjects = (bucket: StoreBucket): readonly string[] => [
  `${storePrefix(bucket)}>`,
  ...(bucket === "data" ? [`${EXPIRY_PREFIX}>`] : []),
];
/** Where an instance hears the store's answers. The last token is a secret of its connection: nobody else can send there. */
export const storeAnswersTo = (instanceId: string, secret: string): string => `i.${instanceId}.s.${secret}.`;

/** In the account of an environment's gateways. */
export const gatewayStatusSubject = (environment: string): string => `gateway.${environment}.status`;
export const snapshotBucket = (environment: string): string => `snapshot_${environment}`;
/** Which instance sent what arrived on an outbound subject. */
export const senderOf = (subject: string): string => subject.slice(2, subject.indexOf(".", 2));
