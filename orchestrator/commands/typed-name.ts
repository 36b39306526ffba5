// Asks a person to type a name, before something goes that does not come back.
import { createInterface } from "node:readline/promises";
import type { Readable } from "node:stream";
import { printPrompt } from "../log.ts";

/** Null where nothing was typed, or Ctrl-C. */
export async function typedName(question: string, input: Readable): Promise<string | null> {
  const lines = createInterface({ input });
  const given = new AbortController();
  const stop = (): void => given.abort();
  lines.once("SIGINT", stop).once("close", stop);
  process.once("SIGINT", stop);
  printPrompt(question);
  try {
    return (await lines.question("", { signal: given.signal })).trim();
  } catch {
    printPrompt("\n");
    return null;
  } finally {
    process.off("SIGINT", stop);
    lines.close();
  }
}
