// Turns an instance's answer into the one answer of its request.
import { decodeEnvelope, type AnswerHeader } from "../../runtime-image/contract/envelope.ts";
import { ERRORS, isErrorCode, type ErrorCode } from "../../runtime-image/contract/errors.ts";
import type { Instance } from "./instance.ts";
import type { Job } from "./job.ts";
import type { Pulls } from "./pulls.ts";

/** Throws where the envelope cannot be read; then the request is not settled. */
export function settle(job: Job, { instance, bytes, pulls }: { instance: Instance; bytes: Uint8Array; pulls: Pulls }): void {
  const { header, body } = decodeEnvelope<AnswerHeader>(bytes);
  switch (header.kind) {
    case "whole":
      return job.answer(header, body);
    case "held": {
      const sink = job.stream(header);
      return sink === null ? pulls.letGo(instance, header.streamId) : pulls.start(instance, header, sink);
    }
    case "site":
      return job.answerFromSite(header);
    case "failed":
      return job.fail(...readFailure(header));
    case "chunk":
    case "gone":
      return job.fail("HANDLER_ANSWER_INVALID", `The instance answered a request with "${header.kind}".`);
  }
}

// A runtime may only blame what happened in the function, the body it was given, or the store; any other code it names is its own failure.
function readFailure(header: Extract<AnswerHeader, { kind: "failed" }>): [ErrorCode, string] {
  const code = isErrorCode(header.code) && mayBlame(header.code) ? header.code : "HANDLER_THREW";
  return [code, header.stack ?? header.message];
}

const BEYOND_THE_FUNCTION: ReadonlySet<ErrorCode> = new Set(["BODY_MALFORMED", "STORE_UNAVAILABLE", "STORE_FULL"]);

const mayBlame = (code: ErrorCode): boolean => ERRORS[code].fault === "app" || BEYOND_THE_FUNCTION.has(code);
