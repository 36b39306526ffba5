// Reads what scripts print, line by line, and no more of it than anyone wants to keep.
import { setTimeout as delay } from "node:timers/promises";
import { BUILDER_OUTPUT_BYTES_MAX } from "../../runtime-image/contract/limits.ts";
import { createLineCutter } from "./process-lines.ts";

const LINE_COST_BYTES = 32; // A flood of empty lines is one as well.
const FLOOD_PAUSE_MS = 20; // After each piece of some 64 KB: whoever prints for nobody waits, and takes no processor from others.
const LEFT_OUT = `… (more than ${BUILDER_OUTPUT_BYTES_MAX / 1_000_000} MB of output: the rest is left out)`;

export async function readOutput(output: AsyncIterable<Uint8Array>, onLine: (line: string) => void): Promise<void> {
  const cutter = createLineCutter("stdout");
  let byteCount = 0;
  for await (const chunk of output) {
    if (byteCount > BUILDER_OUTPUT_BYTES_MAX) {
      await delay(FLOOD_PAUSE_MS);
      continue;
    }
    for (const { text } of cutter.push(chunk, 0)) {
      onLine(text);
      byteCount += text.length + LINE_COST_BYTES;
    }
    if (byteCount > BUILDER_OUTPUT_BYTES_MAX) onLine(LEFT_OUT);
  }
  if (byteCount <= BUILDER_OUTPUT_BYTES_MAX) for (const { text } of cutter.rest(0)) onLine(text);
}
