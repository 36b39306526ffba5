// The current handler generation: payload version 2.0 in, and its response object out.
import type { PayloadAdapter } from "./generation.ts";
import { toCurrentAnswer } from "./current-answer.ts";
import { createCurrentEvents } from "./current-event.ts";

export function createCurrentGeneration(options: {
  readonly apiId: string;
  readonly rawJson: boolean;
  readonly bareQuery: boolean;
}): PayloadAdapter {
  return { toEvent: createCurrentEvents(options), toAnswer: toCurrentAnswer };
}
