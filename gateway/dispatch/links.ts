// What a dispatcher needs of the broker: two links to the instances of one app, and the messages that come over them.

export type Way = "small" | "bulk";

/** The links of one app: one for small messages, and a second one so that large bodies do not stand before them. */
export interface Links {
  isUp(way: Way): boolean;
  /** The second link comes up only when something needs it. */
  openBulk(): void;
  receiverId(way: Way): string;
  publish(way: Way, message: { readonly subject: string; readonly replyTo: string; readonly bytes: Uint8Array }): void;
}

export interface Message {
  readonly subject: string;
  readonly bytes: Uint8Array;
  readonly isUndelivered: boolean;
}
