// What the library needs of the instance that it runs in. The runtime lays it; user code only ever sees the library.

export interface Bridge {
  readonly environment: string; // "staging" or "production".
  readonly appName: string;
  readonly secret: string; // Hex; sessions and csrf tokens are signed with keys derived from it.
  /** The request that the running code belongs to, the same object as long as it lasts; null where there is none. */
  currentRequest(): BridgeRequest | null;
  readonly store: Store;
}

export interface BridgeRequest {
  readonly id: string;
  readonly method: string; // As sent.
  readonly path: string; // As sent.
  readonly scheme: "http" | "https";
  readonly headers: readonly string[]; // Names and values in turn, as sent: the session's cookie is among them.
}

export type BucketName = "sessions" | "data";

/** The buckets of this app and environment. Keys are tokens joined with dots, values are bytes. In
 * "sessions" tokens are letters and digits; in "data" a key is the hex of a table, a dot, and the hex of the document's key. */
export interface Store {
  get(bucket: BucketName, key: string): Promise<StoredValue | null>;
  /** Resolves once it is durable, with the new revision. Fails with a RevisionConflict where another write came first. */
  put(bucket: BucketName, key: string, bytes: Uint8Array, options?: PutOptions): Promise<number>;
  /** Nothing happens where there is none, or where it has another revision than the expected one. */
  remove(bucket: BucketName, key: string, options?: RemoveOptions): Promise<void>;
  /** Keys that begin with the prefix (whole tokens), in order, after the text named, whether or not there is such a key. */
  list(bucket: BucketName, range: KeyRange): Promise<readonly string[]>;
  count(bucket: BucketName, prefix: string): Promise<number>;
}

export interface StoredValue {
  readonly bytes: Uint8Array;
  readonly revision: number;
}

export interface PutOptions {
  readonly expectedRevision?: number; // 0: only where there is none.
  readonly expiresEpochMs?: number; // Of a document: from then on the platform clears it away. Until it has done so, it is read.
}

export interface RemoveOptions {
  readonly expectedRevision?: number;
}

export interface KeyRange {
  readonly prefix: string; // "74657374.": everything of that first token.
  readonly after: string | null;
  readonly limit: number;
}

const CONFLICT = Symbol.for("orchestrator:revision-conflict");

/** Another write came first: read again and decide anew. */
export class RevisionConflict extends Error {
  readonly [CONFLICT] = true;

  /** The runtime throws it and the library catches it: two bundles, each with a class of its own. */
  static override [Symbol.hasInstance](thrown: unknown): boolean {
    return thrown instanceof Error && CONFLICT in thrown;
  }
}

const BRIDGE = Symbol.for("orchestrator:bridge");
const LOADER = Symbol.for("orchestrator:library");

type Holder = Record<symbol, unknown>;

/** The runtime's side: lays the bridge, and says how the library is loaded when user code first asks for it. */
export function layBridge(bridge: Bridge, load: () => unknown): void {
  const holder: Holder = globalThis; // The one place that both bundles can see.
  holder[BRIDGE] = bridge;
  holder[LOADER] = load;
}

/** The library's side. */
export function bridge(): Bridge {
  const holder: Holder = globalThis;
  const laid = holder[BRIDGE];
  if (laid === undefined) throw new Error("the library works inside an instance of the platform only");
  return laid as Bridge; // layBridge() put it there.
}
