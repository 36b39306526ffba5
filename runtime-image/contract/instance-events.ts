// What an instance says about its own life, on its event subject and in answer to a ping. JSON, small, never on the request path.

export type InstanceEvent =
  | { readonly kind: "ready"; readonly instanceId: string; readonly loadMs: number }
  /** The handler could not be loaded; the instance exits after it said so. */
  | {
      readonly kind: "failed";
      readonly instanceId: string;
      readonly code: "HANDLER_MISSING" | "HANDLER_LOAD_FAILED";
      readonly message: string;
      readonly stack: string;
    }
  /** It takes no more requests, finishes those it has, and exits. */
  | { readonly kind: "retiring"; readonly instanceId: string; readonly reason: string };

/** The watchdog thread answers pings, so that busy code of a user is not mistaken for a dead process. */
export interface Pong {
  readonly instanceId: string;
  readonly state: "starting" | "ready" | "retiring";
  readonly requestCount: number; // Requests in flight.
}
