// Every error that leaves the platform: its code, what it means on the wire, whose fault it is. docs/errors.md has a heading per code.

export type Fault = "caller" | "app" | "platform" | "owner"; // "owner": who runs the platform or deploys the app.

interface ErrorKind {
  readonly status: number; // HTTP status where it is answered over HTTP.
  readonly fault: Fault;
  readonly retryable: boolean; // Whether the same request may succeed a moment later.
  readonly message: string; // Safe to show to anyone.
}

const kind = (status: number, fault: Fault, retryable: boolean, message: string): ErrorKind => ({ status, fault, retryable, message });

export const ERRORS = {
  // A visitor's request that a gateway refuses.
  REQUEST_MALFORMED: kind(400, "caller", false, "The request is not valid HTTP."),
  TARGET_MALFORMED: kind(400, "caller", false, "The request target is not a path with valid percent-encoding."),
  REQUEST_TIMED_OUT: kind(408, "caller", true, "The request did not arrive in time."),
  BODY_TOO_LARGE: kind(413, "caller", false, "The request body is larger than this environment accepts."),
  TARGET_TOO_LONG: kind(414, "caller", false, "The request target is longer than this environment accepts."),
  HEADERS_TOO_LARGE: kind(431, "caller", false, "The request headers are larger than this environment accepts."),
  EXPECTATION_FAILED: kind(417, "caller", false, "The only expectation that is understood is 100-continue."),
  METHOD_NOT_SUPPORTED: kind(501, "caller", false, "This method is not supported."),
  APP_NOT_FOUND: kind(404, "caller", false, "No app answers for this host."),
  ROUTE_NOT_FOUND: kind(404, "caller", false, "Nothing answers on this path."),
  METHOD_NOT_ALLOWED: kind(405, "caller", false, "A static file answers GET and HEAD only."),
  PRECONDITION_FAILED: kind(412, "caller", false, "The file is not the version that the request asks for."),
  RANGE_NOT_SATISFIABLE: kind(416, "caller", false, "The file has no such bytes."),

  // What a function did, or could not read.
  BODY_MALFORMED: kind(400, "caller", false, "The request body is not what its content type says."),
  HANDLER_THREW: kind(500, "app", false, "The function threw an error."),
  HANDLER_ANSWER_INVALID: kind(502, "app", false, "The function's answer has a wrong shape."),
  ANSWER_TOO_LARGE: kind(502, "app", false, "The function's answer is larger than 6 MB."),
  INSTANCE_LOST: kind(502, "app", true, "The instance that worked on this request ended before it answered."),
  FUNCTION_FAILING: kind(503, "app", true, "The function fails to start; it is tried again."),
  HANDLER_TIMED_OUT: kind(504, "app", true, "The function did not answer in time."),

  // What the platform could not do.
  NO_CAPACITY: kind(503, "platform", true, "Every instance of this function is busy."),
  NOTHING_DEPLOYED: kind(503, "owner", true, "Nothing is deployed to this environment yet."),
  GATEWAY_STARTING: kind(503, "platform", true, "This gateway has not learnt what it serves yet."),
  BROKER_UNAVAILABLE: kind(503, "platform", true, "The broker between gateway and functions cannot be reached."),
  STORE_UNAVAILABLE: kind(503, "platform", true, "The store of sessions and documents does not answer."),
  STORE_FULL: kind(507, "owner", false, "The store of this app and environment is full."),
  STORE_TOO_LARGE: kind(507, "owner", false, "The store holds more than can be listed."),
  INTERNAL: kind(500, "platform", false, "Something went wrong inside the platform."),

  // What an upstream that an app names with @proxy did.
  PROXY_FAILED: kind(502, "owner", true, "The upstream of this app could not be reached, or broke off."),
  PROXY_TIMED_OUT: kind(504, "owner", true, "The upstream of this app did not answer in time."),
  PROXY_LOOPED: kind(508, "owner", false, "The upstream of this app leads back to this platform."),

  // The management API.
  API_TOKEN_REFUSED: kind(401, "caller", false, "The management API needs the token of this platform."),
  API_FORBIDDEN: kind(403, "caller", false, "The token may not do this."),
  API_HOST_REFUSED: kind(403, "caller", false, "The management API answers on its own addresses only."),
  API_ORIGIN_REFUSED: kind(403, "caller", false, "The management API does not answer pages of other origins."),
  API_NOT_FOUND: kind(404, "caller", false, "The management API has nothing at this path."),
  API_INPUT_INVALID: kind(400, "caller", false, "The management API was sent something wrong."),

  // Sessions and documents, for their owner.
  DOCUMENT_INVALID: kind(422, "caller", false, "A document, or what names one, is not as it should be."),
  DOCUMENT_NOT_FOUND: kind(404, "caller", false, "There is no such document."),
  DOCUMENT_CHANGED: kind(409, "caller", true, "The document is not at the revision that was expected."),
  BACKUP_INVALID: kind(422, "owner", false, "This is no whole backup."),
  BACKUP_FAILED: kind(500, "platform", true, "The backup was not made."),
  PASSPHRASE_WRONG: kind(422, "owner", false, "The passphrase does not open this backup."),
  RESTORE_REFUSED: kind(409, "owner", false, "The environment is not empty."),
  RESTORE_RUNNING: kind(409, "owner", true, "Another restore of this environment is on its way."),
  RESTORE_BROKEN_OFF: kind(503, "owner", true, "The restore was broken off."),

  // An app that cannot be taken, built or started.
  SOURCE_REFUSED: kind(400, "caller", false, "The source cannot be taken."),
  APP_FOLDER_INVALID: kind(422, "owner", false, "The folder holds no app."),
  MANIFEST_INVALID: kind(422, "owner", false, "The app's manifest is wrong."),
  VARIABLES_INVALID: kind(422, "owner", false, "The app's environment variables are wrong."),
  SITE_INVALID: kind(422, "owner", false, "The app's static files cannot be served."),
  FUNCTION_INVALID: kind(422, "owner", false, "A function cannot be built."),
  FUNCTION_TOO_LARGE: kind(422, "owner", false, "A function's folder is larger than 5 MB."),
  INSTALL_FAILED: kind(422, "owner", true, "Packages of the app cannot be installed."),
  HANDLER_MISSING: kind(422, "owner", false, "A function has no handler."),
  HANDLER_LOAD_FAILED: kind(422, "owner", false, "A function fails while it is loaded."),
  BUILD_FAILED: kind(500, "platform", true, "A build failed."),
  DEPLOY_FAILED: kind(422, "owner", false, "The deploy failed; what was live stays live."),
  DEPLOY_SUPERSEDED: kind(409, "owner", false, "A later deploy took the place of this one."),
  NOTHING_TO_PROMOTE: kind(409, "owner", false, "Staging has no release that could be promoted."),
  NOTHING_TO_ROLL_BACK: kind(409, "owner", false, "There is no earlier release to go back to."),
  RELEASE_NOT_FOUND: kind(404, "owner", false, "There is no such release."),
  RELEASE_NOT_GREEN: kind(409, "owner", false, "The release is not green."),
  DELIVERY_NOT_FOUND: kind(404, "owner", false, "There is no such delivery."),
  DELIVERY_OVER: kind(409, "owner", false, "The delivery is over already."),
  DELIVERY_CANCELLED: kind(409, "owner", false, "The delivery was cancelled."),
  DELIVERY_QUEUE_FULL: kind(503, "owner", true, "Too many deliveries wait already."),
  STEP_FAILED: kind(422, "owner", false, "A step of the app's own scripts failed."),
  APP_UNKNOWN: kind(404, "owner", false, "The platform hosts no app of this name."),
  APP_NAME_TAKEN: kind(409, "owner", false, "Another app has this name."),
  APP_NAME_INVALID: kind(422, "owner", false, "This cannot be the name of an app."),
  APP_KEPT: kind(409, "owner", false, "This cannot be done with this app."),
  DOMAIN_INVALID: kind(422, "owner", false, "This cannot be the domain of an app."),
  DOMAIN_TAKEN: kind(409, "owner", false, "Another app answers on this domain."),
  ROUTE_INVALID: kind(422, "owner", false, "This cannot be a route."),
  ROUTE_TAKEN: kind(409, "owner", false, "The app has this route already."),
  ROUTE_UNKNOWN: kind(404, "owner", false, "The app has no such route."),
  ROUTE_KEPT: kind(409, "owner", false, "This route cannot be removed here."),

  // Repositories.
  COMMIT_NOT_FOUND: kind(404, "owner", false, "The app's repository has no such commit."),
  PUSH_REFUSED: kind(422, "owner", false, "The push cannot be taken."),
  PUSH_TOO_LARGE: kind(413, "owner", false, "The push is too large."),
  GIT_MOVED: kind(409, "owner", true, "The app's repository changed meanwhile."),
  GIT_BUSY: kind(503, "owner", true, "The app's repository is busy."),
  GIT_MISSING: kind(503, "owner", false, "This machine has no git."),
  GIT_FAILED: kind(500, "platform", true, "The machine's git failed."),

  // A platform that cannot start, or a command that cannot run.
  SETTING_INVALID: kind(400, "owner", false, "A setting is wrong."),
  USAGE: kind(400, "owner", false, "The command line is wrong."),
  INIT_REFUSED: kind(409, "owner", false, "The new app cannot be made there."),
  PORT_IN_USE: kind(409, "owner", false, "A port is taken by another program."),
  HOME_IN_USE: kind(409, "owner", false, "Another orchestrator runs on this home."),
  HOME_UNUSABLE: kind(500, "owner", false, "The home folder cannot be used."),
  NOT_RUNNING: kind(503, "owner", true, "No orchestrator runs here."),
  ENGINE_UNAVAILABLE: kind(503, "owner", true, "The engine that runs instances does not answer."),
  ENGINE_FAILED: kind(500, "platform", true, "The engine failed."),
  IMAGE_MISSING: kind(503, "owner", false, "A base image is missing."),
  NATS_MISSING: kind(503, "owner", false, "No nats-server was found."),
  NATS_TOO_OLD: kind(503, "owner", false, "The nats-server is too old."),
  NATS_FAILED: kind(503, "platform", true, "The nats-server does not run as it should."),
  NATS_REFUSED: kind(503, "owner", false, "The nats-server does not trust this platform."),
  GATEWAY_FAILED: kind(503, "platform", true, "A gateway does not run as it should."),
  GATEWAY_NOT_REPLACED: kind(503, "platform", true, "A gateway could not be replaced; the one that runs serves on."),
} as const satisfies Record<string, ErrorKind>;

export type ErrorCode = keyof typeof ERRORS;

export interface ErrorDetail {
  readonly detail?: string; // What exactly, and where: a path, a port, a value.
  readonly remedy?: string; // What to do about it.
  readonly problems?: readonly string[]; // Every problem, where there may be several.
}

/** The one error type that crosses our own walls. Everything else is INTERNAL. */
export class PlatformError extends Error {
  readonly code: ErrorCode;
  readonly detail: ErrorDetail;

  constructor(code: ErrorCode, detail: ErrorDetail = {}, options: { cause?: unknown } = {}) {
    super(detail.detail === undefined ? ERRORS[code].message : `${ERRORS[code].message} ${detail.detail}`, options);
    this.name = "PlatformError";
    this.code = code;
    this.detail = detail;
  }
}

export const isErrorCode = (text: string): text is ErrorCode => Object.hasOwn(ERRORS, text);
