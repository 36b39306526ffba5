// The older simple handler generation: a request with a parsed body in, and an answer of a few words out.
import type { PayloadAdapter } from "./generation.ts";
import { toSimpleAnswer } from "./simple-answer.ts";
import { toSimpleRequest } from "./simple-event.ts";

export const createSimpleGeneration = (): PayloadAdapter => ({ toEvent: toSimpleRequest, toAnswer: toSimpleAnswer });
