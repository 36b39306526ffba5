// Errors that say "the request is wrong, not the function": the runtime answers them with BODY_MALFORMED, 400, instead of HANDLER_THREW.

// The library and the runtime are bundled apart, so that a class of one would be unknown to the other.
const MARK = Symbol.for("orchestrator:caller-fault");

/** The message is shown outside production: it may say what of the request is wrong, and holds nothing of the app. */
export function callerFault(message: string): Error {
  const error = new Error(message);
  error.name = "CallerFault";
  Object.defineProperty(error, MARK, { value: true });
  return error;
}

export function isCallerFault(thrown: unknown): thrown is Error {
  try {
    return thrown instanceof Error && MARK in thrown;
  } catch {
    return false; // User code may throw a proxy that refuses to be looked at.
  }
}
