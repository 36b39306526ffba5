// What a route of the management API is: whom it answers, what it takes, what it gives. Nothing here knows how HTTP is spoken.
import type { Readable } from "node:stream";
import type { Caller, Role } from "./roles.ts";
import { type Static, type TObject, type TSchema, Type } from "./schema.ts";

export type { Caller, Role } from "./roles.ts";
export { Type, type Static, type TSchema } from "./schema.ts";

export interface ApiCall<Params = unknown, Query = unknown, Body = unknown> {
  readonly params: Params; // Decoded, of the right types.
  readonly query: Query;
  readonly body: Body;
  readonly caller: Caller;
  readonly passphrase: string | null; // Null where none was sent, and where the route takes none.
  readonly signal: AbortSignal; // Aborts when the caller goes away, or when the orchestrator stops.
}

export interface ApiRoute {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: `/api/${string}`; // With parameters as in "/api/env/:environment/:name".
  readonly role: Role; // The least that a token must have.
  readonly summary: string; // One sentence for the OpenAPI document.
  readonly params?: TObject;
  readonly query?: TObject;
  readonly body?: TSchema; // JSON. Without it a body is refused, but for uploads.
  /** Fields of the body that the audit log may keep. None are kept but these; params and query always are, so no secret belongs there. */
  readonly auditedFields?: readonly string[];
  /** Whether it may be sent a passphrase, which nothing keeps. */
  readonly takesPassphrase?: boolean;
  readonly answer: ApiAnswer;
}

export type ApiAnswer<Call = ApiCall> =
  | JsonAnswer<Call>
  | LinesAnswer<Call>
  | EventsAnswer<Call>
  | DownloadAnswer<Call>
  | UploadAnswer<Call>;

/** An error that a handler throws as a PlatformError is answered with its code; every other one is INTERNAL. */
interface JsonAnswer<Call> {
  readonly kind: "json";
  readonly schema: TSchema; // Of what the handler resolves with.
  // Methods, so that a route of known types is an ApiRoute; the server calls them with what their schemas have let through.
  handle(call: Call): Promise<unknown>;
}

/** One JSON value per line, as fast as the caller reads. What `handle` throws is answered as an error; what the lines throw breaks the answer off. */
interface LinesAnswer<Call> {
  readonly kind: "lines";
  readonly schema: TSchema; // Of one line.
  handle(call: Call): Promise<AsyncIterable<unknown>>;
}

/** Server-sent events. The server adds comments that keep the connection alive. */
interface EventsAnswer<Call> {
  readonly kind: "events";
  readonly schema: TSchema; // Of one event's data.
  handle(call: Call & { readonly lastEventId: string | null }): Promise<AsyncIterable<ServerEvent>>;
}

export interface ServerEvent {
  readonly id?: string;
  readonly event: string; // Its name.
  readonly data: unknown;
}

/** Bytes, as fast as the caller reads. An error of the stream breaks the answer off, so that a part is never taken for the whole. */
interface DownloadAnswer<Call> {
  readonly kind: "download";
  readonly contentType: string;
  handle(call: Call): Promise<Readable>;
}

/** Takes a body of any size and type as it comes; one that stands still for too long ends with an error of the stream. */
interface UploadAnswer<Call> {
  readonly kind: "upload";
  readonly contentType: string; // What it should be; for the document only.
  readonly bytesMax: number;
  readonly schema: TSchema; // Of what the handler resolves with.
  handle(call: Call, body: Readable): Promise<unknown>;
}

type TypedRoute<Params extends TObject, Query extends TObject, Body extends TSchema> = Omit<
  ApiRoute,
  "params" | "query" | "body" | "answer"
> & {
  readonly params?: Params;
  readonly query?: Query;
  readonly body?: Body;
  readonly answer: ApiAnswer<ApiCall<Static<Params>, Static<Query>, Static<Body>>>;
};

const NOTHING = Type.Object({});

/** A route whose handler gets what its schemas say. */
export function route<Params extends TObject = typeof NOTHING, Query extends TObject = typeof NOTHING, Body extends TSchema = TSchema>(
  definition: TypedRoute<Params, Query, Body>,
): ApiRoute {
  return definition;
}
