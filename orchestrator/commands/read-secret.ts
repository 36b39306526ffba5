// Reads one secret from standard input: everything that is sent there, or a line that a person types without seeing it.
import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { printPrompt } from "../log.ts";

export async function readSecret(name: string, bytesMax: number): Promise<string> {
  return process.stdin.isTTY ? typedSecret(name) : sentSecret(name, bytesMax);
}

async function sentSecret(name: string, bytesMax: number): Promise<string> {
  const parts: Buffer[] = [];
  let byteCount = 0;
  for await (const part of process.stdin) {
    const bytes = Buffer.from(part as Uint8Array); // No encoding was asked for.
    byteCount += bytes.length;
    // What is sent too much may never end.
    if (byteCount > bytesMax) throw refused(`the value of ${name} from standard input is too long; ${bytesMax - 2} bytes are allowed`);
    parts.push(bytes);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Buffer.concat(parts));
  } catch {
    throw refused(`the value of ${name} from standard input is no UTF-8 text`);
  }
}

async function typedSecret(name: string): Promise<string> {
  const typed = await typedLine(`Value of ${name} (it is not shown): `);
  if (typed === null) throw refused(`the value of ${name} was not given`);
  return typed;
}

/** A line that is not shown while it is typed; null after Ctrl-C or Ctrl-D. */
export async function typedLine(question: string): Promise<string | null> {
  const silence = new Writable({ write: (_part, _encoding, done) => done() });
  const line = createInterface({ input: process.stdin, output: silence, terminal: true });
  const given = new AbortController();
  const stop = (): void => given.abort();
  line.once("SIGINT", stop).once("close", stop);
  printPrompt(question);
  try {
    return await line.question("", { signal: given.signal });
  } catch {
    return null;
  } finally {
    line.close();
    printPrompt("\n");
  }
}

const refused = (problem: string): PlatformError =>
  new PlatformError("SETTING_INVALID", { problems: [problem], remedy: "Nothing was changed. See: orchestrator env set --help" });
