// The legacy handler generation, payload version 1.0; json and html functions speak it too, and their wrappers build on it.
import type { PayloadAdapter } from "./generation.ts";
import { toLegacyAnswer } from "./legacy-answer.ts";
import { createLegacyEvents, type LegacyEventOptions } from "./legacy-event.ts";

export function createLegacyGeneration(options: LegacyEventOptions): PayloadAdapter {
  return { toEvent: createLegacyEvents(options), toAnswer: toLegacyAnswer };
}
