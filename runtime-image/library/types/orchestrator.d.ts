// Types of what this app's functions can import without installing it. Written by `orchestrator types`; write nothing of your own here.

declare module "@orchestrator/functions" {
  type Awaitable<Value> = Value | Promise<Value>;
  type Texts = Readonly<Record<string, string>>;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- What a client sends is checked by nobody but the function.
  type Anything = any;

  /** The second argument of a handler. */
  export interface Context {
    readonly awsRequestId: string;
    readonly functionName: string;
    readonly functionVersion: string;
    readonly invokedFunctionArn: string;
    readonly memoryLimitInMB: string;
    readonly signal: AbortSignal; // Aborts at the deadline.
    getRemainingTimeInMillis(): number;
  }

  /** What a handler of the current generation is given: payload version 2.0. */
  export interface Request {
    version: "2.0";
    routeKey: string; // "GET /shop/{item}", or "$default".
    rawPath: string;
    rawQueryString: string; // With its "?".
    headers: Record<string, string>; // Lower-case names.
    cookies?: string[];
    pathParameters?: Record<string, string>;
    queryStringParameters?: Record<string, string>;
    requestContext: {
      http: { method: string; path: string; protocol: string; sourceIp: string; userAgent: string };
      routeKey: string;
      requestId: string;
      stage: string;
      domainName: string;
      time: string;
      timeEpoch: number;
    };
    body?: string; // Base64: http.helpers.bodyParser(request) reads it.
    isBase64Encoded: boolean;
  }

  export interface Response {
    statusCode?: number;
    headers?: Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;
    body?: string;
    isBase64Encoded?: boolean;
    cookies?: readonly string[];
  }

  /** Anything that has none of a response's fields is sent whole, as JSON with status 200. */
  type Whole = (object & { [field in keyof Response | "then"]?: undefined }) | string | number | boolean | null | undefined;

  /** A function of the current generation: `export const handler: Handler = async (request) => ({ statusCode: 200, body: "hi" })`. */
  export type Handler = (request: Request, context: Context) => Awaitable<Response | Whole>;

  /** What a handler of the legacy generation is given: payload version 1. */
  export interface LegacyRequest {
    httpMethod: string;
    path: string;
    resource: string;
    headers: Record<string, string>; // In the case that the client sent.
    multiValueHeaders: Record<string, string[]>;
    pathParameters: Record<string, string> | null;
    queryStringParameters: Record<string, string> | null;
    multiValueQueryStringParameters: Record<string, string[]> | null;
    requestContext: Record<string, Anything>;
    body: string | null; // Base64.
    isBase64Encoded: boolean;
  }
  export interface LegacyResponse extends Response {
    multiValueHeaders?: Readonly<Record<string, readonly string[]>>;
  }
  export type LegacyHandler = (request: LegacyRequest, context: Context) => Awaitable<LegacyResponse>;

  /** What a handler of the older simple API is given. */
  export interface SimpleRequest {
    body: Record<string, Anything>; // Parsed; {} without one.
    path: string;
    method: string; // Lower case.
    params: Record<string, string>;
    query: Record<string, string>;
    headers: Record<string, string>;
  }
  export interface SimpleResponse extends Response {
    status?: number;
    code?: number;
    type?: string;
    location?: string;
    cookie?: string;
    cors?: boolean;
    cacheControl?: string;
  }
  export type SimpleHandler = (request: SimpleRequest, context: Context) => Awaitable<SimpleResponse | undefined>;

  export type Session = Record<string, Anything>;

  /** What the functions of http and http.async see, whatever the generation. */
  export interface HttpRequest {
    [field: string]: Anything;
    method: string; // Upper case.
    httpMethod: string;
    path: string;
    resource: string;
    headers: Record<string, string>;
    params: Record<string, string>;
    query: Record<string, string>;
    pathParameters: Record<string, string>;
    queryStringParameters: Record<string, string>;
    body: Anything; // Parsed; {} without one.
    rawBody?: string;
    session: Session;
  }

  /** What they answer. Any object without one of these fields, and any other value, is sent as JSON. */
  export interface HttpAnswer {
    html?: string | Uint8Array;
    css?: string | Uint8Array;
    js?: string | Uint8Array;
    text?: string | number | Uint8Array;
    json?: unknown;
    xml?: string | Uint8Array;
    body?: string | Uint8Array;
    isBase64Encoded?: boolean;
    status?: number | string;
    code?: number | string;
    statusCode?: number | string;
    headers?: Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;
    type?: string;
    location?: string;
    cacheControl?: string;
    cookie?: string | readonly string[];
    cookies?: readonly string[];
    cors?: boolean;
    session?: Session;
    compression?: boolean | "br" | "gzip";
  }

  export type Res<Answer = unknown> = (answer: Answer | Error) => void;
  export type Next = (error?: Error) => void;
  /** res takes an HttpAnswer, or anything else to send as JSON. */
  export type Middleware = (request: HttpRequest, res: Res, next: Next) => unknown;
  export type AsyncMiddleware = (request: HttpRequest, context: Context) => unknown; // An HttpAnswer, a request, or nothing.
  /** What the wrappers make: the value of `handler`. */
  export type Wrapped = (request: Anything, context?: Anything) => Promise<Anything>;

  type Callback<Value> = (error: Error | null, value?: Value) => void;
  type Wrap<Function> = (...functions: readonly Function[]) => Wrapped;

  interface ProxyOptions {
    spa?: boolean;
    alias?: Texts;
    ssr?: string | ((request: HttpRequest, context: Context) => Awaitable<HttpAnswer>);
  }
  type PublicProxy = (options?: ProxyOptions) => Wrapped;

  interface Http {
    (...functions: readonly Middleware[]): Wrapped;
    async: Wrap<AsyncMiddleware>;
    middleware: Wrap<AsyncMiddleware>;
    helpers: {
      bodyParser(request: object): Anything;
      interpolate(request: object): HttpRequest;
      static(path: string): string;
      url(path: string): string;
    };
    session: {
      read(request: object): Promise<Session>;
      read(request: object, callback: Callback<Session>): void;
      write(session: Session): Promise<string>; // The value of the Set-Cookie header.
      write(session: Session, callback: Callback<string>): void;
    };
    csrf: {
      create(data?: string, expiresEpochMs?: number): string;
      verify(token: unknown): boolean;
    };
    proxy: PublicProxy & { public: PublicProxy };
  }

  /** What the functions of JSON and HTML routes see. */
  export interface RouteRequest {
    method: "get" | "post" | "put" | "patch" | "delete";
    path: string;
    headers: Record<string, string>;
    query: Record<string, string>;
    params: Record<string, string>;
    body: Anything; // {} for GET.
    session: Session;
    csrf: string;
    _idx: string;
    _secret: string;
    readonly _url: (path: string) => string;
    readonly _static: (path: string) => string;
    readonly _verify: (token: unknown) => boolean;
  }

  type RouteStatus = 400 | 403 | 404 | 406 | 409 | 415 | 500;
  interface RouteExtras {
    session?: Session;
    status?: RouteStatus | 200 | 302;
    code?: RouteStatus | 200 | 302;
    statusCode?: RouteStatus | 200 | 302;
  }
  type RouteAnswer<Key extends string, Content> = RouteExtras & ({ [key in Key]: Content } | { location: string });
  type RouteMiddleware<Answer> = (request: RouteRequest, res: Res<Answer>, next: Next) => unknown;
  interface Routes<Answer> {
    get: Wrap<RouteMiddleware<Answer>>;
    post: Wrap<RouteMiddleware<Answer>>;
    put: Wrap<RouteMiddleware<Answer>>;
    patch: Wrap<RouteMiddleware<Answer>>;
    delete: Wrap<RouteMiddleware<Answer>>;
  }

  export const http: Http;
  export const middleware: Wrap<AsyncMiddleware>;
  export const json: Routes<RouteAnswer<"json", object | string | null>>;
  export const html: Routes<RouteAnswer<"html", string>> & { csrf(request: object, res: Anything, next?: Anything): void };
  export const css: Routes<RouteAnswer<"css", string>>;
  export const js: Routes<RouteAnswer<"js", string>>;
  export const text: Routes<RouteAnswer<"text", string>>;
  export const xml: Routes<RouteAnswer<"xml", string>>;
  export const proxy: { public: PublicProxy };
  function staticPath(path: string): string;
  export { staticPath as static };

  /** Not part of this platform: they throw an error that says what to do instead. */
  export const events: { publish(...values: unknown[]): never; subscribe(...values: unknown[]): never };
  export const queues: { publish(...values: unknown[]): never; subscribe(...values: unknown[]): never };
  export const scheduled: (...values: unknown[]) => never;
  export const tables: (...values: unknown[]) => never;
  export const services: (...values: unknown[]) => never;
  export const ws: Readonly<Record<"send" | "close" | "info" | "api", (...values: unknown[]) => never>>;

  // oxlint-disable-next-line typescript/consistent-type-imports -- A module cannot import itself.
  const all: typeof import("@orchestrator/functions");
  export default all;
}

declare module "@orchestrator/data" {
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- Documents hold what functions put there.
  type Attributes = Record<string, any>;
  type Callback<Value> = (error: Error | null, value?: Value) => void;

  export interface Key {
    table: string;
    key: string;
  }
  /** A document as it is stored. */
  export type Document<Fields extends object = Attributes> = Fields & Key;
  /** A document to store: without a key it is given one. "ttl" is when it expires, in seconds since 1970. */
  export type NewDocument<Fields extends object = Attributes> = Fields & { table: string; key?: string; ttl?: number };
  export interface Range {
    table: string;
    limit?: number; // 10 where none is given.
    cursor?: string; // Where the page before ended.
    begin?: string; // Keys that begin with it.
  }
  /** A page, in the order of keys. With a cursor, there is more. */
  export type Page<Fields extends object = Attributes> = Document<Fields>[] & { cursor?: string };

  export function get<Fields extends object = Attributes>(key: Key): Promise<Document<Fields> | null>;
  export function get<Fields extends object = Attributes>(range: Range): Promise<Page<Fields>>;
  export function get<Fields extends object = Attributes>(keys: readonly Key[]): Promise<Document<Fields>[]>;
  export function get(what: Key | Range | readonly Key[], callback: Callback<Attributes>): void;

  export function set<Fields extends object = Attributes>(document: NewDocument<Fields>): Promise<Document<Fields>>;
  export function set<Fields extends object = Attributes>(documents: readonly NewDocument<Fields>[]): Promise<Document<Fields>[]>;
  export function set(what: NewDocument | readonly NewDocument[], callback: Callback<Attributes>): void;

  export function destroy(what: Key | readonly Key[]): Promise<void>;
  export function destroy(what: Key | readonly Key[], callback: Callback<undefined>): void;

  export function count(table: { table: string }): Promise<number>;
  export function count(table: { table: string }, callback: Callback<number>): void;

  export function incr<Fields extends object = Attributes>(counter: Key & { prop: string }): Promise<Document<Fields>>;
  export function incr(counter: Key & { prop: string }, callback: Callback<Document>): void;
  export function decr<Fields extends object = Attributes>(counter: Key & { prop: string }): Promise<Document<Fields>>;
  export function decr(counter: Key & { prop: string }, callback: Callback<Document>): void;

  export function page<Fields extends object = Attributes>(range: Range): AsyncIterable<Document<Fields>[]>;

  // oxlint-disable-next-line typescript/consistent-type-imports -- A module cannot import itself.
  const all: typeof import("@orchestrator/data");
  export default all;
}

declare module "@architect/functions" {
  export * from "@orchestrator/functions";
  export { default } from "@orchestrator/functions";
}

declare module "@begin/data" {
  export * from "@orchestrator/data";
  export { default } from "@orchestrator/data";
}
