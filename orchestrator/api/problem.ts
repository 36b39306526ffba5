// How an error leaves the management API: as application/problem+json, with our code and every problem that was found.
import { ERRORS, PlatformError } from "../../runtime-image/contract/errors.ts";

export const PROBLEM_TYPE = "application/problem+json";

export interface Problem {
  readonly status: number;
  readonly body: string;
}

/** Of what is no error of ours nothing is told. */
export function problemOf(cause: unknown): Problem {
  const error = cause instanceof PlatformError ? cause : new PlatformError("INTERNAL");
  const { status, message } = ERRORS[error.code];
  return { status, body: `${JSON.stringify({ status, code: error.code, title: message, ...error.detail })}\n` };
}
